//! A stranger that speaks as a member that is down, to real processes: whatever it says, no process
//! ends, nothing grows, and the members go on.

mod bounds;
mod mutated;
mod mutations;
mod redials;
