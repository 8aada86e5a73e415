//! The most connections: the whole process shares the descriptors, and the members' connections come first.

use std::fmt::{self, Display, Formatter};

use rustix::process::{Resource, getrlimit};

/// The most connections, if there are descriptors for them.
const MOST: usize = 10_240;

/// Descriptors kept for all but HTTP: with 128 members a connection from and to each, and a dial
/// (384), strangers on the peer port (80), and files, pipes and listeners of this process.
const KEPT: usize = 512;

/// The most connections, and why not more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The number.
    pub connections: usize,
    /// The limit of descriptors, if that is why.
    descriptors: Option<usize>,
}

impl Room {
    /// The room that this process has.
    pub fn of_this_process() -> Room {
        let limit = getrlimit(Resource::Nofile).current;
        Room::with(limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX))
    }

    /// Room for this many.
    pub fn for_at_most(connections: usize) -> Room {
        let room = Room::of_this_process();
        if connections < room.connections { Room { connections, descriptors: None } } else { room }
    }

    /// Room with this limit of descriptors. If there are very few, HTTP gets a quarter of them.
    fn with(descriptors: usize) -> Room {
        let left = descriptors.saturating_sub(KEPT).max(descriptors / 4).max(1);
        match left {
            MOST.. => Room { connections: MOST, descriptors: None },
            connections => Room { connections, descriptors: Some(descriptors) },
        }
    }
}

impl Display for Room {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} connections that the admin address may have", self.connections)?;
        match self.descriptors {
            Some(limit) => write!(f, " with {limit} file descriptors (ulimit -n)"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_first() {
        let connections = |descriptors| Room::with(descriptors).connections;
        assert_eq!(connections(usize::MAX), MOST);
        assert_eq!(connections(20_000), MOST);
        assert_eq!(connections(4096), 4096 - KEPT);
        assert_eq!(connections(1024), 512);
        assert_eq!(connections(256), 64);
        assert_eq!(connections(0), 1);
    }

    #[test]
    fn the_reason_is_told() {
        let told = Room::with(1024).to_string();
        assert!(told.starts_with("512 ") && told.contains("1024 file descriptors"), "{told}");
    }
}
