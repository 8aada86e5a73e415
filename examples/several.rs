//! Several works in one program, spread over three hosts: each work runs on one host at a time, and when a host dies, the
//! others take over what ran there, and nothing else moves. `cargo run --example several`; and `cargo test` runs it.
//!
//! `works` is all that a real program needs: it starts once on each host, with the name of that host. Here the three hosts are
//! three processes of this program, one of which is killed.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use std::{env, thread};

use electd::config;
use electd::node::{certify_death, locks::LockName, while_holding};

const WORKS: [&str; 6] = ["backup", "billing", "import", "mail", "report", "search"];
const HOSTS: [&str; 3] = ["a", "b", "c"];

/// Far longer than a failover takes.
const LONG: Duration = Duration::from_secs(30);

/// After so long the others miss a host that is silent. The certificate of its death comes before.
const FAILURE: Duration = Duration::from_secs(10);

/// Runs each work while this host holds its name. TERM ends all of them, in order.
fn works(file: &Path, host: &str) -> Result<(), Box<dyn Error>> {
    let config = config::load(file)?;
    let names = WORKS.iter().map(|name| LockName::new(name)).collect::<Result<Vec<_>, _>>()?;
    while_holding(&config, host, names, |name, lead| {
        println!("{name} {}", lead.epoch()); // a real work sends the token with all that it writes
        while lead.goes_on(Duration::from_millis(100)) {
            // one step of the work
        }
    })?;
    Ok(())
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    // The works end with this process, whatever ends it: so its death may be certified, and frees their names at once.
    if let Some(code) = certify_death() {
        return Ok(code);
    }
    if let [file, host] = &env::args().skip(1).collect::<Vec<_>>()[..] {
        works(file.as_ref(), host)?;
        return Ok(ExitCode::SUCCESS);
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("cluster.json");
    std::fs::write(&file, three_hosts(folder.path())?)?;
    let (sender, begun) = channel();
    let mut hosts = BTreeMap::new();
    for host in HOSTS {
        hosts.insert(host, Host(start(&file, host, &sender)?));
    }

    let mut places = BTreeMap::new();
    while places.len() < WORKS.len() {
        follow(&begun, &mut places)?;
    }
    let busy = |places: &Places, host: &str| places.values().filter(|(at, _)| *at == host).count();
    let dead = HOSTS.into_iter().max_by_key(|host| busy(&places, host)).expect("there are some");
    println!("{dead} dies, with {} of the works", busy(&places, dead));
    let (before, death) = (places.clone(), Instant::now());
    hosts.remove(dead);
    while busy(&places, dead) > 0 {
        follow(&begun, &mut places)?;
    }
    let after = death.elapsed();
    let moved = places.iter().filter(|(name, place)| before.get(*name) != Some(place)).count();
    println!("{moved} works moved, the last after {after:.1?}");
    if moved != busy(&before, dead) {
        return Err("a work moved that need not".into());
    }
    if after < FAILURE { Ok(ExitCode::SUCCESS) } else { Err("nobody certified the death".into()) }
}

/// The host on which each work began last, and its token.
type Places = BTreeMap<String, (&'static str, u64)>;

/// A process, which is killed when this is dropped.
struct Host(Child);

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended
        let _ = self.0.wait();
    }
}

/// Starts this program as a host, whose lines are sent on.
fn start(
    file: &Path,
    host: &'static str,
    lines: &Sender<(&'static str, String)>,
) -> std::io::Result<Child> {
    let mut command = Command::new(env::current_exe()?);
    let mut child = command.arg(file).arg(host).stdout(Stdio::piped()).spawn()?;
    let (output, lines) = (child.stdout.take().expect("it is piped"), lines.clone());
    thread::spawn(move || {
        let sent = |line| lines.send((host, line)).is_ok();
        BufReader::new(output).lines().map_while(Result::ok).all(sent)
    });
    Ok(child)
}

/// Takes the next line of a host. A line of an older token than the last one came late.
fn follow(
    begun: &Receiver<(&'static str, String)>,
    places: &mut Places,
) -> Result<(), Box<dyn Error>> {
    let (host, line) = begun.recv_timeout(LONG)?;
    let (name, token) = line.split_once(' ').ok_or("a work printed something else")?;
    let token: u64 = token.parse()?;
    if places.get(name).is_none_or(|(_, last)| *last < token) {
        println!("{name} runs on {host}, under token {token}");
        places.insert(name.to_owned(), (host, token));
    }
    Ok(())
}

/// A cluster of three members on this machine, on free ports.
fn three_hosts(folder: &Path) -> Result<String, Box<dyn Error>> {
    let free = HOSTS.map(|_| TcpListener::bind("127.0.0.1:0"));
    let mut members = Vec::new();
    for (name, socket) in HOSTS.into_iter().zip(free) {
        let (id, address) = (uuid::Uuid::new_v4(), socket?.local_addr()?);
        members.push(format!(r#"{{"name": "{name}", "id": "{id}", "address": "{address}"}}"#));
    }
    let (members, data) = (members.join(","), folder.join("data"));
    let failure = FAILURE.as_secs();
    Ok(format!(
        r#"{{"cluster": "several", "quorum": "majority", "data_dir": {data:?},
            "timing": {{"failure": "{failure}s"}}, "members": [{members}]}}"#
    ))
}
