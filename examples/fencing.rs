//! The epoch as a fencing token: a leader that was replaced, and does not know it yet, writes late,
//! and the resource refuses it. `cargo run --example fencing`
//!
//! No lease can do this alone: between "I still lead" and the arrival of the write any time may pass. So
//! the leader sends its epoch along with every write, and the resource refuses an epoch that is older than
//! the newest that it has seen. With "majority" no epoch
//! ever has two leaders, so that a write is accepted from the present leader alone.

use std::error::Error;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use electd::config::{self, Config};
use electd::node::handle::{Command, Handle};
use electd::node::status::Status;
use electd::node::{Node, NodeHandle};

/// The resource to which all leaders write, such as a table or a bucket. It needs one comparison, made in the same
/// step as the write: in SQL, `UPDATE .. SET value = ?, epoch = ? WHERE epoch <= ?`.
#[derive(Default)]
struct Resource {
    epoch: u64,
    value: String,
}

impl Resource {
    fn write(&mut self, epoch: u64, value: String) -> Result<(), String> {
        if epoch < self.epoch {
            return Err(format!("epoch {epoch} is over; epoch {} has written", self.epoch));
        }
        (self.epoch, self.value) = (epoch, value);
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let config = three_members(folder.path())?;
    let members = ["a", "b", "c"];
    let nodes = members.map(|name| Node::start(&config, name));
    let nodes = nodes.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut resource = Resource::default();

    let (first, status) = leader(&nodes, 0)?;
    let token = status.epoch;
    println!("{} leads in epoch {token} and begins a long job", status.node.name);

    first.command(Command::Resign { to: None }, Duration::from_secs(5))?;
    let (_, status) = leader(&nodes, token)?;
    let write = resource.write(status.epoch, format!("by {}", status.node.name));
    println!("{} leads in epoch {} and writes: {write:?}", status.node.name, status.epoch);

    let late = resource.write(token, "by the one that led before".to_owned());
    println!("the job of epoch {token} ends, and writes: {late:?}");
    println!("the resource holds what was written {:?}", resource.value);

    nodes.into_iter().for_each(Node::stop);
    if late.is_ok() {
        return Err("a late write was accepted".into());
    }
    Ok(())
}

/// Waits for a leader of a later epoch.
fn leader(nodes: &[Node], after: u64) -> Result<(NodeHandle, Status), Box<dyn Error>> {
    let until = Instant::now() + Duration::from_secs(10);
    while Instant::now() < until {
        for handle in nodes.iter().map(Node::handle) {
            let status = handle.status();
            if status.state == "leading" && status.epoch > after {
                return Ok((handle, status));
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
    Err("nobody came to lead".into())
}

/// Three members in this process, on free ports.
fn three_members(folder: &std::path::Path) -> Result<Config, Box<dyn Error>> {
    let member = |name| -> Result<String, Box<dyn Error>> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let id = uuid::Uuid::new_v4();
        Ok(format!(r#"{{"name": "{name}", "id": "{id}", "address": "127.0.0.1:{port}"}}"#))
    };
    let members = [member("a")?, member("b")?, member("c")?].join(",");
    let path = folder.join("cluster.json");
    let text = format!(
        r#"{{"cluster": "fencing", "quorum": "majority", "data_dir": "data", "members": [{members}]}}"#
    );
    std::fs::write(&path, text)?;
    Ok(config::load(&path)?)
}
