//! For how long a client is without an address when its holder fails: electd and keepalived by turns, on the same hosts
//! in the same run. The hosts are network namespaces on one bridge, and the client is on that bridge.
//!
//! `ADDRESS_RUNS=10` is the number of faults of each kind, `ADDRESS_ELECTD=PATH` measures another build. It needs root, `ip`
//! and keepalived, and says which of them is missing.

mod client;
mod hosts;
mod rivals;

use std::env;
use std::thread::sleep;
use std::time::Duration;

use client::Client;
use hosts::Hosts;
use rivals::{Electd, Keepalived, Rival};
use serde_json::json;

/// The address that both programs hold.
const ADDRESS: &str = "10.0.0.99";

/// How many hosts there are.
const SIZE: usize = 3;

/// From the fault until the outage is certainly over.
const OVER: Duration = Duration::from_secs(2);

/// From a repair until the cluster is whole again.
const WHOLE: Duration = Duration::from_millis(1500);

/// By then the kernel has removed an address that no process removes.
const REMOVED: Duration = Duration::from_millis(4500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Kill,
    KillAll,
    Cut,
    Freeze,
    Stop,
}

impl Fault {
    const ALL: [Fault; 5] = [Fault::Kill, Fault::KillAll, Fault::Cut, Fault::Freeze, Fault::Stop];

    fn words(self) -> &'static str {
        match self {
            Fault::Kill => "kill -9",
            Fault::KillAll => "kill -9 of all its processes",
            Fault::Cut => "cut cable",
            Fault::Freeze => "SIGSTOP",
            Fault::Stop => "clean stop (SIGTERM)",
        }
    }
}

/// The effects of one fault.
struct Outcome {
    outage: Duration,
    /// Whether the old holder still had the address at last.
    left_behind: bool,
}

fn main() {
    let runs = env::var("ADDRESS_RUNS").map_or(10, |runs| runs.parse().expect("a number"));
    let hosts = match Hosts::build(SIZE) {
        Ok(hosts) => hosts,
        Err(why) => return println!("nothing is measured: it needs root and `ip`: {why}"),
    };
    let client = Client::start(&hosts);
    println!(
        "Longest time without an answer from {ADDRESS}, a question each millisecond; {runs} faults each."
    );
    println!("| who | fault | median ms | longest ms | the address is left on the old host |");
    println!("|---|---|---|---|---|");
    for (name, mode) in [
        ("electd, quorum none", json!({"quorum": "none"})),
        ("electd, majority", json!({"quorum": "majority"})),
    ] {
        measure(name, &mut Electd::new(&hosts, &mode), &hosts, &client, runs);
    }
    match Keepalived::new(&hosts) {
        Ok(mut keepalived) => measure("keepalived", &mut keepalived, &hosts, &client, runs),
        Err(why) => println!("keepalived is not measured: {why}"),
    }
}

fn measure(name: &str, rival: &mut dyn Rival, hosts: &Hosts, client: &Client, runs: usize) {
    (1..=SIZE).for_each(|host| rival.start(host));
    for fault in Fault::ALL {
        let outcomes: Vec<Outcome> =
            (0..runs).filter_map(|_| strike(fault, rival, hosts, client)).collect();
        let mut outages: Vec<f64> =
            outcomes.iter().map(|outcome| outcome.outage.as_secs_f64() * 1000.0).collect();
        outages.sort_by(f64::total_cmp);
        let left = outcomes.iter().filter(|outcome| outcome.left_behind).count();
        assert!(!outages.is_empty(), "the client of {name} found nobody at the address");
        let median = outages[outages.len() / 2];
        let longest = outages[outages.len() - 1];
        let of = outages.len();
        println!("| {name} | {} | {median:.0} | {longest:.0} | {left} of {of} |", fault.words());
    }
    (1..=SIZE).for_each(|host| rival.kill(host, true));
    sleep(REMOVED); // for the next
    (1..=SIZE).for_each(|host| hosts.remove_address(host));
}

/// Does this to the holder of the address. None if the client found none.
fn strike(fault: Fault, rival: &mut dyn Rival, hosts: &Hosts, client: &Client) -> Option<Outcome> {
    sleep(WHOLE);
    let holder = client.holder()?;
    let since = client.mark();
    match fault {
        Fault::Kill => rival.kill(holder, false),
        Fault::KillAll => rival.kill(holder, true),
        Fault::Cut => hosts.plug(holder, false),
        Fault::Freeze => rival.freeze(holder, true),
        Fault::Stop => rival.stop(holder),
    }
    sleep(OVER);
    let outage = client.longest_gap(since);
    if fault == Fault::KillAll {
        sleep(REMOVED.saturating_sub(OVER));
    }
    let left_behind = hosts.has_address(holder);
    match fault {
        Fault::Cut => hosts.plug(holder, true),
        Fault::Freeze => rival.freeze(holder, false),
        Fault::Kill | Fault::KillAll | Fault::Stop => {
            rival.kill(holder, true);
            rival.start(holder);
        }
    }
    Some(Outcome { outage, left_behind })
}
