//! The longest times of elections, computed from the timings.
//!
//! Every bound holds in the model: no message takes longer than `message`, its processing included, and no running
//! process misses a turn. `f`, `h` and `m` below are `failure`, `heartbeat` and `message`.

use std::time::Duration;

use super::planted::Fault;
use super::settings::{AlgorithmKind, Quorum, Timing};
use super::types::Time;

/// The part of a promise of this length that a leader may rely on: shorter by how much the clocks of a voter and of
/// the leader may differ (each runs at 0.9 to 1.1 of true time). (L4)
pub fn certain(length: Duration) -> Duration {
    if Fault::NoDrift.is_planted() { length } else { length * 9 / 11 }
}

/// Until when a majority is bound, if each voter is bound until one of these times; never, if they are too few.
pub fn bound_by(times: impl Iterator<Item = Time>, majority: usize) -> Time {
    let mut times: Vec<Time> = times.collect();
    times.sort_unstable_by(|a, b| b.cmp(a));
    majority.checked_sub(1).and_then(|at| times.get(at)).copied().unwrap_or_default()
}

/// How late a leader may send a heartbeat, its round trip included, before it loses its leadership although it lives: with
/// a majority its lease ends, else the others suspect it, or it finds that it was stalled.
pub fn bearable(quorum: Quorum, timing: &Timing) -> Duration {
    let silence = match quorum {
        Quorum::Majority => certain(timing.lease),
        Quorum::None => timing.failure,
    };
    silence.min(timing.stall()).saturating_sub(timing.heartbeat)
}

/// From the silent death of a leader (its host is gone, or it is frozen) until every live member names the next one.
/// None for a lone member, which nobody can replace.
///
/// - *Detection*: `f + m`. The last heartbeat may have left just before the death and be heard `m`
///   later; from then on it takes `f` of silence. (The `heartbeat` only shortens this: a death
///   just before a heartbeat was due is found up to `h` sooner.) All watch the leader, so by then
///   all miss it.
/// - *An [`election`]* among the others.
pub fn worst_failover(
    algorithm: AlgorithmKind,
    timing: &Timing,
    members: usize,
) -> Option<Duration> {
    let others = members.checked_sub(1).filter(|others| *others > 0)?;
    Some(timing.failure + timing.message + election(algorithm, timing, others))
}

/// From when the live members miss their leader until all of them name the next one, where this many live or, for the
/// bullies, have died silently at the same time. A lone member is done immediately.
///
/// - *Bully*: the highest survivor wins immediately when it suspects all above it. Members that died
///   silently with the leader are not suspected yet, as only the leader is heard by all: it asks them, all
///   together, for T1 = `2m`. Then `m` for COORDINATOR. (A lower member that suspects first changes nothing:
///   the highest survivor is asked, starts sooner, and stops waiting for the leader when it suspects it.)
/// - *Halting*: it asks them one after another, each for T1; `2m` each for HALT and ELECTED with their
///   replies, and `m` for READY.
/// - *Ring*: the longest run; the member that sent to the dead leader has sent again.
pub fn election(algorithm: AlgorithmKind, timing: &Timing, members: usize) -> Duration {
    if members < 2 {
        return Duration::ZERO;
    }
    match algorithm {
        AlgorithmKind::Bully => timing.t1() + timing.message,
        AlgorithmKind::Halting => timing.t1() * count(members - 2) + timing.message * 5,
        AlgorithmKind::Ring => ring_run(timing, members),
    }
}

/// What mode none adds to [`worst_failover`]: members that died silently with the leader were not heard for `failure`
/// by those that elect, so that they are dialed anew before their silence counts, and asked for T1 more.
///
/// - *Bully*: all together.
/// - *Halting*: one after another, and those that rank lower together.
/// - *Ring*: none; it finds them one after another, see [`further_death`].
///
/// For the same reason each further death takes T1 more.
pub fn dialing_anew(algorithm: AlgorithmKind, timing: &Timing, members: usize) -> Duration {
    let others = members.saturating_sub(1);
    match algorithm {
        AlgorithmKind::Bully if others > 1 => timing.t1(),
        AlgorithmKind::Halting => timing.t1() * count(others.saturating_sub(1)),
        AlgorithmKind::Bully | AlgorithmKind::Ring => Duration::ZERO,
    }
}

/// The growth of [`worst_failover`] for each member that dies silently too, while it is being elected.
///
/// - *Bully*: a member that got an ANSWER waits T2 from the start of its election and then starts again,
///   after a jitter of less than T1; the new election asks the dead one again, and waits T1.
/// - *Halting*: the organizer dies `5m` after its start, when some have its task and notice its silence
///   after `f`, and others wait T2 since ELECTED; the new election asks for it, for T1.
/// - *Ring*: `f` after its last message to the member before it, which came at most `m` later. The member
///   after it is watched only from then on, so several in a row are found one after another.
pub fn further_death(algorithm: AlgorithmKind, timing: &Timing) -> Duration {
    match algorithm {
        AlgorithmKind::Bully => timing.t2() + timing.t1() + timing.t1(),
        AlgorithmKind::Halting => {
            timing.message * 5 + timing.failure.max(timing.t2() + timing.message) + timing.t1()
        }
        AlgorithmKind::Ring => timing.failure + timing.message,
    }
}

/// From a leader's death with proof, its process gone and its host up, until every live member names the next leader,
/// if a refused redial counts as proof.
///
/// `m` until the others see the end of the connection, and `2m` for the redial and its refusal; then an [`election`]
/// that does not wait for the dead: `m` for COORDINATOR; `5m` for the calls of the halting bully; or the longest run
/// of the ring.
pub fn proven_failover(algorithm: AlgorithmKind, timing: &Timing, members: usize) -> Duration {
    let proof = timing.message * 3;
    match (algorithm, members.saturating_sub(1)) {
        (_, 0 | 1) => proof,
        (AlgorithmKind::Bully, _) => proof + timing.message,
        (AlgorithmKind::Halting, _) => proof + timing.message * 5,
        (AlgorithmKind::Ring, others) => proof + ring_run(timing, others),
    }
}

/// From the death certificate of a leader, when nothing of its job runs any more, until every live member names the next
/// leader: no time-out is part of it. From the crash of the process until then it takes as long as its job takes to end;
/// where that lasts, the silence of the leader counts, as in [`worst_failover`].
///
/// As [`proven_failover`], with the certificate in place of the refusal: `m` until the others see the end of the
/// connection, `2m` for the redial and the certificate, and an [`election`]. Each member passes the certificate on before it
/// asks for votes, so the voters are free by then. With a majority `2m` each for the pre-vote and the vote.
pub fn certified_failover(
    algorithm: AlgorithmKind,
    quorum: Quorum,
    timing: &Timing,
    members: usize,
) -> Duration {
    let questions = match quorum {
        Quorum::None => Duration::ZERO,
        Quorum::Majority => timing.message * 4,
    };
    proven_failover(algorithm, timing, members) + questions
}

/// What a majority adds to [`worst_failover`].
///
/// - *Questions*: `2m` each for the pre-vote and the vote, with their replies.
/// - *Promises*: the last heartbeat may have been heard `m` late, and binds its voter for the `lease` from
///   then on. If that is longer than `f`, the first pre-vote can come too early: the candidate waits for the
///   rest, and `m/8` of jitter, and asks again.
pub fn voting(timing: &Timing) -> Duration {
    let early = (timing.lease + timing.message).saturating_sub(timing.failure);
    let again = if early.is_zero() { Duration::ZERO } else { early + retry(timing) };
    timing.message * 4 + again
}

/// For how long a voter without a leader denies its vote to a member that comes and goes, so that a steady one can be
/// elected: the promises to the last leader run out, and an election takes its time.
pub fn unsteady_wait(timing: &Timing) -> Duration {
    timing.failure * 2
}

/// With a majority: what a failover may take longer while a member comes and goes, as its neighbours need not agree
/// about that: a dead link shows departures to one of them alone. Some may deny it their votes for [`unsteady_wait`].
///
/// - *Bully*: one waits T2, and a little more, for a member that others pass over, and then begins anew; twice, as one
///   is passed over after that.
/// - *Halting*: no member is passed over for that reason.
/// - *Ring*: members that order the candidates in other ways stop each other's ballots, until they ask the voters
///   without a lap, after three runs that failed, one after the other.
pub fn disagreement(algorithm: AlgorithmKind, timing: &Timing, members: usize) -> Duration {
    match algorithm {
        AlgorithmKind::Bully => {
            unsteady_wait(timing) + (timing.t2() + timing.message + timing.t1()) * 2
        }
        AlgorithmKind::Halting => Duration::ZERO,
        AlgorithmKind::Ring => {
            unsteady_wait(timing) + ring_timeout(timing, members) * (FAILED_RUNS + 1)
        }
    }
}

/// Ring: for so many times [`ring_timeout`] a member lets runs fail.
pub const FAILED_RUNS: u32 = 3;

/// The repetition of a pre-vote that came too early.
fn retry(timing: &Timing) -> Duration {
    timing.message / 8 + timing.message * 2
}

/// With a majority: the longest durable write with which a leader is elected at the first try and stays. A candidate
/// waits until the votes are durable, `w`; then its lease has to last until the first heartbeats are acknowledged,
/// `2m`, and from then on from one to the next, `h`.
pub fn longest_write(timing: &Timing) -> Duration {
    certain(timing.lease).saturating_sub(timing.heartbeat + timing.message * 2)
}

/// With a majority: from the end of a leader's process on a live host until every live member names the next leader.
/// The others see immediately that its connections ended, and need no proof; the promise to it has to expire, `m +
/// lease` after its last heartbeat; then the pre-vote once more, the vote, and what [`proven_failover`] needs besides
/// its proof.
pub fn promised_failover(algorithm: AlgorithmKind, timing: &Timing, members: usize) -> Duration {
    let election = proven_failover(algorithm, timing, members).saturating_sub(timing.message * 3);
    timing.message + timing.lease + retry(timing) + timing.message * 2 + election
}

/// How long two leaders can lead simultaneously, in mode none, once the network between them carries messages again.
///
/// - *Dial*: `f`. The back-off between two dials is never longer.
/// - *Hello*: `2m` for HELLO and WELCOME.
/// - *Heartbeat*: `h + m` until the next heartbeat is sent and heard.
/// - *Takeover*: `m`. A leader that hears of a greater view follows it immediately. A higher member that
///   hears of a lower leader's greater epoch sends PREEMPT, and the lower leader stops on receipt.
pub fn dual_leader_window(timing: &Timing) -> Duration {
    timing.failure + timing.heartbeat + timing.message * 4
}

/// From the heal of a partition until every live member names one leader, in mode none: the [`dual_leader_window`],
/// then `m` for RELEASE, and an [`election`], in which some members may have died silently in the partition's last
/// moments.
pub fn convergence(algorithm: AlgorithmKind, timing: &Timing, members: usize) -> Duration {
    dual_leader_window(timing) + timing.message + election(algorithm, timing, members)
}

/// Ring: the longest time of a run among this many live members: `3N - 1` messages, if the initiator comes right
/// after the best member. `2N - 1` find the best, and `N` announce it. A lone member elects itself immediately.
pub fn ring_run(timing: &Timing, live: usize) -> Duration {
    let messages = if live > 1 { live * 3 - 1 } else { 0 };
    timing.message * count(messages)
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Ring: how long a member that takes part in a run waits for its outcome, before it begins another: a [`ring_run`],
/// and `f` for one member that is found dead on the way.
pub fn ring_timeout(timing: &Timing, members: usize) -> Duration {
    ring_run(timing, members) + timing.failure
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT: Timing = Timing {
        heartbeat: Duration::from_millis(100),
        failure: Duration::from_millis(500),
        message: Duration::from_millis(50),
        lease: Duration::from_millis(400),
    };

    #[test]
    fn the_bounds_of_the_default_timings() {
        use AlgorithmKind::{Bully, Halting, Ring};
        let ms = Duration::from_millis;
        let worst =
            |algorithm| [1, 2, 3, 5].map(|members| worst_failover(algorithm, &DEFAULT, members));
        assert_eq!(worst(Bully), [None, Some(ms(550)), Some(ms(700)), Some(ms(700))]);
        assert_eq!(worst(Halting), [None, Some(ms(550)), Some(ms(800)), Some(ms(1000))]);
        assert_eq!(worst(Ring), [None, Some(ms(550)), Some(ms(800)), Some(ms(1100))]);
        let further = AlgorithmKind::ALL.map(|algorithm| further_death(algorithm, &DEFAULT));
        assert_eq!(further, [600, 850, 550].map(ms));
        let proven = AlgorithmKind::ALL.map(|algorithm| proven_failover(algorithm, &DEFAULT, 5));
        assert_eq!(proven, [200, 400, 700].map(ms));
        for (quorum, expected) in
            [(Quorum::None, proven), (Quorum::Majority, [400, 600, 900].map(ms))]
        {
            let certified = |algorithm| certified_failover(algorithm, quorum, &DEFAULT, 5);
            assert_eq!(AlgorithmKind::ALL.map(certified), expected);
        }
        assert_eq!(dual_leader_window(&DEFAULT), ms(800));
        let convergence = AlgorithmKind::ALL.map(|algorithm| convergence(algorithm, &DEFAULT, 5));
        assert_eq!(convergence, [1000, 1400, 1550].map(ms));
        assert_eq!(ring_timeout(&DEFAULT, 5), ms(1200));
        assert_eq!(voting(&DEFAULT), ms(200));
        let more = AlgorithmKind::ALL.map(|algorithm| disagreement(algorithm, &DEFAULT, 5));
        assert_eq!(more, [2100, 0, 5800].map(ms));
        let long = Timing { lease: ms(500), ..DEFAULT };
        assert_eq!(voting(&long), ms(200 + 50 + 100) + ms(50) / 8);
        assert_eq!(promised_failover(Bully, &DEFAULT, 5), ms(450 + 100 + 100 + 50) + ms(50) / 8);
    }
}
