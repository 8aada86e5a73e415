//! The query of `GET /run`: `algorithm=ring&nodes=5&seed=7&quorum=none&delays=lockstep&do=kill5@120&until=2000`.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::core::settings::{AlgorithmKind, Quorum};
use crate::sim::{Delays, Experiment, ExperimentError};

use super::deeds::{Deeds, number};

/// The members of a cluster: each member more is a column of a drawing.
const NODES: std::ops::RangeInclusive<u64> = 2..=25;
/// How long a run lasts at most, in milliseconds.
const UNTIL: std::ops::RangeInclusive<u64> = 1..=20_000;

/// What may be asked.
const KEYS: [&str; 7] = ["algorithm", "nodes", "quorum", "seed", "delays", "do", "until"];

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabQuestion {
    /// How the members elect.
    pub algorithm: AlgorithmKind,
    /// How many there are.
    pub nodes: usize,
    /// What a leader needs.
    pub quorum: Quorum,
    /// The seed of all random choices.
    pub seed: u64,
    /// How long messages take.
    pub delays: Delays,
    /// What is done to them.
    pub deeds: Deeds,
    /// When it ends.
    pub until: Duration,
}

impl LabQuestion {
    /// Reads a query. What it does not say is as by default.
    ///
    /// # Errors
    /// A sentence that names the word, and says what is allowed.
    pub fn parse(query: &str) -> Result<LabQuestion, String> {
        let mut given = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if !KEYS.contains(&key) {
                return Err(format!("\"{key}\" is not known here; there are {}", KEYS.join(", ")));
            }
            if given.insert(key, value).is_some() {
                return Err(format!("{key} is given twice; give it once"));
            }
        }
        let value = |key: &str| given.get(key).copied();
        let nodes = ranged("nodes", value("nodes").unwrap_or("5"), NODES)?;
        let nodes = usize::try_from(nodes).unwrap_or_default();
        let until = ranged("until", value("until").unwrap_or("2000"), UNTIL)?;
        let until = Duration::from_millis(until);
        Ok(LabQuestion {
            algorithm: one_of(
                "algorithm",
                value("algorithm").unwrap_or("bully"),
                &AlgorithmKind::ALL.map(|kind| (kind.name(), kind)),
            )?,
            nodes,
            quorum: one_of(
                "quorum",
                value("quorum").unwrap_or("none"),
                &Quorum::ALL.map(|quorum| (quorum.name(), quorum)),
            )?,
            seed: ranged("seed", value("seed").unwrap_or("1"), 0..=u64::MAX)?,
            delays: one_of(
                "delays",
                value("delays").unwrap_or("lockstep"),
                &[("lockstep", Delays::Lockstep), ("random", Delays::Random)],
            )?,
            deeds: Deeds::parse(value("do").unwrap_or_default(), nodes, until)?,
            until,
        })
    }

    /// What it asks for.
    pub fn experiment(&self) -> Experiment {
        let timed = self.deeds.timed.iter();
        Experiment {
            algorithm: self.algorithm,
            nodes: self.nodes,
            quorum: self.quorum,
            delays: self.delays,
            seed: self.seed,
            deeds: timed.map(|(at, deed, _)| (*at, deed.clone())).collect(),
            lost: self.deeds.lost.clone(),
            until: self.until,
        }
    }

    /// Why there is no answer, in the words of the question.
    pub fn complaint(&self, trouble: &ExperimentError) -> String {
        match trouble {
            ExperimentError::Idle(place, why) => match self.deeds.timed.get(*place) {
                Some((.., word)) => format!("do: \"{word}\": {why}"),
                None => format!("do: {why}"),
            },
            other => other.to_string(),
        }
    }
}

fn ranged(key: &str, text: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64, String> {
    number(text).filter(|number| range.contains(number)).ok_or_else(|| {
        format!("{key}: \"{text}\": give a number from {} to {}", range.start(), range.end())
    })
}

fn one_of<T: Copy>(key: &str, text: &str, words: &[(&str, T)]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        format!("{key}: \"{text}\": give one of {}", words.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::sim::Deed;

    #[test]
    fn a_query_is_read_and_what_it_leaves_out_is_as_by_default() {
        let plain = LabQuestion::parse("").unwrap();
        assert_eq!((plain.algorithm, plain.nodes), (AlgorithmKind::Bully, 5));
        assert_eq!(plain.until, Duration::from_secs(2));
        let asked = "algorithm=ring&nodes=7&seed=18446744073709551615&quorum=majority\
                     &delays=random&do=kill7@5000&until=6000";
        let read = LabQuestion::parse(asked).unwrap();
        assert_eq!((read.algorithm, read.quorum), (AlgorithmKind::Ring, Quorum::Majority));
        assert_eq!((read.seed, read.delays), (u64::MAX, Delays::Random));
        assert_eq!(read.deeds.timed.len(), 1);
        assert_eq!((plain.quorum, plain.seed, plain.delays), (Quorum::None, 1, Delays::Lockstep));
    }

    #[test]
    fn numbers_are_taken_from_the_least_to_the_greatest() {
        for (query, nodes, until, seed) in [
            ("nodes=2&until=1&seed=0", 2, 1, 0),
            ("nodes=25&until=20000&seed=18446744073709551615", 25, 20_000, u64::MAX),
        ] {
            let read = LabQuestion::parse(query).unwrap();
            let until = Duration::from_millis(until);
            assert_eq!((read.nodes, read.until, read.seed), (nodes, until, seed));
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_allowed() {
        let queries = [
            "algorithm=raft",
            "algorithm=bul",
            "nodes=1",
            "nodes=26",
            "nodes=",
            "nodes",
            "nodes=1e9",
            "until=20001",
            "until=0",
            "seed=-1",
            "seed=18446744073709551616",
            "quorum=all",
            "quorum=maj",
            "delays=long",
            "delays=rand",
            "delays=",
            "sed=1",
            "seed=1&seed=1",
            "do=kill5@2001",
            "until=50&do=kill5@51",
            "nodes=3&do=kill4@1",
            "do=kill5%40120",
        ];
        let told = queries.map(|query| LabQuestion::parse(query).unwrap_err());
        insta::assert_snapshot!("refused_questions", told.join("\n"));
    }

    #[test]
    fn a_question_is_run_as_it_was_asked() {
        let asked = "&&algorithm=ring&nodes=7&seed=9&quorum=majority&delays=random&\
                     do=kill7@30,drop1-2.3,thaw2@20&until=40&";
        let question = LabQuestion::parse(asked).unwrap();
        let experiment = question.experiment();
        assert_eq!(
            (experiment.algorithm, experiment.quorum),
            (AlgorithmKind::Ring, Quorum::Majority)
        );
        assert_eq!((experiment.nodes, experiment.seed), (7, 9));
        assert_eq!(
            (experiment.delays, experiment.until),
            (Delays::Random, Duration::from_millis(40))
        );
        let [early, late] = [20, 30].map(Duration::from_millis);
        assert_eq!(experiment.deeds, [(early, Deed::Thaw(2)), (late, Deed::Kill(7))]);
        assert_eq!(experiment.lost, BTreeSet::from([(1, 2, 3)]));

        let idle = |place| question.complaint(&ExperimentError::Idle(place, "it does not run"));
        let told = [idle(0), idle(1), idle(2)];
        let expected = [
            "do: \"thaw2@20\": it does not run",
            "do: \"kill7@30\": it does not run",
            "do: it does not run",
        ];
        assert_eq!(told, expected);
    }
}
