//! The configuration and the commands about it, by running the program.

mod certificates;
mod commands;
mod containers;
mod defaults;
mod exec;
mod files;
mod health;
mod hosts;
mod limits;
mod locks;
mod problems;
mod ranks;
mod timings;
