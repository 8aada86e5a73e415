//! Hosts that join a cluster, each by the line that the first host printed.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use story::story;

use crate::support::clock::clock;
use crate::support::network::{Network, inside};
use crate::support::{Finished, command_by, done, ensure, eventually, own_host};

/// The port of the members; joiners dial 200 above it.
const PORT: u16 = 7101;

/// A host: its folder, its address, and its namespace, if it has one.
struct Host {
    folder: PathBuf,
    address: String,
    home: Option<String>,
    processes: Vec<Child>,
}

impl Host {
    fn file(&self) -> PathBuf {
        self.folder.join("etc/cluster.json")
    }

    /// Starts something on it, whose words go into files there.
    fn start(&mut self, name: &str, command: &mut Command) {
        let log = |end| fs::File::create(self.folder.join(format!("{name}.{end}"))).unwrap();
        command.stdin(Stdio::null()).stdout(log("out")).stderr(log("err"));
        let child = self.at_home(|| command.spawn().unwrap());
        self.processes.push(child);
    }

    fn at_home<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.home {
            Some(home) => inside(home, work),
            None => work(),
        }
    }

    fn says(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    /// Runs its node.
    fn run(&mut self, name: &str) {
        self.start("node", &mut command_by(&self.file(), &["run", "--node", name]));
    }

    /// `electd join` on this host, by this line of the first one.
    fn join(&self, line: &str, more: &[&str]) -> Command {
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        command_by(&self.file(), &[&words[..], &["--address", &self.address], more].concat())
    }

    /// All paths below its folder, but the state of its node, which is its own.
    fn listing(&self) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        let mut left = vec![self.folder.clone()];
        while let Some(folder) = left.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() && !path.ends_with("data") {
                    left.push(path.clone());
                }
                found.insert(path);
            }
        }
        found
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        for child in &mut self.processes {
            let _ = kill_process(Pid::from_child(child), Signal::TERM);
            let _ = child.wait();
        }
    }
}

/// Hosts with these addresses. On the first one `electd init --join` has run, and a node runs; its lines are there.
fn hosts(
    folder: &Path,
    addresses: &[String],
    network: Option<&Network>,
) -> (Vec<Host>, Vec<String>) {
    let host = |(number, address): (usize, &String)| {
        let folder = folder.join(format!("host-{number}"));
        fs::create_dir(&folder).unwrap();
        let home = network.map(|network| network.home(number));
        Host { folder, address: address.clone(), home, processes: Vec::new() }
    };
    let mut hosts: Vec<Host> = (1..).zip(addresses).map(host).collect();
    let first = &mut hosts[0];
    let mut init = Command::new(env!("CARGO_BIN_EXE_electd"));
    init.args(["init", "--join", "--timing", "vm", "--data-dir", "data", "--member"]);
    init.arg(format!("a={}:{PORT}", first.address)).arg("--out").arg(first.file());
    first.start("init", &mut init);
    let lines = eventually("the first host prints the lines", || {
        let lines: Vec<String> = first.says("init.out").lines().map(str::to_owned).collect();
        ensure(lines.len() == 2, || first.says("init.err")).map(|()| lines)
    });
    first.run("a");
    leads(first, 1);
    (hosts, lines)
}

/// Waits until a leads this many members that are alive, by TLS.
#[track_caller]
fn leads(asked: &Host, members: usize) {
    eventually(&format!("a leads {members} members"), || {
        let told = |words: &[&str]| -> Value {
            let output = command_by(&asked.file(), words).args(["--output", "json"]).finished();
            serde_json::from_slice(&output.stdout).unwrap_or_default()
        };
        let (leader, nodes) = (told(&["leader"]), told(&["status"]));
        let seen = &nodes["nodes"][0]["status"];
        let listed = seen["members"].as_array().into_iter().flatten();
        let alive = listed.filter(|member| member["status"] == "alive").count();
        let is_so =
            leader["name"] == "a" && alive == members && seen["certificate_ends"].is_string();
        ensure(is_so, || format!("{leader} {seen}"))
    });
}

/// That the command fails with this code and one line with these words, and changes nothing on these hosts.
#[track_caller]
fn refused(command: &mut Command, hosts: &[Host], at: usize, code: i32, words: &str) {
    let before = (
        hosts.iter().map(Host::listing).collect::<Vec<_>>(),
        fs::read_to_string(hosts[0].file()).ok(),
    );
    let output = hosts[at].at_home(|| command.finished());
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        (output.status.code(), told.lines().count()),
        (Some(code), 1),
        "{words}: {output:?}"
    );
    assert!(told.contains(words), "{words}: {told}");
    let after = (
        hosts.iter().map(Host::listing).collect::<Vec<_>>(),
        fs::read_to_string(hosts[0].file()).ok(),
    );
    assert_eq!(before, after, "{words}");
}

#[story]
fn three_hosts_have_a_leader_with_tls_by_a_line_each() {
    let folder = tempfile::tempdir().unwrap();
    let addresses = [(); 3].map(|()| own_host().to_string());
    let (mut hosts, lines) = hosts(folder.path(), &addresses, None);
    let linked = linked(&hosts[0]);
    let token = |line: &str| line.rsplit(' ').next().unwrap().to_owned();
    // Another authority; another secret of the same one; half of a token.
    let [secret, authority] = [0, 32].map(|at| token(&lines[0])[at..at + 32].to_owned());
    let other = lines[0].replace(&authority, &secret);
    refused(
        &mut hosts[1].join(&other, &["--name", "b"]),
        &hosts,
        1,
        1,
        "the token is not of the cluster",
    );
    let other = lines[0].replace(&secret, &uuid::Uuid::new_v4().simple().to_string());
    refused(&mut hosts[1].join(&other, &["--name", "b"]), &hosts, 1, 1, "the token is wrong");
    let mut half = hosts[1].join(&lines[0].replace(&authority, ""), &["--name", "b"]);
    refused(&mut half, &hosts, 1, 2, "--token is none");
    refused(&mut hosts[1].join(&lines[0], &["--name", "a"]), &hosts, 1, 1, "has the name a");
    refused(&mut hosts[1].join(&lines[0], &["--name", "own"]), &hosts, 1, 2, "cannot be the name");
    if let Some(library) = clock(folder.path(), "= 1000") {
        let mut early = hosts[1].join(&lines[0], &["--name", "b"]);
        let words = "the clock of this host says 1970-01-01T00:16:40Z";
        refused(early.env("LD_PRELOAD", library), &hosts, 1, 1, words);
    }
    // All that was refused used no token up.
    let start = done(&hosts[1].join(&lines[0], &["--name", "b"]).finished());
    assert_eq!(start, format!("electd run --config {} --node b\n", hosts[1].file().display()));
    refused(&mut hosts[2].join(&lines[0], &["--name", "c"]), &hosts, 2, 1, "the token is used");
    // What it was given may not have reached its disk: it may come again with its token, and with any umask.
    fs::remove_dir_all(hosts[1].file().parent().unwrap()).unwrap();
    done(&masked(&hosts[1].join(&lines[0], &["--name", "b"])).finished());
    assert_eq!(mode(&hosts[1].file()), 0o644, "the user of the unit reads the file");
    assert_eq!(mode(&hosts[1].folder.join("etc")), 0o755);
    refused(
        &mut hosts[1].join(&lines[1], &["--name", "b"]),
        &hosts,
        1,
        2,
        "this host is in a cluster",
    );
    hosts[1].run("b");
    leads(&hosts[0], 2);
    eventually("the first host has noted that b is a member", || {
        ensure(hosts[0].says("init.err").contains("b is a member"), || hosts[0].says("init.err"))
    });
    refused(&mut hosts[2].join(&lines[1], &["--name", "b"]), &hosts, 2, 1, "has the name b");
    done(&hosts[2].join(&lines[1], &["--name", "c"]).finished());
    hosts[2].run("c");
    hosts.iter().for_each(|host| leads(host, 3));
    assert_eq!(hosts[0].processes[0].wait().unwrap().code(), Some(0), "all have joined");
    let told = hosts[0].says("init.err");
    assert!(
        told.contains("to that of b: the last one joined after its file was written"),
        "{told}"
    );
    let texts = [0, 2].map(|at| fs::read_to_string(hosts[at].file()).unwrap());
    assert_eq!(texts[0], texts[1], "the first and the last host list all members");
    assert!(hosts[0].file().is_symlink(), "a link remains one");
    assert_eq!(mode(&linked), 0o644, "and what it leads to keeps its mode");
    for host in &hosts {
        let key = host.file().with_file_name("tls/own/key.pem");
        assert_eq!(mode(&key), 0o600);
        let is_there = host.file().with_file_name("tls/ca-key.pem").exists();
        assert_eq!(is_there, host.address == addresses[0], "the key of the authority stays");
    }
    late(&mut hosts);
}

/// Makes the file of this host a link to another.
fn linked(host: &Host) -> PathBuf {
    let linked = host.folder.join("linked.json");
    fs::rename(host.file(), &linked).unwrap();
    symlink(&linked, host.file()).unwrap();
    linked
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// The same command, with a umask that keeps what it makes from all others.
fn masked(command: &Command) -> Command {
    let mut masked = Command::new("sh");
    masked.args(["-c", "umask 077; exec \"$0\" \"$@\""]).arg(command.get_program());
    masked.args(command.get_args());
    masked.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    masked
}

/// A token that was printed, and whose time is over.
fn late(hosts: &mut [Host]) {
    let four = Host {
        folder: hosts[2].folder.with_file_name("host-4"),
        address: own_host().to_string(),
        home: None,
        processes: Vec::new(),
    };
    fs::create_dir(&four.folder).unwrap();
    let mut invite = command_by(&hosts[0].file(), &["invite", "--node", "a", "--for", "50ms"]);
    hosts[0].start("invite", &mut invite);
    let code = eventually("the invitation ends", || {
        let ended = hosts[0].processes.last_mut().unwrap().try_wait().unwrap();
        ended.map(|status| status.code()).ok_or_else(|| "it goes on".to_owned())
    });
    let (line, told) = (hosts[0].says("invite.out"), hosts[0].says("invite.err"));
    assert!(told.contains("the time is over: 1 of 1 tokens were not used"), "{told}");
    assert_eq!(code, Some(75), "{told}");
    let mut late = four.join(line.trim(), &["--name", "d"]);
    refused(&mut late, &[four], 0, 69, "nobody invites at");
}

/// Each host has its own 127.0.0.1, so that one cannot dial the other there.
#[story]
fn a_host_that_the_first_one_cannot_dial_does_not_join() {
    let Some(network) = Network::of(2) else { return };
    let folder = tempfile::tempdir().unwrap();
    let addresses = [1, 2].map(|number| format!("10.0.0.{number}"));
    let (mut hosts, lines) = hosts(folder.path(), &addresses, Some(&network));
    hosts[1].address = format!("127.0.0.1:{PORT}");
    let words = "others do not reach it at 127.0.0.1:7101: Connection refused";
    refused(&mut hosts[1].join(&lines[0], &["--name", "b"]), &hosts, 1, 1, words);
    let other = hosts[0].at_home(|| TcpListener::bind(("127.0.0.1", PORT)).unwrap());
    let answers = std::thread::spawn(move || {
        use std::io::Write;
        other.accept().unwrap().0.write_all(&[0; 16]).unwrap();
    });
    let words = "another process answers at 127.0.0.1:7101";
    refused(&mut hosts[1].join(&lines[0], &["--name", "b"]), &hosts, 1, 1, words);
    answers.join().unwrap();
    hosts[1].address = "10.0.0.9".to_owned();
    let words = "this host cannot listen on 10.0.0.9:7101";
    refused(&mut hosts[1].join(&lines[0], &["--name", "b"]), &hosts, 1, 71, words);
    hosts[1].address = "10.0.0.2".to_owned();
    let mut join = hosts[1].join(&lines[0], &["--name", "b"]);
    done(&hosts[1].at_home(|| join.finished()));
    hosts[1].run("b");
    leads(&hosts[0], 2);
}
