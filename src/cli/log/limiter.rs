//! Keeps the log of a node small if the same event repeats. A line like one of the last minute is counted instead of
//! written, and so is each line beyond the budget of its place in the code; every ten seconds one line says how many
//! were counted. Pure: the caller passes the time.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// How often the counts are logged.
pub const DIGEST: Duration = Duration::from_secs(10);

/// A line is written anew if none like it came for this long.
const QUIET: Duration = Duration::from_secs(60);

/// How many lines are remembered.
const KEPT: usize = 64;

/// How many lines a place in the code may write in a burst; then one more in each [`QUIET`].
const BURST: u32 = 256;

/// How many kinds of counted lines the digest quotes, and how long a quote may be.
const NAMED: usize = 2;
const LONGEST: usize = 70;

/// A line to write.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The place in the code that it comes from: file and line.
    pub site: (&'a str, u32),
    /// The text by which it equals an earlier line from there.
    pub same: &'a str,
    /// Its words.
    pub text: &'a str,
}

/// The lines that were written, and the counts since the last digest.
#[derive(Debug, Default)]
pub struct Limiter {
    lines: VecDeque<Known>,
    /// By when each place will have its whole budget again.
    spent: BTreeMap<(String, u32), Duration>,
    /// Counted lines that are not remembered any more.
    others: u64,
}

/// A recent line.
#[derive(Debug)]
struct Known {
    hash: u64,
    /// The words of the first of the counted lines.
    text: String,
    last: Duration,
    /// How many came since the last digest and were not written.
    counted: u64,
}

impl Limiter {
    /// Whether to write this line now; otherwise it is counted.
    pub fn admit(&mut self, line: &Line<'_>, now: Duration) -> bool {
        let mut hasher = DefaultHasher::new();
        (line.site, line.same).hash(&mut hasher);
        let hash = hasher.finish();
        let known = self.lines.iter().position(|known| known.hash == hash);
        let mut known = match known.and_then(|place| self.lines.remove(place)) {
            Some(known) => known,
            None => Known { hash, text: String::new(), last: Duration::ZERO, counted: 0 },
        };
        let is_new = known.text.is_empty() || now.saturating_sub(known.last) >= QUIET;
        let admitted = is_new && self.spend(line.site, now);
        known.last = now;
        if known.counted == 0 {
            known.text = shortened(line.text);
        }
        known.counted += u64::from(!admitted);
        self.lines.push_back(known);
        if self.lines.len() > KEPT {
            self.others += self.lines.pop_front().map_or(0, |oldest| oldest.counted);
        }
        admitted
    }

    /// Whether this place may write one more line.
    fn spend(&mut self, (file, line): (&str, u32), now: Duration) -> bool {
        let until = self.spent.entry((file.to_owned(), line)).or_default();
        let after = now.max(*until) + QUIET;
        let has_room = after <= now + QUIET * BURST;
        if has_room {
            *until = after;
        }
        has_room
    }

    /// The counts since the last digest, in one line; none if there are none. To be called every [`DIGEST`].
    pub fn digest(&mut self) -> Option<String> {
        let mut counted: Vec<(u64, &str)> =
            self.lines.iter().map(|known| (known.counted, known.text.as_str())).collect();
        counted.retain(|(times, _)| *times > 0);
        counted.sort_by_key(|(times, _)| std::cmp::Reverse(*times));
        let named: Vec<_> = counted.iter().take(NAMED).collect();
        let others = counted.iter().skip(NAMED).map(|(times, _)| times).sum::<u64>() + self.others;
        if named.is_empty() && others == 0 {
            return None;
        }
        let mut text = format!("repeated in the last {} s:", DIGEST.as_secs());
        for (place, (times, words)) in named.iter().enumerate() {
            let comma = if place == 0 { "" } else { ";" };
            let _ = write!(text, "{comma} {times} times \"{words}\"");
        }
        if others > 0 {
            let _ = write!(text, "; {others} other lines");
        }
        self.lines.iter_mut().for_each(|known| known.counted = 0);
        self.others = 0;
        Some(text)
    }
}

/// The beginning of a text, never empty.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None if text.is_empty() => " ".to_owned(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line<'_> {
        Line { site: ("file", 1), same: text, text }
    }

    fn second(second: u64) -> Duration {
        Duration::from_secs(second)
    }

    #[test]
    fn what_repeats_is_written_once_and_then_counted_until_it_has_been_quiet() {
        let mut limiter = Limiter::default();
        assert!(limiter.admit(&line("waits"), second(0)));
        assert!(limiter.admit(&line("elects"), second(1)), "another line");
        assert_eq!(limiter.digest(), None);
        assert!((2..9).all(|at| !limiter.admit(&line("waits"), second(at))));
        assert!(!limiter.admit(&line("elects"), second(9)));
        let told = "repeated in the last 10 s: 7 times \"waits\"; 1 times \"elects\"";
        assert_eq!(limiter.digest().as_deref(), Some(told));
        assert_eq!(limiter.digest(), None, "told once");
        assert!(!limiter.admit(&line("waits"), second(67)));
        assert!(limiter.admit(&line("waits"), second(127)), "it was quiet for a minute");
    }

    #[test]
    fn a_place_that_writes_ever_new_lines_has_a_budget_of_its_own() {
        let mut limiter = Limiter::default();
        let mut admit = |site, at| {
            let same = format!("{site} {at:?}");
            limiter.admit(&Line { site: ("file", site), same: &same, text: &same }, at)
        };
        let written = (0..2000).filter(|at| admit(1, Duration::from_millis(*at))).count();
        assert_eq!(written, BURST as usize);
        assert!(admit(2, second(2)), "another place");
        assert!(admit(1, second(61)) && !admit(1, second(62)), "one more a minute");
        let told = limiter.digest().unwrap();
        assert!(told.ends_with("other lines") && told.len() < 250, "{told}");
        assert!(limiter.lines.len() <= KEPT);
    }

    #[test]
    fn long_words_are_cut_between_two_letters() {
        let mut limiter = Limiter::default();
        let long = "\u{e9}".repeat(1000);
        limiter.admit(&line(&long), second(0));
        limiter.admit(&line(&long), second(1));
        assert!(limiter.digest().unwrap().contains(&format!("{}...\"", "\u{e9}".repeat(LONGEST))));
    }
}
