//! The core in simulated worlds: exact counts, random schedules, all courses up to a bound, and rules
//! that are broken on purpose. See tests/README.md.

mod behaviours;
mod crashed;
mod exhaustive;
mod failovers;
mod halting;
mod hostile;
mod member;
mod mutants;
mod names;
mod orders;
mod ring;
mod simulator;
mod sweep;
mod words;

/// The build that is quick to make and slow to run: too few runs to meet all that may happen.
const IS_SHORT: bool = cfg!(debug_assertions);

/// So many there, and all in the build of `make test-long`.
const fn fewer(few: u64, all: u64) -> u64 {
    if IS_SHORT { few } else { all }
}
