//! What `electd check` says of a file, of a node and of its host, line by line.

use super::HostFindings;
use crate::cli::meaning::{preemption, ranking};
use crate::cli::{crowded, look};
use crate::config::{Config, HooksConfig};
use crate::exec::hooks::can_run;
use crate::node::certificates::Judged;
use crate::node::members::stored_against_file;
use crate::rank::{Finding, Sample, SampleResult};

/// How a line begins that needs attention.
const WARNING: &str = "WARNING: ";

/// For people.
pub(super) fn summary(config: &Config, found: Option<&HostFindings>) -> String {
    let lines = lines(config, found);
    lines.iter().map(|(key, value)| format!("{key:<10} {value}\n")).collect()
}

/// What needs attention, for programs.
pub(super) fn warnings(
    config: &Config,
    found: Option<&HostFindings>,
    certificates: &[Judged],
) -> Vec<String> {
    let lines = lines(config, found);
    let warnings =
        lines.iter().filter_map(|(key, value)| Some((key, value.strip_prefix(WARNING)?)));
    // The file's own say where they are from.
    let warnings = warnings.map(|(key, warning)| match *key {
        "file" => warning.to_owned(),
        key => format!("{key}: {warning}"),
    });
    let certificates = certificates.iter().flat_map(|judged| {
        let of_member = |warning: String| format!("certificate of {}: {warning}", judged.member);
        judged.warnings().into_iter().map(of_member)
    });
    warnings.chain(certificates).collect()
}

/// What is to be said, each with the key that it is about. What needs attention begins with [`WARNING`].
fn lines(config: &Config, found: Option<&HostFindings>) -> Vec<(&'static str, String)> {
    let node = found.map(|found| found.node);
    let checked = config.members.iter().filter(|member| member.health.is_some()).count();
    let mut lines = vec![
        ("cluster", config.cluster.clone()),
        ("quorum", config.quorum.name().to_owned()),
        ("algorithm", config.algorithm.name().to_owned()),
        ("preempt", preemption(config.preempt)),
        ("rank", ranking(config)),
        ("data_dir", config.data_dir.display().to_string()),
    ];
    lines.extend(config.warnings.iter().map(|warning| ("file", format!("{WARNING}{warning}"))));
    if checked > 0 {
        let all = config.members.len();
        lines.push(("health", format!("{checked} of {all} members have a health check")));
    }
    let addresses = config.members.iter().map(|member| member.address.as_str());
    lines.extend(crowded::words(addresses).map(|warning| ("hosts", warning)));
    if let Some(node) = node {
        let state = config.state_dir(&node.name);
        lines.push(("node", format!("{}, its state in {}", node.name, state.display())));
    }
    if let Some(differs) = node.and_then(|node| stored_against_file(config, node)) {
        lines.push(("its list", differs));
    }
    if let Some(found) = found {
        lines.push(("asked as", found.asker.words()));
        lines.push(("its rank", rank_words(&found.sample)));
        if let Some(health) = &found.node.health {
            lines.push(("its check", health.to_string()));
        }
        lines.extend(found.health.iter().map(|health| ("its health", health_words(health))));
        lines.extend(found.node.hooks.as_ref().map(|hooks| ("its hook", hook_words(hooks))));
        lines.extend(found.urgent.words().map(|words| ("real time", words)));
        lines.push(("its disk", found.disk_words(config)));
        lines.extend(look::problem(config).map(|words| ("its jobs", words)));
        lines.extend(found.hidden.iter().map(|why| ("its address", format!("{WARNING}{why}"))));
        lines.extend(found.clocks.iter().map(|why| ("clocks", format!("{WARNING}{why}"))));
        lines.extend(found.unresolved.iter().map(|unresolved| ("its peers", unresolved.words())));
    }
    lines
}

/// The sample, in words.
pub(super) fn rank_words(sample: &SampleResult) -> String {
    match sample {
        Ok(Sample { value, from }) => format!("{value} ({from})"),
        Err(why) => format!("{WARNING}none: {why}; without one it is not eligible"),
    }
}

/// The result of the health check, in words.
pub(super) fn health_words(found: &Finding) -> String {
    match (&found.failure, found.output.as_str()) {
        (Some(why), _) => format!("{WARNING}fails: {why}; unhealthy, a node does not lead"),
        (None, "") => "passes".to_owned(),
        (None, output) => format!("passes: {output}"),
    }
}

/// The hook, which no check runs.
fn hook_words(hooks: &HooksConfig) -> String {
    let program = hooks.program.display();
    if can_run(&hooks.program) {
        program.to_string()
    } else {
        format!("{WARNING}{program} is not on this host, or this user may not run it")
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::cli::check::tests::{config, found, without_jobs};
    use crate::core::types::Role;

    /// Without that of a host that is slow.
    pub(in crate::cli::check) fn without_job(warnings: &mut Vec<Value>) {
        warnings.retain(|warning| !warning.as_str().unwrap().starts_with("its jobs: "));
    }

    #[test]
    fn programs_are_warned_of_all_that_people_are_warned_of() {
        let config = config(51);
        let clocks = Some("the clock of b is ahead".to_owned());
        let found = HostFindings { clocks, ..found(&config, Ok(Duration::from_secs(9))) };
        let shown = summary(&config, Some(&found));
        let mut warned = json!(warnings(&config, Some(&found), &[]));
        without_job(warned.as_array_mut().unwrap());
        let count = without_jobs(&shown).matches("WARNING: ").count();
        assert_eq!(warned.as_array().unwrap().len(), count, "{shown}{warned:#}");
        for kind in [
            "trust_refused has",
            "hosts: ",
            "its rank: none",
            "its hook: ",
            "its disk: ",
            "its address: ",
            "clocks: the clock of b is ahead",
        ] {
            assert!(
                warned.as_array().unwrap().iter().any(|it| it.as_str().unwrap().starts_with(kind)),
                "{warned:#}"
            );
        }
    }

    #[test]
    fn a_member_that_could_never_lead_is_told_from_one_that_is_ill_just_now() {
        let mut config = config(3);
        config.members[0].health = None;
        let lacking = |config: &Config, sample: SampleResult| {
            HostFindings { sample, ..found(config, Ok(Duration::ZERO)) }.could_never_lead()
        };
        let ranked = || Ok(Sample { value: 7, from: "x".to_owned() });
        assert_eq!(lacking(&config, ranked()), None);
        let why = "n1 could not lead: it has no rank: no file";
        assert_eq!(lacking(&config, Err("no file".to_owned())).as_deref(), Some(why));
        config.members[0].health = config.members[1].health.clone();
        let why = "n1 could not lead: its health check, /no/check, cannot be run here";
        assert_eq!(lacking(&config, ranked()).as_deref(), Some(why));
        config.members[0].health.as_mut().unwrap().program = "false".into();
        assert_eq!(lacking(&config, ranked()), None, "it may pass later");
        config.members[0].role = Role::Witness;
        assert_eq!(lacking(&config, Err("no file".to_owned())), None, "nor is it to lead");
    }
}
