//! The table of the algorithms: what all of them must do is tested with each of them.

use electd::core::settings::AlgorithmKind;

use super::Cluster;

/// Makes a test of each of these functions for each algorithm, in a module of its name: they run
/// side by side, and a failure tells whose it is. One that takes long is marked `#[ignore = "long"]`.
macro_rules! for_each_algorithm {
    ($($(#[$mark:meta])* $test:ident),+ $(,)?) => {
        $crate::support::for_each_algorithm! { @ [$($(#[$mark])* $test)+] bully Bully }
        $crate::support::for_each_algorithm! { @ [$($(#[$mark])* $test)+] halting Halting }
        $crate::support::for_each_algorithm! { @ [$($(#[$mark])* $test)+] ring Ring }

        /// An algorithm that is not in the table above ends up here, and does not compile.
        const _: fn(electd::core::settings::AlgorithmKind) = |kind| {
            use electd::core::settings::AlgorithmKind::{Bully, Halting, Ring};
            match kind {
                Bully | Halting | Ring => {}
            }
        };
    };
    (@ [$($(#[$mark:meta])* $test:ident)+] $module:ident $kind:ident) => {
        mod $module {
            $(
                $(#[$mark])*
                #[story::story]
                fn $test() {
                    super::$test(electd::core::settings::AlgorithmKind::$kind);
                }
            )+
        }
    };
}

pub(crate) use for_each_algorithm;

/// Holds the epoch after a member joined under a leader that stays against the one before. The
/// halting algorithm takes a member in by a new election, so there the epoch rises; with the others
/// a member follows the leader that it finds.
#[track_caller]
pub fn has_joined(algorithm: AlgorithmKind, before: u64, after: u64) {
    match algorithm {
        AlgorithmKind::Halting => assert!(after > before, "epoch {after} after {before}"),
        AlgorithmKind::Bully | AlgorithmKind::Ring => {
            assert_eq!(after, before, "the same leadership")
        }
    }
}

/// The highest of three is killed and comes back: it leads again, and every leadership has an epoch of its
/// own.
#[track_caller]
pub fn the_highest_comes_back(cluster: &Cluster) {
    let first = cluster.agree_on(3);
    cluster.node(3).kill_9();
    let second = cluster.agree_on(2);
    cluster.node(3).start();
    let third = cluster.agree_on(3);
    assert!(first < second && second < third, "{first}, {second}, {third}");
}
