//! The elections of electd on a simulated network and clock.
//!
//! [`sim`] runs the cores that ship, in one thread, with drawn delays, losses, crashes, pauses and orders, and judges each
//! run: two leaders at one time, an election that never ends, a certificate that came early. A run depends on its seed
//! alone.

use electd_election::core;
use electd_record::flight;
#[cfg(test)]
use electd_record::recorder;
use electd_record::trace;

pub mod sim;
