//! What the tests of several rooms share. It is in no program.

pub mod alone;
pub mod line;
pub mod within;
