//! A leader leads, and a member cannot stay in office: the code is 1, the colour is fair, and an alert fires.

use super::Row;

pub const UNHEALTHY: Row = Row {
    situation: "unhealthy",
    status: (
        1,
        &[
            "DEGRADED: node-2 leads in epoch <2>; 1 more failure tolerated",
            "problem: node-3: health: unhealthy, so this node is not eligible: … exited with code 1: ill",
            "=> mend what the health check of node-3 looks at: `electd check … --node node-3` on its host runs it once",
            "since WHEN (TIME); before it node-3 led: node-3: its health check fails; nobody led for TIME",
        ],
    ),
    health: (
        1,
        &[
            "ELECTD DEGRADED: node-2 leads in epoch <2>; 1 more failure tolerated; 3 of 3 nodes answer; node-3: health: \
           unhealthy, so this node is not eligible: … => mend what the health check of node-3 looks at: … | …",
        ],
    ),
    leader: (0, &["node-2 … epoch <2>"]),
    why: (
        0,
        &[
            "node-3 does not lead: it is unhealthy: … exited with code 1: ill",
            "=> mend what the health check of node-3 looks at: `electd check … --node node-3` on its host runs it once",
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
            "problem: node-3: job: the job failed here (code 3 after …): until WHEN this node leads only if \
             no other can",
            "=> mend what node-3 runs (its output is in the log), or its host where the message says so; at the time in the \
             message it may lead again by itself",
            "since WHEN (TIME); before it node-3 led: node-3: its job failed; nobody led for TIME",
        ],
    ),
    health: (
        1,
        &[
            "ELECTD DEGRADED: node-2 leads in epoch <2>; 1 more failure tolerated; 3 of 3 nodes answer; node-3: job: the job \
           failed here (code 3 after …): … => mend what node-3 runs (its output is in the log), or its host where the message \
           says so; … | …",
        ],
    ),
    leader: (0, &["node-2 … epoch <2>"]),
    why: (
        0,
        &[
            "node-2 leads: in epoch <2>, since WHEN (TIME); before it node-3 led: node-3: its job failed; nobody led for TIME. \
             Of the members that may lead, none ranks higher",
            "node-3 does not lead: it stands back until WHEN, as its job failed: code 3 after …",
            "=> mend what node-3 runs (its output is in the log), or its host where the message says so; at the time in the \
             message it may lead again by itself",
        ],
    ),
    page: (
        "fair",
        "node-2 leads in epoch <2>; 1 more failure tolerated",
        &[
            "job: the job failed here (code 3 after …): until WHEN this node leads only if no other can",
        ],
    ),
    badges: &["node-3: job failed, fair"],
    history: (
        0,
        &["node-3 …", "node-2 <2> WHEN now TIME TIME node-3: its job failed or could not begin"],
    ),
    log: &[
        (3, "WHEN INFO node-3: the job ended by itself, with code 3 (epoch …, by itself)"),
        (
            3,
            "WHEN INFO node-3: leading -> waiting, leader none, epoch …: its job failed or could not begin",
        ),
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
            "problem: …: leader_changes: the leader changed … times within 10 min, and no operator ordered that (lost by \
             node-3 …); the last time: …",
            "=> look first at the host, the link and the job of the node that lost it most often (`electd history …` has the \
             reasons); if several lose it, lengthen the timings",
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
            "=> look first at the host, the link and the job of the node that lost it most often (`electd history …` has …",
        ],
    ),
    page: (
        "fair",
        "node-… leads in epoch <1>; 1 more failure tolerated",
        &[
            "leader_changes: the leader changed … times within 10 min, and no operator ordered that (lost by node-3 …); the last \
             time: …",
        ],
    ),
    badges: &[],
    history: (0, &["node-… <1> WHEN now TIME …", "… leaderships; between them nobody led for …"]),
    log: &[(1, "WHEN WARN node-1: leader_changes: the leader changed … times …")],
    metrics: (&[(1, "electd_problems{…kind=\"leader_changes\"} 1")], &["ElectdFlapping"]),
};
