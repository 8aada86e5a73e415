//! The rules of the protocol: one member alone against the sentences of the papers, and whole
//! elections line by line. See tests/README.md.

mod golden;
mod paper;
