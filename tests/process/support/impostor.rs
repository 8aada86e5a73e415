//! A stranger that speaks as a member: raw frames, with only what `GET /status` shows to all; over TLS
//! with the certificate of that member.

use serde_json::{Value, json};
use std::io::{self, Read, Write};

use super::link::{Guise, Link};
use super::{Cluster, ensure, eventually};

/// The lowest version of the protocol that members speak.
pub const PROTOCOL: u32 = 5;

/// A process that speaks as this member.
pub struct Impostor<'a> {
    pub cluster: &'a Cluster,
    pub number: usize,
    pub incarnation: u64,
    /// The highest version of the protocol that it speaks; a member that tells none speaks the lowest alone.
    pub highest: Option<u32>,
    /// The certificate that it shows to the members.
    pub guise: Guise,
}

impl<'a> Impostor<'a> {
    /// One that has started more often than the true member.
    pub fn of(cluster: &'a Cluster, number: usize) -> Impostor<'a> {
        let guise = Guise::of(cluster, number);
        Impostor { cluster, number, incarnation: 1000, highest: None, guise }
    }

    /// The hello of the member, as far as a stranger can know it.
    pub fn hello(&self, to: usize) -> Value {
        let config = self.cluster.config();
        let timing = self.cluster.timing();
        let timing = [timing.heartbeat, timing.failure, timing.message, timing.lease];
        let members = config["members"].as_array().unwrap().iter().map(|member| {
            let admin = &member["admin"];
            json!({"id": member["id"], "name": member["name"], "address": member["address"],
                   "admin": admin, "role": "member"})
        });
        json!({
            "protocol": PROTOCOL, "highest": self.highest, "cluster": config["cluster"],
            "id": self.cluster.id(self.number), "to": self.cluster.id(to),
            "incarnation": self.incarnation, "instance": 7,
            "algorithm": config["algorithm"].as_str().unwrap_or("bully"),
            "quorum": config["quorum"], "preempt": config["preempt"].as_str().unwrap_or("always"),
            "rank_by": "id",
            "timing": timing.map(|time| u64::try_from(time.as_nanos()).unwrap()),
            "rank": 0, "stands": true, "view": {"epoch": 0, "leader": null}, "round": 0,
            "list": {"version": [0, 0], "members": members.collect::<Vec<_>>(), "removed": []},
        })
    }

    /// A connection to a member, with nothing said on it yet.
    pub fn dial(&self, to: usize) -> io::Result<Link> {
        let (guise, node) = (self.guise.clone(), self.cluster.node(to));
        let (name, address) = (node.name.clone(), node.address);
        node.at_home(move || guise.dial(&name, address))
    }

    /// Says a hello. Gives the connection and the answer.
    pub fn greet(&self, to: usize, hello: &Value) -> io::Result<(Link, Value)> {
        let mut stream = self.dial(to)?;
        write(&mut stream, hello)?;
        let reply = read(&mut stream)?;
        Ok((stream, reply))
    }

    /// A connection on which a member takes messages. The one of the member that it plays may still have to end there.
    pub fn welcomed(&self, to: usize) -> Link {
        eventually("it is welcomed", || {
            let greeted = self.greet(to, &self.hello(to)).map_err(|error| error.to_string());
            let (stream, reply) = greeted?;
            ensure(reply.get("welcome").is_some(), || reply.to_string()).map(|()| stream)
        })
    }

    /// A message as it is sent.
    pub fn message(&self, epoch: u64, message: &Value) -> Value {
        json!({"epoch": epoch, "incarnation": self.incarnation, "message": message})
    }
}

/// Sends a frame.
pub fn write(stream: &mut Link, frame: &Value) -> io::Result<()> {
    write_bytes(stream, frame.to_string().as_bytes())
}

/// Sends a frame with this payload.
pub fn write_bytes(stream: &mut Link, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    stream.write_all(&[&length, payload].concat())
}

/// Reads a frame.
pub fn read(stream: &mut Link) -> io::Result<Value> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut payload = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap()];
    stream.read_exact(&mut payload)?;
    Ok(serde_json::from_slice(&payload)?)
}

/// Whether the other side ends the connection, whatever it says before.
pub fn ends(stream: &mut impl Read) -> bool {
    let mut rest = [0; 4096];
    loop {
        match stream.read(&mut rest) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return error.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}
