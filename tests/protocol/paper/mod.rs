//! The statements of the sources about each algorithm, sentence by sentence, checked on one member
//! alone.

mod again;
mod arrival;
mod bully;
mod drained;
mod fitness;
mod halting;
mod hollow;
mod idle;
mod majority;
mod margin;
mod members;
mod passed;
mod pause;
mod present;
mod process;
mod resigned;
mod ring;
mod split;
mod switchover;
mod upgrade;
