//! electd elects one leader among N processes and keeps it elected.
//!
//! The command `electd` is the usual way to use it; this library is the same code. A program that
//! embeds a member starts a [`node::Node`] from a [`config::Config`] and acts while it
//! leads:
//!
//! ```no_run
//! use electd::config;
//! use electd::node::while_leading;
//! use std::time::Duration;
//!
//! let config = config::load("cluster.json".as_ref())?;
//! while_leading(&config, "a", |lead| {
//!     while lead.goes_on(Duration::from_secs(1)) {
//!         println!("one step of the work, in epoch {}", lead.epoch());
//!     }
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This starts the member "a" of the file, with threads of its own, and runs the closure in the calling thread each
//! time that the member leads. The closure must not block for long without asking whether it
//! [`goes_on`](node::Lead::goes_on): after that another member leads. TERM and INT end the work, then the member hands
//! over. A closure that returns an error is run again, and soon on another member. [`config::Builder`] makes the
//! configuration in code; a [`node::Node`] and its handle give a program all parts of this one by one.
//!
//! # Features
//!
//! | feature | what it brings |
//! |---|---|
//! | `cli` (default) | the command line, `exec`, and `http` |
//! | `http` | the HTTP interface of a node and its client, `admin` |
//! | `postgres`, `etcd` (default) | the engines that `exec --lock URL` asks |
//! | `tls` (default) | TLS between members, and the making of certificates |
//!
//! `default-features = false` is the library alone: no command line, no HTTP and no TLS. docs/api.md says which part
//! of it is kept stable.
//!
//! # Rooms
//!
//! [`core`] is the election as a pure state machine; the simulator and the node run the same code. Most rooms are in
//! crates of their own, and shown here under their names: [`core`], [`limits`] (what input from outside may be) and
//! `wire` (frames and JSON) are `electd-election`; [`trace`] and [`flight`] are `electd-record`; [`sim`] is
//! `electd-model`. `electd-facts` is the status of a node, and the one verdict on a cluster. `electd-host` is what a
//! node does with its host: [`tls`] (certificates and handshakes), `net` (sockets), `coroner` (the process that
//! certifies a node's death), [`store`] (durable state), [`rank`] (samples of an attribute, the health check),
//! [`cgroup`] (that of a job) and `realtime` (how the kernel runs the threads of a heartbeat). [`config`] is
//! `electd-config`.
//!
//! Around them: [`node`] (the election thread), `exec` (commands and addresses while a node leads, and
//! hooks), `admin` (HTTP), `lab` (the simulator in a browser) and `cli`. Arrows point inwards: nothing in the core
//! knows of the rooms around it.
//!
//! # Threads of a node
//!
//! | thread | waits on | ends when |
//! |---|---|---|
//! | main | a signal | TERM, INT or QUIT came, and all others are joined |
//! | election | its queue of events and commands, or the core's deadline | it was told to stop |
//! | store, store-locks | records to write | its writer is stopped |
//! | lock-hands | done tables of locks, to compare | the election thread ends |
//! | rank, if the rank changes | the time of the next sample, a thread that takes it | it was told to stop |
//! | health, if there is a check | the time of the next check, a thread that runs it | it was told to stop |
//! | rank-sample, health-check, hook, cleanup | a program, or the system, which may hang | that has ended |
//! | watch | a signal of the election thread, or a second | it was told to stop |
//! | history | another leadership to be stored | the thread "watch" ends |
//! | listener | accept | its socket is shut down |
//! | reader-PEER | its connection | end of stream, an error, or its socket is shut down |
//! | writer-PEER | its queue, orders, the back-off between dials | its queue is dropped |
//! | admin | accept, or room for one more client | it was told to stop, and the threads of its clients have ended |
//! | admin-client, at most 80 | its client, the outcome of a command, or new events | its client is gone, too slow, or lost its place |
//! | admin-ask, at most 8 | another member, for an election that a client asks for | all have answered, or it took too long |
//! | control, control-client | the same for the control socket | as admin |
//! | job, with `run -- CMD` | changes of the leadership, what "job-guard" finds | the node has stopped, or CMD ended |
//! | job-guard, if there is a guard | the end of the guard, the alarm that it has not acted | the guard has ended |
//! | exec-N, at most 256 | an attached `electd exec`, changes of the leadership, the next heartbeat | the connection and the guard have ended |
//! | exec-N-in | input from that `electd exec` | its socket is shut down |
//! | engine, with `exec --lock URL` | an answer of the engine, the time of the next renewal | the command has ended |
//! | hooks, where there is one | a signal of the log of events, a program | the node has stopped |
//! | site, site-client, with `electd lab` | as admin | the command ends |
//! | flight, while a recording is written | the disk | it is written |
//! | supervisor, under a service manager | the time of the next sign of life | it was told to stop |
//! | log | lines that stderr did not take immediately, and ten seconds | the process ends |
//! | ctrl-c | INT | the process ends |

pub use electd_config as config;
pub use electd_election::{core, limits};
use electd_host::{calls, coroner, net, realtime};
pub use electd_host::{cgroup, local, rank, store, tls};
pub use electd_model::sim;
use electd_record::recorder;
pub use electd_record::{behaviour, flight, trace};

/// The page for those who embed a member: its code is compiled as it stands there.
#[cfg(doctest)]
#[doc = include_str!("../docs/api.md")]
struct ApiPage;

#[cfg(test)]
use electd_testing as testing;

#[cfg(feature = "http")]
pub mod admin;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub mod exec;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "cli")]
mod lab;
pub mod node;
