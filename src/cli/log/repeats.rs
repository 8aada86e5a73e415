//! Keeps the log of a node small, whatever repeats: of lines that differ in numbers only, a few are written at once, and
//! later one in each interval, which says how many there were since, with the words of the last. Pure: the caller passes
//! the time.

use std::collections::VecDeque;
use std::mem::take;
use std::time::Duration;

use log::Level;

/// After [`AT_ONCE`] lines, so often one more is written.
pub const INTERVAL: Duration = Duration::from_secs(300);

/// How many lines are written as they come, after a time in which there were none.
pub const AT_ONCE: u32 = 10;

/// How many kinds of lines are remembered. To remember one more, the oldest is forgotten.
const KEPT: usize = 256;

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
pub struct Repeats(VecDeque<WrittenLine>);

#[derive(Debug)]
struct WrittenLine {
    /// What equal lines have in common.
    key: u64,
    level: Level,
    /// When as many lines as at first may be written at once again. Each that is written puts it off by an interval.
    rested: Duration,
    /// The words of the last one.
    text: String,
    /// Since when lines were counted, and how many.
    since: Duration,
    more: u64,
}

impl Repeats {
    /// Whether to write this line. Otherwise it is counted.
    pub fn admit(&mut self, key: u64, level: Level, text: &str, now: Duration) -> bool {
        let Some(written) = self.0.iter_mut().find(|written| written.key == key) else {
            let (rested, text) = (now + INTERVAL, text.to_owned());
            self.0.push_back(WrittenLine { key, level, rested, text, since: now, more: 0 });
            return true;
        };
        if written.may_write(now) {
            written.rested = written.rested.max(now) + INTERVAL;
            return true;
        }
        if written.more == 0 {
            written.since = now;
        }
        written.more += 1;
        text.clone_into(&mut written.text);
        false
    }

    /// The lines that say how often others were repeated, which are due now. To be called before [`Repeats::admit`].
    pub fn due(&mut self, now: Duration) -> Vec<Repeated> {
        let mut due = Vec::new();
        for written in self.0.iter_mut().filter(|written| written.may_write(now)) {
            due.extend(written.repeated(now));
        }
        self.0.retain(|written| now < written.rested);
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

impl WrittenLine {
    fn may_write(&self, now: Duration) -> bool {
        self.rested.saturating_sub(now) <= INTERVAL * (AT_ONCE - 1)
    }

    /// The line about those that were counted, if there were any.
    fn repeated(&mut self, now: Duration) -> Option<Repeated> {
        let (more, seconds) = (take(&mut self.more), now.saturating_sub(self.since).as_secs());
        if more == 0 {
            return None;
        }
        self.rested = self.rested.max(now) + INTERVAL;
        let times = if more == 1 { "once".to_owned() } else { format!("{more} times") };
        let text = format!("repeated {times} in the last {seconds} s: {}", self.text);
        Some(Repeated { level: self.level, text })
    }
}

/// The words of a line, with the same number for all its numbers: epochs, times, counts and ports.
pub fn without_numbers(text: &str) -> impl Iterator<Item = &str> {
    let is_number = |word: &str| {
        let word = word.trim_start_matches(['(', '"', '-', '[', '<']);
        word.starts_with(|first: char| first.is_ascii_digit())
    };
    let is_unit = |word: &str| matches!(word.trim_end_matches([',', ';', ':', ')']), "ms" | "s");
    let mut after_number = false;
    text.split_whitespace().filter_map(move |word| {
        let is_first = !after_number;
        after_number = is_number(word) || after_number && is_unit(word);
        if after_number { is_first.then_some("0") } else { Some(word) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: u64) -> Duration {
        Duration::from_secs(second)
    }

    /// Ten in the first seconds; the next one is due when the first interval is over.
    #[test]
    fn of_lines_that_repeat_ten_are_written_and_then_one_in_each_interval_with_the_count_and_its_level()
     {
        let mut repeats = Repeats::default();
        for at in 0..10 {
            assert!(repeats.admit(1, Level::Warn, &format!("waits for {at} s"), second(at)));
        }
        assert!(repeats.admit(2, Level::Info, "elects", second(10)), "another line");
        for at in 10..300 {
            assert_eq!(repeats.due(second(at)), []);
            assert!(!repeats.admit(1, Level::Warn, &format!("waits for {at} s"), second(at)));
        }
        let text = "repeated 290 times in the last 290 s: waits for 299 s".to_owned();
        assert_eq!(repeats.due(second(300)), [Repeated { level: Level::Warn, text }]);
        assert_eq!(repeats.due(second(300)), [], "reported once");
        assert!(!repeats.admit(1, Level::Warn, "waits", second(301)), "the next interval began");
        assert_eq!(repeats.due(second(599)), []);
        assert_eq!(repeats.due(second(600))[0].text, "repeated once in the last 299 s: waits");
        assert!(repeats.admit(2, Level::Info, "elects", second(600)));
        assert!(!repeats.admit(1, Level::Warn, "waits", second(600)));
    }

    #[test]
    fn a_line_that_comes_once_in_an_interval_is_written_each_time() {
        let mut repeats = Repeats::default();
        for number in 0..100 {
            let now = INTERVAL * number;
            assert_eq!(repeats.due(now), []);
            assert!(repeats.admit(1, Level::Info, "leads", now), "{number}");
        }
        let later = INTERVAL * 200;
        assert_eq!(repeats.due(later), []);
        assert!((0..10).all(|_| repeats.admit(1, Level::Info, "leads", later)), "it rested");
        assert!(!repeats.admit(1, Level::Info, "leads", later));
    }

    /// However they come, their number has a bound.
    #[test]
    fn no_rhythm_writes_more_than_one_line_in_each_interval_and_ten() {
        for pause in [1, 7, 61, 299, 301, 605, 899, 901] {
            let (mut repeats, mut written) = (Repeats::default(), 0);
            for at in (0..86_400).step_by(pause) {
                for _ in 0..12 {
                    written += repeats.due(second(at as u64)).len();
                    let is_written = repeats.admit(1, Level::Info, "leads", second(at as u64));
                    written += usize::from(is_written);
                }
            }
            assert!(written <= 86_400 / 300 + 10, "every {pause} s: {written}");
        }
    }

    #[test]
    fn what_is_forgotten_and_what_is_left_at_the_end_is_reported() {
        let mut repeats = Repeats::default();
        let mut admit = |key| {
            let due = repeats.due(second(1));
            (due, repeats.admit(key, Level::Info, &format!("line {key}"), second(1)))
        };
        (0..11).for_each(|_| _ = admit(0));
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
        (0..10).for_each(|_| _ = repeats.admit(1999, Level::Info, "line 1999", second(2)));
        assert_eq!(repeats.rest(second(3))[0].text, "repeated once in the last 1 s: line 1999");
        assert_eq!(repeats.rest(second(3)), []);
    }

    #[test]
    fn the_oldest_of_more_lines_than_are_kept_is_forgotten() {
        let mut repeats = Repeats::default();
        for key in 0..KEPT as u64 {
            assert_eq!(repeats.due(second(1)), []);
            assert!(repeats.admit(key, Level::Error, &format!("line {key}"), second(1)));
        }
        let mut again = |key, text: &str| {
            (0..11)
                .map(|_| repeats.admit(key, Level::Error, text, second(2)))
                .filter(|is| *is)
                .count()
        };
        assert_eq!(again(0, "line 0"), 9, "it is the oldest, and kept so far");
        assert_eq!((again(1, "line 1"), again(2, "line 2")), (9, 9));
        let texts = |due: Vec<Repeated>| due.into_iter().map(|one| one.text).collect::<Vec<_>>();
        let counted =
            |key: u64, ago: u64| format!("repeated 2 times in the last {ago} s: line {key}");
        assert_eq!(texts(repeats.due(second(4))), [counted(0, 2)]);
        assert!(repeats.admit(0, Level::Error, "line 0", second(4)), "it was forgotten");
        assert_eq!(texts(repeats.rest(second(9))), [counted(1, 7), counted(2, 7)]);
    }

    #[test]
    fn numbers_make_no_other_line_and_names_do() {
        let same = |one: &str, other: &str| without_numbers(one).eq(without_numbers(other));
        assert!(same("leads in epoch 4: after 329 ms", "leads in epoch 15: after 1m 2 s"));
        assert!(same("10.0.0.1:4711 is refused (3 of 5)", "10.0.0.1:4712 is refused (2 of 5)"));
        assert!(!same("voter node-1 is down", "voter node-2 is down"));
        assert!(!same("voter a is down", "voter a is up"));
    }
}
