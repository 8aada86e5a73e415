//! The table.

/// What the views say in one situation. In a line `…` is any text, TIME a length of time, WHEN a moment, `<2>` the epoch that
/// node-2 knows, and `<former>` that of the leader before.
pub struct Row {
    pub situation: &'static str,
    /// The exit code, and lines.
    pub status: Told,
    pub health: Told,
    pub leader: Told,
    pub why: Told,
    /// The colour, the banner, and all boxes.
    pub page: (&'static str, &'static str, &'static [&'static str]),
    pub history: Told,
    /// Lines, each with the number of the node that logs it.
    pub log: &'static [(usize, &'static str)],
    /// Figures, each with the number of the node that gives it, and all alerts that fire if this lasts.
    pub metrics: (&'static [(usize, &'static str)], &'static [&'static str]),
}

type Told = (i32, &'static [&'static str]);

pub fn healthy() -> Row {
    Row { situation: "healthy", status: (99, &[]), health: (99, &[]), leader: (0, &[]), why: (0, &[]), page: ("good", "…", &[]), history: (0, &[]), log: &[], metrics: (&[], &[]) }
}
pub fn first_start() -> Row {
    Row { situation: "first start", status: (99, &[]), health: (99, &[]), leader: (0, &[]), why: (0, &[]), page: ("good", "…", &[]), history: (0, &[]), log: &[], metrics: (&[], &[]) }
}
pub fn leader_killed() -> Row {
    Row { situation: "leader killed", status: (99, &[]), health: (99, &[]), leader: (0, &[]), why: (0, &[]), page: ("good", "…", &[]), history: (0, &[]), log: &[], metrics: (&[], &[]) }
}
pub fn host_lost() -> Row {
    Row { situation: "host lost", status: (99, &[]), health: (99, &[]), leader: (0, &[]), why: (0, &[]), page: ("good", "…", &[]), history: (0, &[]), log: &[], metrics: (&[], &[]) }
}
pub fn cut_off_seen_by_itself() -> Row {
    Row { situation: "cut off seen by itself", status: (99, &[]), health: (99, &[]), leader: (0, &[]), why: (0, &[]), page: ("good", "…", &[]), history: (0, &[]), log: &[], metrics: (&[], &[]) }
}
pub fn cut_off_seen_by_the_others() -> Row {
    Row { situation: "cut off seen by the others", status: (99, &[]), health: (99, &[]), leader: (0, &[]), why: (0, &[]), page: ("good", "…", &[]), history: (0, &[]), log: &[], metrics: (&[], &[]) }
}
pub fn cut_off_seen_by_all() -> Row {
    Row { situation: "cut off seen by all", status: (99, &[]), health: (99, &[]), leader: (0, &[]), why: (0, &[]), page: ("good", "…", &[]), history: (0, &[]), log: &[], metrics: (&[], &[]) }
}
pub fn no_majority() -> Row {
    Row { situation: "no majority", status: (99, &[]), health: (99, &[]), leader: (0, &[]), why: (0, &[]), page: ("good", "…", &[]), history: (0, &[]), log: &[], metrics: (&[], &[]) }
}
pub fn two_leaders() -> Row {
    Row { situation: "two leaders", status: (99, &[]), health: (99, &[]), leader: (0, &[]), why: (0, &[]), page: ("good", "…", &[]), history: (0, &[]), log: &[], metrics: (&[], &[]) }
}
pub fn disk_full() -> Row {
    Row { situation: "disk full", status: (99, &[]), health: (99, &[]), leader: (0, &[]), why: (0, &[]), page: ("good", "…", &[]), history: (0, &[]), log: &[], metrics: (&[], &[]) }
}
pub fn state_lost() -> Row {
    Row { situation: "state lost", status: (99, &[]), health: (99, &[]), leader: (0, &[]), why: (0, &[]), page: ("good", "…", &[]), history: (0, &[]), log: &[], metrics: (&[], &[]) }
}
pub fn drained() -> Row {
    Row { situation: "drained", status: (99, &[]), health: (99, &[]), leader: (0, &[]), why: (0, &[]), page: ("good", "…", &[]), history: (0, &[]), log: &[], metrics: (&[], &[]) }
}
pub fn resigned() -> Row {
    Row { situation: "resigned", status: (99, &[]), health: (99, &[]), leader: (0, &[]), why: (0, &[]), page: ("good", "…", &[]), history: (0, &[]), log: &[], metrics: (&[], &[]) }
}
pub fn unhealthy() -> Row {
    Row { situation: "unhealthy", status: (99, &[]), health: (99, &[]), leader: (0, &[]), why: (0, &[]), page: ("good", "…", &[]), history: (0, &[]), log: &[], metrics: (&[], &[]) }
}
pub fn job_failing() -> Row {
    Row { situation: "job failing", status: (99, &[]), health: (99, &[]), leader: (0, &[]), why: (0, &[]), page: ("good", "…", &[]), history: (0, &[]), log: &[], metrics: (&[], &[]) }
}
pub fn flapping() -> Row {
    Row { situation: "flapping", status: (99, &[]), health: (99, &[]), leader: (0, &[]), why: (0, &[]), page: ("good", "…", &[]), history: (0, &[]), log: &[], metrics: (&[], &[]) }
}
pub fn clocks_apart() -> Row {
    Row { situation: "clocks apart", status: (99, &[]), health: (99, &[]), leader: (0, &[]), why: (0, &[]), page: ("good", "…", &[]), history: (0, &[]), log: &[], metrics: (&[], &[]) }
}
pub fn two_versions() -> Row {
    Row { situation: "two versions", status: (99, &[]), health: (99, &[]), leader: (0, &[]), why: (0, &[]), page: ("good", "…", &[]), history: (0, &[]), log: &[], metrics: (&[], &[]) }
}
