//! Which members are asked for an election, and who else gets what they told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use socket2::SockRef;

use super::*;
use crate::trace::record::Record;

#[test]
fn whoever_asks_soon_gets_what_was_found_and_whoever_draws_it_a_while_longer() {
    let (which, since) = (Which::Epoch(7), Instant::now());
    let done = since + limits::FRESH * 2;
    let found = FoundElection { which, since, done, election: None };
    let tick = Duration::from_millis(1);
    for (after, to_a_program, to_a_page) in [
        (since + limits::FRESH, true, true),
        (since + limits::FRESH + tick, false, true),
        (done + limits::DRAWN, false, true),
        (done + limits::DRAWN + tick, false, false),
    ] {
        let told = [false, true].map(|draws| found.answers(ElectionQuery { which, draws }, after));
        assert_eq!(told, [to_a_program, to_a_page], "{:?} after", after - since);
    }
    assert!(
        !found.answers(ElectionQuery { which: Which::Last, draws: true }, since),
        "another one"
    );
}

/// How many of so many others are asked, who end the connection at once. None if this machine was too busy to tell.
fn asked_of(count: usize) -> Option<usize> {
    let others: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
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
    let asked = ElectionQuery { which: Which::Last, draws: true };
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

/// Members of whom the time may not be enough for all: those that may answer come first.
#[test]
fn who_is_taken_to_be_alive_is_asked_first_and_nobody_any_more_when_the_time_is_over() {
    let dead: Vec<_> = (0..3 * limits::ASKED_AT_ONCE + 1)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    let alive = TcpListener::bind("127.0.0.1:0").unwrap();
    let member = |name: String, status: &str, listener: &TcpListener| MemberStatus {
        name,
        status: status.to_owned(),
        admin: Some(listener.local_addr().unwrap().to_string()),
        ..MemberStatus::default()
    };
    let mut members = vec![member("a".to_owned(), "alive", &alive)];
    let names = dead.iter().enumerate();
    members.extend(names.map(|(at, listener)| member(format!("dead-{at}"), "dead", listener)));
    let mut own = Status { members, cluster: "demo".to_owned(), ..Status::default() };
    own.members.push(member("own".to_owned(), "alive", &dead[0]));
    own.node.name = "own".to_owned();
    // They take connections, and say nothing.
    let asked = || {
        let asked = |listener: &&TcpListener| {
            listener.set_nonblocking(true).unwrap();
            let asked = listener.accept().is_ok();
            listener.set_nonblocking(false).unwrap();
            asked
        };
        dead.iter().filter(asked).count()
    };
    let (answers, asked_before) = thread::scope(|scope| {
        let asked_before = scope.spawn(|| {
            let Ok((mut asker, _)) = alive.accept() else { return dead.len() }; // it is not asked
            let asked = asked();
            let record =
                Record { node: "a".to_owned(), cluster: "demo".to_owned(), ..Record::default() };
            let body = serde_json::to_string(&record).unwrap();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            let _ = asker.write_all((head + &body).as_bytes());
            asked
        });
        let answers = ask_others(&own, &Security::default());
        let _ = SockRef::from(&alive).shutdown(Shutdown::Both);
        (answers, asked_before.join().unwrap())
    });
    assert!(asked_before < limits::ASKED_AT_ONCE, "{asked_before} are asked before it");
    assert!(answers.len() <= 1);
    let asked = asked_before + asked();
    // A second each, of which the system may take a few milliseconds off.
    assert!(asked < dead.len(), "all {asked} are asked");
}

/// What a member tells is taken if it is the one that was asked.
#[test]
fn a_record_is_that_of_the_member_in_this_cluster() {
    let told = |node: &str, cluster: &str| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let member = MemberStatus {
            name: "a".to_owned(),
            admin: Some(address.clone()),
            ..MemberStatus::default()
        };
        let own = Status { cluster: "demo".to_owned(), ..Status::default() };
        let record =
            Record { node: node.to_owned(), cluster: cluster.to_owned(), ..Record::default() };
        let body = serde_json::to_string(&record).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut asker, _) = listener.accept().unwrap();
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                let _ = asker.write_all((head + &body).as_bytes());
                let _ = asker.read_to_end(&mut Vec::new());
            });
            let told = record_of(&member, &own, &Security::default());
            told.map(|told| told.record.node).map_err(|why| why.replace(&address, "ADDRESS"))
        })
    };
    assert_eq!(told("a", "demo"), Ok("a".to_owned()));
    assert_eq!(told("b", "demo"), Err("at ADDRESS answers b of cluster demo".to_owned()));
    assert_eq!(told("a", "other"), Err("at ADDRESS answers a of cluster other".to_owned()));
    let hidden = MemberStatus { name: "a".to_owned(), ..MemberStatus::default() };
    let why = record_of(&hidden, &Status::default(), &Security::default()).err();
    assert_eq!(why.as_deref(), Some("a has no \"admin\" address, so it cannot be asked"));
}

#[test]
fn a_browser_asks_for_the_drawing_and_only_by_get() {
    let asked = |line: &str, accept: &str| {
        let text = format!("{line} HTTP/1.1\r\nHost: n\r\nAccept: {accept}\r\n\r\n");
        asked(&Request::parse(text.as_bytes()).unwrap().unwrap().0)
    };
    let (last, seventh) = (Which::Last, Which::Epoch(7));
    let expected = |which, draws| Some(ElectionQuery { which, draws });
    assert_eq!(asked("GET /elections/last", "text/html,*/*"), expected(last, true));
    assert_eq!(asked("GET /elections/7", "*/*"), expected(seventh, false));
    assert_eq!(asked("HEAD /elections/7", "*/*"), None);
    assert_eq!(asked("GET /elections", "text/html"), None);
}
