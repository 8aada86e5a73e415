//! Nobody leads, or more than one: the code is 2, the colour is bad, and a critical alert fires.

use super::Row;

/// It waits for the others, and needs no `--bootstrap`.
pub const FIRST_START: Row = Row {
    situation: "first start",
    status: (
        1,
        &[
            "NO LEADER: nobody leads: node-1 waits for node-2 and node-3: start node-2 and node-3; nobody has led for TIME",
        ],
    ),
    health: (
        2,
        &[
            "ELECTD NO LEADER: nobody leads: node-1 waits for node-2 and node-3: start node-2 and node-3; nobody has led for \
           TIME; 1 of 3 nodes answer | …",
        ],
    ),
    leader: (1, &["nobody leads: node-1 waits for node-2 and node-3: start node-2 and node-3; …"]),
    why: (
        1,
        &[
            "nobody leads: node-1 waits for node-2 and node-3",
            "=> start node-2 and node-3",
            "node-1 does not lead: its store is empty and it has not met node-2, node-3: a first start needs every voter to \
             meet every other once",
        ],
    ),
    page: (
        "bad",
        "nobody leads: node-1 waits for node-2 and node-3: start node-2 and node-3; nobody has led for TIME",
        &["peer_down: node-1 waits for node-2 and node-3"],
    ),
    badges: &["node-1: waits, bad", "node-2: down, bad", "node-3: down, bad"],
    history: (
        0,
        &["no node knows of a leader in that time", "NO LEADER: nobody leads: node-1 waits for …"],
    ),
    log: &[(
        1,
        "WHEN INFO node-1: waits for node-2 and node-3: the store of this voter is empty, so it votes for nobody until it has \
         met every other voter once, or a leader leads",
    )],
    metrics: (
        &[(1, "electd_has_leader{…} 0"), (1, "electd_problems{…kind=\"peer_down\"} 2")],
        &["ElectdMemberDown", "ElectdNoLeader"],
    ),
};

pub const NO_MAJORITY: Row = Row {
    situation: "no majority",
    status: (
        1,
        &[
            "NO LEADER: nobody leads: node-2 and node-3 are down: start 1 of node-2, node-3; nobody has led for \
             TIME",
            "problem: node-1: peer_down: node-2 is down: process ended",
            "problem: node-1: peer_down: node-3 is down: process ended",
        ],
    ),
    health: (
        2,
        &[
            "ELECTD NO LEADER: nobody leads: node-2 and node-3 are down: start 1 of node-2, node-3; nobody has \
           led for TIME; 1 of 3 nodes answer; …",
        ],
    ),
    leader: (1, &["nobody leads: node-2 and node-3 are down: start 1 of node-2, node-3; …"]),
    why: (
        1,
        &[
            "nobody leads: node-2 and node-3 are down",
            "=> start 1 of node-2, node-3; if that can never be, see \"When the majority is lost for good\" in \
             docs/operations.md",
            "node-1 does not lead: it hears 1 of 3 voters, and 2 are needed: …",
        ],
    ),
    page: (
        "bad",
        "nobody leads: node-2 and node-3 are down: start 1 of node-2, node-3; nobody has led for TIME",
        &["peer_down: node-2 is down: process ended", "peer_down: node-3 is down: process ended"],
    ),
    badges: &["node-2: down, bad", "node-3: down, bad"],
    history: (
        0,
        &[
            "node-3 <former> WHEN WHEN TIME …",
            "NO LEADER: nobody leads: node-2 and node-3 are down: …",
        ],
    ),
    log: &[
        (
            1,
            "WHEN WARN node-1: the majority is lost: 1 of 3 voters left, 2 are needed, so nobody can lead",
        ),
        (
            1,
            "WHEN INFO node-1: following -> electing, leader none, epoch <former>: leader node-3 is dead: certified by its …",
        ),
    ],
    metrics: (
        &[(1, "electd_has_leader{…} 0"), (1, "electd_problems{…kind=\"quorum_margin\"} 1")],
        &["ElectdMemberDown", "ElectdNoLeader"],
    ),
};

/// It denies no leader: the others may have one.
pub const CUT_OFF_SEEN_BY_ITSELF: Row = Row {
    situation: "cut off, seen by itself",
    status: (
        1,
        &[
            "CUT OFF: node-3 hears nobody: node-3 is probably cut off (mend its network); the others may have a leader; node-3 knows no leader \
           since TIME",
        ],
    ),
    health: (
        2,
        &[
            "ELECTD CUT OFF: node-3 hears nobody: node-3 is probably cut off (mend its network); the others may have a leader; node-3 knows no \
           leader since TIME; 1 of 3 nodes answer | …",
        ],
    ),
    leader: (
        1,
        &[
            "node-3 hears nobody: node-3 is probably cut off (mend its network); the others may have a leader; node-3 knows no leader since TIME",
        ],
    ),
    why: (
        1,
        &[
            "CUT OFF: node-3 hears nobody: node-3 is probably cut off (mend its network); the others may have a leader; node-3 knows no leader \
             since TIME",
            "whether node-1 leads is not known: node-3 hears nobody, and node-1 does not answer here",
            "whether node-2 leads is not known: node-3 hears nobody, and node-2 does not answer here",
            "node-3 does not lead: it hears nobody: it is probably cut off",
            "=> mend the network of node-3",
        ],
    ),
    page: (
        "bad",
        "node-3 hears nobody: node-3 is probably cut off (mend its network); the others may have a leader; node-3 knows no leader since TIME",
        &["cut_off: this node hears nobody: it is probably cut off; the others may have a leader"],
    ),
    badges: &["node-1: not known, fair", "node-2: not known, fair", "node-3: cut off, bad"],
    history: (0, &["node-3 <former> WHEN WHEN TIME …", "CUT OFF: node-3 hears nobody: …"]),
    log: &[
        (
            3,
            "WHEN WARN node-3: leading -> …, leader none, epoch <former>: no majority acknowledged it in time",
        ),
        (
            3,
            "WHEN WARN node-3: cut_off: this node hears nobody: it is probably cut off; the others may have a leader",
        ),
    ],
    metrics: (
        &[(3, "electd_problems{…kind=\"cut_off\"} 1"), (3, "electd_has_leader{…} 0")],
        &["ElectdCutOff", "ElectdMemberDown", "ElectdNoLeader"],
    ),
};

/// With the quorum `none` each side of a cut has a leader.
pub const TWO_LEADERS: Row = Row {
    situation: "two leaders",
    status: (
        2,
        &[
            "TWO LEADERS: node-2 in epoch <2> and node-3 in epoch <3>; node-3 hears nobody: node-3 is probably cut off; mend the network between \
             them: then one of them leads alone; if two at once do harm, stop node-3 until then",
        ],
    ),
    health: (
        2,
        &[
            "ELECTD TWO LEADERS: node-2 in epoch <2> and node-3 in epoch <3>; node-3 hears nobody: node-3 is probably cut \
           off; mend the network between them: … stop node-3 until then; 3 of 3 nodes answer | …",
        ],
    ),
    leader: (
        1,
        &[
            "node-2 … epoch <2>",
            "node-3 … epoch <3>",
            "TWO LEADERS: node-2 in epoch <2> and node-3 in epoch <3>; node-3 hears nobody: node-3 is probably cut off; mend the network between \
             them: then one of them leads alone; if two at once do harm, stop node-3 until then",
        ],
    ),
    why: (
        2,
        &[
            "TWO LEADERS: node-2 in epoch <2> and node-3 in epoch <3>; node-3 hears nobody: node-3 is probably cut off; mend the network between \
             them: then one of them leads alone; if two at once do harm, stop node-3 until then",
            "node-2 leads: in epoch <2>, …",
            "node-3 leads: in epoch <3> beside node-2, of a greater epoch, as the two do not hear each other",
            "=> \"quorum\": \"majority\" in the file prevents this",
        ],
    ),
    page: (
        "bad",
        "TWO LEADERS: node-2 in epoch <2> and node-3 in epoch <3>; node-3 hears nobody: node-3 is probably cut off; mend the network between \
             them: then one of them leads alone; if two at once do harm, stop node-3 until then",
        &["cut_off: this node hears nobody: it is probably cut off; the others may have a leader"],
    ),
    badges: &["node-3: cut off, bad"],
    history: (
        0,
        &[
            "node-3 <3> WHEN now TIME …",
            "node-2 <2> WHEN now TIME TIME leader node-3 is silent",
            "TWO LEADERS: … stop node-3 until then",
        ],
    ),
    log: &[
        (
            3,
            "WHEN WARN node-3: cut_off: this node hears nobody: it is probably cut off; the others may have a leader",
        ),
        (2, "WHEN INFO node-2: leads in epoch <2>: took over from node-3 …"),
    ],
    metrics: (
        &[(2, "electd_is_leader{…} 1"), (3, "electd_is_leader{…} 1")],
        &["ElectdCutOff", "ElectdTwoLeaders"],
    ),
};
