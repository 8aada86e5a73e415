//! A job that runs on exactly one host: the command that runs while this node leads.
//!
//! There are three processes. *electd* keeps a guard ready, orders it to begin when this node leads, and shares alarms
//! with it that go off when the leadership is not renewed in time ([`runner`]). The *guard* ([`guard`]) is the same
//! binary in a process group of its own: it starts the command, passes TERM and KILL on, and ends all processes that
//! the command left behind. The kernel kills the *command* when its guard dies. Beside the command, or instead of it,
//! the guard holds addresses ([`address`]). After the command a cleanup (`cleanup.rs`) may end what that began elsewhere.
//!
//! `electd exec` does the same beside a node that another process runs: [`remote`] is its view of that node, and
//! [`attach`] the node's side of it.
//!
//! Hooks ([`hooks`]) run at changes of the leadership too: they only learn of it, and nothing waits for
//! them.

pub mod address;
mod alarms;
pub mod attach;
mod cleanup;
mod clock;
pub mod deadlines;
pub mod engine;
pub mod equipment;
pub mod guard;
mod guarded;
mod hook;
pub mod hooks;
mod job;
pub mod leader;
pub mod lock;
mod mandate;
mod mark;
pub mod needs;
mod order;
pub mod orphans;
pub mod parent;
pub mod period;
pub mod plan;
mod ready;
pub mod remote;
pub mod runner;
pub mod signals;
mod stderr;
pub mod target;
pub mod tree;
mod turns;
pub mod words;
