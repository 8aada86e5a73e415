//! The alert rules of examples/prometheus are made of the kinds of problems: each kind fires one alert.
//! `ELECTD_TEST_WRITE=1` rewrites the file.

use std::fmt::Write;

use super::super::ProblemKind as Kind;

const RULES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/prometheus/electd-rules.yml");

/// How an alert is written.
struct Rule {
    name: &'static str,
    expr: &'static str,
    after: &'static str,
    severity: &'static str,
    summary: &'static str,
    description: String,
}

/// Of the cluster as a whole: what no single node can know of itself.
fn of_the_cluster() -> Vec<Rule> {
    let rule = |name, expr, after, severity, summary, description: &str| Rule {
        name,
        expr,
        after,
        severity,
        summary,
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
            "With quorum none each side of a partition has a leader. Mend the network; `electd status` names which one to stop if \
             two at once do harm.",
        ),
        rule(
            "ElectdLockUnheld",
            "max by (cluster) (electd_locks_unheld) > 0 and on (cluster) max by (cluster) (electd_has_leader) == 1",
            "1m",
            "critical",
            "Nobody holds {{ $value }} locks of {{ $labels.cluster }} that are wanted",
            "`electd lock list` names them, and `electd why --lock NAME` says what to do.",
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
    ]
}

/// The alert on each kind of problem: its name, expression, how long that holds first, severity and summary.
const ALERTS: &[(Kind, &str, &str, &str, &str, &str)] = &[
    (
        Kind::Storage,
        "ElectdStorage",
        "electd_problems{kind=\"storage\"} > 0",
        "10s",
        "critical",
        "{{ $labels.instance }} cannot write its state",
    ),
    (
        Kind::Rank,
        "ElectdRank",
        "electd_problems{kind=\"rank\"} > 0",
        "1m",
        "warning",
        "{{ $labels.instance }} has no rank, and does not lead",
    ),
    (
        Kind::Health,
        "ElectdUnhealthy",
        "electd_problems{kind=\"health\"} > 0",
        "1m",
        "warning",
        "{{ $labels.instance }} is unhealthy, and does not lead while another can",
    ),
    (
        Kind::Address,
        "ElectdAddress",
        "electd_problems{kind=\"address\"} > 0",
        "1m",
        "warning",
        "The others cannot dial {{ $labels.instance }}",
    ),
    (
        Kind::Job,
        "ElectdJob",
        "electd_problems{kind=\"job\"} > 0",
        "1m",
        "warning",
        "The job of {{ $labels.instance }} failed",
    ),
    (
        Kind::Renewal,
        "ElectdRenewal",
        "electd_problems{kind=\"renewal\"} > 0",
        "0s",
        "warning",
        "A job of {{ $labels.instance }} was ended, as no renewal came in time",
    ),
    // A member that is cut off, or whose metrics cannot be scraped, has an alert already.
    (
        Kind::PeerDown,
        "ElectdPeerDown",
        "max by (cluster) (electd_problems{kind=\"peer_down\"}) > 0 unless on (cluster) \
        (electd_problems{kind=\"cut_off\"} > 0) unless on (cluster) (up{job=\"electd\"} == 0)",
        "1m",
        "warning",
        "A member of {{ $labels.cluster }} is not heard by another",
    ),
    (
        Kind::CutOff,
        "ElectdCutOff",
        "electd_problems{kind=\"cut_off\"} > 0",
        "1m",
        "warning",
        "{{ $labels.instance }} hears nobody: it is probably cut off",
    ),
    (
        Kind::Rejected,
        "ElectdRejected",
        "electd_problems{kind=\"rejected\"} > 0",
        "1m",
        "warning",
        "{{ $labels.instance }} and another member refuse each other",
    ),
    (
        Kind::Stalled,
        "ElectdStalled",
        "electd_problems{kind=\"stalled\"} > 0",
        "1m",
        "warning",
        "{{ $labels.instance }} stalls",
    ),
    (
        Kind::LeaderChanges,
        "ElectdFlapping",
        "max by (cluster) (electd_problems{kind=\"leader_changes\"}) > 0",
        "0s",
        "warning",
        "The leader of {{ $labels.cluster }} changes again and again",
    ),
    (
        Kind::Realtime,
        "ElectdRealtime",
        "electd_problems{kind=\"realtime\"} > 0",
        "1m",
        "warning",
        "{{ $labels.instance }} runs without its real-time scheduling",
    ),
    // As the leader knows it: a node that is cut off counts what it hears alone. A member that is missed, or that cannot
    // vote, has an alert already, and that no further one may fail follows from that; of two voters none ever may.
    (
        Kind::QuorumMargin,
        "ElectdNoFailureTolerated",
        "max by (cluster) (electd_failures_tolerated) == 0 and max by (cluster) (electd_has_leader) > 0 \
        unless max by (cluster) (electd_failures_tolerated_at_most) == 0 \
        unless on (cluster) (electd_problems{kind=~\"cut_off|peer_down|rejected|stalled|storage\"} > 0) \
        unless on (cluster) (up{job=\"electd\"} == 0)",
        "1m",
        "warning",
        "The next failure stops {{ $labels.cluster }}",
    ),
    (
        Kind::ConfigDiffers,
        "ElectdConfigDiffers",
        "electd_problems{kind=\"config_differs\"} > 0",
        "1m",
        "warning",
        "{{ $labels.instance }} runs with another file than the others, or with an old one",
    ),
    (
        Kind::Certificate,
        "ElectdCertificate",
        "electd_problems{kind=\"certificate\"} > 0",
        "1m",
        "warning",
        "The certificate of {{ $labels.instance }} ends soon, or cannot be used",
    ),
    (
        Kind::Coroner,
        "ElectdCoroner",
        "electd_problems{kind=\"coroner\"} > 0",
        "1m",
        "warning",
        "A crash of {{ $labels.instance }} would not be certified",
    ),
];

/// The alert on a kind of problem.
fn of(kind: Kind) -> Rule {
    let row = ALERTS.iter().find(|row| row.0 == kind);
    let &(_, name, expr, after, severity, summary) = row.expect("each kind has an alert");
    // That a member is missed, or that no other may fail, is told of the cluster.
    let is_of_cluster = matches!(kind, Kind::PeerDown | Kind::QuorumMargin | Kind::LeaderChanges);
    let of_node = "{{ $labels.instance }} of {{ $labels.cluster }}";
    let subject = if is_of_cluster { "{{ $labels.cluster }}" } else { of_node };
    let description = format!(
        "{subject}: {}.",
        kind.remedy(super::Subject::default(), &super::ClusterFlags::default())
    );
    Rule { name, expr, after, severity, summary, description }
}

fn rules() -> String {
    let mut text = "# Alerts on a cluster, and on each kind of problem that a node reports: one for each.\n\
                    # Made by the tests of src/facts of the kinds: ELECTD_TEST_WRITE=1 cargo test -p electd-facts\n\
                    groups:\n  - name: electd\n    rules:\n"
        .to_owned();
    let kinds = Kind::ALL.iter().copied().map(of);
    for Rule { name, expr, after, severity, summary, description } in
        of_the_cluster().into_iter().chain(kinds)
    {
        let quoted = |text: &str| format!("{text:?}");
        let _ = write!(
            text,
            "      - alert: {name}\n        expr: {expr}\n        for: {after}\n        labels: {{severity: {severity}}}\n\
             \x20       annotations:\n          summary: {}\n          description: {}\n",
            quoted(summary),
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
    let mut names: Vec<&str> = Kind::ALL.iter().map(|kind| of(*kind).name).collect();
    names.extend(of_the_cluster().iter().map(|rule| rule.name));
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
    for kind in Kind::ALL.iter().filter(|kind| **kind != Kind::QuorumMargin) {
        assert!(of(*kind).expr.contains(&format!("kind=\"{}\"", kind.name())), "{kind:?}");
    }
}

/// What keeps a voter from voting has an alert of its own: that the margin is gone follows from that, and is no second cause.
#[test]
fn a_voter_that_is_missed_fires_one_alert() {
    let margin = of(Kind::QuorumMargin).expr;
    for kind in [Kind::CutOff, Kind::PeerDown, Kind::Rejected, Kind::Stalled, Kind::Storage] {
        let (_, without) = margin.split_once("unless on (cluster)").unwrap();
        assert!(without.contains(kind.name()), "{kind:?}: {margin}");
    }
    for expr in [margin, of(Kind::PeerDown).expr] {
        assert!(expr.ends_with("unless on (cluster) (up{job=\"electd\"} == 0)"), "{expr}");
    }
}
