//! The content of a connection: frames with a length prefix, and JSON in them.

mod bounds;
mod codec;
mod commands;
mod frame;
mod greeting;
mod locks;
mod members;
mod mirror;
mod runs;
mod schema;
mod tables;
mod values;

pub use codec::{
    DecodeError, decode_message, decode_opening, decode_reply, encode_dead, encode_hello,
};
pub use codec::{Opening, Reply, encode_message, encode_rejection, encode_welcome};
pub use frame::{Frame, FrameError, read_frame};

#[cfg(test)]
mod fields;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
#[cfg(any(test, feature = "fuzzing"))]
mod samples;
#[cfg(test)]
mod suite;
