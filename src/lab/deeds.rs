//! What is done to a cluster, as a link names it: `kill5@120,cut1.2-3@300,drop3-4.2`.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::sim::Deed;

/// The most of them.
const MOST: usize = 60;

/// The words for deeds to one member.
const WORDS: [&str; 8] = ["kill", "vanish", "restart", "freeze", "thaw", "slow", "quick", "elect"];

/// All that is done to a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deeds {
    /// What is done, and when, in the order of time, with its words.
    pub timed: Vec<(Duration, Deed, String)>,
    /// The messages that are lost: sender, receiver, and the place among all from one to the other.
    pub lost: BTreeSet<(usize, usize, u64)>,
}

impl Deeds {
    /// Reads them, for a cluster of this many members that is watched until then.
    ///
    /// # Errors
    /// A sentence that names the word, and says what is allowed.
    pub fn parse(text: &str, nodes: usize, until: Duration) -> Result<Deeds, String> {
        let mut deeds = Deeds::default();
        if text.is_empty() {
            return Ok(deeds);
        }
        let words: Vec<&str> = text.split(',').collect();
        if words.len() > MOST {
            return Err(format!("do: {} actions; at most {MOST} are taken", words.len()));
        }
        for word in words {
            deeds.add(word, nodes, until).map_err(|why| format!("do: \"{word}\": {why}"))?;
        }
        deeds.timed.sort_by_key(|(at, ..)| *at); // stable: those of one time stay in order
        Ok(deeds)
    }

    fn add(&mut self, word: &str, nodes: usize, until: Duration) -> Result<(), String> {
        if let Some(message) = word.strip_prefix("drop") {
            let lost = dropped(message, nodes)?;
            return if self.lost.insert(lost) {
                Ok(())
            } else {
                Err("it is named twice".to_owned())
            };
        }
        let (what, at) =
            word.split_once('@').ok_or("it has no time: give it one, such as kill5@120")?;
        let most = u64::try_from(until.as_millis()).unwrap_or(u64::MAX);
        let at = number(at).filter(|at| *at <= most).ok_or_else(|| {
            format!("\"{at}\" is no time: give 0 to {most} ms, the end of the run")
        })?;
        self.timed.push((Duration::from_millis(at), deed(what, nodes)?, word.to_owned()));
        Ok(())
    }
}

fn deed(what: &str, nodes: usize) -> Result<Deed, String> {
    if what == "heal" {
        return Ok(Deed::HealAll);
    }
    if let Some(sides) = what.strip_prefix("cut") {
        return sides_of(sides, nodes).map(|(one, other)| Deed::Cut(one, other));
    }
    if let Some(sides) = what.strip_prefix("heal") {
        return sides_of(sides, nodes).map(|(one, other)| Deed::Heal(one, other));
    }
    let known = WORDS.iter().find_map(|word| Some((*word, what.strip_prefix(word)?)));
    let Some((word, node)) = known else {
        let words = WORDS.join(", ");
        return Err(format!("there is no such action; there are {words}, cut, heal and drop"));
    };
    let node = member(node, nodes)?;
    Ok(match word {
        "kill" => Deed::Kill(node),
        "vanish" => Deed::Vanish(node),
        "restart" => Deed::Restart(node),
        "freeze" => Deed::Freeze(node),
        "thaw" => Deed::Thaw(node),
        "slow" => Deed::Slow(node),
        "quick" => Deed::Quick(node),
        _ => Deed::Elect(node),
    })
}

/// The two sides of a cut, such as `1.2-3`.
fn sides_of(text: &str, nodes: usize) -> Result<(BTreeSet<usize>, BTreeSet<usize>), String> {
    let (one, other) = text.split_once('-').ok_or("name two sides, such as 1-3 or 1.2-3.4.5")?;
    let side = |text: &str| {
        text.split('.').map(|node| member(node, nodes)).collect::<Result<BTreeSet<_>, _>>()
    };
    let (one, other) = (side(one)?, side(other)?);
    match one.intersection(&other).next() {
        Some(both) => Err(format!("member {both} is on both sides")),
        None => Ok((one, other)),
    }
}

/// A message, such as `3-4.2`: the second that member 3 sends to member 4.
fn dropped(text: &str, nodes: usize) -> Result<(usize, usize, u64), String> {
    let example = "name a message by its sender, its receiver and its place among those from one to the other, such \
                   as drop3-4.2";
    let (from, rest) = text.split_once('-').ok_or(example)?;
    let (to, place) = rest.split_once('.').ok_or(example)?;
    let (from, to) = (member(from, nodes)?, member(to, nodes)?);
    let place = number(place).filter(|place| (1..=100_000).contains(place)).ok_or(example)?;
    if from == to { Err("a member sends itself nothing".to_owned()) } else { Ok((from, to, place)) }
}

fn member(text: &str, nodes: usize) -> Result<usize, String> {
    let number = number(text).and_then(|number| usize::try_from(number).ok());
    number
        .filter(|number| (1..=nodes).contains(number))
        .ok_or_else(|| format!("there is no member \"{text}\"; they are numbered 1 to {nodes}"))
}

/// A number in digits alone.
pub fn number(text: &str) -> Option<u64> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Deeds, String> {
        Deeds::parse(text, 5, Duration::from_millis(2000))
    }

    #[test]
    fn deeds_are_read_in_the_order_of_time() {
        let read = parse("thaw2@900,kill5@120,cut1.2-3@300,heal@400,drop3-4.2,elect1@120").unwrap();
        let one = |number| BTreeSet::from([number]);
        let all: Vec<_> =
            read.timed.iter().map(|(at, deed, _)| (at.as_millis(), deed.clone())).collect();
        let expected = [
            (120, Deed::Kill(5)),
            (120, Deed::Elect(1)),
            (300, Deed::Cut(BTreeSet::from([1, 2]), one(3))),
            (400, Deed::HealAll),
            (900, Deed::Thaw(2)),
        ];
        assert_eq!(all, expected);
        assert_eq!(read.lost, BTreeSet::from([(3, 4, 2)]));
        assert_eq!(parse("").unwrap(), Deeds::default());
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_allowed() {
        let texts = [
            "kil5@120",
            "explode5@120",
            "kill5",
            "kill5@",
            "kill5@2001",
            "kill5@-1",
            "kill0@1",
            "kill6@1",
            "kill+5@1",
            "kill@1",
            "cut1@1",
            "cut1.2-2@1",
            "cut3-1.6@1",
            "heal1-@1",
            "heal-1@1",
            "drop3",
            "drop3-4",
            "drop3-4.0",
            "drop3-4.x",
            "drop6-4.1",
            "drop3-6.1",
            "drop3-3.1",
            "drop1-5.100001",
            "drop1-2.1,drop1-2.1",
            ",",
        ];
        let told = texts.map(|text| parse(text).unwrap_err());
        insta::assert_snapshot!("refused_deeds", told.join("\n"));
        let many = vec!["elect1@1"; MOST + 1].join(",");
        assert_eq!(parse(&many), Err("do: 61 actions; at most 60 are taken".to_owned()));
        assert_eq!(parse(&vec!["elect1@1"; MOST].join(",")).unwrap().timed.len(), MOST);
    }

    #[test]
    fn each_word_is_a_deed() {
        let side = |numbers: &[usize]| numbers.iter().copied().collect::<BTreeSet<_>>();
        for (word, deed) in [
            ("kill1@0", Deed::Kill(1)),
            ("vanish2@0", Deed::Vanish(2)),
            ("restart3@0", Deed::Restart(3)),
            ("freeze4@0", Deed::Freeze(4)),
            ("thaw5@0", Deed::Thaw(5)),
            ("slow1@0", Deed::Slow(1)),
            ("quick2@0", Deed::Quick(2)),
            ("elect3@0", Deed::Elect(3)),
            ("heal@0", Deed::HealAll),
            ("cut1.2-3.4@0", Deed::Cut(side(&[1, 2]), side(&[3, 4]))),
            ("heal5-1.3@0", Deed::Heal(side(&[5]), side(&[1, 3]))),
        ] {
            let expected = (Duration::ZERO, deed, word.to_owned());
            assert_eq!(parse(word).unwrap().timed, [expected]);
        }
        assert_eq!(parse("kill1@2000").unwrap().timed[0].0, Duration::from_secs(2), "the end");
        assert_eq!(parse("drop1-5.100000").unwrap().lost, BTreeSet::from([(1, 5, 100_000)]));
    }
}
