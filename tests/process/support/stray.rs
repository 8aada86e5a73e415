//! A stray connection that speaks as a member would. It knows only what `GET /status` tells everybody and
//! what the configuration says, and says whatever a test has it say.

use std::io;
use std::time::Duration;

use electd::core::protocol::Protocols;
use serde_json::{Value, json};

use super::Cluster;
use super::impostor;
use super::link::{Guise, Link};

/// One connection to a node.
pub struct Stray {
    stream: Link,
}

impl Stray {
    /// Dials a node in the guise of this member and says this hello. Gives the answer, a welcome or a reject.
    pub fn greet(
        cluster: &Cluster,
        number: usize,
        to: usize,
        hello: &Value,
    ) -> io::Result<(Stray, Value)> {
        let (guise, node) = (Guise::of(cluster, number), cluster.node(to));
        let (name, address) = (node.name.clone(), node.address);
        let stream = node.at_home(move || guise.dial(&name, address))?;
        let mut stray = Stray { stream };
        stray.write(hello)?;
        let answer = stray.read()?;
        Ok((stray, answer))
    }

    /// Speaks on a connection that another process opened.
    pub fn take(stream: Link) -> Stray {
        Stray { stream }
    }

    /// Says a message that members exchange, in this epoch.
    pub fn say(&mut self, epoch: u64, incarnation: u64, message: &Value) -> io::Result<()> {
        let envelope = json!({"epoch": epoch, "incarnation": incarnation, "message": message});
        self.write(&envelope)
    }

    /// Waits until the other side ends the connection.
    pub fn is_ended(&mut self) -> bool {
        impostor::ends(&mut self.stream)
    }

    /// Writes one frame.
    pub fn write(&mut self, frame: &Value) -> io::Result<()> {
        impostor::write(&mut self.stream, frame)
    }

    /// Reads one frame.
    pub fn read(&mut self) -> io::Result<Value> {
        impostor::read(&mut self.stream)
    }
}

impl Cluster {
    /// The hello that this member would send to that peer, as far as a stranger knows: of its second
    /// incarnation, with the member list of the file. Only `instance` is drawn anew by every process.
    pub fn hello_as(&self, number: usize, to: usize) -> Value {
        let (timing, config) = (self.timing(), self.config());
        let word = |key: &str, default: &str| config[key].as_str().unwrap_or(default).to_owned();
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let timings =
            [timing.heartbeat, timing.failure, timing.message, timing.lease].map(nanos).to_vec();
        json!({
            "protocol": Protocols::OURS.lowest,
            "cluster": word("cluster", ""),
            "id": self.id(number),
            "to": self.id(to),
            "incarnation": 2,
            "instance": 4711,
            "algorithm": word("algorithm", "bully"),
            "quorum": word("quorum", "none"),
            "preempt": word("preempt", "always"),
            "rank_by": word("rank", "id"),
            "timing": timings,
            "rank": 0,
            "stands": true,
            "view": {"epoch": 0, "leader": null},
            "round": 0,
            "list": self.list_of(0, 0, config["members"].as_array().map_or(&[], Vec::as_slice)),
        })
    }

    /// A member list of this version, as members tell it.
    pub fn list_of(&self, epoch: u64, counter: u64, members: &[Value]) -> Value {
        let entry = |member: &Value| {
            let role = member["role"].as_str().unwrap_or("member");
            let [id, name, address, admin] =
                ["id", "name", "address", "admin"].map(|key| member[key].clone());
            json!({"id": id, "name": name, "address": address, "admin": admin, "role": role})
        };
        let members: Vec<Value> = members.iter().map(entry).collect();
        json!({
            "version": [epoch, counter], "members": members, "removed": [],
        })
    }
}
