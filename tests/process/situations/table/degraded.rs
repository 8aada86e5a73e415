//! A leader leads, and something is wrong: the code is 1, the colour is fair, and an alert fires.

use super::Row;

pub const LEADER_KILLED: Row = Row {
    situation: "leader killed",
    status: (
        1,
        &[
            "DEGRADED: node-2 leads in epoch <2>; node-3 is down: no further failure tolerated",
            "problem: node-1, node-2: peer_down: node-3 is down: process ended",
            "=> start node-3 on its host (`electd run … --node node-3`)",
            "since WHEN (TIME); before it node-3 led: leader node-3 is dead: certified by its host; nobody led for TIME",
        ],
    ),
    health: (
        1,
        &[
            "ELECTD DEGRADED: node-2 leads in epoch <2>; node-3 is down: no further failure tolerated; \
             2 of 3 nodes answer; node-1, node-2: peer_down: node-3 is down: process ended => start node-3 on its host (`electd run … --node \
             node-3`) | …",
        ],
    ),
    leader: (0, &["node-2 … epoch <2>"]),
    why: (
        0,
        &[
            "node-2 leads: in epoch <2>, since WHEN (TIME); before it node-3 led: leader node-3 is dead: certified by its \
             host; nobody led for TIME. Of the members that may lead, none ranks higher",
            "node-3 does not lead: node-2 does not hear it; …; it does not answer here: …",
            "=> start node-3 on its host (`electd run … --node node-3`)",
        ],
    ),
    page: (
        "fair",
        "node-2 leads in epoch <2>; node-3 is down: no further failure tolerated",
        &["peer_down: node-3 is down: process ended"],
    ),
    badges: &["node-3: down, bad"],
    history: (
        0,
        &[
            "node-3 <former> WHEN WHEN TIME …",
            "node-2 <2> WHEN now TIME TIME leader node-3 is dead: certified by its host",
        ],
    ),
    log: &[
        (
            2,
            "WHEN INFO node-2: leads in epoch <2>: took over from node-3 (leader node-3 is dead: certified by its host) …",
        ),
        (
            1,
            "WHEN WARN node-1: voter node-3 is down: process ended; 2 of 3 voters left, no further failure tolerated",
        ),
    ],
    metrics: (
        &[
            (2, "electd_is_leader{…} 1"),
            (2, "electd_failures_tolerated{…} 0"),
            (1, "electd_problems{…kind=\"peer_down\"} 1"),
        ],
        &["ElectdMemberDown"],
    ),
};

pub const HOST_LOST: Row = Row {
    situation: "host lost",
    status: (
        1,
        &[
            "DEGRADED: node-2 leads in epoch <2>; node-3 is down: no further failure tolerated",
            "problem: node-1, node-2: peer_down: node-3 is down: silent; …",
            "=> look whether the host of node-3 (10.…) is up and can be reached; then whether node-3 runs there (…), or is frozen",
            "node-3 - - - - - - no answer from …: no connection within TIME",
            "since WHEN (TIME); before it node-3 led: leader node-3 is silent; nobody led for TIME",
        ],
    ),
    health: (
        1,
        &[
            "ELECTD DEGRADED: node-2 leads in epoch <2>; node-3 is down: no further failure tolerated; \
             2 of 3 nodes answer; node-1, node-2: peer_down: node-3 is down: … => look whether the host of node-3 (10.…) is up \
             and can be reached; then whether node-3 runs there (…), or is frozen | …",
        ],
    ),
    leader: (0, &["node-2 … epoch <2>"]),
    why: (
        0,
        &[
            "node-2 leads: in epoch <2>, …; before it node-3 led: leader node-3 is silent; nobody led for TIME. …",
            "node-3 does not lead: node-2 does not hear it; …",
            "=> look whether the host of node-3 (10.…) is up and can be reached; then whether node-3 runs there (…), or is frozen",
        ],
    ),
    page: (
        "fair",
        "node-2 leads in epoch <2>; node-3 is down: no further failure tolerated",
        &["peer_down: node-3 is down: silent; the last dial: nothing answers at …"],
    ),
    badges: &["node-3: down, bad"],
    history: (
        0,
        &[
            "node-3 <former> WHEN WHEN TIME …",
            "node-2 <2> WHEN now TIME TIME leader node-3 is silent",
        ],
    ),
    log: &[
        (2, "WHEN INFO node-2: leads in epoch <2>: took over from node-3 …"),
        (
            1,
            "WHEN WARN node-1: voter node-3 is down: silent; 2 of 3 voters left, no further failure tolerated",
        ),
    ],
    metrics: (
        &[(2, "electd_is_leader{…} 1"), (2, "electd_failures_tolerated{…} 0")],
        &["ElectdMemberDown"],
    ),
};

/// As a host that is lost: the others cannot know better.
pub const CUT_OFF_SEEN_BY_THE_OTHERS: Row =
    Row { situation: "cut off, seen by the others", ..HOST_LOST };

/// Its HTTP can be reached: one cause, one box.
pub const CUT_OFF_SEEN_BY_ALL: Row = Row {
    situation: "cut off, seen by all",
    status: (
        1,
        &[
            "DEGRADED: node-3 hears nobody: node-3 is probably cut off (mend its network); node-2 leads in epoch <2>; no further \
             failure tolerated",
            "since WHEN (TIME); before it node-3 led: leader node-3 is silent; nobody led for TIME",
        ],
    ),
    health: (
        1,
        &[
            "ELECTD DEGRADED: node-3 hears nobody: node-3 is probably cut off (mend its network); node-2 leads in epoch <2>; no \
             further failure tolerated; 3 of 3 nodes answer | …",
        ],
    ),
    leader: (0, &["node-2 … epoch <2>"]),
    why: (
        0,
        &[
            "node-2 leads: in epoch <2>, …",
            "node-3 does not lead: it hears nobody: it is probably cut off",
            "=> mend the network of node-3",
        ],
    ),
    page: (
        "fair",
        "node-3 hears nobody: node-3 is probably cut off (mend its network); node-2 leads in epoch <2>; no further failure \
         tolerated",
        &["cut_off: this node hears nobody: it is probably cut off; the others may have a leader"],
    ),
    badges: &["node-3: cut off, bad"],
    history: HOST_LOST.history,
    log: &[
        (
            3,
            "WHEN WARN node-3: leading -> …, leader none, epoch <former>: no majority acknowledged it in time",
        ),
        (
            3,
            "WHEN WARN node-3: cut_off: this node hears nobody: it is probably cut off; the others may have a leader",
        ),
        (2, "WHEN INFO node-2: leads in epoch <2>: took over from node-3 …"),
    ],
    metrics: (
        &[
            (3, "electd_problems{…kind=\"cut_off\"} 1"),
            (3, "electd_has_leader{…} 0"),
            (2, "electd_is_leader{…} 1"),
        ],
        &["ElectdCutOff"],
    ),
};

pub const DISK_FULL: Row = Row {
    situation: "disk full on a voter",
    status: (
        1,
        &[
            "DEGRADED: node-3 leads in epoch <3>; node-1 cannot write its votes (its disk is full): no further failure tolerated",
            "problem: node-1: storage: … has room for 0 bytes, and the state takes up to 262144 bytes: free some",
            "=> free space on node-1, or mend its disk: it then writes again by itself",
        ],
    ),
    health: (
        1,
        &[
            "ELECTD DEGRADED: node-3 leads in epoch <3>; node-1 cannot write its votes (its disk is full): no further failure tolerated; 3 \
             of 3 nodes answer; node-1: storage: … => free space on node-1, or mend its disk: it then writes again by itself | …",
        ],
    ),
    leader: (0, &["node-3 … epoch <3>"]),
    why: (
        0,
        &[
            "node-1 does not lead: it cannot keep its state: … has room for 0 bytes, and the state takes up to 262144 bytes: free \
             some",
            "=> free space on node-1, or mend its disk: it then writes again by itself",
            "node-3 leads: in epoch <3>, …",
        ],
    ),
    page: (
        "fair",
        "node-3 leads in epoch <3>; node-1 cannot write its votes (its disk is full): no further failure tolerated",
        &["storage: … has room for 0 bytes, and the state takes up to 262144 bytes: free some"],
    ),
    badges: &["node-1: disk, bad"],
    history: (0, &["node-3 <3> WHEN now TIME …"]),
    log: &[(
        1,
        "WHEN WARN node-1: storage: … has room for 0 bytes, and the state takes up to 262144 bytes: free some",
    )],
    metrics: (
        &[
            (1, "electd_problems{…kind=\"storage\"} 1"),
            (1, "electd_failures_tolerated{…} 0"),
            (3, "electd_is_leader{…} 1"),
        ],
        &["ElectdStorage"],
    ),
};

/// The others refuse a voter that comes back without what it promised: one cause, one box, of the others.
pub const STATE_LOST: Row = Row {
    situation: "state lost",
    status: (
        1,
        &[
            "DEGRADED: node-3 leads in epoch <3>; node-1 is refused: no further failure tolerated",
            "problem: node-2, node-3: rejected: node-1 is refused: node-1 came back …: its state was lost, …",
            "=> stop any other process of node-1; replace it: `electd member remove … node-1`, a fresh \
             id in its file, `electd member add … --name node-1 --address …`",
        ],
    ),
    health: (
        1,
        &[
            "ELECTD DEGRADED: node-3 leads in epoch <3>; node-1 is refused: no further failure tolerated; \
             3 of 3 nodes answer; …node-1 is refused: … => stop any other process … `electd member add … --name node-1 --address …` | …",
        ],
    ),
    leader: (0, &["node-3 … epoch <3>"]),
    why: (
        0,
        &[
            "node-1 does not lead: it and another member refuse each other: … its state was lost, …",
            "=> stop any other process of node-1; replace it: `electd member remove … node-1`, a fresh \
             id in its file, `electd member add … --name node-1 --address …`",
            "node-3 leads: in epoch <3>, …",
        ],
    ),
    page: (
        "fair",
        "node-3 leads in epoch <3>; node-1 is refused: no further failure tolerated",
        &["rejected: node-1 is refused: … its state was lost, …"],
    ),
    badges: &["node-1: refused, bad"],
    history: (0, &["node-3 <3> WHEN now TIME …"]),
    log: &[
        (1, "WHEN WARN node-1: node-3 rejects this node: … its state was lost, …"),
        (3, "WHEN WARN node-3: node-1 is refused: … its state was lost, …"),
    ],
    metrics: (
        &[(3, "electd_problems{…kind=\"rejected\"} 1"), (3, "electd_failures_tolerated{…} 0")],
        &["ElectdPeerDown", "ElectdRejected"],
    ),
};
