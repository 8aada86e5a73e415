//! `rank`: what all members are ranked by, and each member's own figures, which go over those of
//! the cluster.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::choices;
use super::report::{Object, Report, Spot};
use super::types::{Attribute, RankConfig};
use super::{program, timing};
use electd_election::core::settings::{Margin, RankKind};

/// All keys of a `rank`. Which of them belong there depends on its kind.
const KEYS: &[&str] = &["by", "priority", "path", "command", "timeout", "every", MARGIN];

/// The one figure that no member has for itself.
const MARGIN: &str = "margin";
/// The greatest share of the leader's value.
const MOST_PERCENT: u32 = 1000;

/// The time between two samples, where the file does not say.
const EVERY: Duration = Duration::from_secs(30);
/// More often than this, sampling costs more than it tells.
const SHORTEST_EVERY: Duration = Duration::from_millis(100);
/// How long a command may take, where the file does not say; less where `every` is not longer.
const TIMEOUT: Duration = Duration::from_secs(1);
/// In less than this hardly any program starts and ends.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(10);

/// The file's values for all members.
pub(super) struct ClusterRank<'t> {
    /// The attribute by which all members are ranked.
    pub(super) kind: RankKind,
    /// By how much a member must exceed the leader before it preempts.
    pub(super) margin: Margin,
    figures: Figures,
    spot: Option<Spot<'t>>,
    folder: PathBuf,
}

/// The figures of one `rank`; none where they are not given.
#[derive(Clone, Default)]
struct Figures {
    priority: Option<i64>,
    path: Option<PathBuf>,
    command: Option<(PathBuf, Vec<String>)>,
    timeout: Option<Duration>,
    every: Option<Duration>,
}

/// Reads the `rank` of the cluster; members are ranked by id where there is none.
pub(super) fn cluster<'t>(
    spot: Option<&Spot<'t>>,
    folder: &Path,
    report: &mut Report<'t>,
) -> Option<ClusterRank<'t>> {
    let folder = folder.to_owned();
    let Some(spot) = spot else {
        let (kind, figures, margin) = (RankKind::Id, Figures::default(), Margin::NONE);
        return Some(ClusterRank { kind, margin, figures, spot: None, folder });
    };
    let object = Object::open(spot, KEYS, report)?;
    let by = object.require("by", "say what members are ranked by, such as \"id\"", report)?;
    let kind = report.choice(by, &choices::all())?;
    let figures = Figures::read(&object, kind, &folder, report);
    let margin = match object.get(MARGIN) {
        Some(spot) => margin(spot, report)?,
        None => default_margin(kind),
    };
    let figures = figures?;
    let fits = figures.fits(&object, report);
    fits.then(|| ClusterRank { kind, margin, figures, spot: Some(spot.clone()), folder })
}

/// The margin where the file does not say.
fn default_margin(rank: RankKind) -> Margin {
    match rank {
        RankKind::Cpu | RankKind::Disk | RankKind::Files => Margin::Percent(10),
        _ => Margin::NONE,
    }
}

/// A share of the leader's value, or an amount in the unit of the values.
fn margin<'t>(spot: &Spot<'t>, report: &mut Report<'t>) -> Option<Margin> {
    let remedy = "give a share of the leader's value such as \"10%\", or an amount such as 500";
    if spot.number().is_some() {
        let amount = report.integer(spot)?;
        let amount = u64::try_from(amount).map(Margin::Amount);
        return amount.inspect_err(|_| report.wrong(spot, "is negative", remedy)).ok();
    }
    let text = report.string(spot)?;
    let percent = text.strip_suffix('%').and_then(|number| number.parse().ok());
    match percent {
        Some(percent) if percent <= MOST_PERCENT => Some(Margin::Percent(percent)),
        Some(_) => {
            let most = format!("give at most \"{MOST_PERCENT}%\", or an amount such as 500");
            report.wrong(spot, "is too great a share", most);
            None
        }
        None => {
            report.wrong(spot, "is no share: a whole number and % are", remedy);
            None
        }
    }
}

/// Reads the `rank` of the member whose entry this is, and completes it with the cluster's.
/// `alone`: no other member has one either, so that what is missing is missing for all.
pub(super) fn member<'t>(
    entry: &Object<'t>,
    cluster: &ClusterRank<'t>,
    alone: bool,
    report: &mut Report<'t>,
) -> Option<RankConfig> {
    let for_all = "or for all members in the rank of the cluster";
    let Some(spot) = entry.get("rank") else {
        let place = match &cluster.spot {
            Some(spot) if alone => FigurePlace {
                spot: spot.clone(),
                prefix: "",
                where_else: "or in each member's rank",
            },
            _ => FigurePlace { spot: entry.spot().clone(), prefix: "rank.", where_else: for_all },
        };
        return cluster.figures.clone().complete(cluster.kind, &place, report);
    };
    let object = Object::open(spot, KEYS, report)?;
    if let Some(by) = object.get("by")
        && report.choice(by, &choices::all::<RankKind>())? != cluster.kind
    {
        let kind = cluster.kind.name();
        let what = format!("differs from the cluster's, which is \"{kind}\"");
        report.wrong(by, what, "remove it; all members are ranked by the same");
        return None;
    }
    let own = Figures::read(&object, cluster.kind, &cluster.folder, report);
    if let Some(spot) = object.get(MARGIN).filter(|_| keys_of(cluster.kind).contains(&MARGIN)) {
        let remedy = "move it to the rank of the cluster";
        report.wrong(spot, "is for all members alike", remedy);
        return None;
    }
    let own = own?;
    let figures = own.over(&cluster.figures);
    if !figures.fits(&object, report) {
        return None;
    }
    let place = FigurePlace { spot: spot.clone(), prefix: "", where_else: for_all };
    figures.complete(cluster.kind, &place, report)
}

/// The keys that belong to a rank of this kind, besides `by`.
fn keys_of(kind: RankKind) -> &'static [&'static str] {
    match kind {
        RankKind::Id | RankKind::Address => &[],
        RankKind::Priority => &["priority", MARGIN],
        RankKind::Cpu => &["every", MARGIN],
        RankKind::Disk | RankKind::Files => &["path", "every", MARGIN],
        RankKind::Command => &["command", "timeout", "every", MARGIN],
    }
}

impl Figures {
    fn read<'t>(
        object: &Object<'t>,
        kind: RankKind,
        folder: &Path,
        report: &mut Report<'t>,
    ) -> Option<Figures> {
        let strangers = strangers(object, kind, report);
        let spot = |key| object.get(key).filter(|_| keys_of(kind).contains(&key));
        let priority = spot("priority").map(|spot| report.integer(spot));
        let path = spot("path").map(|spot| report.path(spot, folder));
        let command = spot("command").map(|spot| program::read(spot, folder, report));
        let timeout = spot("timeout").map(|spot| timing::duration(spot, SHORTEST_TIMEOUT, report));
        let every = spot("every").map(|spot| timing::duration(spot, SHORTEST_EVERY, report));
        let figures = Figures {
            priority: given(priority)?,
            path: given(path)?,
            command: given(command)?,
            timeout: given(timeout)?,
            every: given(every)?,
        };
        (!strangers).then_some(figures)
    }

    /// These, completed with others.
    fn over(self, others: &Figures) -> Figures {
        let others = others.clone();
        Figures {
            priority: self.priority.or(others.priority),
            path: self.path.or(others.path),
            command: self.command.or(others.command),
            timeout: self.timeout.or(others.timeout),
            every: self.every.or(others.every),
        }
    }

    fn every(&self) -> Duration {
        self.every.unwrap_or(EVERY)
    }

    fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(TIMEOUT.min(self.every() / 2))
    }

    /// A command ends before it is run again. Reported where `object` gives one of the two.
    fn fits<'t>(&self, object: &Object<'t>, report: &mut Report<'t>) -> bool {
        let (timeout, every) = (self.timeout(), self.every());
        let place = object.get("timeout").or(object.get("every"));
        match place {
            Some(spot) if timeout >= every => {
                let what = format!("timeout {timeout:?} is not below every {every:?}");
                let remedy = "lower timeout, or raise every: a sample ends before the next begins";
                report.wrong(spot, what, remedy);
                false
            }
            _ => true,
        }
    }

    /// The attribute of a member with its parameters. A missing parameter is reported at this place.
    fn complete<'t>(
        self,
        kind: RankKind,
        place: &FigurePlace<'t>,
        report: &mut Report<'t>,
    ) -> Option<RankConfig> {
        let (every, timeout) = (self.every(), self.timeout());
        let mut missing = |key: &str, what: &str| {
            let remedy = format!("{what}, {}", place.where_else);
            report.missing(&place.spot, &format!("{}{key}", place.prefix), &remedy);
            None
        };
        let attribute = match kind {
            RankKind::Id => Some(Attribute::Id),
            RankKind::Address => Some(Attribute::Address),
            RankKind::Cpu => Some(Attribute::Cpu),
            RankKind::Priority => self
                .priority
                .map(Attribute::Priority)
                .or_else(|| missing("priority", "give a number")),
            RankKind::Disk => self
                .path
                .map(Attribute::Disk)
                .or_else(|| missing("path", "name a path on the file system")),
            RankKind::Files => {
                self.path.map(Attribute::Files).or_else(|| missing("path", "name the folder"))
            }
            RankKind::Command => self
                .command
                .map(|(program, arguments)| Attribute::Command { program, arguments, timeout })
                .or_else(|| missing("command", "list a program and its arguments")),
        };
        Some(RankConfig { attribute: attribute?, every })
    }
}

/// Where a missing figure is reported.
struct FigurePlace<'t> {
    spot: Spot<'t>,
    /// The path from there to the parameter.
    prefix: &'static str,
    /// Where else it may stand, for the remedy.
    where_else: &'static str,
}

/// `Some(None)` for a figure that is not given, `None` for one that is wrong and was reported.
#[allow(clippy::option_option)]
fn given<T>(figure: Option<Option<T>>) -> Option<Option<T>> {
    figure.map_or(Some(None), |figure| figure.map(Some))
}

/// Reports the figures that do not belong to a rank of this kind. Tells whether there were any.
fn strangers<'t>(object: &Object<'t>, kind: RankKind, report: &mut Report<'t>) -> bool {
    let known = keys_of(kind);
    let mut found = false;
    for key in KEYS[1..].iter().filter(|key| !known.contains(key)) {
        let Some(spot) = object.get(key) else { continue };
        found = true;
        let what = format!("does not belong to a rank by {}", kind.name());
        let remedy = match known {
            [] => "remove it; this rank has no figures".to_owned(),
            _ => format!("remove it; the figures of this rank are {}", known.join(", ")),
        };
        report.wrong(spot, what, remedy);
    }
    found
}
