//! The elections of electd as pure state machines, and the messages between members.
//!
//! [`core`] is the election: three algorithms, the failure detector, membership, leases, the judgement of orders. It has no
//! clock, socket, thread, file, random source or log: a caller gives it a time and an input, and carries out the
//! outputs. The daemon and the simulator run the same code. [`limits`] says what input from outside may be, and [`wire`]
//! is a message as a frame and as JSON.
//!
//! A program that embeds a member uses the crate `electd`, which shows these rooms under the same names.

#[allow(missing_docs, reason = "a field without words is what its name says")]
pub mod core;
pub mod limits;
pub mod wire;
