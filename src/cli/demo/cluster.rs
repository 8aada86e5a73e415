//! The cluster of a demo: its configuration, with free ports in a temporary folder, or as a file says.

use std::fs::{self, DirBuilder};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use uuid::Uuid;

use crate::admin;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::config::{self, Config, MemberConfig};
use crate::core::settings::Quorum;
use crate::store::Store;

/// The first blocks of ports to try, and the distance between two. They lie below those that the kernel gives to
/// connections, one of which could take the port of a node that is down.
const FIRST: u16 = 7100;
const LAST: u16 = 29_900;
const BLOCK: u16 = 200;
/// How far the admin port lies above the port of peers.
const ADMIN: u16 = 100;

/// Options that change the cluster.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClusterOptions<'a> {
    pub algorithm: Option<&'a str>,
    pub quorum: Option<Quorum>,
}

/// The cluster, before its nodes start.
pub struct Cluster {
    /// Its configuration.
    pub config: Config,
    /// The file that the nodes are started with.
    pub file: PathBuf,
    /// Tells other demos that the block of ports is taken.
    _block: Option<TcpListener>,
}

/// A name for the folder of a demo.
pub fn new_folder() -> PathBuf {
    let (drawn, ..) = Uuid::new_v4().as_fields();
    std::env::temp_dir().join(format!("electd-demo-{drawn:08x}"))
}

impl Cluster {
    /// So many nodes with fresh ids and free ports, in this new folder, which is for this user alone.
    pub fn temporary(
        folder: &Path,
        nodes: u16,
        changes: ClusterOptions<'_>,
    ) -> Result<Cluster, CliError> {
        let (block, first) = free_block(nodes)?;
        let mut document = document(nodes, first);
        change(
            &mut document,
            ClusterOptions { quorum: changes.quorum.or(Some(Quorum::Majority)), ..changes },
        );
        let made = DirBuilder::new().mode(0o700).create(folder);
        made.map_err(|error| unwritable(folder, &error))?;
        let file = folder.join("cluster.json");
        write(&file, &document)?;
        let config = config::load(&file)?;
        Ok(Cluster { config, file, _block: Some(block) })
    }

    /// The members of a file. With changes a copy of the file, whose state lies apart.
    pub fn of_file(file: &Path, changes: ClusterOptions<'_>) -> Result<Cluster, CliError> {
        let config = config::load(file)?;
        let words = [changes.algorithm, changes.quorum.map(Quorum::name)];
        let words: Vec<&str> = words.into_iter().flatten().collect();
        let (config, file) = if words.is_empty() {
            (config, file.to_owned())
        } else {
            let copy = copy(&config, file, &words.join("-"), changes)?;
            (config::load(&copy)?, copy)
        };
        check(&config)?;
        Ok(Cluster { config, file, _block: None })
    }
}

/// A block of ports of which the nodes can have theirs, and the listener that takes it for this demo.
fn free_block(nodes: u16) -> Result<(TcpListener, u16), CliError> {
    first_free((FIRST..=LAST).step_by(BLOCK.into()), nodes)
}

fn first_free(
    blocks: impl IntoIterator<Item = u16>,
    nodes: u16,
) -> Result<(TcpListener, u16), CliError> {
    let bind = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    for first in blocks {
        let Ok(block) = bind(first) else { continue };
        let all = (1..=nodes).flat_map(|node| [first + node, first + ADMIN + node]);
        let taken: io::Result<Vec<TcpListener>> = all.map(bind).collect();
        if taken.is_ok() {
            return Ok((block, first));
        }
    }
    let what =
        format!("no free ports from {FIRST} to {LAST} on 127.0.0.1: name a file with --config");
    Err(CliError::new(Exit::Listen, what))
}

/// node-1 to node-N on this machine; a later one ranks higher.
fn document(nodes: u16, first: u16) -> Value {
    let mut ids: Vec<Uuid> = (0..nodes).map(|_| Uuid::new_v4()).collect();
    ids.sort_unstable();
    let member = |(number, id): (u16, Uuid)| {
        let [address, admin] =
            [number, ADMIN + number].map(|above| format!("127.0.0.1:{}", first + above));
        json!({ "name": format!("node-{number}"), "id": id, "address": address, "admin": admin })
    };
    let members: Vec<Value> = (1..).zip(ids).map(member).collect();
    json!({ "cluster": "demo", "data_dir": "data", "members": members })
}

fn change(document: &mut Value, changes: ClusterOptions<'_>) {
    if let Some(algorithm) = changes.algorithm {
        document["algorithm"] = algorithm.into();
    }
    if let Some(quorum) = changes.quorum {
        document["quorum"] = quorum.name().into();
    }
}

/// Writes the file with these changes into a folder of this name below its own state, and returns where.
fn copy(
    config: &Config,
    file: &Path,
    name: &str,
    changes: ClusterOptions<'_>,
) -> Result<PathBuf, CliError> {
    let absolute =
        |path: &Path| std::path::absolute(path).map_err(|error| unreadable(file, &error));
    let folder = absolute(&config.data_dir)?.join(name);
    let text = fs::read_to_string(file).map_err(|error| unreadable(file, &error))?;
    let mut document = serde_json::from_str(&config::without_comments(&text))
        .map_err(|error: serde_json::Error| unreadable(file, &error.into()))?;
    make_absolute(&mut document, absolute(file)?.parent().unwrap_or(Path::new("/")));
    change(&mut document, changes);
    document["data_dir"] = folder.display().to_string().into();
    let copy = folder.join("cluster.json");
    fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
    write(&copy, &document)?;
    Ok(copy)
}

/// Paths that are relative to the file would start elsewhere in a copy of it.
fn make_absolute(value: &mut Value, folder: &Path) {
    let join = |path: &mut Value| {
        if let Some(text) = path.as_str() {
            *path = folder.join(text).display().to_string().into();
        }
    };
    let is_path = |program: &&mut Value| program.as_str().is_some_and(|name| name.contains('/'));
    match value {
        Value::Object(entries) => entries.iter_mut().for_each(|(key, value)| match key.as_str() {
            "path" | "admin_token_file" | "ca" | "cert" | "key" => join(value),
            "command" | "on_change" => {
                value.get_mut(0).filter(is_path).into_iter().for_each(join);
            }
            _ => make_absolute(value, folder),
        }),
        Value::Array(items) => items.iter_mut().for_each(|item| make_absolute(item, folder)),
        _ => {}
    }
}

/// Makes sure that all nodes can run: five that fail one after the other would say less.
fn check(config: &Config) -> Result<(), CliError> {
    for MemberConfig { name, listen, admin, .. } in &config.members {
        if let Some(held) = Store::held(&config.state_dir(name)) {
            return Err(CliError::new(Exit::DataDir, held));
        }
        for address in [Some(listen), admin.as_ref()].into_iter().flatten() {
            admin::listen(address).map_err(|error| {
                let what = format!(
                    "cannot listen on {address}, an address of {name}: {error}; a demo runs all members on this host, \
                     so give a file whose addresses are free here"
                );
                CliError::new(Exit::Listen, what)
            })?;
        }
    }
    Ok(())
}

fn write(file: &Path, document: &Value) -> Result<(), CliError> {
    fs::write(file, format!("{document:#}\n")).map_err(|error| unwritable(file, &error))
}

fn unreadable(file: &Path, error: &io::Error) -> CliError {
    CliError::new(Exit::Config, format_args!("{} cannot be copied: {error}", file.display()))
}

fn unwritable(path: &Path, error: &io::Error) -> CliError {
    CliError::new(Exit::DataDir, format_args!("{} cannot be written: {error}", path.display()))
}

#[cfg(test)]
mod tests;
