//! Real `electd` processes: started, killed, frozen, cut off, lied to. See tests/README.md.

mod support;

mod addresses;
mod chaos;
mod cluster;
mod control;
mod drain;
mod freeze;
mod handover;
mod health;
mod history;
mod hooks;
mod hostile;
mod impostor;
mod jobs;
mod lasting;
mod liars;
mod logs;
mod majority;
mod members;
mod partitions;
mod pause;
mod peer;
mod problems;
mod rank;
mod refusals;
mod reload;
mod store;
mod strangers;
mod streams;
mod supervisor;
mod task;
mod watching;
