//! The core in simulated worlds: exact counts, random schedules, all courses up to a bound, and rules
//! that are broken on purpose. See tests/README.md.

mod exhaustive;
mod halting;
mod hostile;
mod member;
mod mutants;
mod ring;
mod simulator;
mod sweep;
mod words;

/// So many where the build is quick to make and slow to run, and all in that of `make test-long`.
const fn fewer(few: u64, all: u64) -> u64 {
    if cfg!(debug_assertions) { few } else { all }
}
