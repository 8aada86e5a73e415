//! The unit of the member of this host, where systemd runs and has it.

use std::fs;
use std::io;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Command, Stdio};

use electd_facts::hint::unit;
use nix::unistd::User;

use super::certificates::{FOLDER, OWN};
use super::error::CliError;
use super::exit::Exit;

/// The user that the unit runs as.
const USER: &str = "electd";

/// The folder of the state: that of the packaged unit, apart for each of several clusters of one host.
pub fn data_dir(file: &Path) -> String {
    let cluster = unit(file, "").and_then(|(_, cluster)| cluster);
    cluster.map_or("/var/lib/electd".to_owned(), |cluster| format!("/var/lib/electd/{cluster}"))
}

/// Enables the unit and starts it, once its user may read the certificate. None where there is no systemd, or it has no
/// unit for this file.
///
/// # Errors
/// 70, if that fails.
pub fn start(file: &Path, member: &str) -> Result<Option<String>, CliError> {
    let Some((unit, cluster)) = unit(file, member) else { return Ok(None) };
    if !Path::new("/run/systemd/system").is_dir() || !systemctl(&["cat", &unit]) {
        return Ok(None);
    }
    let failed = |error: &dyn std::fmt::Display| {
        let what = format!("{unit} cannot be started: {error}: see `systemctl status {unit}`");
        CliError::new(Exit::Internal, what)
    };
    give(&file.with_file_name(FOLDER).join(OWN)).map_err(|error| failed(&error))?;
    if cluster.is_some() {
        let env = file.with_file_name("env");
        let kept = match fs::read_to_string(&env) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| failed(&error))?,
        };
        let kept = kept.lines().filter(|line| !line.starts_with("ELECTD_NODE="));
        let text: String = kept.map(|line| format!("{line}\n")).collect();
        fs::write(env, format!("{text}ELECTD_NODE={member}\n")).map_err(|error| failed(&error))?;
    }
    if systemctl(&["enable", "--now", &unit]) {
        return Ok(Some(unit));
    }
    Err(failed(&"systemctl enable --now failed"))
}

/// Gives the folder and its files to the user of the unit.
fn give(own: &Path) -> io::Result<()> {
    let user = User::from_name(USER)?;
    let user = user.ok_or_else(|| io::Error::other(format!("there is no user {USER}")))?;
    let (uid, gid) = (Some(user.uid.as_raw()), Some(user.gid.as_raw()));
    for file in fs::read_dir(own)? {
        chown(file?.path(), uid, gid)?;
    }
    chown(own, uid, gid)
}

fn systemctl(args: &[&str]) -> bool {
    let mut command = Command::new("systemctl");
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_at_its_place_has_a_unit_and_a_folder_for_the_state() {
        let of = |file: &str| {
            let unit = unit(Path::new(file), "a").map(|(unit, _)| unit);
            (unit, data_dir(Path::new(file)))
        };
        let main = (Some("electd@a".to_owned()), "/var/lib/electd".to_owned());
        assert_eq!(of("/etc/electd/cluster.json"), main);
        let one = (Some("electd-cluster@billing".to_owned()), "/var/lib/electd/billing".to_owned());
        assert_eq!(of("/etc/electd/billing/cluster.json"), one);
        for other in ["/etc/electd/a/b/cluster.json", "/etc/electd/c.json", "cluster.json"] {
            assert_eq!(of(other), (None, "/var/lib/electd".to_owned()), "{other}");
        }
    }
}
