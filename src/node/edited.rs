//! Compares the configuration that a node runs with to its file, which may have been edited since.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::members;
use super::publish::Published;
use electd_facts::hint::Hint;

use crate::config::{self, Config, HealthConfig};
use crate::core::settings::Alone;

/// The configuration that counts at present: as the node was started with it, and what a reload changed.
pub type PresentConfig = Arc<Mutex<Config>>;

/// Checks the file regularly, and reads it when it has changed.
pub(super) struct Edited {
    present: PresentConfig,
    name: String,
    /// The file as it was when it was looked at last.
    seen: Option<FileStamp>,
    /// The present content of the file.
    found: Option<Result<Config, String>>,
}

/// The properties that distinguish a file from a later version: its inode, its length, and the time of
/// its last change.
type FileStamp = (u64, u64, (i64, i64));

impl Edited {
    /// Of the node of this name.
    pub fn new(present: PresentConfig, name: &str) -> Edited {
        let seen = stamp(&present.lock().file);
        Edited { present, name: name.to_owned(), seen, found: None }
    }

    /// How the file differs from the running configuration, in words, and what to do; none if it does
    /// not. From now on the running list is compared with the members in this file.
    pub fn look(&mut self, published: &Published) -> Option<String> {
        let present = self.present.lock().clone();
        let now = stamp(&present.file);
        if now != self.seen {
            self.seen = now;
            let found = config::load(&present.file).map_err(|errors| errors.to_string());
            if let Ok(config) = &found {
                published.file_lists(Arc::new(members::of_file(config)));
            }
            self.found = Some(found);
        }
        let file = present.file.display();
        match self.found.as_ref()? {
            Err(errors) => {
                let first = errors.lines().next().unwrap_or_default();
                Some(format!(
                    "the file was edited and cannot be used: {first}; {} says all",
                    Hint::Check.by(&members::flags_for(&present.file))
                ))
            }
            Ok(found) => differences(&present, found, &self.name)
                .map(|what| format!("{file} was edited, and not all of it is taken: {what}")),
        }
    }
}

fn stamp(file: &Path) -> Option<FileStamp> {
    let found = fs::metadata(file).ok()?;
    Some((found.ino(), found.len(), (found.mtime(), found.mtime_nsec())))
}

/// The keys that a reload would take, and those that need a restart.
fn differences(present: &Config, found: &Config, name: &str) -> Option<String> {
    if found.member(name).is_none() {
        return Some(format!("it lists no member \"{name}\" any more, so a reload refuses it"));
    }
    let of = |config: &Config| config.member(name).map(|own| own.rank.clone());
    let reload = Hint::Reload.by(&members::flags_for(&present.file));
    let mut parts = Vec::new();
    if present.rank == found.rank && of(present) != of(found) {
        parts.push(format!("{reload} takes the rank"));
    }
    let hooks = |config: &Config| config.member(name).map(|own| own.hooks.clone());
    if hooks(present) != hooks(found) {
        parts.push(format!("{reload} takes the hooks"));
    }
    if is_timed_otherwise(present, found) {
        parts.push(format!("{reload} takes the timings"));
    }
    if present.locks != found.locks {
        parts.push(format!("{reload} takes the locks"));
    }
    if is_checked_otherwise(present, found, name) {
        parts.push(format!("{reload} takes the health check"));
    }
    let tls = |config: &Config| config.member(name).and_then(|own| own.tls.clone());
    if tls(present).is_some() && tls(found).is_some() && tls(present) != tls(found) {
        parts.push(format!("{reload} takes the certificates"));
    }
    let restart = needs_restart(present, found, name);
    if !restart.is_empty() {
        parts.push(format!("a restart of this node takes {}", restart.join(", ")));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Whether the health check differs in what a reload takes: all but what an unhealthy leader does alone.
#[must_use]
pub fn is_checked_otherwise(old: &Config, new: &Config, name: &str) -> bool {
    let health = |config: &Config| {
        let health = config.member(name)?.health.clone()?;
        Some(HealthConfig { alone: Alone::default(), ..health })
    };
    health(old) != health(new)
}

/// Whether the timings differ, so that a reload takes them. Timings for another quorum were not checked
/// by the rules of the present one.
#[must_use]
pub fn is_timed_otherwise(old: &Config, new: &Config) -> bool {
    old.timing != new.timing && old.quorum == new.quorum
}

/// The keys that differ and do not change while the node runs. The members are compared with the running list
/// instead.
#[must_use]
pub fn needs_restart(old: &Config, new: &Config, name: &str) -> Vec<&'static str> {
    // All keys are listed, so that the compiler asks what a reload does with a new one.
    let Config {
        cluster,
        quorum,
        data_dir,
        algorithm,
        preempt,
        rank,
        margin,
        trust_refused,
        realtime,
        control_group,
        admin_tls,
        admin_names,
        timing: _,  // there are cases
        locks: _,   // a reload takes them
        members: _, // this node's own are looked at one by one
        admin_token_file: _,
        file: _,
        node: _,
        warnings: _,
    } = new;
    let own = |config: &Config| {
        let own = config.member(name)?;
        Some((own.listen.clone(), own.admin.clone(), own.admin_listen.clone()))
    };
    let alone = |config: &Config| config.member(name)?.health.as_ref().map(|health| health.alone);
    let secured = |config: &Config| config.member(name).is_some_and(|own| own.tls.is_some());
    let differing = [
        ("cluster", old.cluster != *cluster),
        ("quorum", old.quorum != *quorum),
        ("data_dir", old.data_dir != *data_dir),
        ("algorithm", old.algorithm != *algorithm),
        ("preempt", old.preempt != *preempt),
        ("rank.by", old.rank != *rank),
        ("rank.margin", old.margin != *margin),
        ("timing", old.timing != new.timing && !is_timed_otherwise(old, new)),
        ("trust_refused", old.trust_refused != *trust_refused),
        ("realtime", old.realtime != *realtime),
        ("control_group", old.control_group != *control_group),
        ("health.alone", alone(old).unwrap_or_default() != alone(new).unwrap_or_default()),
        ("tls", secured(old) != secured(new)),
        ("admin_tls", old.admin_tls != *admin_tls),
        ("admin_names", old.admin_names != *admin_names),
        ("its listen or admin address", own(old) != own(new)),
    ];
    differing.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::core::settings::Quorum;
    use crate::tls::Files;

    const TEXT: &str = include_str!("../../conf/cluster.json");

    fn read(text: &str) -> Config {
        config::parse(text, Path::new("c.json")).unwrap()
    }

    /// The certificates in this folder.
    fn files(folder: &str) -> Files {
        let [ca, cert, key] = ["ca", "cert", "key"].map(|name| Path::new(folder).join(name));
        Files { ca, cert, key }
    }

    #[test]
    fn what_needs_a_restart_is_named() {
        let old = read(TEXT);
        assert_eq!(needs_restart(&old, &old, "node-1"), [""; 0]);
        let mut new = old.clone();
        new.timing.failure *= 2;
        new.members[0].address = "127.0.0.9:1".to_owned();
        new.members[1].admin = None;
        assert_eq!(needs_restart(&old, &new, "node-1"), [""; 0]);
        new.quorum = Quorum::Majority;
        assert_eq!(needs_restart(&old, &new, "node-1"), ["quorum", "timing"]);
    }

    #[test]
    fn each_key_that_a_reload_does_not_take_is_named() {
        use crate::core::settings::{AlgorithmKind, Margin, Preempt, RankKind};

        let old = read(TEXT);
        let named = |change: fn(&mut Config)| {
            let mut new = old.clone();
            change(&mut new);
            needs_restart(&old, &new, "node-1")
        };
        assert_eq!(named(|new| new.cluster += "x"), ["cluster"]);
        assert_eq!(named(|new| new.data_dir.push("x")), ["data_dir"]);
        assert_eq!(named(|new| new.algorithm = AlgorithmKind::Ring), ["algorithm"]);
        assert_eq!(named(|new| new.preempt = Preempt::Never), ["preempt"]);
        assert_eq!(named(|new| new.trust_refused = !new.trust_refused), ["trust_refused"]);
        assert_eq!(named(|new| new.realtime = !new.realtime), ["realtime"]);
        assert_eq!(named(|new| new.control_group = Some("x".to_owned())), ["control_group"]);
        assert_eq!(named(|new| new.admin_tls = !new.admin_tls), ["admin_tls"]);
        assert_eq!(named(|new| new.admin_names.push("x".to_owned())), ["admin_names"]);
        assert_eq!(named(|new| new.rank = RankKind::Cpu), ["rank.by"]);
        assert_eq!(named(|new| new.margin = Margin::Percent(5)), ["rank.margin"]);
        assert_eq!(named(|new| new.members[0].tls = Some(files("a"))), ["tls"]);
        assert_eq!(named(|new| new.members[1].tls = Some(files("a"))), [""; 0], "of another");
        assert_eq!(named(|new| new.members[0].admin = None), ["its listen or admin address"]);
        let elsewhere =
            |new: &mut Config| new.members[0].admin_listen = Some("0.0.0.0:1".to_owned());
        assert_eq!(named(elsewhere), ["its listen or admin address"]);
        assert_eq!(named(|new| new.members[0].listen += "0"), ["its listen or admin address"]);
    }

    #[test]
    fn of_a_health_check_only_what_is_done_alone_needs_a_restart() {
        let old = read(TEXT);
        let with = |health: &str| {
            let text = TEXT.replacen('{', &format!("{{\"health\": {health}, "), 1);
            read(&text)
        };
        let (check, other) = (with(r#"{"command": ["true"]}"#), with(r#"{"command": ["false"]}"#));
        let alone = with(r#"{"command": ["true"], "alone": "step-down"}"#);
        let reload = Some("`electd reload` takes the health check".to_owned());
        for (old, new) in [(&old, &check), (&check, &other), (&other, &old)] {
            assert_eq!(differences(old, new, "node-1"), reload);
        }
        let restart = Some("a restart of this node takes health.alone".to_owned());
        assert_eq!(differences(&check, &alone, "node-1"), restart);
    }

    #[test]
    fn an_edited_file_is_told_until_all_of_it_counts() {
        let old = read(TEXT);
        let mut new = old.clone();
        new.members[0].address = "127.0.0.9:1".to_owned();
        assert_eq!(differences(&old, &new, "node-1"), None, "another problem tells of members");
        new.members[0].rank.every *= 2;
        let rank = "`electd reload` takes the rank";
        assert_eq!(differences(&old, &new, "node-1").as_deref(), Some(rank));
        assert_eq!(differences(&old, &new, "node-2"), None, "the rank of another");
        new.timing.failure *= 2;
        let both = format!("{rank}; `electd reload` takes the timings");
        assert_eq!(differences(&old, &new, "node-1"), Some(both));
        new.members.remove(0);
        let gone = "it lists no member \"node-1\" any more, so a reload refuses it";
        assert_eq!(differences(&old, &new, "node-1").as_deref(), Some(gone));
    }

    #[test]
    fn hooks_and_certificates_that_differ_are_taken_by_a_reload() {
        let hooked = TEXT.replacen('{', r#"{"hooks": {"on_change": ["true"]}, "#, 1);
        let told = differences(&read(TEXT), &read(&hooked), "node-1");
        assert_eq!(told.as_deref(), Some("`electd reload` takes the hooks"));
        let with = |name: &str| {
            let mut config = read(TEXT);
            config.members[0].tls = Some(files(name));
            config
        };
        let told = differences(&with("a"), &with("b"), "node-1");
        assert_eq!(told.as_deref(), Some("`electd reload` takes the certificates"));
        assert_eq!(differences(&with("a"), &with("a"), "node-1"), None);
        let told = differences(&with("a"), &read(TEXT), "node-1");
        assert_eq!(told.as_deref(), Some("a restart of this node takes tls"));
    }

    #[test]
    fn a_rank_by_another_attribute_and_all_that_a_restart_takes_are_told_together() {
        use crate::core::settings::RankKind;

        let old = read(TEXT);
        let mut new = old.clone();
        new.rank = RankKind::Cpu;
        new.members[0].rank.every *= 2;
        new.cluster += "x";
        new.timing.failure *= 2;
        new.members[0].tls = Some(files("a"));
        let told =
            "`electd reload` takes the timings; a restart of this node takes cluster, rank.by, tls";
        assert_eq!(differences(&old, &new, "node-1").as_deref(), Some(told));
    }

    #[test]
    fn a_file_is_read_again_whenever_it_changed() {
        use crate::node::publish::tests::published;

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.json");
        let write = |text: &str| {
            let fresh = folder.path().join("fresh");
            fs::write(&fresh, text).unwrap();
            fs::rename(fresh, &file).unwrap();
        };
        write(TEXT);
        let config = config::load(&file).unwrap();
        let present = PresentConfig::new(Mutex::new(config));
        let mut edited = Edited::new(present.clone(), "node-1");
        let published = published();
        let mut look = || edited.look(&published);
        assert_eq!(look(), None);
        write(TEXT);
        assert_eq!(look(), None, "it says the same");
        let other = TEXT.replacen('{', r#"{"hooks": {"on_change": ["true"]}, "#, 1);
        write(&other.replace("node-2", "node-x"));
        let differs = format!(
            "{0} was edited, and not all of it is taken: `electd reload --config {0}` takes the hooks",
            file.display()
        );
        assert_eq!((look(), look()), (Some(differs.clone()), Some(differs)));
        let told = published.status().differs_from_file.unwrap();
        let listed = " without node-1, node-x, node-3, node-4, node-5; ";
        assert!(told.contains(listed), "the members are compared with this file: {told}");
        *present.lock() = config::load(&file).unwrap();
        assert_eq!(look(), None, "a reload took it");
        write(r#"{"cluster": 1, "quorum": 2}"#);
        let errors = config::load(&file).unwrap_err().to_string();
        assert!(errors.lines().count() > 1, "{errors}");
        let first = errors.lines().next().unwrap();
        let begin = "the file was edited and cannot be used: ";
        assert_eq!(
            look(),
            Some(format!("{begin}{first}; `electd check --config {}` says all", file.display()))
        );
        fs::remove_file(&file).unwrap();
        assert!(look().is_some_and(|told| told.starts_with(begin)));
        write(TEXT);
        assert!(look().is_some_and(|told| told.contains("takes the hooks")));
    }
}
