//! The alert rules of examples/prometheus are made of the kinds of problems: each kind fires one alert.
//! `ELECTD_TEST_WRITE=1` rewrites the file.

use std::fmt::Write;

use super::super::ProblemKind;

const RULES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/prometheus/electd-rules.yml");

/// How an alert is written.
struct Rule {
    name: &'static str,
    expr: String,
    after: &'static str,
    severity: &'static str,
    summary: String,
    description: String,
}

/// Of the cluster as a whole: what no single node can know of itself.
fn of_the_cluster() -> Vec<Rule> {
    let rule = |name, expr: &str, after, severity, summary: &str, description: &str| Rule {
        name,
        expr: expr.to_owned(),
        after,
        severity,
        summary: summary.to_owned(),
        description: description.to_owned(),
    };
    vec![
        rule(
            "ElectdNoLeader",
            "max by (cluster) (electd_has_leader) == 0 or sum by (cluster) (up{job=\"electd\"}) == 0",
            "10s",
            "critical",
            "Nobody leads {{ $labels.cluster }}",
            "`electd status` names what has to be done.",
        ),
        rule(
            "ElectdTwoLeaders",
            "sum by (cluster) (electd_is_leader) > 1",
            "15s",
            "critical",
            "{{ $value }} members lead {{ $labels.cluster }}",
            "With quorum none each side of a partition has a leader. Mend the network.",
        ),
        rule(
            "ElectdMemberDown",
            "up{job=\"electd\"} == 0",
            "1m",
            "warning",
            "{{ $labels.instance }} of {{ $labels.cluster }} does not answer",
            "Start the member, or look at its host.",
        ),
        rule(
            "ElectdPaused",
            "max by (cluster) (electd_paused) == 1",
            "2h",
            "warning",
            "{{ $labels.cluster }} has been paused for two hours",
            "Nobody preempts its leader, and its health check does not end its leadership. `electd resume` ends the pause.",
        ),
        rule(
            "ElectdFlapping",
            "max by (cluster) (increase(electd_leader_changes_total[10m])) > 5",
            "0s",
            "warning",
            "The leader of {{ $labels.cluster }} changes again and again",
            "`electd watch --leaders --since 1h` says why each time.",
        ),
    ]
}

/// The name of the alert on a kind of problem, and its summary.
fn words(kind: ProblemKind) -> (&'static str, &'static str) {
    use ProblemKind as Kind;
    match kind {
        Kind::Storage => ("ElectdStorage", "NODE cannot write its state"),
        Kind::Rank => ("ElectdRank", "NODE has no rank, and does not lead"),
        Kind::Health => {
            ("ElectdUnhealthy", "NODE is unhealthy, and does not lead while another can")
        }
        Kind::Address => ("ElectdAddress", "The others cannot dial NODE"),
        Kind::Job => ("ElectdJob", "The job of NODE failed"),
        Kind::PeerDown => ("ElectdPeerDown", "A member of CLUSTER is not heard by another"),
        Kind::CutOff => ("ElectdCutOff", "NODE hears nobody: it is probably cut off"),
        Kind::Rejected => ("ElectdRejected", "NODE and another member refuse each other"),
        Kind::Stalled => ("ElectdStalled", "NODE stalls"),
        Kind::Realtime => ("ElectdRealtime", "NODE runs without its real-time scheduling"),
        Kind::QuorumMargin => ("ElectdNoFailureTolerated", "The next failure stops CLUSTER"),
        Kind::ConfigDiffers => (
            "ElectdConfigDiffers",
            "NODE runs with another file than the others, or with an old one",
        ),
        Kind::Certificate => {
            ("ElectdCertificate", "The certificate of NODE ends soon, or cannot be used")
        }
        Kind::Coroner => ("ElectdCoroner", "A crash of NODE would not be certified"),
    }
}

/// The alert on a kind of problem.
fn of(kind: ProblemKind) -> Rule {
    let filled = |text: &str| {
        text.replace("NODE", "{{ $labels.instance }}").replace("CLUSTER", "{{ $labels.cluster }}")
    };
    let (name, summary) = words(kind);
    let expr = match kind {
        // Who is cut off, or whose metrics cannot be scraped, has an alert already.
        ProblemKind::PeerDown => "max by (cluster) (electd_problems{kind=\"peer_down\"}) > 0 unless on (cluster) \
                                  (electd_problems{kind=\"cut_off\"} > 0) unless on (cluster) (up{job=\"electd\"} == 0)"
            .to_owned(),
        // As the leader knows it: a node that is cut off counts what it hears alone.
        ProblemKind::QuorumMargin => "max by (cluster) (electd_failures_tolerated) == 0 and max by (cluster) \
                                      (electd_has_leader) > 0"
            .to_owned(),
        kind => format!("electd_problems{{kind=\"{}\"}} > 0", kind.name()),
    };
    let is_of_cluster = matches!(kind, ProblemKind::PeerDown | ProblemKind::QuorumMargin);
    let subject = if is_of_cluster { "CLUSTER" } else { "NODE of CLUSTER" };
    let (after, severity) = match kind {
        ProblemKind::Storage => ("10s", "critical"),
        _ => ("1m", "warning"),
    };
    let description = format!("{}: {}.", filled(subject), kind.remedy());
    Rule { name, expr, after, severity, summary: filled(summary), description }
}

fn rules() -> String {
    let mut text = "# Alerts on a cluster, and on each kind of problem that a node reports: one for each.\n\
                    # Made by the tests of src/facts of the kinds: ELECTD_TEST_WRITE=1 cargo test -p electd-facts\n\
                    groups:\n  - name: electd\n    rules:\n"
        .to_owned();
    let kinds = ProblemKind::ALL.iter().copied().map(of);
    for Rule { name, expr, after, severity, summary, description } in
        of_the_cluster().into_iter().chain(kinds)
    {
        let quoted = |text: &str| format!("{text:?}");
        let _ = write!(
            text,
            "      - alert: {name}\n        expr: {expr}\n        for: {after}\n        labels: {{severity: {severity}}}\n\
             \x20       annotations:\n          summary: {}\n          description: {}\n",
            quoted(&summary),
            quoted(&description)
        );
    }
    text
}

#[test]
fn the_rules_of_the_example_are_those_of_the_kinds() {
    let made = rules();
    if std::env::var_os("ELECTD_TEST_WRITE").is_some() {
        std::fs::write(RULES, &made).unwrap();
    }
    let kept = std::fs::read_to_string(RULES).unwrap();
    assert!(
        kept == made,
        "run ELECTD_TEST_WRITE=1 cargo test -p electd-facts, and look at the change"
    );
}

/// No two kinds share an alert, and what each alerts on is its own metric.
#[test]
fn each_kind_fires_an_alert_of_its_own() {
    let mut names: Vec<&str> = ProblemKind::ALL.iter().map(|kind| of(*kind).name).collect();
    names.extend(of_the_cluster().iter().map(|rule| rule.name));
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
    for kind in ProblemKind::ALL.iter().filter(|kind| **kind != ProblemKind::QuorumMargin) {
        assert!(of(*kind).expr.contains(&format!("kind=\"{}\"", kind.name())), "{kind:?}");
    }
}
