//! `GET /elections/last` and `/elections/EPOCH`: an election of the cluster, merged from what its members recorded, as
//! `electd trace` shows it: to a browser as the drawing, to others as JSON.
//!
//! One election is merged at a time, and whoever asks meanwhile waits for it, so that a crowd of browsers costs no more
//! than one; and each member's share is bounded, so that a member that lies costs no more than an honest one.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use log::debug;
use parking_lot::Mutex;

use crate::node::handle::Handle;
use crate::node::moment_of;
use crate::node::status::{MemberStatus, Status};
use crate::tls::Security;
use crate::trace::election::Election;
use crate::trace::html::{Html, policy};
use crate::trace::merge::{TimedRecord, Which, merge};

use super::limits;
use super::peers;
use super::request::Request;
use super::response::Response;

/// A question for an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    which: Which,
    /// Whether a browser asks, which shows the drawing.
    draws: bool,
}

/// The election that this path names.
pub fn named(path: &str) -> Option<Which> {
    match path.strip_prefix("/elections/")? {
        "last" => Some(Which::Last),
        epoch if epoch.bytes().all(|byte| byte.is_ascii_digit()) => {
            epoch.parse().ok().map(Which::Epoch)
        }
        _ => None,
    }
}

/// The question in this request, if it asks for an election.
pub fn asked(request: &Request) -> Option<Asked> {
    let which = named(&request.path).filter(|_| request.method == "GET")?;
    Some(Asked { which, draws: request.accepts("text/html") })
}

/// The answer to one more question than may wait, or to one that has waited for too long.
pub fn too_many() -> Response {
    Response::error(503, "too many ask for elections at present: ask again")
}

/// The election that was merged last.
#[derive(Debug, Default)]
pub struct Elections(Mutex<Option<Found>>);

#[derive(Clone, Debug)]
struct Found {
    which: Which,
    /// When the members began to be asked, and when all had answered.
    since: Instant,
    done: Instant,
    /// None if nobody recorded it.
    election: Option<Arc<Election>>,
}

impl Elections {
    /// Asks the members for what they recorded, by HTTPS where this node serves that.
    pub fn answer<H: Handle>(&self, asked: Asked, node: &H, security: &Security) -> Response {
        let Some(election) = self.find(asked, || ask(asked.which, node, security)) else {
            return too_many();
        };
        let Some(election) = election else { return nobody_knows(asked.which) };
        match election.unfit() {
            _ if !asked.draws => Response::json(200, &election.object()),
            Some(why) => Response::error(404, why),
            None => {
                // It needs no access to its own address, even if it is a frame of the page.
                let policy = format!(
                    "{}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts",
                    policy()
                );
                Response::page(Html(&election.diagram()).to_string(), policy)
            }
        }
    }

    /// This election, as found for somebody who asked just before, or meanwhile; none if that takes too long. A page asks
    /// as a program, and then for the drawing of the answer.
    fn find(
        &self,
        asked: Asked,
        ask: impl FnOnce() -> Option<Election>,
    ) -> Option<Option<Arc<Election>>> {
        let now = Instant::now();
        let mut last = self.0.try_lock_for(limits::WAIT)?;
        if let Some(found) = last.as_ref().filter(|found| found.answers(asked, now)) {
            return Some(found.election.clone());
        }
        let since = Instant::now();
        let election = ask().map(Arc::new);
        let found = Found { which: asked.which, since, done: Instant::now(), election };
        Some(last.insert(found).election.clone())
    }
}

impl Found {
    /// Whether this is what somebody is told who asks now.
    fn answers(&self, Asked { which, draws }: Asked, now: Instant) -> bool {
        let is_drawn = draws && self.done + limits::DRAWN >= now;
        self.which == which && (is_drawn || self.since + limits::FRESH >= now)
    }
}

fn ask<H: Handle>(which: Which, node: &H, security: &Security) -> Option<Election> {
    let own = node.status();
    let record = node.record().latest().ok();
    let mut records: Vec<TimedRecord> =
        record.map(|record| TimedRecord { record, ahead_ns: 0 }).into_iter().collect();
    records.extend(ask_others(&own, security));
    let merged = merge(&records, which)?;
    let began = moment_of(merged.began_ns);
    Some(Election::new(merged, &own.cluster, began))
}

/// Asks the other members, some at a time, and first those that this node takes to be alive.
fn ask_others(own: &Status, security: &Security) -> Vec<TimedRecord> {
    let until = Instant::now() + limits::GATHERING;
    let mut others: Vec<_> =
        own.members.iter().filter(|member| member.name != own.node.name).collect();
    others.sort_by_key(|member| member.status == "alive"); // the last comes first
    let (open, answers) = (Mutex::new(others), Mutex::new(Vec::new()));
    let next = || open.lock().pop().filter(|_| Instant::now() < until);
    let work = || {
        while let Some(member) = next() {
            match record_of(member, own, security) {
                Ok(record) => answers.lock().push(record),
                Err(why) => debug!("{} tells nothing of its elections: {why}", member.name),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..limits::ASKED_AT_ONCE.min(own.members.len()) {
            let builder =
                thread::Builder::new().name("admin-ask".to_owned()).stack_size(limits::STACK);
            if builder.spawn_scoped(scope, work).is_err() {
                break; // fewer do, and without any this node tells what it knows
            }
        }
    });
    let mut answers = answers.into_inner();
    answers.sort_by(|a: &TimedRecord, b| a.record.node.cmp(&b.record.node)); // one order, whoever answers first
    answers
}

/// What this member recorded lately.
fn record_of(
    member: &MemberStatus,
    own: &Status,
    security: &Security,
) -> Result<TimedRecord, String> {
    let client = peers::client(member, security, Some(limits::MEMBER)).map_err(|(_, why)| why)?;
    let address = member.admin.as_deref().unwrap_or_default();
    let TimedRecord { record, ahead_ns } =
        client.timed_record(address).map_err(|error| error.to_string())?;
    if (&record.node, &record.cluster) != (&member.name, &own.cluster) {
        return Err(format!("at {address} answers {} of cluster {}", record.node, record.cluster));
    }
    let record = record.latest().map_err(|what| format!("its record has {what}"))?;
    Ok(TimedRecord { record, ahead_ns })
}

fn nobody_knows(which: Which) -> Response {
    let sentence = match which {
        Which::Last | Which::All => {
            "no member that answers has recorded an election since its start".to_owned()
        }
        Which::Epoch(epoch) => format!(
            "no member that answers remembers the election of epoch {epoch}: a node forgets the earliest, and by a \
             restart all before it"
        ),
    };
    Response::error(404, sentence)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{Shutdown, TcpListener};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use socket2::SockRef;

    use super::*;
    use crate::trace::record::Record;

    #[test]
    fn whoever_asks_soon_gets_what_was_found_and_whoever_draws_it_a_while_longer() {
        let (which, since) = (Which::Epoch(7), Instant::now());
        let done = since + limits::FRESH * 2;
        let found = Found { which, since, done, election: None };
        let tick = Duration::from_millis(1);
        for (after, to_a_program, to_a_page) in [
            (since + limits::FRESH, true, true),
            (since + limits::FRESH + tick, false, true),
            (done + limits::DRAWN, false, true),
            (done + limits::DRAWN + tick, false, false),
        ] {
            let told = [false, true].map(|draws| found.answers(Asked { which, draws }, after));
            assert_eq!(told, [to_a_program, to_a_page], "{:?} after", after - since);
        }
        assert!(!found.answers(Asked { which: Which::Last, draws: true }, since), "another one");
    }

    /// How many of so many others are asked, who end the connection at once. None if this machine was too busy to tell.
    fn asked_of(count: usize) -> Option<usize> {
        let others: Vec<_> =
            (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let member = |(number, other): (usize, &TcpListener)| MemberStatus {
            name: format!("node-{number}"),
            admin: Some(other.local_addr().unwrap().to_string()),
            ..MemberStatus::default()
        };
        let members = others.iter().enumerate().map(member).collect();
        let own = Status { members, ..Status::default() };
        let (begin, asked) = (Instant::now(), AtomicUsize::new(0));
        let told = thread::scope(|scope| {
            for other in &others {
                scope.spawn(|| other.accept().map(|_| asked.fetch_add(1, Ordering::SeqCst)));
            }
            assert_eq!(ask_others(&own, &Security::default()).len(), 0, "they tell nothing");
            let asked = asked.load(Ordering::SeqCst);
            others.iter().for_each(|other| SockRef::from(other).shutdown(Shutdown::Both).unwrap());
            asked
        });
        (begin.elapsed() < limits::MEMBER).then_some(told)
    }

    #[test]
    fn all_other_members_are_asked_however_many_are_asked_at_a_time() {
        let count = limits::ASKED_AT_ONCE + 2;
        let asked = std::iter::repeat_with(|| asked_of(count)).find_map(|asked| asked);
        assert_eq!(asked, Some(count));
    }

    #[test]
    fn the_members_are_asked_once_for_all_who_ask_at_that_time() {
        let elections = Elections::default();
        let asked = Asked { which: Which::Last, draws: true };
        assert!(elections.find(asked, || None).is_some());
        let begin = Instant::now();
        let mut again = false;
        elections.find(asked, || {
            again = true;
            None
        });
        assert!(!again || begin.elapsed() > limits::DRAWN);
    }

    /// Answers one question with the record of this member, after that, and waits until the answer is taken.
    fn tells(listener: &TcpListener, node: &str, after: Option<mpsc::Receiver<()>>) {
        let Ok((mut asker, _)) = listener.accept() else { return }; // nobody asks any more
        asker.set_read_timeout(Some(limits::GATHERING)).unwrap();
        let lines = BufReader::new(asker.try_clone().unwrap()).lines().map_while(Result::ok);
        lines.take_while(|line| !line.is_empty()).for_each(drop);
        let _ = after.map(|after| after.recv_timeout(limits::GATHERING));
        let (node, cluster) = (node.to_owned(), "demo".to_owned());
        let record = Record { node, cluster, ..Record::default() };
        let body = serde_json::to_string(&record).unwrap();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        let _ = asker.write_all((head + &body).as_bytes());
        let _ = asker.read_to_end(&mut Vec::new()); // the asker closes
    }

    /// The members whose answers are found, if each answers once the one before it was heard.
    fn found_of(names: [&str; 3]) -> Vec<String> {
        let others = names.map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        let member = |(name, other): (&str, &TcpListener)| MemberStatus {
            name: name.to_owned(),
            admin: Some(other.local_addr().unwrap().to_string()),
            ..MemberStatus::default()
        };
        let members = names.into_iter().zip(&others).map(member).collect();
        let own = Status { members, cluster: "demo".to_owned(), ..Status::default() };
        let answers = thread::scope(|scope| {
            let mut before = None;
            for (name, other) in names.into_iter().zip(&others) {
                let (heard, next) = mpsc::channel();
                let after = before.replace(next);
                scope.spawn(move || {
                    tells(other, name, after);
                    let _ = heard.send(());
                });
            }
            let answers = ask_others(&own, &Security::default());
            others.iter().for_each(|other| SockRef::from(other).shutdown(Shutdown::Both).unwrap());
            answers
        });
        answers.into_iter().map(|answer| answer.record.node).collect()
    }

    /// An election that is merged twice has to look the same.
    #[test]
    fn the_answers_have_one_order_whoever_answers_first() {
        // A busy machine may not hear all of them in time.
        let mut found = (0..20).map(|_| found_of(["c", "a", "b"]));
        let found = found.find(|found| found.len() == 3).expect("all are heard");
        assert_eq!(found, ["a", "b", "c"]);
    }

    #[test]
    fn one_who_asks_in_vain_learns_why() {
        let sentence = "no member that answers has recorded an election since its start";
        assert_eq!(nobody_knows(Which::Last), Response::error(404, sentence));
        let sentence = "no member that answers remembers the election of epoch 7: a node forgets the earliest, and by \
                        a restart all before it";
        assert_eq!(nobody_knows(Which::Epoch(7)), Response::error(404, sentence));
        let sentence = "too many ask for elections at present: ask again";
        assert_eq!(too_many(), Response::error(503, sentence));
    }

    #[test]
    fn a_path_names_the_last_election_or_one_by_its_epoch() {
        for (path, which) in [
            ("/elections/last", Some(Which::Last)),
            ("/elections/7", Some(Which::Epoch(7))),
            ("/elections/", None),
            ("/elections/+7", None),
            ("/elections/first", None),
            ("/elections/99999999999999999999", None),
            ("/elections", None),
        ] {
            assert_eq!(named(path), which, "{path}");
        }
    }
}
