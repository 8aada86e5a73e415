//! By how much the clock of each record has to be advanced, so that all show one time.
//!
//! A message is sent before it is taken. So messages in both directions bound the difference of two clocks from both
//! sides, and so do messages by way of others.

/// A message from the clock of one record to that of another.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    pub from: usize,
    pub to: usize,
    /// When it was sent and taken, each by its own clock.
    pub sent: i128,
    pub taken: i128,
}

/// What each clock is to be advanced by. The asker's estimate stays where no message contradicts it; otherwise the
/// middle of what the messages allow is better. If they contradict each other, as clocks that ran at different rates
/// for days may make them, the estimates stay.
pub fn align(estimates: &[i128], flights: &[Flight]) -> Vec<i128> {
    let Some(most) = bounds(estimates.len(), flights) else { return estimates.to_vec() };
    let mut found: Vec<i128> = Vec::new();
    for (one, estimate) in estimates.iter().enumerate() {
        let placed = || found.iter().enumerate();
        let highest = placed().filter_map(|(other, at)| Some(at + most[one][other]?)).min();
        let lowest = placed().filter_map(|(other, at)| Some(at - most[other][one]?)).max();
        found.push(match (lowest, highest) {
            (Some(lowest), _) if *estimate < lowest => {
                highest.map_or(lowest, |highest| lowest.midpoint(highest))
            }
            (_, Some(highest)) if *estimate > highest => {
                lowest.map_or(highest, |lowest| lowest.midpoint(highest))
            }
            _ => *estimate,
        });
    }
    found
}

/// By how much the advance of one clock may exceed that of another, at most; none if the messages contradict each other.
fn bounds(clocks: usize, flights: &[Flight]) -> Option<Vec<Vec<Option<i128>>>> {
    let mut most = vec![vec![None; clocks]; clocks];
    let lower = |bound: &mut Option<i128>, to: i128| {
        *bound = Some(bound.map_or(to, |bound: i128| bound.min(to)));
    };
    for flight in flights {
        lower(&mut most[flight.from][flight.to], flight.taken - flight.sent);
    }
    for by in 0..clocks {
        for one in 0..clocks {
            for other in 0..clocks {
                if let (Some(first), Some(second)) = (most[one][by], most[by][other]) {
                    lower(&mut most[one][other], first + second);
                }
            }
        }
    }
    let is_possible = (0..clocks).all(|one| most[one][one].is_none_or(|bound| bound >= 0));
    is_possible.then_some(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(from: usize, to: usize, sent: i128, taken: i128) -> Flight {
        Flight { from, to, sent, taken }
    }

    /// The clocks of 1 and 2 are 5 s ahead and 3 s behind.
    fn skewed() -> Vec<Flight> {
        vec![
            flight(0, 1, 100, 5_000_102),
            flight(1, 0, 5_000_110, 112),
            flight(1, 2, 5_000_120, -2_999_878),
            flight(2, 1, -2_999_870, 5_000_132),
        ]
    }

    #[test]
    fn messages_in_both_directions_tell_what_estimates_miss() {
        let found = align(&[0, 0, 0], &skewed());
        assert_eq!(found, [0, -5_000_000, 3_000_000]);
    }

    /// Whichever of three it is that the two others speak with.
    #[test]
    fn clocks_are_compared_by_way_of_another() {
        for (hub, one, other) in [(0, 1, 2), (1, 0, 2), (2, 0, 1)] {
            // The clock of one is 70 behind that of the hub, the other's 40 ahead; a message takes 1 or 2.
            let flights = [
                flight(hub, one, 100, 31),
                flight(one, hub, 40, 111),
                flight(hub, other, 200, 241),
                flight(other, hub, 250, 212),
            ];
            let found = align(&[0, 0, 0], &flights);
            let (by_one, by_other) = (found[one] - found[hub], found[other] - found[hub]);
            assert!((69..=71).contains(&by_one) && (-41..=-38).contains(&by_other), "{found:?}");
            let bounds = bounds(3, &flights).unwrap();
            assert_eq!((bounds[one][other], bounds[other][one]), (Some(112), Some(-107)), "{hub}");
        }
    }

    #[test]
    fn an_estimate_that_no_message_contradicts_stays() {
        assert_eq!(align(&[0, -5_000_001, 3_000_001], &skewed()), [0, -5_000_001, 3_000_001]);
        assert_eq!(align(&[7, -9], &[]), [7, -9]);
    }

    #[test]
    fn messages_in_one_direction_bound_one_side() {
        let one_way = [flight(0, 1, 100, 40)];
        assert_eq!(align(&[0, 0], &one_way), [0, 60], "taken when it was sent, at the earliest");
        assert_eq!(align(&[0, 90], &one_way), [0, 90]);
        let other_way = [flight(1, 0, 100, 40)];
        assert_eq!(align(&[0, 0], &other_way), [0, -60], "sent when it was taken, at the latest");
        assert_eq!(align(&[0, -90], &other_way), [0, -90]);
        let by_two = [flight(0, 2, 100, 40), flight(1, 2, 100, 20)];
        assert_eq!(align(&[0, 0, 0], &by_two), [0, 0, 80], "after what either sent");
        let to_two = [flight(2, 0, 100, 40), flight(2, 1, 100, 20)];
        assert_eq!(align(&[0, 0, 0], &to_two), [0, 0, -80], "before either took it");
    }

    /// Wherever among all it is.
    #[test]
    fn of_many_messages_the_fastest_bounds_the_clocks() {
        // The clock of 1 is 1000 behind.
        let mut there = [3, 700, 50].map(|takes| flight(0, 1, 5000, 4000 + takes));
        let mut back = [400, 5, 90].map(|takes| flight(1, 0, 4000, 5000 + takes));
        for _ in 0..3 {
            let all = [there, back].concat();
            assert_eq!(bounds(2, &all).unwrap()[0][1], Some(-997));
            assert_eq!(align(&[0, 0], &all), [0, 1001], "between 997 and 1005");
            there.rotate_left(1);
            back.rotate_left(1);
        }
    }

    #[test]
    fn messages_that_contradict_each_other_tell_nothing() {
        let lies = [flight(0, 1, 100, 50), flight(1, 0, 100, 50)];
        assert_eq!(align(&[1, 2], &lies), [1, 2]);
    }

    #[test]
    fn a_message_that_takes_no_time_contradicts_nothing() {
        let exact = [flight(0, 1, 100, 150), flight(1, 0, 150, 100)];
        assert_eq!(align(&[0, 0], &exact), [0, -50], "both directions leave one value");
        let too_early = [flight(0, 1, 100, 150), flight(1, 0, 150, 99)];
        assert_eq!(align(&[0, 0], &too_early), [0, 0]);
    }
}
