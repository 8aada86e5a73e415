//! The file of a cluster, and what `electd check` says of it.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use electd::tls::make::Authority;
use serde_json::{Value, json};

use crate::network::Network;
use crate::plan::Plan;
use crate::programs;

/// What `electd check` prints of a file.
#[derive(Clone, Copy)]
pub struct Bounds {
    pub failover: Duration,
    pub lease: Duration,
    pub job_kill: Duration,
}

impl Bounds {
    pub fn of(file: &Path) -> Result<Bounds, String> {
        let mut check = Command::new(programs::electd());
        check.arg("check").arg("--config").arg(file).args(["--output", "json"]);
        let output = check.output().map_err(|error| format!("electd check: {error}"))?;
        let said: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("electd check: {error}: {output:?}"))?;
        let time = |value: &Value| Duration::from_secs_f64(value.as_f64().unwrap_or(0.0) / 1000.0);
        Ok(Bounds {
            failover: time(&said["worst_failover_ms"]),
            lease: time(&said["timing"]["lease_ms"]),
            job_kill: time(&said["timing"]["job_kill_ms"]),
        })
    }
}

/// The timings that a reload may give, as parts of those at the start: the shortest first.
pub const LENGTHS: [(u32, u32); 3] = [(2, 3), (1, 1), (3, 2)];

/// Writes the file with timings of this length.
pub fn write(plan: &Plan, folder: &Path, network: &Network, (times, part): (u32, u32)) {
    let tls = |name: &str| {
        let path = |file: &str| format!("tls/{name}/{file}.pem");
        json!({"ca": path("ca"), "cert": path("cert"), "key": path("key")})
    };
    let member = |(number, (address, _)): (u32, (SocketAddr, SocketAddr))| {
        let name = format!("node-{number}");
        let id = format!("{number:08x}-0000-4000-8000-000000000000");
        let mut member = json!({"name": name, "id": id, "address": address});
        // For orders that one host gives another.
        member["admin"] = SocketAddr::new(address.ip(), 7200).to_string().into();
        if plan.tls {
            member["tls"] = tls(&name);
        }
        member
    };
    let mut members: Vec<Value> = (1..).zip(network.places()).map(member).collect();
    // The programs that hold names beside the nodes.
    let programs = (1..).zip(network.places()).filter(|_| plan.majority);
    members.extend(programs.map(|(number, (address, _)): (u32, (SocketAddr, SocketAddr))| {
        let name = program(number);
        let id = format!("{number:08x}-0000-4000-9000-000000000000");
        let address = SocketAddr::new(address.ip(), 7101);
        let mut member = json!({"name": name, "id": id, "address": address, "role": "observer"});
        if plan.tls {
            member["tls"] = tls(&name);
        }
        member
    }));
    let failure = plan.failure * times / part;
    let config = json!({
        "cluster": "jepsen", "data_dir": "data", "members": members, "preempt": plan.preempt,
        "algorithm": plan.algorithm.name(), "quorum": if plan.majority { "majority" } else { "none" },
        "timing": {"failure": format!("{}ms", failure.as_millis())},
    });
    // In one step: a node that starts may read it at this moment.
    let new: PathBuf = folder.join("cluster.json.new");
    let text = serde_json::to_string_pretty(&config).expect("it is JSON");
    fs::write(&new, text).expect("a file can be written");
    fs::rename(&new, folder.join("cluster.json")).expect("a file can be renamed");
}

/// The member of the program on the host of this number that holds names.
pub fn program(number: impl std::fmt::Display) -> String {
    format!("program-{number}")
}

/// Writes the certificates of all members.
pub fn certify(plan: &Plan, folder: &Path) {
    let authority = Authority::new("jepsen").expect("a certificate can be made");
    for name in (1..=plan.voters).flat_map(|number| [format!("node-{number}"), program(number)]) {
        let pair = authority.sign(&name).expect("a certificate can be made");
        let own = folder.join("tls").join(name);
        fs::create_dir_all(&own).expect("a folder can be made");
        for (file, text) in
            [("ca", authority.certificate()), ("cert", &pair.cert), ("key", &pair.key)]
        {
            fs::write(own.join(format!("{file}.pem")), text).expect("a file can be written");
        }
    }
}
