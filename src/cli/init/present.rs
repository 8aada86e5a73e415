//! A file that exists already, compared with what `init` would write.

use std::path::Path;

use super::InitArgs;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::config::{self, Config, MemberConfig};
use crate::core::address::HostPort;

/// That this file says what is asked for: the name of the cluster, its members, and each option that is given. What else
/// it says is its own.
///
/// # Errors
/// 78, if it cannot be used, or says something else; with all that differs.
pub fn compare(init: &InitArgs, file: &Path) -> Result<(), CliError> {
    let wanted = config::parse(&init.document()?, file)
        .map_err(|errors| CliError::new(Exit::Usage, errors))?;
    let found = config::load(file)?;
    let differing = differences(init, &wanted, &found);
    if differing.is_empty() {
        return Ok(());
    }
    let what = format!(
        "{} exists, and is not what is asked for: {}. Ask for what it says, or move it away; a cluster that runs changes \
         its members by `electd member`",
        file.display(),
        differing.join("; ")
    );
    Err(CliError::new(Exit::Config, what))
}

fn differences(init: &InitArgs, wanted: &Config, found: &Config) -> Vec<String> {
    let values = |config: &Config| {
        [
            ("cluster", true, config.cluster.clone()),
            ("quorum", init.quorum.is_some(), config.quorum.name().to_owned()),
            ("preempt", init.preempt.is_some(), config.preempt.to_string()),
            ("data_dir", init.data_dir.is_some(), config.data_dir.display().to_string()),
            (
                "timing.failure",
                init.timing.failure().is_some(),
                format!("{:?}", config.timing.failure),
            ),
        ]
    };
    let keys = values(wanted).into_iter().zip(values(found));
    let keys = keys.filter(|((_, is_given, wanted), (.., found))| *is_given && wanted != found);
    let keys = keys.map(|((key, _, wanted), (.., found))| differs(key, &found, &wanted));
    let of_member = |member: &MemberConfig| match found.member(&member.name) {
        Some(found) => of_member(member, found),
        None => vec![format!("it has no member {}", member.name)],
    };
    let more = found.members.iter().filter(|member| wanted.member(&member.name).is_none());
    let more = more.map(|member| format!("it has the member {}", member.name));
    keys.chain(wanted.members.iter().flat_map(of_member)).chain(more).collect()
}

fn of_member(wanted: &MemberConfig, found: &MemberConfig) -> Vec<String> {
    let name = &wanted.name;
    let is_same = |one: &str, other: &str| HostPort::parse(one) == HostPort::parse(other);
    let mut differing = Vec::new();
    if !is_same(&wanted.address, &found.address) {
        let key = format!("the address of {name}");
        differing.push(differs(&key, &found.address, &wanted.address));
    }
    let [admin, theirs] = [wanted, found].map(|it| it.admin.as_deref().unwrap_or("none"));
    if !is_same(admin, theirs) {
        differing.push(differs(&format!("the admin address of {name}"), theirs, admin));
    }
    if wanted.role != found.role {
        let key = format!("the role of {name}");
        differing.push(differs(&key, found.role.name(), wanted.role.name()));
    }
    if wanted.tls.is_some() && found.tls.is_none() {
        differing.push(format!("{name} has no `tls`"));
    }
    differing
}

fn differs(key: &str, found: &str, wanted: &str) -> String {
    format!("{key} is {found}, not {wanted}")
}
