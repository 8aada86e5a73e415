//! `locks`: which names there may be, how many, where each of them is to be held, and when work is spread anew.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use strum::{IntoStaticStr, VariantArray};

use super::choices::{all, nearest};
use super::report::{Object, Report, Spot};
use super::timing;
use electd_election::core::locks::rules::LockRules;
use electd_election::core::locks::table::{BadLockName, LockName, MOST_NAMES};
use electd_election::limits::quote;

/// All that the file says of locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocksConfig {
    /// Which names there may be.
    pub names: LockNames,
    /// The most names that are held or wanted here at a time.
    pub most: usize,
    /// When work is spread anew without an operator; none for never.
    pub rebalance: Option<SpreadRebalance>,
    /// What is said of each name.
    pub declared: BTreeMap<LockName, DeclaredLock>,
}

impl Default for LocksConfig {
    fn default() -> LocksConfig {
        let (names, declared) = (LockNames::Any, BTreeMap::new());
        LocksConfig { names, most: MOST_NAMES, rebalance: None, declared }
    }
}

impl LocksConfig {
    /// Whether any name is to be held where another is.
    pub fn has_followers(&self) -> bool {
        self.declared.values().any(|lock| lock.with.is_some())
    }

    /// What the coordinator goes by.
    #[must_use]
    pub fn rules(&self) -> LockRules {
        let with =
            |(name, lock): (&LockName, &DeclaredLock)| Some((name.clone(), lock.with.clone()?));
        let digest = u64::from(crc32fast::hash(format!("{self:?}").as_bytes())) + 1;
        LockRules { most: self.most, with: self.declared.iter().filter_map(with).collect(), digest }
    }
}

/// Which names there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum LockNames {
    /// Any.
    Any,
    /// Those alone that the file declares.
    Declared,
}

/// When work is spread anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpreadRebalance {
    /// Once it could have been spread better for this long.
    pub after: Duration,
    /// So many names move at a time, also in a drain.
    pub at_once: usize,
}

/// What the file says of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredLock {
    /// The members that are to hold it rather than others, the first of them most of all.
    pub prefer: Vec<String>,
    /// The members that may hold it; none for all.
    pub only: Option<Vec<String>>,
    /// It is held where this name is.
    pub with: Option<LockName>,
    /// How much work it is beside others.
    pub weight: u32,
}

impl Default for DeclaredLock {
    fn default() -> DeclaredLock {
        DeclaredLock { prefer: Vec::new(), only: None, with: None, weight: 1 }
    }
}

impl DeclaredLock {
    /// How much this member is preferred: the greater the more.
    #[must_use]
    pub fn preference(&self, member: &str) -> u32 {
        let at = self.prefer.iter().position(|name| name == member);
        at.map_or(0, |at| u32::try_from(self.prefer.len() - at).unwrap_or(u32::MAX))
    }

    /// Whether this member may hold it.
    #[must_use]
    pub fn allows(&self, member: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == member))
    }
}

/// The keys beside the names.
const NAMES: &str = "names";
const MOST: &str = "most";
const SPREAD: &str = "spread";
/// Nothing is spread anew.
const NEVER: &str = "never";

const LOCK_KEYS: &[&str] = &["prefer", "only", "with", "weight"];

/// The greatest weight.
const HEAVIEST: i64 = 1_000_000;

/// Reads `locks`. Without the members the names of members in it are not judged.
pub(super) fn read<'t>(
    spot: &Spot<'t>,
    members: Option<&[&str]>,
    report: &mut Report<'t>,
) -> Option<LocksConfig> {
    let object = Object::open_any(spot, report)?;
    let names = object.get(NAMES).map_or(Some(LockNames::Any), |spot| report.choice(spot, &all()));
    let most = object.get(MOST).map_or(Some(MOST_NAMES), |spot| count(spot, MOST_NAMES, report));
    let rebalance = object.get(SPREAD).map_or(Some(None), |spot| spread(spot, report));
    let mut declared = Some(BTreeMap::new());
    let mut anchors = BTreeMap::new();
    for (key, spot) in object.entries() {
        if [NAMES, MOST, SPREAD].contains(&key) {
            continue;
        }
        let name = lock_name(key, spot, report);
        let lock = lock(spot, members, &mut anchors, report);
        match (name.zip(lock), &mut declared) {
            (Some((name, lock)), Some(all)) => _ = all.insert(name, lock),
            _ => declared = None,
        }
    }
    let (names, most, declared) = (names?, most?, declared?);
    let fits = declared.len() <= most;
    if !fits {
        let remedy = format!("raise `{MOST}`, or declare fewer");
        report.wrong(object.get(MOST).unwrap_or(spot), "is less than the declared names", remedy);
    }
    let are_sound = judge_anchors(names, &declared, &anchors, report);
    let config = LocksConfig { names, most, rebalance: rebalance?, declared };
    (fits && are_sound).then_some(config)
}

fn lock_name<'t>(key: &str, spot: &Spot<'t>, report: &mut Report<'t>) -> Option<LockName> {
    let name = LockName::new(key);
    if let Err(why) = &name {
        let remedy = match why {
            BadLockName::Characters => why.to_string(),
            BadLockName::Setting => "name the lock otherwise".to_owned(),
        };
        report.wrong(spot, "is of no name of a lock", remedy);
    }
    name.ok()
}

fn count<'t>(spot: &Spot<'t>, most: usize, report: &mut Report<'t>) -> Option<usize> {
    let number = report.integer(spot)?;
    let found = usize::try_from(number).ok().filter(|number| (1..=most).contains(number));
    if found.is_none() {
        report.wrong(spot, "is no number that this can be", format!("give 1 to {most}"));
    }
    found
}

fn spread<'t>(spot: &Spot<'t>, report: &mut Report<'t>) -> Option<Option<SpreadRebalance>> {
    let object = Object::open(spot, &["rebalance"], report)?;
    let remedy = "say \"never\", or {\"after\": \"5m\", \"at_once\": 1}";
    let spot = object.require("rebalance", remedy, report)?;
    if !spot.is_object() {
        let is_never = report.string(spot)? == NEVER;
        if !is_never {
            report.wrong(spot, "is no way to spread work anew", remedy);
        }
        return is_never.then_some(None);
    }
    let object = Object::open(spot, &["after", "at_once"], report)?;
    let after = object.require("after", "say how long names stay where they are", report);
    let after = after.and_then(|spot| timing::duration(spot, timing::SHORTEST, report));
    let at_once = object.get("at_once").map_or(Some(1), |spot| count(spot, MOST_NAMES, report));
    Some(Some(SpreadRebalance { after: after?, at_once: at_once? }))
}

/// Reads what the file says of one name, and notes where it says `with`.
fn lock<'t>(
    spot: &Spot<'t>,
    members: Option<&[&str]>,
    anchors: &mut BTreeMap<LockName, Spot<'t>>,
    report: &mut Report<'t>,
) -> Option<DeclaredLock> {
    let object = Object::open(spot, LOCK_KEYS, report)?;
    let mut listed = |key| match object.get(key) {
        Some(spot) => member_names(spot, members, report).map(Some),
        None => Some(None),
    };
    let (prefer, only) = (listed("prefer"), listed("only"));
    let with = object.get("with").map_or(Some(None), |spot| {
        let text = report.string(spot)?;
        lock_name(&text, spot, report).map(Some)
    });
    let weight = object.get("weight").map_or(Some(1), |spot| weight(spot, report));
    let (prefer, only, with, weight) = (prefer?.unwrap_or_default(), only?, with?, weight?);
    let lock = DeclaredLock { prefer, only, with, weight };
    if let Some(never) = lock.prefer.iter().find(|name| !lock.allows(name)) {
        let what = format!("names \"{}\", which `only` does not", quote(never));
        report.wrong(object.get("prefer").unwrap_or(spot), what, "name it in both, or in neither");
        return None;
    }
    if let Some(with) = object.get("with") {
        let own = spot.key.strip_prefix("locks.").and_then(|name| LockName::new(name).ok());
        anchors.extend(own.map(|name| (name, with.clone())));
    }
    Some(lock)
}

fn weight<'t>(spot: &Spot<'t>, report: &mut Report<'t>) -> Option<u32> {
    let number = report.integer(spot)?;
    let found = Some(number).filter(|number| (1..=HEAVIEST).contains(number));
    if found.is_none() {
        report.wrong(spot, "is no weight", format!("give 1 to {HEAVIEST}"));
    }
    found.and_then(|number| u32::try_from(number).ok())
}

/// Names of members of the file.
fn member_names<'t>(
    spot: &Spot<'t>,
    members: Option<&[&str]>,
    report: &mut Report<'t>,
) -> Option<Vec<String>> {
    let spots = report.list(spot)?;
    if spots.is_empty() {
        report.wrong(spot, "names nobody", "name members, or remove the key");
        return None;
    }
    let names: Vec<_> = spots.iter().map(|spot| member_name(spot, members, report)).collect();
    let names: Vec<String> = names.into_iter().collect::<Option<_>>()?;
    let twice = names.iter().collect::<BTreeSet<_>>().len() < names.len();
    if twice {
        report.wrong(spot, "names a member twice", "name each once");
    }
    (!twice).then_some(names)
}

fn member_name<'t>(
    spot: &Spot<'t>,
    members: Option<&[&str]>,
    report: &mut Report<'t>,
) -> Option<String> {
    let name = report.string(spot)?;
    let Some(known) = members else { return Some(name) };
    if known.contains(&name.as_str()) {
        return Some(name);
    }
    let remedy = match nearest(&name, known) {
        Some(near) => format!("did you mean \"{}\"?", quote(near)),
        None => format!("name one of {}", quote(&known.join(", "))),
    };
    report.wrong(spot, "is the name of no member", remedy);
    None
}

/// Whether each `with` leads to a name that there may be, and none back to where it is.
fn judge_anchors<'t>(
    names: LockNames,
    declared: &BTreeMap<LockName, DeclaredLock>,
    anchors: &BTreeMap<LockName, Spot<'t>>,
    report: &mut Report<'t>,
) -> bool {
    let next = |name: &LockName| declared.get(name).and_then(|lock| lock.with.as_ref());
    let mut are_sound = true;
    for (name, spot) in anchors {
        let path = std::iter::successors(next(name), |name| next(name)).take(declared.len() + 1);
        let what = if path.clone().any(|later| later == name) {
            ("leads back to where it is", "remove one `with` of the circle")
        } else if next(name).is_some_and(|it| !declared.contains_key(it))
            && names == LockNames::Declared
        {
            ("is no declared name", "declare it, or remove the key")
        } else {
            continue;
        };
        report.wrong(spot, what.0, what.1);
        are_sound = false;
    }
    are_sound
}
