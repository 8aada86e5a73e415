//! What a node says and hears of the commands beside it.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use super::*;
use crate::core::locks::table::LockName;
use crate::exec::words::Welcome;
use crate::node::logged::logged;

/// The first line of a node with this clock, which knows what to do if a command fails or does not.
fn welcome(clock: Option<&str>, takes: bool) -> FromNode {
    FromNode::Welcome(Welcome {
        lock: "exec-1.lock".to_owned(),
        addresses: Vec::new(),
        clock: clock.map(str::to_owned),
        takes_failures: takes,
        gives: true,
        takes_clean: takes,
        takes_late: takes,
        takes_locks: takes,
        takes_urls: takes,
        takes_periods: takes,
        takes_seen: false, // or it would be said all the time
    })
}

/// What becomes of the connection to a node that says this first.
fn start(first: &FromNode) -> Result<Remote, Unattached> {
    let (own, node) = UnixStream::pair().unwrap();
    [first, &FromNode::DoesNotLead].iter().for_each(|word| lines::write(&node, word).unwrap());
    Remote::start(own, Vec::new(), Path::new("state"), None)
}

/// A node that answers all that it is asked; and what it hears.
fn node(takes_failures: bool) -> (Remote, Receiver<FromExec>) {
    let (own, node) = UnixStream::pair().unwrap();
    for word in [welcome(None, takes_failures), FromNode::DoesNotLead] {
        lines::write(&node, &word).unwrap();
    }
    let (hears, heard) = bounded(8);
    thread::spawn(move || {
        let mut lines = BufReader::new(node.try_clone().unwrap());
        while let Ok(Some(word)) = lines::read(&mut lines) {
            let answer = match word {
                FromExec::Hold { .. } => Some(FromNode::Held(true)),
                FromExec::Lock { .. } => Some(FromNode::WantsLock),
                FromExec::Clean
                | FromExec::Late { .. }
                | FromExec::Url { .. }
                | FromExec::Ran { .. }
                | FromExec::Seen
                | FromExec::Ended => None,
                FromExec::Resign | FromExec::Failed { .. } => Some(FromNode::Resigned(None)),
            };
            hears.send(word).unwrap();
            answer.iter().for_each(|answer| lines::write(&node, answer).unwrap());
        }
    });
    (Remote::start(own, Vec::new(), Path::new("state"), None).unwrap(), heard)
}

/// A node of an earlier version would end the connection.
#[test]
fn a_node_that_takes_it_is_told_of_a_renewal_that_came_late() {
    for takes in [true, false] {
        let (node, heard) = node(takes);
        node.note_late_renewal(7);
        drop(node.hold(Duration::from_secs(1)).unwrap()); // what was said before has arrived
        let said: Vec<_> = heard.try_iter().collect();
        assert_eq!(said.contains(&FromExec::Late { epoch: 7 }), takes, "{said:?}");
    }
}

/// A node of an earlier version would end the connection.
#[test]
fn a_node_that_takes_it_is_told_that_its_words_were_seen() {
    for takes in [true, false] {
        let (own, node) = UnixStream::pair().unwrap();
        let FromNode::Welcome(first) = welcome(None, true) else { unreachable!() };
        let first = FromNode::Welcome(Welcome { takes_seen: takes, ..first });
        let leads = FromNode::Leads { epoch: 7, until: u64::MAX, renewal: None };
        for word in [&first, &FromNode::DoesNotLead, &leads] {
            lines::write(&node, word).unwrap();
        }
        let remote = Remote::start(own, Vec::new(), Path::new("state"), None).unwrap();
        let began = |change| matches!(change, Change::Leading { epoch: 7 });
        {
            let changes = remote.changes(); // before the look, or it may come between the two
            assert!(remote.leadership().is_some() || changes.iter().any(began));
        }
        remote.note_late_renewal(7); // the last word, if any is said
        node.shutdown(Shutdown::Write).unwrap();
        drop(remote);
        let mut lines = BufReader::new(node);
        let said = std::iter::from_fn(|| lines::read::<FromExec>(&mut lines).ok().flatten());
        let seen = said.filter(|word| *word == FromExec::Seen).count();
        assert_eq!(seen, if takes { 2 } else { 0 });
    }
}

/// Otherwise the next leader would hand over too, if it leads by then.
#[test]
fn a_node_that_stands_back_is_not_asked_to_hand_over_as_well() {
    let (node, heard) = node(true);
    node.stand_back("code 3");
    node.hand_over();
    let reason = "code 3".to_owned();
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [FromExec::Failed { reason }]);
    drop(node.hold(Duration::from_secs(1)).unwrap());
    node.hand_over();
    let said = [FromExec::Hold { most_ms: 1000, takes: true }, FromExec::Ended, FromExec::Resign];
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), said, "another command has run since");
}

/// Whoever says less leaves it open, and an older node takes no more.
#[test]
fn a_node_that_takes_it_learns_that_nothing_is_left_of_a_command() {
    for (takes, is_clean, said) in [
        (true, true, &[FromExec::Clean, FromExec::Ended][..]),
        (true, false, &[FromExec::Ended]),
        (false, true, &[FromExec::Ended]),
    ] {
        let (node, heard) = node(takes);
        let hold = node.hold(Duration::from_secs(1)).unwrap();
        node.release(hold, is_clean);
        node.stand_back("code 3"); // an answer to this comes after all that was said before
        let all: Vec<_> = heard.try_iter().collect();
        assert_eq!(&all[1..all.len() - 1], said);
    }
}

#[test]
fn an_older_node_hands_over_where_it_cannot_stand_back() {
    let (node, heard) = node(false);
    node.stand_back("code 3");
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [FromExec::Resign]);
}

/// What comes of a connection for a lock to a node that says this.
fn start_with_lock(words: &[FromNode]) -> Result<Remote, Unattached> {
    let (own, node) = UnixStream::pair().unwrap();
    words.iter().for_each(|word| lines::write(&node, word).unwrap());
    if words.len() < 3 {
        node.shutdown(Shutdown::Write).unwrap();
    }
    let name = LockName::new("backup").unwrap();
    let asked = Some(LockAsked { name: &name, period: None });
    let started = Remote::start(own, Vec::new(), Path::new("state"), asked);
    std::mem::forget(node); // it lives on
    started
}

/// A node of an earlier version would run the command as for its leadership.
#[test]
fn a_command_by_a_lock_does_not_run_by_the_leadership() {
    let leads = |epoch| FromNode::Leads { epoch, until: u64::MAX, renewal: None };
    let words = [welcome(None, true), leads(7), FromNode::WantsLock, leads(9)];
    let remote = start_with_lock(&words).unwrap();
    assert_eq!(remote.shared.feed.leadership().map(|held| held.epoch()), Some(9));
    let words = [welcome(None, true), leads(7), FromNode::WantsLock, FromNode::DoesNotLead];
    assert!(start_with_lock(&words).unwrap().leadership().is_none());
    let old = start_with_lock(&[welcome(None, false), leads(7)]).err().unwrap();
    assert!(matches!(old, Unattached::NoLocks), "{old}");
    let (cause, why) = (NoLockCause::QuorumNone, "so".to_owned());
    let words = [welcome(None, true), leads(7), FromNode::NoLock { cause, why }];
    let refused = start_with_lock(&words).err().unwrap();
    assert!(
        matches!(&refused, Unattached::NotWanted { cause: NoLockCause::QuorumNone, why } if why == "so"),
        "{refused}"
    );
    assert!(start_with_lock(&words[..2]).is_err(), "it has ended");
}

/// A moment of its leadership would be another one here.
#[test]
fn a_node_with_another_clock_or_another_protocol_is_refused() {
    let own = clock::own();
    assert!(start(&welcome(Some(&own), true)).is_ok());
    let refused = |first: &FromNode| start(first).err().expect("it is refused").to_string();
    let words = format!(
        "the node has another clock than this process (time namespaces time:[1] and {own}), so that the command \
         would not end in time: run both in one time namespace"
    );
    assert_eq!(refused(&welcome(Some("time:[1]"), true)), words);
    assert_eq!(refused(&FromNode::Ending), "it did not say which lock to take");
}

/// Some of its lines may have been read with its answer to the request.
#[test]
fn what_a_node_says_first_is_kept() {
    let (own, node) = UnixStream::pair().unwrap();
    let words = [
        FromNode::Welcome(Welcome {
            lock: "exec-9.lock".to_owned(),
            addresses: ["10.0.0.9/24%eth0", "of a later version"].map(str::to_owned).into(),
            ..Welcome::default()
        }),
        FromNode::DoesNotLead,
    ];
    let mut first = Vec::new();
    words.iter().for_each(|word| lines::write(&mut first, word).unwrap());
    let remote = Remote::start(own, first, Path::new("state"), None).unwrap();
    let expected =
        (Some(Path::new("state/exec-9.lock")), vec!["10.0.0.9/24%eth0".parse().unwrap()]);
    assert_eq!((remote.lock.as_deref(), remote.addresses.clone()), expected);
    let timeout = remote.shared.stream.lock().write_timeout().unwrap();
    assert_eq!(timeout, Some(Duration::from_secs(10)));
    drop(node);
}

/// It was given to a question that nobody waits for any more.
#[test]
fn an_answer_that_came_too_late_answers_no_later_question() {
    let (own, far) = UnixStream::pair().unwrap();
    let say = |word: &FromNode| lines::write(&far, word).unwrap();
    say(&welcome(None, true));
    say(&FromNode::DoesNotLead);
    let node = Remote::start(own, Vec::new(), Path::new("state"), None).unwrap();
    let changes = node.changes();
    say(&FromNode::Held(true));
    say(&FromNode::Resigned(None));
    say(&FromNode::Ending);
    changes.recv_timeout(ANSWER).unwrap();
    let answers = thread::spawn(move || {
        let mut lines = BufReader::new(far.try_clone().unwrap());
        while let Ok(Some(word)) = lines::read(&mut lines) {
            let answer = match word {
                FromExec::Hold { .. } => FromNode::Held(false),
                FromExec::Resign => FromNode::Resigned(Some("so".to_owned())),
                _ => continue,
            };
            lines::write(&far, &answer).unwrap();
        }
    });
    assert!(node.hold(Duration::from_secs(7)).is_none());
    assert_eq!(logged(|| node.hand_over()), ["WARN : the node leads on: so"]);
    node.shared.stream.lock().shutdown(Shutdown::Both).unwrap();
    answers.join().unwrap();
}

/// A follower may have nothing to tell for days.
#[test]
fn a_node_may_say_nothing_for_as_long_as_it_likes_after_its_first_words() {
    let (node, _heard) = node(true);
    assert_eq!(node.shared.stream.lock().read_timeout().unwrap(), None);
}

#[test]
fn the_leadership_of_a_node_is_known_until_the_connection_ends() {
    let (own, node) = UnixStream::pair().unwrap();
    let say = |word: &FromNode| lines::write(&node, word).unwrap();
    let leads = |epoch| {
        let (until, renewal) = ((now() + Duration::from_secs(1000)).0, Some(3));
        say(&FromNode::Leads { epoch, until, renewal });
    };
    say(&welcome(None, true));
    leads(7);
    let remote = Remote::start(own, Vec::new(), Path::new("state"), None).unwrap();
    let leadership = remote.leadership().unwrap();
    assert_eq!(leadership.epoch(), 7);
    assert_eq!(leadership.renewal(), Some(Duration::from_nanos(3)));
    let changes = remote.changes();
    leads(7); // a renewal is no change
    leads(8);
    say(&FromNode::Ending);
    say(&FromNode::DoesNotLead);
    drop(node);
    let (leading, within) = (Change::Leading { epoch: 8 }, Duration::ZERO);
    for change in [leading, Change::Ending { within }, Change::NotLeading, Change::NotLeading] {
        assert_eq!(changes.recv_timeout(ANSWER), Ok(change));
    }
    assert!(!leadership.is_valid() && remote.leadership().is_none() && remote.is_gone());
}

/// Nobody would say that it ends.
#[test]
fn a_leadership_ends_here_with_the_node_that_led() {
    let (own, node) = UnixStream::pair().unwrap();
    let until = (now() + Duration::from_secs(1000)).0;
    for word in [welcome(None, true), FromNode::Leads { epoch: 7, until, renewal: None }] {
        lines::write(&node, &word).unwrap();
    }
    let remote = Remote::start(own, Vec::new(), Path::new("state"), None).unwrap();
    let (leadership, changes) = (remote.leadership().unwrap(), remote.changes());
    assert!(!remote.is_gone());
    drop(node);
    assert_eq!(changes.recv_timeout(ANSWER), Ok(Change::NotLeading));
    assert!(!leadership.is_valid() && remote.leadership().is_none() && remote.is_gone());
}

/// A node that does not lead, and its end of the line.
fn not_leading() -> (Remote, UnixStream) {
    let (own, far) = UnixStream::pair().unwrap();
    for word in [welcome(None, true), FromNode::DoesNotLead] {
        lines::write(&far, &word).unwrap();
    }
    (Remote::start(own, Vec::new(), Path::new("state"), None).unwrap(), far)
}

#[test]
fn a_node_that_refuses_to_hand_over_or_has_gone_is_told() {
    let (node, far) = not_leading();
    let refuses = thread::spawn(move || {
        let mut lines = BufReader::new(far.try_clone().unwrap());
        assert_eq!(lines::read(&mut lines).unwrap(), Some(FromExec::Resign));
        let why = Some("no other can lead".to_owned());
        lines::write(&far, &FromNode::Resigned(why)).unwrap();
        let asked = lines::read(&mut lines).unwrap();
        assert_eq!(asked, Some(FromExec::Hold { most_ms: 7000, takes: true }));
        lines::write(&far, &FromNode::Held(false)).unwrap();
        assert_eq!(lines::read(&mut lines).unwrap(), Some(FromExec::Ended), "in any case");
    });
    assert_eq!(logged(|| node.hand_over()), ["WARN : the node leads on: no other can lead"]);
    assert!(node.hold(Duration::from_secs(7)).is_none());
    refuses.join().unwrap();
    let changes = node.changes();
    while !node.is_gone() && changes.recv_timeout(ANSWER).is_ok() {}
    assert!(node.hold(Duration::from_secs(7)).is_none(), "nobody is there");
    assert_eq!(logged(|| node.hand_over()), ["WARN : the node did not say whether it hands over"]);
}

/// What it says would be lost, and nobody would know.
#[test]
fn a_node_that_cannot_be_spoken_to_is_gone() {
    let (node, far) = not_leading();
    let changes = node.changes();
    far.shutdown(Shutdown::Read).unwrap();
    assert!(node.hold(Duration::from_secs(1)).is_none());
    while !node.is_gone() {
        changes.recv_timeout(ANSWER).expect("it is gone");
    }
}

/// What a process gets of a node that answers its question so, in a folder with such a lock.
fn equipped(gives: bool, answer: FromNode, given: &[&File]) -> io::Result<Equipment> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("exec-1.lock"), "").unwrap();
    let (own, far) = UnixStream::pair().unwrap();
    let mut first = welcome(None, true);
    if let FromNode::Welcome(welcome) = &mut first {
        welcome.gives = gives;
    }
    [first, FromNode::DoesNotLead].iter().for_each(|word| lines::write(&far, word).unwrap());
    let node = Remote::start(own, Vec::new(), folder.path(), None).unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut lines = BufReader::new(far.try_clone().unwrap());
            lines::read::<FromExec>(&mut lines).unwrap();
            let given: Vec<_> = given.iter().map(|file| file.as_fd()).collect();
            lines::pass(&far, &answer, &given).unwrap();
            lines::read::<FromExec>(&mut lines).unwrap(); // that it has ended
        });
        let mut hold = node.hold(ANSWER).expect("it is held, or a reason is given");
        node.equip(&mut hold)
    })
}

/// What its own paths lead to may be something else.
#[test]
fn a_command_gets_the_very_file_that_the_node_has_locked() {
    let file = tempfile::tempfile().unwrap();
    let same = |equipment: &Equipment| {
        let of = |file: &File| (file.metadata().unwrap().dev(), file.metadata().unwrap().ino());
        of(&equipment.lock) == of(&file)
    };
    let alone = equipped(true, FromNode::Held(true), &[&file]).unwrap();
    assert!(same(&alone) && alone.fds().count() == 1);
    let attended = equipped(true, FromNode::Held(true), &[&file, &file]).unwrap();
    assert!(same(&attended) && attended.fds().count() == 2);
    let none = equipped(true, FromNode::Held(true), &[]).unwrap_err().to_string();
    assert_eq!(none, "the node has passed no lock on for the command");
    let unable = equipped(true, FromNode::Unable("so".to_owned()), &[]).unwrap_err().to_string();
    assert_eq!(unable, "so");
    let by_path = equipped(false, FromNode::Held(true), &[]).unwrap();
    assert!(!same(&by_path) && by_path.fds().count() == 1, "an older node");
}
