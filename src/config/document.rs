//! The top level of the file: its keys, their defaults, and what they say about each other.

use std::path::Path;

use super::choices::{PREEMPTS, all, nearest};
use super::report::{Object, Report, Spot};
use super::types::{Config, MemberConfig};
use super::{health, hooks, locks, members, rank, timing, tls};
use electd_election::core::address::HostPort;
use electd_election::core::settings::{AlgorithmKind, Preempt, Quorum, Timing};
use electd_election::core::types::Role;
use electd_election::limits::is_cluster_name;

const KEYS: &[&str] = &[
    "cluster",
    "quorum",
    "data_dir",
    "members",
    "timing",
    "algorithm",
    "preempt",
    "rank",
    "trust_refused",
    "realtime",
    "node",
    "admin_token_file",
    "admin_tls",
    "admin_names",
    "hooks",
    "control_group",
    "health",
    "tls",
    "locks",
];

/// Reads the document; paths in it are relative to `folder`. Every key is read before the first
/// `?`, so that all problems are reported.
pub(super) fn read<'t>(root: &Spot<'t>, folder: &Path, report: &mut Report<'t>) -> Option<Config> {
    let top = Object::open(root, KEYS, report)?;
    let cluster = top.require("cluster", "name the cluster, such as \"demo\"", report);
    let cluster = cluster.and_then(|spot| cluster_name(spot, report));
    let quorum = top.require("quorum", "say what is guaranteed: \"none\" or \"majority\"", report);
    let quorum = quorum.and_then(|spot| report.choice(spot, &all()));
    let data_dir =
        top.require("data_dir", "name the folder of the state, such as \"data\"", report);
    let data_dir = data_dir.and_then(|spot| report.path(spot, folder));
    let rank = rank::cluster(top.get("rank"), folder, report);
    let listed = top.require("members", "list them, or let `electd init` write them", report);
    let members = listed.and_then(|spot| members::read(spot, rank.as_ref(), folder, report));
    let hooks = optional(top.get("hooks"), |spot| hooks::read(spot, folder, report));
    let health = optional(top.get("health"), |spot| health::read(spot, folder, report));
    let files = optional(top.get("tls"), |spot| tls::read(spot, folder, report));
    let timing = timing::read(top.get("timing"), quorum, report);
    let algorithm = optional(top.get("algorithm"), |spot| report.choice(spot, &all()));
    let preempt = optional(top.get("preempt"), |spot| preempt(spot, timing.as_ref(), report));
    let trust_refused = optional(top.get("trust_refused"), |spot| report.boolean(spot));
    let realtime = optional(top.get("realtime"), |spot| report.boolean(spot));
    let node = optional(top.get("node"), |spot| node(spot, members.as_deref(), report));
    let token = optional(top.get("admin_token_file"), |spot| report.path(spot, folder));
    let secured = optional(top.get("admin_tls"), |spot| report.boolean(spot));
    let names = optional(top.get("admin_names"), |spot| admin_names(spot, report));
    let known: Option<Vec<&str>> =
        members.as_ref().map(|members| members.iter().map(|member| member.name.as_str()).collect());
    let locks = optional(top.get("locks"), |spot| locks::read(spot, known.as_deref(), report));
    if let Some(spot) = top.get("locks").filter(|_| quorum == Some(Quorum::None)) {
        report.wrong(spot, "has no meaning with quorum \"none\"", "locks need \"majority\"");
    }
    let group = optional(top.get("control_group"), |spot| report.string(spot));
    let (quorum, hooks, health, files) = (quorum?, hooks?, health?, files?);
    let mut members = members?;
    for member in &mut members {
        member.hooks = member.hooks.take().or_else(|| hooks.clone());
        let for_all = health.clone().filter(|_| member.role == Role::Member); // the others never lead
        member.health = member.health.take().or(for_all);
        member.tls = member.tls.take().or_else(|| files.clone());
    }
    tls::check(&members, listed?, report);
    let admin_tls = secured?.unwrap_or(false);
    if let Some(spot) = top.get("admin_tls").filter(|_| admin_tls) {
        tls::check_admin(&members, spot, report);
    }
    let is_untrusted = quorum == Quorum::Majority && trust_refused?.is_some();
    let warnings =
        [is_untrusted.then_some(UNTRUSTED), unserved(&members, cfg!(any(feature = "http", test)))];
    Some(Config {
        file: std::path::PathBuf::new(), // `parse` knows it
        cluster: cluster?,
        quorum,
        data_dir: data_dir?,
        algorithm: algorithm?.unwrap_or(AlgorithmKind::default()),
        preempt: preempt?.unwrap_or(Preempt::default()),
        margin: rank.as_ref()?.margin,
        rank: rank?.kind,
        timing: timing?,
        trust_refused: trust_refused?.unwrap_or(true) && quorum == Quorum::None,
        realtime: realtime?.unwrap_or(false),
        warnings: warnings.into_iter().flatten().map(str::to_owned).collect(),
        members,
        node: node?,
        admin_token_file: token?,
        admin_tls,
        admin_names: names?.unwrap_or_default(),
        control_group: group?,
        locks: locks?.unwrap_or_default(),
    })
}

/// That members have an `admin` which a build that serves no HTTP cannot offer: whoever asks there would take the node for
/// one that is down.
fn unserved(members: &[MemberConfig], serves_http: bool) -> Option<&'static str> {
    let is_asked = members.iter().any(|member| member.admin.is_some());
    (is_asked && !serves_http).then_some(UNSERVED)
}

const UNSERVED: &str = "this build serves no HTTP, so nobody answers at the `admin` of its member: build electd with its \
     feature `http`";

/// A firewall can refuse in place of a process that lives. A majority has the word of the dead process's host instead.
const UNTRUSTED: &str = "trust_refused has no effect with a majority, where a refused connection frees no promise and a \
     death is certified: remove the key";

/// `Some(None)` for a key that is not given, `None` for one that is wrong and was reported.
#[allow(clippy::option_option)]
fn optional<'s, 't, T>(
    spot: Option<&'s Spot<'t>>,
    read: impl FnOnce(&'s Spot<'t>) -> Option<T>,
) -> Option<Option<T>> {
    spot.map_or(Some(None), |spot| read(spot).map(Some))
}

fn cluster_name<'t>(spot: &Spot<'t>, report: &mut Report<'t>) -> Option<String> {
    let name = report.string(spot)?;
    if name.trim().is_empty() {
        report.wrong(spot, "is empty", "name the cluster, such as \"demo\"");
        return None;
    }
    if !is_cluster_name(&name) {
        let remedy = "use at most 63 characters on one line, no space at either end";
        report.wrong(spot, "is not a name", remedy);
        return None;
    }
    Some(name)
}

/// Names of a host, as a browser is given them: without a port.
fn admin_names<'t>(spot: &Spot<'t>, report: &mut Report<'t>) -> Option<Vec<String>> {
    let name = |spot: &Spot<'t>, report: &mut Report<'t>| {
        let name = report.string(spot)?;
        if HostPort::parse(&format!("{name}:1")).is_err() {
            let remedy = "list names without a port, such as [\"electd.example.com\"]";
            report.wrong(spot, "is no name of a host", remedy);
            return None;
        }
        Some(name)
    };
    let names: Vec<_> = report.list(spot)?.iter().map(|spot| name(spot, report)).collect();
    names.into_iter().collect()
}

/// A name, or how long a member must be eligible before it takes over: no shorter than the time to find
/// out whether it is.
fn preempt<'t>(
    spot: &Spot<'t>,
    timing: Option<&Timing>,
    report: &mut Report<'t>,
) -> Option<Preempt> {
    if spot.number().is_some() {
        let remedy = "use \"always\", \"never\" or {\"after\": \"30s\"}";
        report.wrong(spot, "is a number, not a word", remedy);
        return None;
    }
    if !spot.is_object() {
        return report.choice(spot, PREEMPTS);
    }
    let remedy = "say for how long a member is eligible before it takes over, such as \"30s\"";
    let object = Object::open(spot, &["after"], report)?;
    let after = object.require("after", remedy, report)?;
    let time = timing::duration(after, timing::SHORTEST, report)?;
    match timing {
        Some(Timing { failure, .. }) if time < *failure => {
            let what = format!("after {time:?} is under failure {failure:?}");
            report.wrong(after, what, format!("give at least \"{failure:?}\""));
            None
        }
        _ => Some(Preempt::After(time)),
    }
}

fn node<'t>(
    spot: &Spot<'t>,
    members: Option<&[MemberConfig]>,
    report: &mut Report<'t>,
) -> Option<String> {
    let name = report.string(spot)?;
    // Without a valid list there is nothing to compare with, and its own problems come first.
    let Some(members) = members else {
        return Some(name);
    };
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    if names.contains(&name.as_str()) {
        return Some(name);
    }
    let remedy = match nearest(&name, &names) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("name one of {}", names.join(", ")),
    };
    report.wrong(spot, "is the name of no member", remedy);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `check` shows it, and a node logs it once as it starts, as all warnings of the file.
    #[test]
    fn an_admin_that_the_build_cannot_serve_is_a_warning() {
        let text = include_str!("../../conf/cluster.json");
        let mut config = super::super::parse(text, Path::new("/no/such/c.json")).unwrap();
        assert_eq!(unserved(&config.members, false), Some(UNSERVED));
        assert_eq!(unserved(&config.members, true), None);
        assert_eq!(
            config.warnings.contains(&UNSERVED.to_owned()),
            !cfg!(any(feature = "http", test))
        );
        config.members.iter_mut().for_each(|member| member.admin = None);
        assert_eq!(unserved(&config.members, false), None);
    }
}
