//! A leader leads, and something is wrong: the code is 1, the colour is fair, and an alert fires.

use super::Row;

pub const LEADER_KILLED: Row = Row {
    situation: "leader killed",
    status: (
        1,
        &[
            "DEGRADED: node-2 leads in epoch <2>; 2 of 3 voters left, 2 are needed: no further failure is tolerated",
            "problem: node-1, node-2: peer_down: node-3 is down: process ended",
            "since WHEN (TIME); before it node-3 led: leader node-3 is dead: certified by its host; nobody led for TIME",
        ],
    ),
    health: (
        1,
        &[
            "ELECTD DEGRADED: node-2 leads in epoch <2>; 2 of 3 voters left, 2 are needed: no further failure is tolerated; \
             2 of 3 nodes answer; node-3 does not answer; node-1, node-2: peer_down: node-3 is down: process ended | …",
        ],
    ),
    leader: (0, &["node-2 … epoch <2>"]),
    why: (
        0,
        &[
            "node-2 leads: in epoch <2>, since WHEN (TIME); before it node-3 led: leader node-3 is dead: certified by its \
             host; nobody led for TIME. Of the members that may lead, none ranks higher",
            "node-3 does not lead: node-2 does not hear it; …; it does not answer here: …",
            "=> start it on its host (`electd run … --node node-3`); …",
        ],
    ),
    page: (
        "fair",
        "node-2 leads in epoch <2>; 2 of 3 voters left, 2 are needed: no further failure is tolerated",
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
            "DEGRADED: node-2 leads in epoch <2>; 2 of 3 voters left, 2 are needed: no further failure is tolerated",
            "problem: node-1, node-2: peer_down: node-3 is down: silent; …",
            "node-3 - - - - - - no answer from …: no connection within TIME",
            "since WHEN (TIME); before it node-3 led: leader node-3 is silent; nobody led for TIME",
        ],
    ),
    health: (
        1,
        &[
            "ELECTD DEGRADED: node-2 leads in epoch <2>; 2 of 3 voters left, 2 are needed: no further failure is tolerated; \
             2 of 3 nodes answer; node-3 does not answer; …",
        ],
    ),
    leader: (0, &["node-2 … epoch <2>"]),
    why: (
        0,
        &[
            "node-2 leads: in epoch <2>, …; before it node-3 led: leader node-3 is silent; nobody led for TIME. …",
            "node-3 does not lead: node-2 does not hear it; …",
        ],
    ),
    page: (
        "fair",
        "node-2 leads in epoch <2>; 2 of 3 voters left, 2 are needed: no further failure is tolerated",
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
            "DEGRADED: node-3 hears nobody: node-3 is probably cut off; node-2 leads in epoch <2>; 2 of 3 voters left, 2 are \
             needed: no further failure is tolerated",
            "since WHEN (TIME); before it node-3 led: leader node-3 is silent; nobody led for TIME",
        ],
    ),
    health: (
        1,
        &[
            "ELECTD DEGRADED: node-3 hears nobody: node-3 is probably cut off; node-2 leads in epoch <2>; 2 of 3 voters left, 2 \
           are needed: no further failure is tolerated; 3 of 3 nodes answer; node-3: cut_off: this node hears nobody: …",
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
        "node-3 hears nobody: node-3 is probably cut off; node-2 leads in epoch <2>; 2 of 3 voters left, 2 are needed: no \
         further failure is tolerated",
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
            "DEGRADED: node-3 leads in epoch <3>; no further failure tolerated: node-1 cannot write its votes (its disk is \
             full)",
            "problem: node-1: storage: … has room for 0 bytes, and the state takes up to 262144 bytes: free some",
        ],
    ),
    health: (
        1,
        &[
            "ELECTD DEGRADED: node-3 leads in epoch <3>; no further failure tolerated: node-1 cannot write its votes (its disk is full); 3 \
           of 3 nodes answer; node-1: storage: …",
        ],
    ),
    leader: (0, &["node-3 … epoch <3>"]),
    why: (
        0,
        &[
            "node-1 does not lead: it cannot keep its state: … has room for 0 bytes, and the state takes up to 262144 bytes: free \
             some",
            "=> make room on the disk of node-1, or mend it; the node goes on by itself",
            "node-3 leads: in epoch <3>, …",
        ],
    ),
    page: (
        "fair",
        "node-3 leads in epoch <3>; no further failure tolerated: node-1 cannot write its votes (its disk is full)",
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
            "DEGRADED: node-3 leads in epoch <3>; 2 of 3 voters left, 2 are needed: no further failure is tolerated",
            "problem: node-2, node-3: rejected: node-1 is refused: node-1 came back …: its state was lost, …",
        ],
    ),
    health: (
        1,
        &[
            "ELECTD DEGRADED: node-3 leads in epoch <3>; 2 of 3 voters left, 2 are needed: no further failure is tolerated; \
             3 of 3 nodes answer; …node-1 is refused: …",
        ],
    ),
    leader: (0, &["node-3 … epoch <3>"]),
    why: (
        0,
        &[
            "node-1 does not lead: it and another member refuse each other: … its state was lost, … then remove it and add it \
             under a new id (…)",
            "node-3 leads: in epoch <3>, …",
        ],
    ),
    page: (
        "fair",
        "node-3 leads in epoch <3>; 2 of 3 voters left, 2 are needed: no further failure is tolerated",
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

pub const UNHEALTHY: Row = Row {
    situation: "unhealthy",
    status: (
        1,
        &[
            "DEGRADED: node-2 leads in epoch <2>; 1 more failure tolerated",
            "problem: node-3: health: unhealthy, so this node is not eligible: … exited with code 1: ill",
            "since WHEN (TIME); before it node-3 led: node-3: its health check fails; nobody led for TIME",
        ],
    ),
    health: (
        1,
        &[
            "ELECTD DEGRADED: node-2 leads in epoch <2>; 1 more failure tolerated; 3 of 3 nodes answer; node-3: health: \
           unhealthy, so this node is not eligible: … exited with code 1: ill | …",
        ],
    ),
    leader: (0, &["node-2 … epoch <2>"]),
    why: (
        0,
        &[
            "node-3 does not lead: it is unhealthy: … exited with code 1: ill",
            "=> `electd check … --node node-3` on its host runs the check once; mend what it tells",
        ],
    ),
    page: (
        "fair",
        "node-2 leads in epoch <2>; 1 more failure tolerated",
        &["health: unhealthy, so this node is not eligible: … exited with code 1: ill"],
    ),
    badges: &["node-3: unhealthy, fair"],
    history: (
        0,
        &[
            "node-3 <former> WHEN WHEN TIME …",
            "node-2 <2> WHEN now TIME TIME node-3: its health check fails",
        ],
    ),
    log: &[
        (3, "WHEN WARN node-3: unhealthy: … exited with code 1: ill…"),
        (
            3,
            "WHEN INFO node-3: leading -> waiting, leader none, epoch <former>: its health check fails",
        ),
    ],
    metrics: (&[(3, "electd_healthy{…} 0"), (2, "electd_is_leader{…} 1")], &["ElectdUnhealthy"]),
};

pub const JOB_FAILING: Row = Row {
    situation: "job failing",
    status: (
        1,
        &[
            "DEGRADED: node-2 leads in epoch <2>; 1 more failure tolerated",
            "problem: node-3: job: the job failed soon after its start (code 3 after …): until WHEN this node leads only if \
             no other can; `electd undrain …` ends that",
        ],
    ),
    health: (
        1,
        &[
            "ELECTD DEGRADED: node-2 leads in epoch <2>; 1 more failure tolerated; 3 of 3 nodes answer; node-3: job: the job \
           failed soon after its start (code 3 after …): …",
        ],
    ),
    leader: (0, &["node-2 … epoch <2>"]),
    why: (
        0,
        &[
            "node-3 does not lead: it stands back until WHEN, as what it ran failed: code 3 after …",
            "=> mend what it runs; `electd undrain … --node node-3` ends that earlier",
        ],
    ),
    page: (
        "fair",
        "node-2 leads in epoch <2>; 1 more failure tolerated",
        &[
            "job: the job failed soon after its start (code 3 after …): until WHEN this node leads only if no other can; …",
        ],
    ),
    badges: &["node-3: job failed, fair"],
    // node-3 alone knew that its job failed, and ended before it met the next leader.
    history: (0, &["node-3 …", "node-2 <2> WHEN now TIME TIME leader node-3 handed over"]),
    log: &[
        (3, "WHEN INFO node-3: the job ended by itself, with code 3 (epoch …, by itself)"),
        (3, "WHEN INFO node-3: leading -> waiting, leader none, epoch …: its job failed"),
        (2, "WHEN INFO node-2: runs sleep in epoch <2>, guard …"),
    ],
    metrics: (
        &[(3, "electd_problems{…kind=\"job\"} 1"), (2, "electd_is_leader{…} 1")],
        &["ElectdJob"],
    ),
};

/// Any one may lead at last.
pub const FLAPPING: Row = Row {
    situation: "flapping",
    status: (
        1,
        &[
            "DEGRADED: node-… leads in epoch <1>; 1 more failure tolerated",
            "problem: …: leader_changes: the leader changed … times within 10 min, and no operator ordered that; the last \
             time: …",
        ],
    ),
    health: (
        1,
        &[
            "ELECTD DEGRADED: node-… leads in epoch <1>; 1 more failure tolerated; 3 of 3 nodes answer; … leader_changes: …",
        ],
    ),
    leader: (0, &["node-… epoch <1>"]),
    why: (
        0,
        &[
            "node-… leads: in epoch <1>, since WHEN (TIME); … But the leader changed … times within 10 min, and …",
            "=> see `electd history …` for the reasons; …",
        ],
    ),
    page: (
        "fair",
        "node-… leads in epoch <1>; 1 more failure tolerated",
        &[
            "leader_changes: the leader changed … times within 10 min, and no operator ordered that; the last time: …",
        ],
    ),
    badges: &[],
    history: (0, &["node-… <1> WHEN now TIME …", "… leaderships; between them nobody led for …"]),
    log: &[(1, "WHEN WARN node-1: leader_changes: the leader changed … times …")],
    metrics: (&[(1, "electd_problems{…kind=\"leader_changes\"} 1")], &["ElectdFlapping"]),
};
