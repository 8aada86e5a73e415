//! All is well: the code is 0, the colour is good, and no alert fires. What an operator ordered is no problem.

use super::Row;

pub const HEALTHY: Row = Row {
    situation: "healthy",
    status: (
        0,
        &["OK: node-3 leads in epoch <3>; 1 more failure tolerated", "since WHEN (TIME); …"],
    ),
    health: (
        0,
        &[
            "ELECTD OK: node-3 leads in epoch <3>; 1 more failure tolerated; 3 of 3 nodes answer | …",
        ],
    ),
    leader: (0, &["node-3 … epoch <3>"]),
    why: (
        0,
        &[
            "node-3 leads: in epoch <3>, since WHEN (TIME); … Of the members that may lead, none ranks higher",
            "node-1 does not lead: node-3 ranks higher, by id",
        ],
    ),
    page: ("good", "node-3 leads in epoch <3>; 1 more failure tolerated", &[]),
    badges: &[],
    history: (0, &["node-3 <3> WHEN now TIME …", "… between them nobody led for TIME in all"]),
    log: &[
        (3, "WHEN INFO node-3: … -> leading, leader node-3, epoch <3>: …"),
        (3, "WHEN INFO node-3: leads in epoch <3>: …"),
        (1, "WHEN INFO node-1: … -> following, leader node-3, epoch <3>: node-3 leads"),
    ],
    metrics: (
        &[
            (3, "electd_is_leader{…} 1"),
            (1, "electd_is_leader{…} 0"),
            (1, "electd_has_leader{…} 1"),
            (3, "electd_failures_tolerated{…} 1"),
        ],
        &[],
    ),
};

pub const DRAINED: Row = Row {
    situation: "drained",
    status: (
        0,
        &[
            "OK: node-2 leads in epoch <2>; 1 more failure tolerated",
            "node-3 following node-2 … node-3 is drained",
            "since WHEN (TIME); before it node-3 led: node-3: drained by an operator; nobody led for TIME",
            "drained: node-3, since WHEN: new fan; `electd undrain … --node node-3` ends that",
        ],
    ),
    health: (
        0,
        &[
            "ELECTD OK: node-2 leads …; 3 of 3 nodes answer; drained: node-3, since WHEN: new fan; `electd undrain … --node node-3` ends that | …",
        ],
    ),
    leader: (0, &["node-2 … epoch <2>"]),
    why: (
        0,
        &[
            "node-3 does not lead: it is drained since WHEN: new fan",
            "=> `electd undrain … --node node-3` ends that",
        ],
    ),
    page: (
        "good",
        "node-2 leads in epoch <2>; 1 more failure tolerated",
        &["drained: node-3, since WHEN: new fan; `electd undrain … --node node-3` ends that"],
    ),
    badges: &["node-3: drained, fair"],
    history: (
        0,
        &[
            "node-3 <former> WHEN WHEN TIME …",
            "node-2 <2> WHEN now TIME TIME node-3: drained by an operator",
        ],
    ),
    log: &[
        (
            3,
            "WHEN INFO node-3: leading -> waiting, leader none, epoch <former>: drained by an operator",
        ),
        (
            2,
            "WHEN INFO node-2: leads in epoch <2>: took over from node-3 (leader node-3 handed over) …",
        ),
    ],
    metrics: (&[(2, "electd_is_leader{…} 1"), (2, "electd_failures_tolerated{…} 1")], &[]),
};

pub const RESIGNED: Row = Row {
    situation: "resigned",
    status: (
        0,
        &[
            "OK: node-2 leads in epoch <2>; 1 more failure tolerated",
            "node-3 following node-2 … node-3 resigned",
            "since WHEN (TIME); before it node-3 led: node-3: resigned; nobody led for TIME",
            "resigned: node-3 leads only if no other can; `electd undrain … --node node-3` lets it lead again",
        ],
    ),
    health: (
        0,
        &[
            "ELECTD OK: node-2 leads …; resigned: node-3 leads only if no other can; `electd undrain … --node node-3` lets it lead again | …",
        ],
    ),
    leader: (0, &["node-2 … epoch <2>"]),
    why: (
        0,
        &[
            "node-3 does not lead: it resigned, as it was ordered to, and leads only if no other can",
            "=> `electd undrain … --node node-3` lets it lead again",
        ],
    ),
    page: (
        "good",
        "node-2 leads in epoch <2>; 1 more failure tolerated",
        &[
            "resigned: node-3 leads only if no other can; `electd undrain … --node node-3` lets it lead again",
        ],
    ),
    badges: &["node-3: resigned, fair"],
    history: (
        0,
        &["node-3 <former> WHEN WHEN TIME …", "node-2 <2> WHEN now TIME TIME node-3: resigned"],
    ),
    log: &[
        (3, "WHEN INFO node-3: leading -> waiting, leader none, epoch <former>: resigned"),
        (
            2,
            "WHEN INFO node-2: leads in epoch <2>: took over from node-3 (leader node-3 handed over) …",
        ),
    ],
    metrics: (&[(2, "electd_is_leader{…} 1"), (2, "electd_failures_tolerated{…} 1")], &[]),
};

pub const CLOCKS_APART: Row = Row {
    situation: "clocks apart",
    status: (
        0,
        &[
            "OK: node-3 leads in epoch <3>; 1 more failure tolerated",
            "clocks differ: the clock of node-2 is at least TIME behind that of node-…: set them by NTP or PTP; …",
        ],
    ),
    health: (
        0,
        &[
            "ELECTD OK: node-3 leads in epoch <3>; 1 more failure tolerated; 3 of 3 nodes answer; clocks differ: the clock of \
             node-2 is at least TIME behind that of node-…: set them by NTP or PTP; … | …",
        ],
    ),
    leader: (0, &["node-3 … epoch <3>"]),
    why: (
        0,
        &[
            "node-3 leads: in epoch <3>, since WHEN (TIME); …",
            "clocks differ: the clock of node-2 is at least TIME behind that of node-…: set them by NTP or PTP; …",
        ],
    ),
    page: (
        "good",
        "node-3 leads in epoch <3>; 1 more failure tolerated",
        &["clocks: the clock of node-2 is at least TIME behind that of node-…"],
    ),
    badges: &[],
    history: (
        0,
        &[
            "node-3 <3> WHEN now TIME …",
            "clocks differ: the clock of node-2 is at least TIME behind that of node-…: set them by NTP or PTP; …",
        ],
    ),
    log: &[(2, "WHEN INFO node-2: … -> following, leader node-3, epoch <3>: node-3 leads")],
    metrics: (&[(3, "electd_is_leader{…} 1")], &[]),
};

pub const TWO_VERSIONS: Row = Row {
    situation: "two versions",
    status: (
        0,
        &[
            "OK: node-3 leads in epoch <3>; 1 more failure tolerated",
            "versions differ: … (node-2, node-3), … (node-1): no harm while an upgrade is under way: finish it on every node",
        ],
    ),
    health: (
        0,
        &[
            "ELECTD OK: node-3 leads in epoch <3>; 1 more failure tolerated; 3 of 3 nodes answer; versions differ: … (node-2, node-3), … \
             (node-1): no harm while an upgrade is under way: finish it on every node | …",
        ],
    ),
    leader: (0, &["node-3 … epoch <3>"]),
    why: (
        0,
        &[
            "node-3 leads: in epoch <3>, since WHEN (TIME); …",
            "node-1 does not lead: node-3 ranks higher, by id",
            "versions differ: … (node-2, node-3), … (node-1): no harm while an upgrade is under way: finish it on every node",
        ],
    ),
    page: (
        "good",
        "node-3 leads in epoch <3>; 1 more failure tolerated",
        &["versions: … (node-2, node-3), … (node-1)"],
    ),
    badges: &[],
    history: (0, &["node-3 <3> WHEN now TIME …"]),
    log: &[(1, "WHEN INFO node-1: … -> following, leader node-3, epoch <3>: node-3 leads")],
    metrics: (&[(3, "electd_is_leader{…} 1")], &[]),
};
