//! Processes whose programs want names, and one of which is killed.

use std::collections::BTreeMap;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use parking_lot::Mutex;

use super::*;

/// Tells a process of this test which member it is: its name, its folder, and all addresses.
const PART: &str = "ELECTD_TEST_OF_LOCKS";

const WANTED: [&str; 2] = ["backup", "report"];

/// Not a test: one of the processes of the test below. It prints under which tokens it acts, when, and until when, until it
/// is killed or nobody reads that any more.
#[test]
#[ignore = "it is a part of another"]
fn a_process_that_wants_two_names() {
    let Ok(part) = env::var(PART) else { return };
    let words: Vec<String> = part.split(' ').map(str::to_owned).collect();
    let config = config(words[1].as_ref(), "majority", &words[2..]);
    let node = Node::start(&config, &words[0]).unwrap();
    let wanted = WANTED.map(|text| node.handle().lock(name(text), WANT).unwrap());
    let mut out = std::io::stdout();
    loop {
        let mut lines = String::from("\n");
        for one in &wanted {
            let Some(held) = one.leadership() else { continue };
            let (token, now, until) = (held.epoch(), crate::node::now().0, held.until().0);
            if now < until {
                lines += &format!("{} {token} {now} {until}\n", one.name());
            }
        }
        if out.write_all(lines.as_bytes()).and_then(|()| out.flush()).is_err() {
            return;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// When a process acted first under a token, and until when it was to act when it was heard last.
#[derive(Clone, Copy, Debug)]
struct ActingTime {
    member: usize,
    from: u64,
    until: u64,
}

/// By name and token.
type Acted = BTreeMap<(String, u64), ActingTime>;

/// The processes, which end with the test.
struct Processes {
    children: Vec<Child>,
    acted: Arc<Mutex<Acted>>,
    /// Two members acted under the same token.
    twice: Arc<AtomicBool>,
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill(); // it may have ended
            let _ = child.wait();
        }
    }
}

impl Processes {
    fn start(folder: &Path) -> Processes {
        let (acted, twice): (Arc<Mutex<Acted>>, Arc<AtomicBool>) = Default::default();
        let addresses = addresses().join(" ");
        let start = |(member, name): (usize, &str)| {
            let mut child = Command::new(env::current_exe().unwrap())
                .args(["--exact", "--ignored", "--nocapture"])
                .arg("node::locks::tests::killed::a_process_that_wants_two_names")
                .env(PART, format!("{name} {} {addresses}", folder.display()))
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let (acted, twice) = (acted.clone(), twice.clone());
            thread::spawn(move || {
                for line in lines.map_while(Result::ok) {
                    let words: Vec<&str> = line.split(' ').collect();
                    let &[name, token, now, until] = &words[..] else { continue };
                    let number = |word: &str| word.parse::<u64>().ok();
                    let (Some(token), Some(from), Some(until)) =
                        (number(token), number(now), number(until))
                    else {
                        continue;
                    };
                    let mut acted = acted.lock();
                    let first = ActingTime { member, from, until };
                    let known = acted.entry((name.to_owned(), token)).or_insert(first);
                    twice.fetch_or(known.member != member, Ordering::Relaxed);
                    known.until = until;
                }
            });
            child
        };
        let children = NAMES.into_iter().enumerate().map(start).collect();
        Processes { children, acted, twice }
    }

    /// The last that acted under this name, with the token.
    fn last(&self, name: &str) -> Option<(usize, u64)> {
        let acted = self.acted.lock();
        let mut of = acted.iter().filter(|((of, _), _)| of == name);
        of.next_back().map(|((_, token), time)| (time.member, *token))
    }

    /// That nobody began to act under a name before the one before could act no more.
    fn judge(&self) {
        let acted = self.acted.lock().clone();
        for name in WANTED {
            let of: Vec<_> = acted.iter().filter(|((of, _), _)| of == name).collect();
            for pair in of.windows(2) {
                let (before, after) = (pair[0].1, pair[1].1);
                assert!(before.until <= after.from, "{name}: {acted:?}");
            }
        }
        assert!(!self.twice.load(Ordering::Relaxed), "{acted:?}");
    }
}

#[test]
fn the_names_of_a_killed_process_come_to_others_once_it_can_act_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let mut processes = Processes::start(folder.path());
    for name in WANTED {
        within(LIMIT, "it is held", || processes.last(name).is_some());
    }
    let (first, token) = processes.last("backup").unwrap();
    processes.children[first].kill().unwrap();
    for name in WANTED {
        let other = |(member, _): (usize, u64)| member != first;
        within(LIMIT, "a live one holds it", || processes.last(name).is_some_and(other));
    }
    let (second, next) = processes.last("backup").unwrap();
    assert!(second != first && next > token, "{second} {next}");
    processes.judge();
}
