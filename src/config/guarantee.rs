//! What a cluster guarantees, in words and numbers, for `check` and for every node's status.

use std::time::Duration;

use electd_facts::majority;

use electd_election::core::bounds;
use electd_election::core::settings::{AlgorithmKind, Quorum, Timing};
use electd_election::core::types::Role;

use super::Config;

/// What users may rely on with a quorum and these timings.
///
/// The times without a leader are none where no other member could take over, or where nothing bounds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarantee {
    /// What holds when members fail and when the network splits; then the computed times.
    pub sentences: Vec<String>,
    /// The longest time without a leader after one died silently: its host is lost, or it is frozen.
    pub worst_failover: Option<Duration>,
    /// The same after one whose process crashed, once its job has ended: its death is certified.
    pub crash_failover: Option<Duration>,
    /// The same after one all of whose processes were killed at once, so that nobody certifies it.
    pub proven_failover: Option<Duration>,
    /// How much longer each of these may take while a member comes and goes; none where that changes nothing.
    pub unsteady: Option<Duration>,
    /// How long two leaders, and their jobs, can coexist once a partition healed; none where there never are two.
    pub dual_leader_window: Option<Duration>,
}

impl Guarantee {
    /// The guarantee of a cluster of members with these roles.
    #[must_use]
    pub fn of(
        algorithm: AlgorithmKind,
        quorum: Quorum,
        timing: &Timing,
        roles: &[Role],
        trust_refused: bool,
    ) -> Guarantee {
        let members = roles.len();
        // In majority one that dies is a voter less.
        let others = candidates(roles) > 1 && (quorum == Quorum::None || to_spare(roles) > 0);
        let silent = bounds::worst_failover(algorithm, timing, members).filter(|_| others);
        let certified = || bounds::certified_failover(algorithm, quorum, timing, members);
        let proven = || bounds::proven_failover(algorithm, timing, members);
        let promised = || bounds::promised_failover(algorithm, timing, members);
        let more = bounds::disagreement(algorithm, timing, members);
        let mut guarantee = Guarantee {
            sentences: words(quorum, roles).iter().map(|&sentence| sentence.to_owned()).collect(),
            worst_failover: silent,
            crash_failover: others.then(certified),
            proven_failover: (others && trust_refused).then(proven),
            unsteady: None,
            dual_leader_window: others.then(|| bounds::dual_leader_window(timing)),
        };
        match quorum {
            Quorum::None => {
                let anew = bounds::dialing_anew(algorithm, timing, members);
                guarantee.worst_failover = silent.map(|silent| silent + anew);
            }
            Quorum::Majority => {
                guarantee.worst_failover = silent.map(|silent| silent + bounds::voting(timing));
                guarantee.proven_failover = others.then(promised);
                guarantee.unsteady = others.then_some(more).filter(|more| !more.is_zero());
                guarantee.dual_leader_window = None;
                guarantee.sentences.push(spare(roles));
            }
        }
        let anew = if quorum == Quorum::None { timing.t1() } else { Duration::ZERO };
        let further = bounds::further_death(algorithm, timing) + anew;
        let figures = match guarantee.worst_failover {
            Some(worst) => guarantee.figures(timing.lease, worst, further),
            None if candidates(roles) > 1 => {
                vec!["A leader that dies is not replaced before enough voters are back.".to_owned()]
            }
            None => vec!["There is no other member to take over from the leader.".to_owned()],
        };
        guarantee.sentences.extend(figures);
        guarantee
    }

    /// The worst failover, that after a crash and the proven one, while a member comes and goes or not.
    #[must_use]
    pub fn failovers(&self, unsteady: bool) -> [Option<Duration>; 3] {
        let more = self.unsteady.filter(|_| unsteady).unwrap_or_default();
        [self.worst_failover, self.crash_failover, self.proven_failover]
            .map(|failover| failover.map(|time| time + more))
    }

    /// All sentences as one text.
    #[must_use]
    pub fn text(&self) -> String {
        self.sentences.join(" ")
    }

    /// The guarantee of this cluster with these timings.
    #[must_use]
    pub fn of_config(config: &Config, timing: &Timing) -> Guarantee {
        let Config { algorithm, quorum, trust_refused, .. } = *config;
        Guarantee::of(algorithm, quorum, timing, &config.roles(), trust_refused)
    }

    fn figures(&self, lease: Duration, worst: Duration, further: Duration) -> Vec<String> {
        let mut figures = Vec::new();
        if let Some(crash) = self.crash_failover {
            figures.push(format!(
                "A leader whose process crashes is replaced within {crash:?} of the end of its job, and in any case within \
                 {worst:?}: its host certifies the death. That takes a few messages and no time-out, usually milliseconds."
            ));
        }
        let (killed, why) = match self.proven_failover {
            Some(killed) if self.dual_leader_window.is_none() => (killed, "when its lease is over"),
            Some(killed) => (killed, "as its port refuses (trust_refused)"),
            None => (worst, "as one that is silent"),
        };
        figures.push(format!(
            "One all of whose processes are killed at once is replaced within {killed:?}, {why}."
        ));
        figures.push(format!(
            "One that dies silently, as with its host, is replaced within {worst:?}, and {further:?} more for each member that dies \
             while it is being elected. One that stops in order hands over at once."
        ));
        figures.extend(self.unsteady.map(|more| {
            format!("Each takes up to {more:?} more after another member went away twice within a short time.")
        }));
        figures.push(match self.dual_leader_window {
            Some(window) => format!(
                "After a partition healed, two leaders can coexist for at most {window:?}, and then their jobs until that of \
                 the former one has ended. After a crash of the process no two jobs overlap."
            ),
            None => format!(
                "A voter that starts again after a crash counts for no leader of before for {lease:?}: where no more voters run \
                 than a majority needs, this ends the leadership."
            ),
        });
        figures
    }
}

/// How many may lead.
fn candidates(roles: &[Role]) -> usize {
    roles.iter().filter(|role| **role == Role::Member).count()
}

/// How many vote.
fn voters(roles: &[Role]) -> usize {
    roles.iter().filter(|role| **role != Role::Observer).count()
}

/// How many voters may fail.
fn to_spare(roles: &[Role]) -> usize {
    let voters = voters(roles);
    voters.saturating_sub(majority::of(voters))
}

/// How many voters are needed, and may therefore fail.
fn spare(roles: &[Role]) -> String {
    let (voters, to_spare) = (voters(roles), to_spare(roles));
    let needed = voters - to_spare;
    let rest = match to_spare {
        0 if voters == 1 => {
            "it may not fail; add a member and a witness to survive that".to_owned()
        }
        _ if candidates(roles) == 1 => {
            "only one of them may lead, and may not fail; add a member".to_owned()
        }
        0 => "none may fail; add a witness to survive one failure".to_owned(),
        1 => "any one may fail".to_owned(),
        more => format!("any {more} may fail"),
    };
    format!("Nobody leads without {needed} of the {voters} voters: {rest}.")
}

/// The sentences that hold for any timings.
fn words(quorum: Quorum, roles: &[Role]) -> &'static [&'static str] {
    match quorum {
        Quorum::None if candidates(roles) == 1 && roles.len() > 1 => {
            &["One member alone may lead: while it is not there, nobody does."]
        }
        Quorum::Majority => {
            &["At most one leader at any instant, under any delays, loss, partitions, pauses and \
             restarts, as long as clocks run within 10 % of true time and disks keep what they \
             synced."]
        }
        Quorum::None => &[
            "Available down to one live member.",
            "At most one live member leads, as long as members only crash and restart and every \
             message arrives in time.",
            "In a partition each side has a leader; when it heals, one remains, with a greater epoch.",
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing {
        heartbeat: Duration::from_millis(100),
        failure: Duration::from_millis(500),
        message: Duration::from_millis(50),
        lease: Duration::from_millis(400),
    };

    fn of(algorithm: AlgorithmKind, members: usize, trust_refused: bool) -> Guarantee {
        Guarantee::of(algorithm, Quorum::None, &TIMING, &vec![Role::Member; members], trust_refused)
    }

    #[test]
    fn the_words_hold_the_figures() {
        let guarantee = of(AlgorithmKind::Bully, 5, true);
        let text = guarantee.text();
        for figure in
            ["within 800ms, and 700ms more", "crashes is replaced within 200ms", "at most 800ms"]
        {
            assert!(text.contains(figure), "{figure} in {text}");
        }
        let ring = of(AlgorithmKind::Ring, 5, true).text();
        assert!(ring.contains("within 1.1s"), "a run takes longer: {ring}");
    }

    #[test]
    fn a_majority_has_no_second_leader_and_counts_its_voters() {
        let of = |roles: &[Role]| {
            Guarantee::of(AlgorithmKind::Bully, Quorum::Majority, &TIMING, roles, false)
        };
        let pair = of(&[Role::Member, Role::Member]);
        assert_eq!(pair.dual_leader_window, None);
        assert!(pair.text().contains("without 2 of the 2 voters: none may fail; add a witness"));
        assert_eq!((pair.worst_failover, pair.proven_failover), (None, None));
        assert!(pair.text().contains("is not replaced before enough voters are back"));
        let alone = of(&[Role::Member, Role::Witness, Role::Witness]);
        assert_eq!((alone.worst_failover, alone.proven_failover), (None, None));
        assert!(alone.text().contains("of the 3 voters: only one of them may lead"));
        let single = of(&[Role::Member]).text();
        assert!(single.contains("without 1 of the 1 voters: it may not fail"), "{single}");
        let five = [Role::Member, Role::Member, Role::Witness, Role::Observer, Role::Observer];
        let text = of(&five).text();
        assert!(text.contains("up to 2.1s more after another member went away twice"), "{text}");
        let (worst, more) = (of(&five).worst_failover, of(&five).unsteady);
        assert_eq!(of(&five).failovers(false)[0], worst);
        assert_eq!(of(&five).failovers(true)[0], worst.zip(more).map(|(a, b)| a + b));
        assert!(text.contains("without 2 of the 3 voters: any one may fail"), "{text}");
        assert!(text.contains("within 900ms, and 600ms more for each member that dies"), "{text}");
        let of_five = of(&[Role::Member; 5]).text();
        assert!(of_five.contains("without 3 of the 5 voters: any 2 may fail"), "{of_five}");
        assert!(
            [
                "crashes is replaced within 400ms",
                "once is replaced within 706.25ms",
                "silently, as with its host, is replaced within 900ms"
            ]
            .iter()
            .all(|it| text.contains(it)),
            "{text}"
        );
    }

    #[test]
    fn a_guarantee_is_as_the_roles_and_the_algorithm_allow() {
        use Role::{Member as M, Observer as O, Witness as W};
        let mut told = String::new();
        for (algorithm, roles) in [
            (AlgorithmKind::Bully, &[M][..]),
            (AlgorithmKind::Bully, &[M, M]),
            (AlgorithmKind::Bully, &[M, W, O]),
            (AlgorithmKind::Ring, &[M, M, W]),
            (AlgorithmKind::Bully, &[M, M, M, M, M, O]),
            (AlgorithmKind::Bully, &[M, O]),
            (AlgorithmKind::Bully, &[M, W, W]),
        ] {
            for (quorum, trust) in
                [(Quorum::None, true), (Quorum::None, false), (Quorum::Majority, false)]
            {
                let guarantee = Guarantee::of(algorithm, quorum, &TIMING, roles, trust);
                let name = |role: &Role| role.name();
                let roles: Vec<_> = roles.iter().map(name).collect();
                told += &format!("{algorithm:?} {quorum:?} {} trust {trust}\n", roles.join(" "));
                told += &format!("steady {:?}\n", guarantee.failovers(false));
                told += &format!("unsteady {:?}\n{guarantee:#?}\n\n", guarantee.failovers(true));
                assert_eq!(guarantee.text(), guarantee.sentences.join(" "));
            }
        }
        insta::assert_snapshot!("guarantees", told);
    }

    #[test]
    fn with_a_majority_a_refusal_changes_nothing() {
        let of = |trust_refused| {
            let roles = [Role::Member; 3];
            Guarantee::of(AlgorithmKind::Bully, Quorum::Majority, &TIMING, &roles, trust_refused)
        };
        assert_eq!(of(true), of(false));
    }

    #[test]
    fn what_does_not_apply_is_not_said() {
        let distrustful = of(AlgorithmKind::Bully, 5, false);
        assert_eq!(distrustful.proven_failover, None);
        assert!(!distrustful.text().contains("refused"));
        let watched = [Role::Member, Role::Observer, Role::Observer];
        let text =
            Guarantee::of(AlgorithmKind::Bully, Quorum::None, &TIMING, &watched, true).text();
        assert!(
            text.starts_with("One member alone may lead") && !text.contains("partition"),
            "{text}"
        );
        let lone = of(AlgorithmKind::Bully, 1, true);
        assert_eq!((lone.worst_failover, lone.dual_leader_window), (None, None));
        assert!(lone.text().starts_with("Available down to one live member."), "{}", lone.text());
    }
}
