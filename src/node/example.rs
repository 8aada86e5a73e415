//! The node of the examples in the documentation: alone in its cluster, so that it leads immediately.

use std::ops::Deref;
use std::path::PathBuf;
use std::{env, fs, io, thread};

use std::net::TcpListener;
use std::time::Duration;

use uuid::Uuid;

use super::Node;
use crate::config::{self, Config};

/// A running node with files of its own. Both are gone when it is dropped.
pub struct Example {
    node: Option<Node>,
    folder: ExampleFolder,
}

pub(super) struct ExampleFolder(PathBuf);

impl Drop for ExampleFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // it is a temporary one
    }
}

impl Deref for Example {
    type Target = Node;

    fn deref(&self) -> &Node {
        self.node.as_ref().expect("it runs until it is dropped")
    }
}

impl Example {
    /// Its configuration.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.folder.0.join("cluster.json")
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        if let Some(node) = self.node.take() {
            node.stop();
        }
    }
}

/// A cluster of one member, "a", whose node does not run; and its folder.
pub(super) fn cluster() -> io::Result<(Config, ExampleFolder)> {
    let folder = ExampleFolder(env::temp_dir().join(format!("electd-example-{}", Uuid::new_v4())));
    fs::create_dir(&folder.0)?;
    let file = folder.0.join("cluster.json");
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let member = format!(r#"{{"name": "a", "id": "{}", "address": "{address}"}}"#, Uuid::new_v4());
    let text = format!(
        r#"{{"cluster": "example", "quorum": "majority", "data_dir": "data", "members": [{member}]}}"#
    );
    fs::write(&file, text)?;
    Ok((config::load(&file).map_err(io::Error::other)?, folder))
}

/// A node that leads.
///
/// # Errors
/// When it does not come to lead.
pub fn leader() -> io::Result<Example> {
    let (config, folder) = cluster()?;
    let node = Node::start(&config, "a").map_err(io::Error::other)?;
    let example = Example { node: Some(node), folder };
    for _ in 0..1000 {
        if example.handle().leadership().is_some() {
            return Ok(example);
        }
        thread::sleep(Duration::from_millis(10));
    }
    Err(io::Error::other("it does not come to lead"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_leads_and_leaves_nothing_behind() {
        let example = leader().unwrap();
        let (file, leadership) = (example.config(), example.handle().leadership().unwrap());
        assert_eq!(config::load(&file).unwrap().cluster, "example");
        assert!(leadership.is_valid());
        drop(example);
        assert!(!leadership.is_valid(), "the node has ended");
        assert!(!file.parent().unwrap().exists());
    }
}
