//! The figures that docs/ promises and that are constants of the code: who changes one has to change the other.

use std::fs;

use super::assert_none;

/// A page, its words, a file, and the constant in it that the words are about.
const FIGURES: &str = "
docs/certificate.md | a secret of 32 random bytes | src/election/core/death.rs | [u8; 32]
docs/exec.md | up to 256 of them may run beside one node | src/exec/attach.rs | MOST: u64 = 256;
docs/exec.md | within 60 s after its start | src/node/retries.rs | SOON: Duration = Duration::from_secs(60);
docs/exec.md | 5 s after KILL | src/cli/job.rs | GONE: Duration = Duration::from_secs(5);
docs/operations.md | has failed a second after its | src/host/rank/aside.rs | GONE: Duration = Duration::from_secs(1);
docs/exec.md | That lasts for 30 s | src/node/failures.rs | FIRST: Duration = Duration::from_secs(30);
docs/exec.md | up to 32 min | src/node/failures.rs | MOST_DOUBLINGS: u32 = 6;
docs/exec.md | after that time the count begins anew | src/node/failures.rs | FORGIVEN: Duration = Duration::from_secs(3600);
docs/exec.md | and 0.2 s later | src/exec/address/held.rs | ANNOUNCED_AFTER: Duration = Duration::from_millis(200);
docs/exec.md | gives them another 3 s to live | src/exec/address/netlink.rs | LIFETIME: Duration = Duration::from_secs(3);
docs/membership.md | the ids of the last 256 removed members | src/election/core/membership/mod.rs | MOST_REMOVED: usize = 256;
docs/operations.md | 32 pages at one node | src/admin/mod.rs | STREAMS: usize = 32;
docs/operations.md | expires within 30 days | src/node/certificates.rs | SOON: Duration = Duration::from_secs(30 * 24 * 3600);
docs/operations.md | keeps the latest 1,024 events | src/node/events.rs | KEPT: usize = 1024;
docs/operations.md | from 1 to 1000 | src/config/health.rs | MOST: u32 = 1000;
docs/operations.md | at most 100 lines a run | src/exec/hook.rs | LINES: u64 = 100;
docs/operations.md | never bound for more than 16 times | src/election/core/settings.rs | LONGEST_PROMISE: u32 = 16;
docs/operations.md | has led for 16 * `failure` | src/node/release/steady.rs | STEADY: u32 = 16;
docs/operations.md | 64 at a time | src/admin/mod.rs | CONNECTIONS: usize = 64;
docs/operations.md | At most 64 members | src/election/core/membership/mod.rs | MOST_MEMBERS: usize = 64;
docs/reference.md | a list of the members, at most 64 | src/election/core/membership/mod.rs | MOST_MEMBERS: usize = 64;
docs/security.md | must be complete within one second | src/host/net/inbound.rs | HELLO_DEADLINE: Duration = Duration::from_secs(1);
docs/security.md | At most 64 connections wait | src/host/net/listener.rs | MOST_UNWELCOMED: usize = 64;
docs/security.md | strangers share 16 lines a minute | src/host/net/rejections.rs | MOST_LINES: u32 = 16;
docs/security.md | 16 may give commands | src/admin/mod.rs | COMMANDS: usize = 16;
docs/security.md | 8 may ask for the status | src/admin/mod.rs | PEERS: usize = 8;
docs/security.md | 16 may ask for elections | src/admin/mod.rs | ELECTIONS: usize = 16;
docs/security.md | for at most 2 s | src/admin/mod.rs | GATHERING: Duration = Duration::from_secs(2);
docs/security.md | than every 150 ms | src/admin/mod.rs | FRESH: Duration = Duration::from_millis(150);
docs/security.md | last 4,096 entries | src/record/trace/latest.rs | LATEST: usize = 4096;
docs/security.md | at most 1 MiB of words | src/record/trace/latest.rs | MOST_TEXT: usize = 1024 * 1024;
docs/security.md | within two seconds from the accept | src/admin/mod.rs | REQUEST: Duration = Duration::from_secs(2);
docs/security.md | take the answer within two seconds | src/admin/mod.rs | ANSWER: Duration = Duration::from_secs(2);
docs/security.md | closed after 30 seconds | src/admin/mod.rs | IDLE: Duration = Duration::from_secs(30);
docs/status.md | the latest 16 durable writes | src/host/store/pace.rs | WRITES: usize = 16;
docs/status.md | the latest 32 changes of state | src/node/publish/changes.rs | KEPT: usize = 32;
docs/trace.md | at most 1.5 MiB of it | src/record/recorder.rs | OF_ELECTIONS: usize = 1280 * 1024;
docs/trace.md | in 256 KiB of | src/record/recorder.rs | OF_QUIET_TIMES: usize = 256 * 1024;
docs/trace.md | At most 5,000 events are shown | src/record/trace/svg.rs | MOST_EVENTS: usize = 5000;
docs/trace.md | The last 8 are kept | src/host/store/recordings.rs | KEPT: usize = 8;
docs/trace.md | at most 32 MiB together | src/host/store/recordings.rs | MOST_BYTES: u64 = 32 * 1024 * 1024;
docs/trace.md | leaves 512 KiB of the file system free | src/host/store/spare.rs | SPARE: u64 = 512 * 1024;
";

/// The figures in the row of this fault below this heading.
fn measured(path: &str, heading: &str, fault: &str) -> Vec<f64> {
    let text = fs::read_to_string(path).expect("the page is there");
    let rows = text.lines().skip_while(|line| *line != heading);
    let row =
        rows.skip(1).take_while(|line| !line.starts_with('#')).find(|row| row.starts_with(fault));
    let row = row.and_then(|row| row.strip_prefix(fault)).unwrap_or_default();
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    let numbers = row.split(|c| !is_of_number(c)).filter_map(|number| number.parse().ok());
    // The faults of some rows name a signal, and no number stands in them.
    numbers.collect()
}

/// README shows the figures of docs/failover.md, rounded: there is one run.
#[test]
fn readme_and_the_page_about_failovers_have_the_figures_of_one_run() {
    for fault in ["| `kill -9`", "| cable cut", "| frozen"] {
        let shown = measured("README.md", "## How fast", fault);
        let all = measured("docs/failover.md", "### Beside keepalived and etcd", fault);
        assert_eq!((shown.len(), all.len()), (8, 8), "{fault}: {shown:?}, {all:?}");
        for (shown, exact) in shown.iter().zip(&all) {
            let most = if shown.fract() == 0.0 { 0.5 } else { 0.05 };
            assert!((shown - exact).abs() <= most + 1e-9, "{fault}: {shown} is not {exact}");
        }
    }
}

#[test]
fn the_docs_and_the_code_have_the_same_figures() {
    let lacks = |path: &str, words: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        (!text.contains(words)).then(|| format!("{path} has no \"{words}\" any more"))
    };
    let rows = FIGURES.trim().lines().map(|row| row.split(" | ").collect::<Vec<_>>());
    let differ =
        rows.flat_map(|row| row.chunks(2).map(|of| lacks(of[0], of[1])).collect::<Vec<_>>());
    let differ: Vec<String> = differ.flatten().collect();
    assert_none(&differ, "change both, and their row here");
}
