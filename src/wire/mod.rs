//! What goes over a connection: frames with a length prefix, and JSON in them.

mod bounds;
mod codec;
mod convert;
mod frame;
mod greeting;
mod members;
mod schema;
mod values;

pub use codec::{Opening, Reply, encode_message, encode_rejection, encode_welcome};
pub use codec::{decode_message, decode_opening, decode_reply, encode_hello};
pub use frame::{Frame, FrameError, read_frame};

#[cfg(test)]
mod samples;
#[cfg(test)]
mod suite;
