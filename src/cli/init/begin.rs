//! `electd init --join`: a cluster of this host, which others join.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use electd_facts::hint::quoted;
use serde_json::{Value, json};

use super::{InitArgs, refused};
use crate::cli::certificates::{self, FOLDER, OWN};
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::files::{OPEN_FOLDER, make_folder, write_open};
use crate::cli::invite::{JoinPort, VALID, invite};
use crate::cli::join::{judge_name, own_host, own_name, run_line};
use crate::cli::{args, print, unit};
use crate::config;
use crate::core::types::Role;

/// The keys of a file that is the same on all hosts: each has its own certificate at the same place.
pub fn keys(init: &InitArgs) -> Option<[(&'static str, Value); 2]> {
    init.join?;
    let path = |name: &str| format!("{FOLDER}/{OWN}/{name}");
    let files = json!({ "ca": path("ca.pem"), "cert": path("cert.pem"), "key": path("key.pem") });
    Some([("tls", files), ("admin_tls", true.into())])
}

/// Writes the file and the certificates, starts the node where systemd has its unit, and lets hosts join.
pub fn run(mut init: InitArgs, hosts: u8) -> Result<(), CliError> {
    let usage = |what: String| CliError::new(Exit::Usage, what);
    if init.member.is_empty() {
        let host = own_host().map_err(|error| {
            usage(format!(
                "this host has no address towards others: {error}: give --member NAME=HOST"
            ))
        })?;
        init.member
            .push(super::parse(&format!("{}={host}", own_name()), Role::Member).map_err(usage)?);
    }
    let [member] = &init.member[..] else {
        return Err(usage("--join begins with one member, this host: the others join".to_owned()));
    };
    let name = member.name.clone();
    judge_name(&name, "--member NAME=HOST").map_err(usage)?;
    let file = std::path::absolute(args::file(init.out.clone()))
        .map_err(|error| usage(error.to_string()))?;
    init.data_dir.get_or_insert_with(|| unit::data_dir(&file));
    let text = init.document()?;
    config::parse(&text, &file).map_err(|errors| CliError::new(Exit::Usage, errors))?;
    let door = JoinPort::open(&name, &member.address.to_string())?;
    let missing: Vec<&Path> = file.ancestors().skip(1).take_while(|it| !it.exists()).collect();
    for folder in missing.into_iter().rev() {
        make_folder(folder, OPEN_FOLDER).map_err(|error| refused(&file, &error))?;
    }
    write_open(&file, &text).map_err(|error| refused(&file, &error))?;
    let owns = [(OWN, name.as_str())].into_iter();
    let written = certificates::write(&file, &init.cluster, owns);
    let folder = written.inspect_err(|_| _ = fs::remove_file(&file))?;
    // The node's user has to pass to its own folder; ca-key.pem stays that of this user alone.
    fs::set_permissions(&folder, Permissions::from_mode(0o711))
        .map_err(|error| refused(&folder, &error))?;
    let config = config::load(&file)?;
    print::message(&format!(
        "wrote {} and {}: {name} at {} is the first member of {}; the authority's key, ca-key.pem, stays on this host",
        file.display(),
        folder.display(),
        config.member(&name).map_or("", |member| &member.address),
        config.cluster
    ));
    let started = unit::start(&file, &name).map_err(|error| {
        let invite = format!("`electd invite --hosts {hosts} --config {}`", quoted(&file));
        CliError::new(error.exit, format!("{}; then {invite} lets hosts join", error.message))
    })?;
    match started {
        Some(unit) => print::message(&format!("{unit} runs")),
        None => print::message(&format!(
            "start the node in another terminal: {}",
            run_line(&file, &name)
        )),
    }
    invite(config, &name, hosts, VALID, door)
}
