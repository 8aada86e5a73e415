//! The names of values: the word that strum derives for each variant, by one method.

use super::command::Taken;
use super::content::Liveness;
use super::message::Kind;
use super::phase::{NodeStatus, Phase};
use super::settings::{AlgorithmKind, Alone, Quorum, RankKind};
use super::types::Role;

macro_rules! named {
    ($($named:ident)*) => {
        $(impl $named {
            /// The word for it in the configuration, status, logs and traces.
            pub fn name(self) -> &'static str {
                self.into()
            }
        })*
    };
}

named!(AlgorithmKind Alone Kind Liveness NodeStatus Phase Quorum RankKind Role Taken);
