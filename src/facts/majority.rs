//! The majority, for all who read what nodes report. The core has a formula of its own, and so has the simulator that
//! judges it.

/// How many of so many voters are more than half of them.
#[must_use]
pub fn of(voters: usize) -> usize {
    voters / 2 + 1
}

/// Whether so many of so many voters are more than half of them.
#[must_use]
pub fn is_reached(votes: usize, voters: usize) -> bool {
    votes >= of(voters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_majority_is_more_than_half() {
        assert_eq!([1, 2, 3, 4, 5].map(of), [1, 2, 2, 3, 3]);
        assert_eq!([1, 2, 3].map(|votes| is_reached(votes, 4)), [false, false, true]);
    }
}
