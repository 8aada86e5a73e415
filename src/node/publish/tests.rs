//! What is published of a member: that a leadership expires by itself, and what a node may do by itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::super::clock;
use super::{KnownMember, Published};
use crate::core::membership::{ListVersion, Member, MemberList};
use crate::core::message::Liveness;
use crate::core::restart::restart;
use crate::core::settings::{Preempt, Quorum, RankKind, Settings, Timing};
use crate::core::types::{Drain, Epoch, NodeId, Role, Task, Time};
use crate::core::{Core, Input, Output, Phase, Reason, Transition};
use crate::net::Who;
use crate::net::rejections::RefusedBy;
use crate::node::status::{RefusalCause, RejectionStatus};
use crate::rank::Sample;
use crate::realtime::Realtime;
use crate::tls::{TlsCause, TlsFault};

/// The timings of its members.
pub const TIMING: Timing = Timing {
    heartbeat: Duration::from_millis(40),
    failure: Duration::from_millis(200),
    message: Duration::from_millis(20),
    lease: Duration::from_millis(160),
};

/// The id of the member node-1, node-2 and so on.
pub fn id(number: u128) -> NodeId {
    NodeId(Uuid::from_u128(0x4000_8000_0000_0000_0000 + number))
}

/// The first of so many members, whose vote is enough if it is alone.
pub fn settings(members: u128) -> Settings {
    let member = |number| Member {
        id: id(number),
        name: format!("node-{number}"),
        address: String::new(),
        admin: None,
        role: Role::Member,
    };
    let members = (1..=members).map(member).collect();
    let members = Arc::new(MemberList::new(ListVersion::default(), members));
    Settings { value: Some(0), bootstrap: true, ..Settings::new("test", id(1), members, TIMING) }
}

/// A core that leads, with a lease that begins about now.
fn leader() -> Core {
    let mut core = starting();
    lead(&mut core);
    core
}

/// A core that has not done anything yet.
fn starting() -> Core {
    let started = Time(clock::now().0 - u64::try_from(TIMING.failure.as_nanos()).unwrap());
    let settings = settings(1);
    let restored = restart(None, &settings, None).unwrap();
    Core::new(started, settings, restored, 0)
}

fn lead(core: &mut Core) {
    let mut inputs = vec![Input::Tick];
    while let Some(input) = inputs.pop() {
        let mut out = Vec::new();
        core.handle(clock::now(), input, &mut out);
        inputs.extend(out.into_iter().filter_map(|output| match output {
            Output::Persist { number, .. } => Some(Input::Persisted { number }),
            _ => None,
        }));
    }
    assert_eq!(core.phase(), Phase::Leading);
}

fn publish(core: &Core) -> Published {
    let sample = Ok(Sample { value: 0, from: String::new() });
    Published::new(core, core.members().clone(), &sample, Arc::default(), Realtime::default())
}

/// What is published of a leader, of which nobody has asked yet for how long it leads.
pub fn published() -> Published {
    publish(&leader())
}

/// It follows another member from now on, and either could lead.
pub fn follow(published: &Published) {
    let list = settings(2).members;
    published.carry_on(|snapshot| {
        (snapshot.phase, snapshot.list, snapshot.lease) = (Phase::Following, list, None);
        (snapshot.leader, snapshot.epoch, snapshot.leads_on) = (Some(id(2)), Epoch(7), false);
        snapshot.members =
            [published.own(), id(2)].map(|id| known(id, true, Liveness::Alive)).to_vec();
    });
}

/// A change of state, in which it names this leader from now on.
pub fn change(published: &Published, to: Phase, leader: Option<NodeId>, reason: Reason) {
    let core = self::leader();
    published.carry_on(|snapshot| {
        let (from, epoch) = (snapshot.phase, snapshot.epoch);
        let change = Transition { from, to, leader, epoch, reason };
        snapshot.changed(&change, &core, clock::now());
        (snapshot.phase, snapshot.leader) = (to, leader);
    });
}

/// It is to take over from the leader that it follows.
pub fn take_over(published: &Published) {
    published.carry_on(|snapshot| snapshot.takeover = snapshot.leader.map(|from| (from, None)));
}

/// These are its members from now on.
pub fn list(published: &Published, members: MemberList) {
    published.carry_on(|snapshot| snapshot.list = Arc::new(members));
}

/// The leader that it follows leads no more.
pub fn lose_leader(published: &Published) {
    published.carry_on(|snapshot| snapshot.leader = None);
}

/// It was handed out this task.
pub fn hand_out(published: &Published, task: Task) {
    published.carry_on(|snapshot| snapshot.task = task);
}

/// An operator had it hand over to the member that it follows, which nobody preempts; and its timings are these.
pub fn resign(published: &mut Published, failure: Duration) {
    published.settings.preempt = Preempt::Never;
    follow(published);
    published.carry_on(|snapshot| {
        snapshot.has_resigned = true;
        snapshot.timing.failure = failure;
    });
}

fn known(id: NodeId, eligible: bool, status: Liveness) -> KnownMember {
    let (passed_over, value, timing, version) = Default::default();
    KnownMember { id, eligible, status, passed_over, value, timing, version }
}

#[test]
fn a_leader_whose_election_thread_stands_still_is_not_believed_beyond_its_lease() {
    let (core, start) = (leader(), Instant::now());
    let published = publish(&core);
    let until = core.lease_until().unwrap();
    published.carry_on(|snapshot| snapshot.takeover = Some((id(2), None)));
    let mut leading = 0;
    loop {
        let (before, status) = (clock::now(), published.status());
        let leads = status.state == "leading" && status.leader.is_some();
        assert!(!leads || before < until, "{:?} after its lease", before.since(until));
        assert_eq!(leads, status.lease_remaining_ms.is_some());
        assert_eq!(leads, status.takeover.is_some(), "nor that it takes over");
        leading += u32::from(leads);
        if !leads {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "it leads for ever");
        std::thread::yield_now();
    }
    assert!(leading > 0, "it led at first");
    assert_eq!(core.phase(), Phase::Leading, "the core has not been asked since");
}

#[test]
fn a_node_stands_back_only_where_another_that_is_there_may_lead() {
    let published = published();
    let could = |phase, eligible, other| {
        published.carry_on(|snapshot| {
            snapshot.phase = phase;
            snapshot.members = vec![known(published.own(), eligible, Liveness::Alive)];
            snapshot.members.extend(other);
        });
        published.could_stand_back()
    };
    let other = |eligible, status| Some(known(NodeId::default(), eligible, status));
    let (follows, alive) = (Phase::Following, Liveness::Alive);
    assert!(could(follows, true, other(true, alive)));
    assert!(!could(follows, true, None) && !could(follows, true, other(false, alive)));
    for gone in [Liveness::Dead, Liveness::Suspected] {
        assert!(!could(follows, true, other(true, gone)), "{gone:?}");
    }
    assert!(!could(follows, false, other(true, alive)), "it does so already");
    assert!(!could(Phase::Electing, true, other(true, alive)));
}

/// Whatever else keeps a member from leading is not undone with its resignation.
#[test]
fn only_a_resignation_may_end_with_the_next_leader_and_only_where_nobody_preempts_that() {
    let mut published = published();
    resign(&mut published, Duration::from_secs(1));
    let led = Some((id(2), 7));
    assert_eq!(published.led_since_resigned(), led);

    for preempt in [Preempt::Always, Preempt::After(Duration::from_secs(1))] {
        published.settings.preempt = preempt;
        assert_eq!(published.led_since_resigned(), None, "{preempt}");
    }
    published.settings.preempt = Preempt::Never;

    let drain = Drain { since: 0, until: None, reason: String::new() };
    published.carry_on(|snapshot| snapshot.drain = Some(drain));
    assert_eq!(published.led_since_resigned(), None, "it is drained");
    published.carry_on(|snapshot| snapshot.drain = None);

    published.failures.add("code 1");
    assert_eq!(published.led_since_resigned(), None, "its job failed");
    assert!(!published.status().resigned && published.status().failure.is_some());
    published.failures.end();
    assert!(published.status().resigned && published.led_since_resigned() == led);

    published.carry_on(|snapshot| snapshot.leader = Some(id(1)));
    assert_eq!(published.led_since_resigned(), None, "it leads itself");
    published.carry_on(|snapshot| (snapshot.leader, snapshot.has_resigned) = (Some(id(2)), false));
    assert_eq!(published.led_since_resigned(), None, "it did not resign");
}

#[test]
fn a_member_shows_the_bounds_of_its_failovers_and_nothing_of_members_that_it_has_not_met() {
    let settings = Settings { rank: RankKind::Priority, ..settings(3) };
    let restored = restart(None, &settings, None).unwrap();
    let core = Core::new(clock::now(), settings, restored, 0);
    let status = publish(&core).status();
    let bounds = [status.crash_failover_ms, status.proven_failover_ms, status.worst_failover_ms];
    assert!(bounds[0].is_some() && bounds.is_sorted() && bounds[0] < bounds[2], "{bounds:?}");
    let values: Vec<_> = status.members.iter().map(|member| member.rank.value.clone()).collect();
    assert_eq!(values, [0.into(), serde_json::Value::Null, serde_json::Value::Null]);
    let states: Vec<_> = status.members.iter().map(|member| member.status.as_str()).collect();
    assert_eq!(states[0], "alive");
    assert!(!states[1..].contains(&"alive"), "{states:?}");
}

/// A voter that takes a lease far from those of the others would part the cluster.
#[test]
fn timings_are_taken_by_voters_alone_only_where_the_others_can_follow() {
    let mut published = published();
    follow(&published);
    published.carry_on(|snapshot| snapshot.members[1].timing = Some(TIMING.nanos()));
    let longer = |times| Timing { lease: TIMING.lease * times, ..TIMING };
    assert_eq!(published.check_timing(&longer(16)), Ok(()));
    let refused = published.check_timing(&longer(17)).unwrap_err();
    assert_eq!(
        refused,
        "timing: lease 2.72s and the 160ms of node-2 are more than 16 times apart, so that one would not vote for \
         the other: change the timings in smaller steps, on all members each time"
    );
    let observes = |own: bool| {
        let mut members = settings(2).members.iter().cloned().collect::<Vec<_>>();
        members[usize::from(!own)].role = Role::Observer;
        list(&published, MemberList::new(ListVersion::default(), members));
        published.check_timing(&longer(17))
    };
    assert_eq!((observes(true), observes(false)), (Ok(()), Ok(())), "one of them does not vote");
    follow(&published);
    assert_eq!(published.check_timing(&longer(17)), Ok(()), "its timings are not known");
    published.carry_on(|snapshot| snapshot.members[1].timing = Some(TIMING.nanos()));
    published.carry_on(|snapshot| snapshot.members[1].status = Liveness::Dead);
    assert_eq!(published.check_timing(&longer(17)), Ok(()), "it is gone");
    published.carry_on(|snapshot| snapshot.members[1].status = Liveness::Alive);
    published.settings.quorum = Quorum::None;
    assert_eq!(published.check_timing(&longer(17)), Ok(()), "nobody votes");
}

#[test]
fn of_several_holds_the_longest_counts() {
    let published = published();
    for seconds in [1, 10, 2] {
        published.held_for(Duration::from_secs(seconds));
    }
    assert_eq!(published.longest_hold(), Duration::from_secs(10));
    published.held_for(Duration::MAX);
    assert_eq!(published.longest_hold(), Duration::from_nanos(u64::MAX));
}

#[test]
fn where_the_rank_came_from_is_shown_or_why_there_is_none() {
    let published = published();
    let sample = Sample { value: 3, from: "./rank".to_owned() };
    for (outcome, shown) in [(Ok(sample), "./rank"), (Err("code 1".to_owned()), "none: code 1")] {
        published.carry_on(|snapshot| snapshot.sampled(&outcome));
        assert_eq!(published.status().rank_source, shown);
    }
}

#[test]
fn members_with_other_timings_and_another_file_are_seen() {
    let mut published = published();
    resign(&mut published, Duration::from_secs(3600));
    let own = published.timing().nanos();
    for (theirs, seen) in [(None, None), (Some(own), None), (Some([1, 2, 3, 4]), Some("node-2"))] {
        published.carry_on(|snapshot| snapshot.members[1].timing = theirs);
        let sight = published.sight();
        let names: Vec<_> = sight.timings.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, seen.into_iter().collect::<Vec<_>>());
        assert!(!sight.settled, "it has just started");
    }
    let (_, words) = published.sight().timings.remove(0);
    assert_eq!(words, "heartbeat 1ns, failure 2ns, message 3ns, lease 4ns");
    assert!(published.status().differs_from_file.is_some(), "the file lists one member");
    published.file_lists(published.members());
    assert_eq!(published.status().differs_from_file, None);
    resign(&mut published, Duration::ZERO);
    assert!(published.sight().settled && !published.is_live());
}

#[test]
fn a_bell_that_rings_twice_calls_once() {
    let published = published();
    published.ring();
    published.ring();
    let news = published.news();
    assert!(news.try_recv().is_ok() && news.try_recv().is_err());
}

#[test]
fn the_turns_of_the_election_thread_tell_whether_the_node_is_live() {
    let published = published();
    let failure = Duration::from_secs(3600);
    published.carry_on(|snapshot| snapshot.timing.failure = failure);
    let ago = |time: Duration| Time(clock::now().0 - u64::try_from(time.as_nanos()).unwrap());
    for (time, is_live) in [(Duration::ZERO, true), (failure / 2, true), (failure, false)] {
        published.turned(ago(time));
        assert_eq!(published.is_live(), is_live, "{time:?}");
        let since = published.since_turn(clock::now());
        assert!((time..time + Duration::from_secs(100)).contains(&since), "{since:?}");
    }
}

#[test]
fn whoever_is_refused_now_is_seen_and_whoever_was_is_shown() {
    let published = published();
    follow(&published);
    published.carry_on(|snapshot| snapshot.timing.failure = Duration::from_secs(3600));
    let (list, two, stranger) = (published.members(), Who::Member(id(2)), Who::Member(id(3)));
    let fault = TlsFault { cause: TlsCause::Expired, by_peer: true, why: "no hello".to_owned() };
    published.carry_on(|snapshot| {
        snapshot.rejections.record(
            clock::now(),
            &list,
            (two, RefusedBy::Node),
            (RefusalCause::Cluster, "another cluster"),
        )
    });
    published.measures.handshakes.record(clock::now(), stranger, &fault);
    let (first, last) = (
        ("node-2".to_owned(), "is refused: another cluster", RefusalCause::Cluster, false),
        (id(3).to_string(), "rejects this node: no hello", RefusalCause::Certificate, true),
    );
    let both = [first, last].map(|(peer, reason, cause, by_peer)| {
        let (reason, cause) = (reason.to_owned(), Some(cause));
        RejectionStatus { peer, reason, cause, by_peer }
    });
    assert_eq!(published.status().rejections, both);
    assert_eq!(published.sight().rejected, both);
}

#[cfg(feature = "tls")]
#[test]
fn the_end_of_a_certificate_is_shown_by_a_node_that_has_one() {
    use crate::tls::{Credentials, Security};

    let published = published();
    assert_eq!((published.certificate_end(), published.status().certificate_ends), (None, None));
    let folder = tempfile::tempdir().unwrap();
    let files = crate::node::certificates::tests::signed(folder.path());
    let credentials = Credentials::load(&files, "example", "a").unwrap();
    let end = credentials.end();
    published.secure(Security::new(Some(credentials)));
    assert_eq!(published.certificate_end(), Some(end));
    assert_eq!(published.status().certificate_ends, Some(end.to_string()));
}
