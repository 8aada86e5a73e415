//! A flight again: its inputs go through the core of this binary, and every output is compared.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use thiserror::Error;

use crate::core::types::Time;
use crate::core::{Core, Input, Output};

/// How much is shown of an input, of an output and of a part of the state.
const SHOWN: usize = 2000;

/// What came of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Replayed {
    /// How many turns were compared.
    pub turns: u64,
    /// How many segments there are.
    pub segments: usize,
    /// How often turns are missing between two segments, because they did not fit.
    pub gaps: usize,
    /// When the first segment begins, in nanoseconds by the clock of the record.
    pub from_ns: u64,
    /// When the last turn was taken.
    pub to_ns: u64,
    /// The last turn, if its outputs were not recorded: the node ended in it, or the recording was made amid it.
    pub unfinished: Option<Unfinished>,
    /// The first thing that is not the same.
    pub difference: Option<Difference>,
}

/// A turn whose outputs were not recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unfinished {
    /// The input.
    pub input: String,
    /// What the core of this binary says if it panics there.
    pub panic: Option<String>,
}

/// Where the core of this binary does not do what the core of the node did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The turn, counted from 1 on.
    pub turn: u64,
    /// When, in nanoseconds by the clock of the record.
    pub at_ns: u64,
    /// What the node took.
    pub input: String,
    /// Whether the outputs are the same, and the state of the core afterwards is not.
    pub is_of_state: bool,
    /// The outputs of the node; or the first line of its state that differs.
    pub recorded: Vec<String>,
    /// Those of this binary.
    pub replayed: Vec<String>,
}

/// A segment cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("segment {segment} of the flight cannot be read: {why}")]
pub struct Unreadable {
    /// Its number, from 1 on.
    pub segment: usize,
    /// What is wrong.
    pub why: postcard::Error,
}

/// The turn that was taken last.
#[derive(Default)]
struct LastTurn {
    time: Time,
    input: String,
}

/// Runs these segments, until something differs.
///
/// ```
/// use electd_record::flight::replay::{Replayed, replay};
///
/// assert_eq!(replay::<Vec<u8>>(&[]), Ok(Replayed::default()), "nothing differs in nothing");
/// assert!(replay(&[b"no segment".to_vec()]).is_err());
/// ```
///
/// # Errors
/// If a segment is not what this version writes.
pub fn replay<T: AsRef<Vec<u8>>>(segments: &[T]) -> Result<Replayed, Unreadable> {
    let mut replayed = Replayed { segments: segments.len(), ..Replayed::default() };
    let mut before: Option<Core> = None;
    let mut last = LastTurn::default();
    for (place, segment) in segments.iter().enumerate() {
        let unreadable = |why| Unreadable { segment: place + 1, why };
        let start = postcard::take_from_bytes::<(bool, Time, Core)>(segment.as_ref().as_slice());
        let ((follows, time, mut core), mut rest) = start.map_err(unreadable)?;
        if place == 0 {
            (replayed.from_ns, replayed.to_ns) = (time.0, time.0);
        } else if !follows {
            replayed.gaps += 1;
        }
        if let Some(before) = before.filter(|before| follows && *before != core) {
            replayed.difference = Some(replayed.of_state(&last, &core, &before));
            return Ok(replayed);
        }
        while !rest.is_empty() {
            let ((now, input), outputs) =
                postcard::take_from_bytes::<(Time, Input)>(rest).map_err(unreadable)?;
            last = LastTurn { time: now, input: shown(&input) };
            let out = handled(&mut core, now, input);
            replayed.to_ns = now.0;
            if outputs.is_empty() {
                let panic = out.err();
                replayed.unfinished = Some(Unfinished { input: last.input.clone(), panic });
                break;
            }
            let (recorded, next) =
                postcard::take_from_bytes::<Vec<Output>>(outputs).map_err(unreadable)?;
            replayed.turns += 1;
            if out.as_ref() != Ok(&recorded) {
                replayed.difference = Some(replayed.of_outputs(&last, &recorded, out));
                return Ok(replayed);
            }
            rest = next;
        }
        before = Some(core);
    }
    Ok(replayed)
}

/// What the core does with an input; what it says if it panics.
fn handled(core: &mut Core, now: Time, input: Input) -> Result<Vec<Output>, String> {
    catch_unwind(AssertUnwindSafe(|| {
        let mut out = Vec::new();
        core.handle(now, input, &mut out);
        out
    }))
    .map_err(|panic| words_of(panic.as_ref()))
}

fn words_of(panic: &(dyn Any + Send)) -> String {
    let words = panic.downcast_ref::<String>().map(String::as_str);
    words.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no reason is given").to_owned()
}

impl Replayed {
    /// Whether the core of this binary did what the core of the node did.
    ///
    /// ```
    /// assert!(electd_record::flight::replay::Replayed::default().is_same());
    /// ```
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.difference.is_none()
    }

    fn of_outputs(
        &self,
        last: &LastTurn,
        recorded: &[Output],
        replayed: Result<Vec<Output>, String>,
    ) -> Difference {
        let replayed = match replayed {
            Ok(out) => out.iter().map(shown).collect(),
            Err(panic) => vec![format!("it panics: {panic}")],
        };
        let recorded = recorded.iter().map(shown).collect();
        self.difference(last, false, recorded, replayed)
    }

    fn of_state(&self, last: &LastTurn, recorded: &Core, replayed: &Core) -> Difference {
        let (recorded, replayed) = (format!("{recorded:#?}"), format!("{replayed:#?}"));
        let mut lines = recorded.lines().zip(replayed.lines());
        let (ours, theirs) = lines.find(|(one, other)| one != other).unwrap_or_default();
        let line = |text: &str| vec![shortened(text.trim().to_owned())];
        self.difference(last, true, line(ours), line(theirs))
    }

    fn difference(
        &self,
        last: &LastTurn,
        is_of_state: bool,
        recorded: Vec<String>,
        replayed: Vec<String>,
    ) -> Difference {
        let (turn, at_ns, input) = (self.turns, last.time.0, last.input.clone());
        Difference { turn, at_ns, input, is_of_state, recorded, replayed }
    }
}

fn shown(value: &impl std::fmt::Debug) -> String {
    shortened(format!("{value:?}"))
}

fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(SHOWN) {
        text.truncate(end);
        text += " ...";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_difference_in_its_own_words() {
        let words = |panic: Box<dyn Any + Send>| words_of(panic.as_ref());
        assert_eq!(words(Box::new("a leader".to_owned())), "a leader");
        assert_eq!(words(Box::new("a leader")), "a leader");
        assert_eq!(words(Box::new(7)), "no reason is given");
        let last = LastTurn { time: Time(9), input: "Tick".to_owned() };
        let replayed = Replayed { turns: 4, ..Replayed::default() };
        let found = replayed.of_outputs(&last, &[], Err("a leader".to_owned()));
        let expected = Difference {
            turn: 4,
            at_ns: 9,
            input: "Tick".to_owned(),
            is_of_state: false,
            recorded: vec![],
            replayed: vec!["it panics: a leader".to_owned()],
        };
        assert_eq!(found, expected);
        assert!(!Replayed { difference: Some(found), ..replayed }.is_same());
    }

    #[test]
    fn what_is_long_is_cut_between_two_letters() {
        let text = "\u{e9}".repeat(2000);
        assert_eq!(shortened(text.clone()), text);
        assert_eq!(shortened(text.clone() + "x"), text + " ...");
    }
}
