//! How late a node will be, by how late it was.

use std::time::Duration;

/// The fewest slots that let one expect anything of the next ones.
pub const FEWEST: usize = 12;

/// What the delays of the next slots will be like, if the host and the network stay as they are.
///
/// The worst of each slot is taken for a draw from a Gumbel distribution, the law of maxima of what has no heavy tail; it is
/// fitted to their mean and deviation. A host that stands still for seconds once a week is not foreseen by it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelayForecast {
    /// In seconds.
    location: f64,
    scale: f64,
}

/// The constant of Euler and Mascheroni.
const EULER: f64 = 0.577_215_664_901_532_9;

/// A steady host is not trusted to be steadier than this: its slots differ by as large a part of their mean at least.
const LEAST_SCALE: f64 = 0.05;

impl DelayForecast {
    /// From the worst delay of each slot; none if there are fewer than [`FEWEST`].
    #[must_use]
    pub fn of(worst: &[Duration]) -> Option<DelayForecast> {
        if worst.len() < FEWEST {
            return None;
        }
        #[allow(clippy::cast_precision_loss)] // at most as many as slots in an hour
        let count = worst.len() as f64;
        let mean = worst.iter().map(Duration::as_secs_f64).sum::<f64>() / count;
        let squares = worst.iter().map(|it| (it.as_secs_f64() - mean).powi(2)).sum::<f64>();
        let deviation = (squares / (count - 1.0)).sqrt();
        let fitted = deviation * 6_f64.sqrt() / std::f64::consts::PI;
        let scale = fitted.max(mean * LEAST_SCALE).max(f64::MIN_POSITIVE);
        Some(DelayForecast { location: mean - EULER * scale, scale })
    }

    /// The part of the slots whose worst delay will be above this.
    #[must_use]
    pub fn beyond(&self, delay: Duration) -> f64 {
        let distance = (delay.as_secs_f64() - self.location) / self.scale;
        -(-(-distance).exp()).exp_m1()
    }
}

/// How many slots of this length a month has.
#[must_use]
pub fn slots_a_month(slot_ms: u64) -> f64 {
    let month = Duration::from_secs(30 * 24 * 60 * 60);
    month.as_secs_f64() / Duration::from_millis(slot_ms.max(1)).as_secs_f64()
}

/// The smallest round length of time for which this holds: 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6 or 8 times a power of ten, from
/// 10 ms to 100 s.
#[must_use]
pub fn least_round(holds: impl Fn(Duration) -> bool) -> Option<Duration> {
    let tens = [1_u64, 10, 100, 1000];
    let rounds = [10, 12, 15, 20, 25, 30, 40, 50, 60, 80];
    let times = tens.iter().flat_map(|ten| rounds.map(|round| Duration::from_millis(round * ten)));
    times.into_iter().find(|time| holds(*time))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    #[test]
    fn what_was_seen_rarely_is_expected_rarely_and_what_was_never_seen_is_possible() {
        let calm: Vec<_> = (0..60).map(|at| Duration::from_micros(900 + at * 10)).collect();
        let forecast = DelayForecast::of(&calm).unwrap();
        let month = slots_a_month(10_000);
        assert!((250_000.0..270_000.0).contains(&month));
        assert!(forecast.beyond(millis(1)) > 0.3, "half of the slots had more");
        assert!(forecast.beyond(millis(2)) * month > 1.0, "though none had as much");
        assert!(forecast.beyond(millis(4)) * month < 0.01);
        let mut with_one_bad = calm.clone();
        with_one_bad[30] = millis(40);
        let warned = DelayForecast::of(&with_one_bad).unwrap();
        let again = warned.beyond(millis(40)) * month;
        assert!((1.0..100.0).contains(&again), "it may come again: {again}");
        assert_eq!(DelayForecast::of(&calm[..FEWEST - 1]), None);
        let still = DelayForecast::of(&[Duration::ZERO; FEWEST]).unwrap();
        assert!(still.beyond(millis(1)) * month < 0.01);
    }

    #[test]
    fn the_proposal_is_the_smallest_round_time_that_does() {
        assert_eq!(least_round(|_| true), Some(millis(10)));
        assert_eq!(least_round(|time| time > millis(31)), Some(millis(40)));
        assert_eq!(least_round(|time| time >= millis(900)), Some(millis(1000)));
        assert_eq!(least_round(|time| time > millis(80_000)), None);
    }
}
