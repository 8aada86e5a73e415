//! What the watch reports, and that it reports it once.

use tempfile::TempDir;

use super::*;
use crate::config::Config;
use crate::core::membership::{ListVersion, Member, MemberList};
use crate::core::types::{Drain, Role};
use crate::core::{Phase, Reason};
use crate::net::{Answering, ThreadEnd};
use crate::node::history::HistoryEntry;
use crate::node::inbox::{self, CommandOrder, Queue};
use crate::node::logged::logged;
use crate::node::publish::tests::{change, id, list, published, resign, take_over};
use crate::node::status::{
    HaltingStatus, LeaderStatus, LeaderlessStatus, MemberStatus, NodeRef, TakeoverStatus,
};
use crate::node::{example, own_address};
use crate::realtime::Realtime;

fn status(states: &[(&str, &str)]) -> Status {
    let member = |(name, status): &(&str, &str)| MemberStatus {
        id: (*name).to_owned(),
        name: (*name).to_owned(),
        status: (*status).to_owned(),
        ..MemberStatus::default()
    };
    let node = NodeRef { id: "a".to_owned(), name: "a".to_owned() };
    Status { node, members: states.iter().map(member).collect(), ..Status::default() }
}

#[test]
fn a_takeover_is_told_once_for_each_leader_and_each_step() {
    let mut known = None;
    let mut told = |takeover: Option<(&str, Option<&str>)>| {
        let takeover = takeover.map(|(from, at)| {
            let (from, at) = (from.to_owned(), at.map(str::to_owned));
            let why = TakeoverStatus::why("after 30s", at.is_some());
            TakeoverStatus { from, at, why }
        });
        let event = super::takeover(&mut known, &Status { takeover, ..status(&[]) });
        event.map(|event| (event.event, event.member.unwrap_or_default(), event.reason))
    };
    let waits = "is to take over from b at then: preempt after 30s: until then it has not been eligible for long \
                 enough without a break";
    let asks = "is to take over from b: it asks for that, and the leader or the voters have not agreed yet";
    let event = |reason: &str| Some((EventKind::Takeover, "b".to_owned(), reason.to_owned()));
    assert_eq!(told(None), None);
    assert_eq!(told(Some(("b", Some("then")))), event(waits));
    assert_eq!(told(Some(("b", Some("a moment later")))), None, "it is the same");
    assert_eq!(told(Some(("b", None))), event(asks));
    assert_eq!(told(Some(("b", None))), None);
    assert!(told(Some(("c", None))).is_some_and(|(_, from, _)| from == "c"));
    assert_eq!(told(None), None);
    assert!(told(Some(("c", None))).is_some(), "once more");
}

#[test]
fn a_member_is_up_or_down_once_each_time() {
    let mut known = BTreeMap::new();
    let mut told = |states: &[(&str, &str)]| {
        let events = members(&mut known, &status(states));
        let one =
            |event: Event| (event.event.name(), event.member.unwrap_or_default(), event.reason);
        events.into_iter().map(one).collect::<Vec<_>>()
    };
    let down = || vec![("member_down", "b".to_owned(), "b does not answer".to_owned())];
    let up = || vec![("member_up", "b".to_owned(), "b answers".to_owned())];
    assert_eq!(told(&[("a", "alive"), ("b", "suspected")]), [], "it was never up");
    assert_eq!(told(&[("a", "alive"), ("b", "alive")]), up(), "and not this node itself");
    assert_eq!(told(&[("a", "alive"), ("b", "alive")]), []);
    assert_eq!(told(&[("a", "alive"), ("b", "suspected")]), down());
    assert_eq!(told(&[("a", "alive"), ("b", "dead")]), []);
    assert_eq!(told(&[("a", "alive")]), [], "it was removed");
    assert_eq!(told(&[("a", "alive"), ("b", "alive")]), up());
}

/// A status in which each field is another.
fn present_status() -> Status {
    let named = |name: &str| name.to_owned();
    let (id, name, address) = (named("z"), named("l"), named("h:1"));
    Status {
        state: named("waiting"),
        leader: Some(LeaderStatus { id, name, address, epoch: 3 }),
        epoch: 4,
        halting: Some(HaltingStatus { status: named("election"), halter: None, task_bytes: 0 }),
        leaderless: Some(LeaderlessStatus { cause: named("isolated"), ..Default::default() }),
        ..status(&[("a", "alive"), ("b", "alive")])
    }
}

#[test]
fn an_event_that_leaves_the_state_as_it_is_tells_that() {
    let status = present_status();
    let expected = Event {
        id: String::new(),
        at_ms: 5,
        event: EventKind::NoLeader,
        node: "a".to_owned(),
        from: None,
        state: "waiting".to_owned(),
        halting: Some("election".to_owned()),
        leader: Some("l".to_owned()),
        epoch: 4,
        leaderless: status.leaderless.clone(),
        leaderless_ms: None,
        leadership: None,
        member: None,
        reason: "why".to_owned(),
    };
    assert_eq!(present(&status, 5, "why".to_owned()), expected);
    let before = wall_clock_ms();
    let met = members(&mut BTreeMap::new(), &status).remove(0);
    assert!((before..=wall_clock_ms()).contains(&met.at_ms));
    let (event, member) = (EventKind::MemberUp, Some("b".to_owned()));
    let reason = "b answers".to_owned();
    assert_eq!(met, Event { event, member, reason, at_ms: met.at_ms, ..expected.clone() });
    let (from, at, why) = ("l".to_owned(), None, "it asks".to_owned());
    let takeover = Some(TakeoverStatus { from, at, why });
    let status = Status { takeover, ..status };
    let told = super::takeover(&mut None, &status).unwrap();
    assert!((before..=wall_clock_ms()).contains(&told.at_ms));
    let (event, member) = (EventKind::Takeover, Some("l".to_owned()));
    let reason = "is to take over from l: it asks".to_owned();
    assert_eq!(told, Event { event, member, reason, at_ms: told.at_ms, ..expected });
}

#[test]
fn a_change_is_an_event_by_the_state_after_it() {
    let now = present_status();
    for (to, cause, event) in [
        ("leading", "resigned", EventKind::Leading),
        ("following", "resigned", EventKind::Following),
        ("following", "removed", EventKind::Following),
        ("stopping", "resigned", EventKind::Stopping),
        ("stopping", "removed", EventKind::Removed),
        ("waiting", "resigned", EventKind::NoLeader),
    ] {
        let change = ChangeStatus {
            number: 1,
            at_ms: 5,
            from: "electing".to_owned(),
            to: to.to_owned(),
            halting: Some("normal".to_owned()),
            leader: Some("b".to_owned()),
            epoch: 7,
            reason: "why".to_owned(),
            cause: cause.to_owned(),
            hinders: false,
            silent_ms: 0,
        };
        let expected = Event {
            event,
            from: Some("electing".to_owned()),
            state: to.to_owned(),
            halting: Some("normal".to_owned()),
            leader: Some("b".to_owned()),
            epoch: 7,
            ..present(&now, 5, "why".to_owned())
        };
        assert_eq!(changed(&change, &now), expected);
    }
}

/// A watch whose node has no election thread: what that would be asked for stays in its queue.
struct Watching {
    watcher: Watcher,
    published: Arc<Published>,
    queue: Receiver<inbox::InboxEvent>,
    config: Config,
    folder: TempDir,
    _of_config: example::ExampleFolder,
    _answering: Answering,
}

impl Watching {
    /// Of a member that follows node-2, in epoch 7.
    fn new(attendance: Attendance) -> Watching {
        Watching::in_folder(attendance, tempfile::tempdir().unwrap())
    }

    /// Its state is in this folder.
    fn in_folder(attendance: Attendance, folder: TempDir) -> Watching {
        let (config, of_config) = example::cluster().unwrap();
        let mut published = published();
        resign(&mut published, Duration::from_secs(3600));
        published.file_lists(published.members());
        let published = Arc::new(published);
        let (sender, queue) = bounded(9);
        let (answering, end) = ThreadEnd::new();
        let events = Queue::new(sender, Realtime::default());
        let handle = NodeHandle { published: published.clone(), events, end };
        let address = own_address(&config, &config.members[0]).unwrap();
        let socket = OwnListener::bind(address, Duration::from_secs(60), Vec::new()).unwrap();
        let edited = Edited::new(Arc::new(parking_lot::Mutex::new(config.clone())), "a");
        let observed = (edited, Certificates::default(), attendance);
        let watcher = Watcher::new(handle, socket, folder.path().to_owned(), observed).unwrap();
        Watching {
            watcher,
            published,
            queue,
            config,
            folder,
            _of_config: of_config,
            _answering: answering,
        }
    }

    /// What a look tells of these kinds, each with its reason.
    fn look(&mut self, kinds: &[EventKind]) -> Vec<(EventKind, String)> {
        let log = self.published.measures.events.clone();
        let last = log.last();
        self.watcher.look();
        let new = log.after(last, 100).into_iter();
        let new = new.filter(|event| kinds.contains(&event.event));
        new.map(|event| (event.event, event.reason.clone())).collect()
    }
}

#[test]
fn each_change_of_state_is_told_once_and_counted_and_kept() {
    let mut watching = Watching::new(Attendance::Unasked);
    let published = watching.published.clone();
    let states = [EventKind::Leading, EventKind::Following, EventKind::NoLeader];
    let mut look = || watching.look(&states).into_iter().map(|(kind, _)| kind).collect::<Vec<_>>();
    assert_eq!(look(), [], "nothing has changed yet");
    assert_eq!(published.watched().leaderless.as_ref().map(|it| it.cause.as_str()), Some("start"));
    assert_eq!(published.status().leaderless, None, "the status names a leader already");

    change(&published, Phase::Following, Some(id(2)), Reason::Announced(id(2)));
    assert_eq!(look(), [EventKind::Following]);
    assert_eq!(look(), [], "it was told");
    let tally = published.measures.tally.clone();
    assert_eq!((tally.leader_changes.get(), tally.stalls.get()), (1, 0));
    assert_eq!((published.watched().history.len(), &published.watched().leaderless), (1, &None));

    let stalled = Reason::Stalled(Duration::from_secs(3));
    change(&published, Phase::Electing, None, stalled);
    assert_eq!(look(), [EventKind::NoLeader]);
    assert_eq!((tally.leader_changes.get(), tally.stalls.get()), (1, 1));
    let status = published.status();
    assert_eq!(status.leaderless.map(|it| it.cause), Some("stalled".to_owned()));
    assert!(!published.watched().history[0].lasts);
    let later = wall_clock_ms() + 10_000;
    assert!(tally.leaderless_seconds(later) >= 10.0, "it goes on");
    let told = published.measures.events.after("1-0".parse().unwrap(), 100);
    let told: Vec<_> = told.iter().filter(|event| states.contains(&event.event)).collect();
    let ended = told[1].leaderless.as_ref().map(|leaderless| leaderless.cause.as_str());
    assert_eq!((&told[0].leaderless, told[1].leaderless_ms, ended), (&None, None, Some("stalled")));
    let history = published.watched().history.clone();
    assert_eq!(told[0].leaderless_ms, history[0].gap_ms(), "for so long none was known");
    watching.watcher.keeper.stop(); // before its folder goes
}

#[test]
fn a_leadership_of_this_node_is_logged_when_it_begins() {
    let mut watching = Watching::new(Attendance::Unasked);
    let mut leads = || {
        let lines = logged(|| watching.watcher.look());
        lines.into_iter().filter(|line| line.starts_with("INFO leads: ")).collect::<Vec<_>>()
    };
    let published = watching.published.clone();
    change(&published, Phase::Following, Some(id(2)), Reason::Announced(id(2)));
    assert_eq!(leads(), [""; 0], "another leads");
    change(&published, Phase::Electing, None, Reason::LeaderDead(id(2)));
    change(&published, Phase::Leading, Some(id(1)), Reason::Outranks(id(2)));
    let told = leads();
    let words = "INFO leads: leads in epoch 7: took over from node-2 (leader node-2 is dead: redial refused) after ";
    assert!(told.len() == 1 && told[0].starts_with(words), "{told:?}");
    assert_eq!(leads(), [""; 0]);
    watching.watcher.keeper.stop(); // before its folder goes
}

#[test]
fn a_takeover_and_the_end_of_an_order_are_seen_at_the_next_look() {
    let mut watching = Watching::new(Attendance::Unasked);
    let published = watching.published.clone();
    assert_eq!(watching.look(&[EventKind::Takeover]), []);
    take_over(&published);
    let told = watching.look(&[EventKind::Takeover]);
    assert!(told.len() == 1 && told[0].1.starts_with("is to take over from node-2"), "{told:?}");
    assert!(watching.queue.is_empty());
    let in_2023 = 1_700_000_000_000;
    let drain = Drain { since: in_2023 - 1, until: Some(in_2023), reason: String::new() };
    published.carry_on(|snapshot| snapshot.drain = Some(drain));
    watching.watcher.look();
    let Ok(inbox::InboxEvent::Order(CommandOrder { command, .. })) = watching.queue.try_recv()
    else {
        panic!("the drain does not end")
    };
    assert_eq!(format!("{command:?}"), "Undrain");
}

#[test]
fn a_problem_is_shown_and_told_from_its_begin_to_its_end() {
    let mut watching = Watching::new(Attendance::failed("no process is left"));
    let kinds = [EventKind::Problem, EventKind::ProblemOver];
    let of = |told: Vec<(EventKind, String)>, begin: &str| {
        told.into_iter().filter(|(_, why)| why.starts_with(begin)).map(|(kind, _)| kind).collect()
    };
    let shown = |watching: &Watching| -> Vec<_> {
        let problems = &watching.published.watched().problems;
        problems.iter().map(|it| (it.kind.clone(), it.about.clone())).collect()
    };
    let (coroner, file) = ("coroner: no coroner would", "config_differs: the file was edited");
    let mut told: Vec<EventKind> = Vec::new();
    let lines = logged(|| told = of(watching.look(&kinds), coroner));
    assert_eq!(told, [EventKind::Problem]);
    assert!(lines.iter().any(|line| line.starts_with("WARN problem: coroner: ")), "{lines:?}");
    assert!(shown(&watching).contains(&("coroner".to_owned(), String::new())));
    let words = "coroner: no coroner would certify a crash of this node (no process is left), ";
    let log = watching.published.measures.events.clone();
    let all = log.after("1-0".parse().unwrap(), 100);
    let first = all.iter().find(|event| event.event == EventKind::Problem).unwrap();
    assert!(first.reason.starts_with(words), "{}", first.reason);
    assert_eq!((first.state.as_str(), first.epoch), ("following", 7));

    let text = std::fs::read_to_string(&watching.config.file).unwrap();
    std::fs::write(&watching.config.file, "no file").unwrap();
    let told: Vec<EventKind> = of(watching.look(&kinds), file);
    assert_eq!(told, [EventKind::Problem]);
    assert!(shown(&watching).contains(&("config_differs".to_owned(), "the file".to_owned())));
    assert_eq!(watching.look(&kinds), [], "they are known");
    assert_eq!(watching.published.status().differs_from_file, None);

    std::fs::write(&watching.config.file, text + " ").unwrap();
    let told: Vec<EventKind> = of(watching.look(&kinds), file);
    assert_eq!(told, [EventKind::ProblemOver]);
    let differs = watching.published.status().differs_from_file;
    assert!(differs.is_some(), "the list is compared with the file as it is now");
}

#[test]
fn a_loopback_address_is_seen_to_hide_this_node_from_a_member_elsewhere() {
    let mut watching = Watching::new(Attendance::Unasked);
    let member = |(number, address): (u128, &str)| Member {
        id: id(number),
        name: format!("node-{number}"),
        address: address.to_owned(),
        admin: None,
        role: Role::Member,
    };
    let members = [(1, "127.0.0.1:7100"), (2, "192.0.2.1:7100")].map(member).to_vec();
    list(&watching.published, MemberList::new(ListVersion::default(), members));
    let address = watching.watcher.sight().address;
    assert!(address.as_ref().is_some_and(|why| why.contains("node-2")), "{address:?}");
}

#[cfg(feature = "tls")]
#[test]
fn what_is_wrong_with_the_certificates_is_a_problem() {
    use crate::node::certificates::tests::signed;

    let mut watching = Watching::new(Attendance::Unasked);
    let folder = tempfile::tempdir().unwrap();
    let mut own = watching.config.members[0].clone();
    own.tls = Some(signed(folder.path()));
    let certificates = Certificates::load(&watching.config, &own);
    watching.watcher.certificates = certificates.unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(watching.watcher.sight().certificate, []);
    std::fs::write(folder.path().join("key"), "no key").unwrap();
    watching.watcher.look(); // it may not be written to its end
    let told = watching.look(&[EventKind::Problem]);
    assert!(told.iter().any(|(_, why)| why.starts_with("certificate: ")), "{told:?}");
}

#[test]
fn the_watch_ends_after_a_last_look_with_all_on_the_disk() {
    let watching = Watching::new(Attendance::Unasked);
    let (end, ended) = bounded(0);
    drop(end);
    change(&watching.published, Phase::Following, Some(id(2)), Reason::Announced(id(2)));
    let (log, folder) = (watching.published.measures.events.clone(), watching.folder);
    watching.watcher.run(&ended);
    assert!(
        log.after("1-0".parse().unwrap(), 100).iter().any(|it| it.event == EventKind::Following)
    );
    let kept: Vec<_> = load(folder.path()).into_iter().map(|it| (it.leader, it.epoch)).collect();
    assert_eq!(kept, [("node-2".to_owned(), 7)]);
    let ended = |entry| HistoryEntry { lasts: false, ..entry };
    let all: Vec<_> = load(folder.path()).into_iter().map(ended).collect();
    let again = Watching::in_folder(Attendance::Unasked, folder);
    assert_eq!(*again.published.watched().history, all, "a restart shows them at once");
    let leaderless = again.published.watched().leaderless.clone();
    assert_eq!(leaderless.map(|it| it.cause), Some("start".to_owned()));
    again.watcher.keeper.stop();
}
