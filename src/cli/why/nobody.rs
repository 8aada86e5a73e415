//! Why nobody leads.

use super::view::{Cause, View, Why};
use crate::cli::judge::judge;
use crate::node::status::Status;

/// Why nobody leads, as all nodes together tell it.
pub fn why(view: &View) -> Why {
    let judged = judge(view.asked);
    let reason = match judged.reasons.as_slice() {
        [] => "no node says why; an election may be under way".to_owned(),
        reasons => reasons.join("; "),
    };
    let cause = view.best.map_or(Cause::NoLeader, |best| of_node(best, view).cause);
    let remedy = view.best.and_then(|best| of_node(best, view).remedy);
    Why { cause, reason, remedy }
}

/// Why this node, which answers, knows no leader.
pub fn of_node(own: &Status, view: &View) -> Why {
    let known = own.leaderless.as_ref();
    let reason = known.map_or("it knows no leader yet", |known| known.reason.as_str());
    let cause = known.map_or("", |known| known.cause.as_str());
    let voters = || own.members.iter().filter(|member| member.role != "observer");
    let missing: Vec<&str> = voters()
        .filter(|member| member.status != "alive")
        .map(|member| member.name.as_str())
        .collect();
    let (all, alive) = (voters().count(), voters().count() - missing.len());
    let needed = all / 2 + 1;
    if own.quorum == "majority" && alive < needed {
        let reason = format!("it hears {alive} of {all} voters, and {needed} are needed: {reason}");
        return Why::new(Cause::NoMajority, reason).remedy(format!(
            "start or reconnect {} of {}; if that can never be, see \"When the majority is lost for good\" in \
             docs/operations.md",
            needed - alive,
            missing.join(", ")
        ));
    }
    if ["uninformed", "voters_uninformed"].contains(&cause) {
        return Why::new(Cause::Uninformed, reason).remedy(
            "start all voters, and mend the links between them; if this is the cluster's first start, restart more \
             than half of the voters with --bootstrap",
        );
    }
    if cause == "may_not_lead" {
        let why = Why::new(Cause::NoCandidate, reason);
        return why.remedy("make one eligible: `electd why` says of each member what keeps it");
    }
    if cause == "disk_lags" {
        let name = &own.node.name;
        let remedy = format!(
            "`electd check --node {name}` on its host measures the disk; give it a faster one"
        );
        return Why::new(Cause::Storage, reason).remedy(remedy);
    }
    let is_electing =
        ["electing", "waiting", "halted", "reorganizing"].contains(&own.state.as_str());
    let cause = match (is_electing, view.leader) {
        (true, None) => Cause::Electing,
        _ => Cause::NoLeader,
    };
    Why::new(cause, format!("{reason}; an election is under way, and ends by itself"))
}
