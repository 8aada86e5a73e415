//! Addresses that a host has while its node leads: `--address 10.0.0.9/24%eth0`.
//!
//! The guard holds them ([`held`]): it adds them when the leadership begins, announces them, renews
//! their lifetime in the kernel, and removes them before the leadership ends. The lifetime is the last
//! line of defence: if no process is left to remove an address, the kernel does.

mod announce;
pub mod check;
pub mod held;
pub mod netlink;
pub mod spec;
