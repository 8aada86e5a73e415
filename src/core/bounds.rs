//! How long things take at worst, from the timings.
//!
//! Every bound holds where the model holds: no message takes longer than `message`, its processing
//! included, and no running process misses a turn. `f`, `h` and `m` below are `failure`,
//! `heartbeat` and `message`.

use std::time::Duration;

use super::settings::Timing;

/// From the silent death of a leader (its host is gone, or it is frozen) until every live member
/// names the next one. None for a lone member, whom nobody can replace.
///
/// - *Detection*: `f + m`. The last heartbeat may have left just before the death and be heard `m`
///   later; from then on it takes `f` of silence. (The `heartbeat` only shortens this: a death
///   just before a heartbeat was due is found up to `h` sooner.)
/// - *Asking*: `T1 = 2m`. The highest survivor wins at once when it suspects all above it. Members
///   above it that died silently at the same time are not suspected yet, as only the leader is
///   heard by all: it asks them, all together, and waits one T1. With two members nobody is left
///   to ask. A lower member that suspects first changes nothing: the highest survivor is asked,
///   starts sooner, and stops waiting for the leader when it suspects it.
/// - *Announcement*: `m` for COORDINATOR; none with two members.
#[must_use]
pub fn worst_failover(timing: &Timing, members: usize) -> Option<Duration> {
    let detection = timing.failure + timing.message;
    match members {
        0 | 1 => None,
        2 => Some(detection),
        _ => Some(detection + timing.t1() + timing.message),
    }
}

/// What [`worst_failover`] grows by for each member that answers in the election and then dies
/// silently too, before it announced itself.
///
/// Who was answered waits T2 from the start of its election and then starts again, after a jitter
/// of less than T1; the new election asks the dead one again, and waits T1.
#[must_use]
pub fn further_death(timing: &Timing) -> Duration {
    timing.t2() + timing.t1() + timing.t1()
}

/// From a leader's death with proof, its process gone and its host up, until every live member
/// names the next one, where a refused redial counts as proof.
///
/// `m` until the end of the connection is seen, `2m` for the redial and its refusal, `m` for
/// COORDINATOR. This is a bound: on a live network all of it takes about a millisecond.
#[must_use]
pub fn proven_failover(timing: &Timing) -> Duration {
    timing.message * 4
}

/// How long two leaders can go on side by side, in mode none, once the network between them
/// carries messages again.
///
/// - *Dial*: `f`. The back-off between two dials is never longer.
/// - *Hello*: `2m` for HELLO and WELCOME.
/// - *Heartbeat*: `h + m` until the next heartbeat is sent and heard.
/// - *Takeover*: `m`. A leader that hears of a greater view follows it at once. A higher member
///   that hears of a lower leader's greater epoch sends PREEMPT, and the lower one stops on
///   receipt.
#[must_use]
pub fn dual_leader_window(timing: &Timing) -> Duration {
    timing.failure + timing.heartbeat + timing.message * 4
}

/// From the heal of a partition until every live member names one leader, in mode none: the
/// [`dual_leader_window`], then `m` for RELEASE, T1 for a higher member that died silently during
/// the partition's last moments, and `m` for COORDINATOR.
#[must_use]
pub fn convergence(timing: &Timing) -> Duration {
    dual_leader_window(timing) + timing.message * 2 + timing.t1()
}

/// Ring: the longest that a run takes among this many members that live: `3N - 1` messages, where
/// the one that began it comes right after the best. `2N - 1` find out who is best, and `N`
/// announce it. A single one elects itself at once.
#[must_use]
pub fn ring_run(timing: &Timing, live: usize) -> Duration {
    let messages = if live > 1 { live * 3 - 1 } else { 0 };
    timing.message * u32::try_from(messages).unwrap_or(u32::MAX)
}

/// Ring: how long one who takes part in a run waits for its outcome, before it begins another: a
/// [`ring_run`], and `f` for one member that is found dead on the way.
#[must_use]
pub fn ring_patience(timing: &Timing, members: usize) -> Duration {
    ring_run(timing, members) + timing.failure
}

/// Ring: from the silent death of a leader until every live member names the next one. None for a
/// lone member.
///
/// - *Detection*: `f + m`, as in [`worst_failover`]. All watch the leader, so by then all miss it:
///   the greatest initiator has begun its run, and whoever sent to the dead leader has sent again.
/// - *A run* among the others.
#[must_use]
pub fn ring_failover(timing: &Timing, members: usize) -> Option<Duration> {
    let others = members.checked_sub(1).filter(|others| *others > 0)?;
    Some(timing.failure + timing.message + ring_run(timing, others))
}

/// Ring: how long it takes to find one more member dead, which died silently while no leader
/// watched all: `f` after its word to the member before it, that came at most `m` later. The one
/// after it is watched only from then on, so several in a row are found one after another.
#[must_use]
pub fn ring_further_death(timing: &Timing) -> Duration {
    timing.failure + timing.message
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT: Timing = Timing {
        heartbeat: Duration::from_millis(100),
        failure: Duration::from_millis(500),
        message: Duration::from_millis(50),
    };

    #[test]
    fn the_bounds_of_the_default_timings() {
        let ms = Duration::from_millis;
        assert_eq!(worst_failover(&DEFAULT, 1), None);
        assert_eq!(worst_failover(&DEFAULT, 2), Some(ms(550)));
        assert_eq!(worst_failover(&DEFAULT, 5), Some(ms(700)));
        assert_eq!(further_death(&DEFAULT), ms(600));
        assert_eq!(proven_failover(&DEFAULT), ms(200));
        assert_eq!(dual_leader_window(&DEFAULT), ms(800));
        assert_eq!(convergence(&DEFAULT), ms(1000));
        assert_eq!(ring_failover(&DEFAULT, 1), None);
        assert_eq!(ring_failover(&DEFAULT, 2), Some(ms(550)));
        assert_eq!(ring_failover(&DEFAULT, 5), Some(ms(1100)));
        assert_eq!(ring_further_death(&DEFAULT), ms(550));
        assert_eq!(ring_patience(&DEFAULT, 5), ms(1200));
    }
}
