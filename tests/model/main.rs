//! The core in simulated worlds: exact counts, random schedules, all courses up to a bound, and rules
//! that are broken on purpose. See tests/README.md.

mod exhaustive;
mod halting;
mod mutants;
mod ring;
mod simulator;
mod sweep;
