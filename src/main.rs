//! The command `electd`.
fn main() {}
