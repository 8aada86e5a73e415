//! A stranger that speaks as a member that is down, to real processes: whatever the stranger says, no
//! process ends, none grows, and the members keep working.

mod bounds;
mod mutated;
mod mutations;
mod redials;
