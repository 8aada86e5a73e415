//! Keeps the log of a node small if the same line repeats: for a minute after a line was written, those like it are
//! counted. Then one line says how many there were, with their words and their level. Pure: the caller passes the time.
//!
//! A change of state is never counted: the caller does not bring it here.

use std::collections::VecDeque;
use std::mem::take;
use std::time::Duration;

use log::Level;

/// For how long lines like a written one are counted.
pub const MINUTE: Duration = Duration::from_secs(60);

/// How many lines are remembered. To remember one more, the oldest is forgotten.
const KEPT: usize = 64;

/// Lines that were counted.
#[derive(Debug, PartialEq, Eq)]
pub struct Repeated {
    /// Their level.
    pub level: Level,
    /// How many they were, since when, and their words.
    pub text: String,
}

/// The lines that were written lately, oldest first.
#[derive(Debug, Default)]
pub struct Repeats(VecDeque<Written>);

#[derive(Debug)]
struct Written {
    /// What equal lines have in common.
    key: u64,
    level: Level,
    /// The words of the last one.
    text: String,
    since: Duration,
    /// How many more came since then.
    more: u64,
}

impl Repeats {
    /// Whether to write this line. Otherwise it is counted.
    pub fn admit(&mut self, key: u64, level: Level, text: &str, now: Duration) -> bool {
        if let Some(written) = self.0.iter_mut().find(|written| written.key == key) {
            written.more += 1;
            text.clone_into(&mut written.text);
            return false;
        }
        self.0.push_back(Written { key, level, text: text.to_owned(), since: now, more: 0 });
        true
    }

    /// The lines that say how often others were repeated, which are due now. To be called before [`Repeats::admit`].
    pub fn due(&mut self, now: Duration) -> Vec<Repeated> {
        let mut due = Vec::new();
        for written in &mut self.0 {
            if now.saturating_sub(written.since) >= MINUTE {
                due.extend(written.repeated(now));
            }
        }
        // A line that did not repeat for a minute is written anew when it comes.
        self.0.retain(|written| now.saturating_sub(written.since) < MINUTE);
        while self.0.len() >= KEPT {
            due.extend(self.0.pop_front().and_then(|mut oldest| oldest.repeated(now)));
        }
        due
    }

    /// All counts, at the end of the log.
    pub fn rest(&mut self, now: Duration) -> Vec<Repeated> {
        take(&mut self.0).iter_mut().filter_map(|written| written.repeated(now)).collect()
    }
}

impl Written {
    /// The line about those that were counted, if there were any; the next minute begins.
    fn repeated(&mut self, now: Duration) -> Option<Repeated> {
        let (more, seconds) = (take(&mut self.more), now.saturating_sub(self.since).as_secs());
        if more == 0 {
            return None;
        }
        self.since = now;
        let times = if more == 1 { "once".to_owned() } else { format!("{more} times") };
        let text = format!("repeated {times} in the last {seconds} s: {}", self.text);
        Some(Repeated { level: self.level, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: u64) -> Duration {
        Duration::from_secs(second)
    }

    #[test]
    fn a_line_that_repeats_is_written_once_a_minute_with_its_count_and_its_level() {
        let mut repeats = Repeats::default();
        assert!(repeats.admit(1, Level::Warn, "waits for 1 s", second(0)));
        assert!(repeats.admit(2, Level::Info, "elects", second(1)), "another line");
        for at in 2..60 {
            assert_eq!(repeats.due(second(at)), []);
            assert!(!repeats.admit(1, Level::Warn, &format!("waits for {at} s"), second(at)));
        }
        let text = "repeated 58 times in the last 60 s: waits for 59 s".to_owned();
        assert_eq!(repeats.due(second(60)), [Repeated { level: Level::Warn, text }]);
        assert_eq!(repeats.due(second(60)), [], "reported once");
        assert!(!repeats.admit(1, Level::Warn, "waits", second(61)), "the next minute began");
        assert_eq!(repeats.due(second(61)), [], "the other line did not repeat");
        assert!(repeats.admit(2, Level::Info, "elects", second(61)));
        assert_eq!(repeats.due(second(120))[0].text, "repeated once in the last 60 s: waits");
        assert_eq!(repeats.due(second(180)), []);
        assert!(repeats.admit(1, Level::Warn, "waits", second(180)), "it was quiet for a minute");
    }

    #[test]
    fn what_is_forgotten_and_what_is_left_at_the_end_is_reported() {
        let mut repeats = Repeats::default();
        let mut admit = |key| {
            let due = repeats.due(second(1));
            (due, repeats.admit(key, Level::Info, &format!("line {key}"), second(1)))
        };
        admit(0);
        admit(0);
        let reported: Vec<Repeated> = (1..2000)
            .flat_map(|key| {
                let (due, written) = admit(key);
                assert!(written, "each is new");
                due
            })
            .collect();
        assert_eq!(reported.len(), 1);
        assert!(reported[0].text.ends_with(": line 0"), "{reported:?}");
        assert!(repeats.0.len() <= KEPT);
        assert!(!repeats.admit(1999, Level::Info, "line 1999", second(2)));
        assert_eq!(repeats.rest(second(3))[0].text, "repeated once in the last 2 s: line 1999");
        assert_eq!(repeats.rest(second(3)), []);
    }

    #[test]
    fn the_oldest_of_more_lines_than_are_kept_is_forgotten() {
        let mut repeats = Repeats::default();
        for key in 0..KEPT as u64 {
            assert_eq!(repeats.due(second(1)), []);
            assert!(repeats.admit(key, Level::Error, &format!("line {key}"), second(1)));
        }
        assert!(
            !repeats.admit(0, Level::Error, "line 0", second(2)),
            "it is the oldest, and kept so far"
        );
        let text = "repeated once in the last 3 s: line 0".to_owned();
        assert_eq!(repeats.due(second(4)), [Repeated { level: Level::Error, text }]);
        assert!(repeats.admit(0, Level::Error, "line 0", second(4)), "it was forgotten");
        assert!(
            !repeats.admit(1, Level::Error, "line 1", second(4))
                && !repeats.admit(2, Level::Warn, "line 2", second(4))
        );
        let texts: Vec<String> =
            repeats.rest(second(9)).into_iter().map(|repeated| repeated.text).collect();
        assert_eq!(texts, [1, 2].map(|key| format!("repeated once in the last 8 s: line {key}")));
    }
}
