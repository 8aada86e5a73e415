//! The steps of a world of locks in words.

use electd_election::core::locks::table::Life;

use super::step::Step;
use super::world::{World, name};

impl Step {
    /// What it is, for people.
    pub fn sentence(self, world: &World) -> String {
        let table = |at: usize| {
            let table = &world.sent[at].table;
            let holder = table.get(&name()).map_or("nobody".to_owned(), |hold| of_life(hold.by));
            format!("{} (x is {holder}'s)", table.version())
        };
        let holder = |at: usize| of_life(world.holders[at].holder.life());
        match self {
            Step::Read { voters, list } => {
                let next = world.coordinators.len() + 1;
                format!("the coordinator of epoch {next}, by list {list}, reads voters {voters:#b}")
            }
            Step::Propose { of, deed } => format!("coordinator {} proposes: {deed:?}", of + 1),
            Step::Withdraw { of } => format!("coordinator {} withdraws what it takes", of + 1),
            Step::Store { table: at, voter } => format!("voter {voter} stores {}", table(at)),
            Step::Stored { table: at, voter } => {
                format!("the coordinator learns that voter {voter} stored {}", table(at))
            }
            Step::Done { table: at, voter } => {
                format!("voter {voter} learns that {} is done", table(at))
            }
            Step::Learn { holder: at, table: of } => format!("{} learns {}", holder(at), table(of)),
            Step::Tell { holder: at, voter } => {
                format!("{} learns the table of voter {voter}", holder(at))
            }
            Step::Promise { holder: at, voter } => {
                format!("voter {voter} promises {}, which counts that", holder(at))
            }
            Step::Uncount { holder: at, voter } => {
                format!("{} counts voter {voter} no more", holder(at))
            }
            Step::Over { holder: at, voter } => {
                format!("the promise of voter {voter} to {} ends", holder(at))
            }
            Step::Release { holder: at } => format!("{} gives x back", holder(at)),
            Step::RestartHolder(at) | Step::JobEnds(at) | Step::HolderTakesList(at) => {
                format!("{self:?}: {}", holder(at))
            }
            _ => format!("{self:?}"),
        }
    }
}

fn of_life(life: Life) -> String {
    let member = if life.member.0.as_u128() & 1 == 0 { "A" } else { "B" };
    format!("{member}{}", life.incarnation)
}
