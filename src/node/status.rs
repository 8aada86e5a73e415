//! What `GET /status` answers: one atomic view of a node, as JSON.
//!
//! ```
//! # let node = electd::node::example::leader()?;
//! use electd::node::handle::Handle;
//!
//! let status = node.handle().status();
//! for problem in &status.problems {
//!     println!("{} since {}: {}", problem.kind, problem.since, problem.text);
//! }
//! assert_eq!(status.leader.map(|leader| leader.name).as_deref(), Some("a"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use electd_facts::status::*;
