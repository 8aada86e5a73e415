//! May a nominee lead, and until when.
//!
//! Without a quorum the only condition is that its epoch is durable. With a majority a nominee asks the voters twice: a trial changes nothing, a claim asks for their grants
//! ([`Nominee`]). A voter grants an epoch to one nominee only and promises not to grant another
//! for a while ([`Voter`]); a leader leads for as long as a majority is bound by what it promised
//! ([`Lease`]).

mod lease;
mod nominee;
mod voter;

pub use lease::Lease;
pub use nominee::{Denied, Nominee, Purpose, Stage};
pub use voter::{Grant, Objection, Vote, Voter};
