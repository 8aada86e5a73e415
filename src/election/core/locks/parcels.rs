//! What is long goes in pieces: a table to a member that has an earlier one as what differs from that. Each member remembers
//! the last tables that it said or heard, and which of them each other member is known to have.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::core::locks::piece::{JoinedPieces, TablePiece, TableWord, WantsPiece};
use crate::core::locks::table::{BadTable, LockTable};
use crate::core::locks::word::LockWord;
use crate::core::types::{Incarnation, NodeId, Version};

/// Smaller tables, and fewer names that a member wants, go whole in one word.
const SMALL: usize = 100;

/// So many tables are remembered: the last that is done, the one that is proposed, and the one before.
const REMEMBERED: usize = 3;

/// What is known of another member, as long as it is the same process.
#[derive(Debug, Default)]
struct MemberParcels {
    incarnation: Incarnation,
    /// The newest table that it has for certain.
    has: Version,
    /// Of which word, and in which version, it was sent a table last that is made of another.
    sent: Option<(TableWord, Version)>,
    joined: JoinedPieces,
}

/// The last pieces that were made, which others may be sent as well: of which version out of which.
#[derive(Debug, Default)]
struct MadePieces {
    of: (Version, Option<Version>),
    pieces: Vec<Arc<TablePiece>>,
}

#[derive(Debug, Default)]
pub struct Parcels {
    tables: VecDeque<Arc<LockTable>>,
    members: BTreeMap<NodeId, MemberParcels>,
    made: MadePieces,
}

/// Whether it goes alone in a message.
pub fn is_long(word: &LockWord) -> bool {
    let has_table =
        || word.table().is_some_and(|table| !table.is_empty() || table.runs().len() > 0);
    matches!(word, LockWord::Piece { .. } | LockWord::Wants { .. }) || has_table()
}

impl Parcels {
    /// The words that are sent to this life of a member for this one.
    pub fn pack(
        &mut self,
        (to, incarnation): (NodeId, Incarnation),
        word: LockWord,
    ) -> Vec<LockWord> {
        match word {
            LockWord::Want {
                number,
                wants: Some(wants),
                life,
                released,
                promises,
                rules,
                periods,
            } if wants.len() > SMALL => {
                let pieces = WantsPiece::all(number, &wants).into_iter();
                let pieces = pieces.map(|piece| LockWord::Wants { piece });
                let wants = None;
                let last =
                    LockWord::Want { number, wants, life, released, promises, rules, periods };
                pieces.chain([last]).collect()
            }
            word => match TableWord::of(&word) {
                Some((of, table)) if table.iter().len() > SMALL => {
                    self.pieces((to, incarnation), of, &table.clone())
                }
                Some((_, table)) => {
                    self.remember(&table.clone());
                    vec![word]
                }
                None => vec![word],
            },
        }
    }

    fn pieces(
        &mut self,
        (to, incarnation): (NodeId, Incarnation),
        word: TableWord,
        table: &Arc<LockTable>,
    ) -> Vec<LockWord> {
        self.remember(table);
        let member = member(&mut self.members, to, incarnation);
        let sent = (word.clone(), table.version());
        // What is said again did not arrive: the member may not have the other table any more.
        let is_whole = member.sent.as_ref() == Some(&sent) && member.has < table.version();
        member.sent = if is_whole { None } else { Some(sent) };
        let has = Some(member.has).filter(|_| !is_whole);
        let base = self.tables.iter().find(|known| Some(known.version()) == has);
        let of = (table.version(), base.map(|base| base.version()));
        if self.made.pieces.is_empty() || self.made.of != of {
            let pieces = TablePiece::all(table, base.map(|base| &**base));
            let pieces = pieces.into_iter().map(Arc::new).collect();
            self.made = MadePieces { of, pieces };
        }
        let pieces = self.made.pieces.iter().cloned();
        pieces.map(|piece| LockWord::Piece { word: word.clone(), piece }).collect()
    }

    /// The word that came from this life of a member, if it was the last that was needed for it.
    ///
    /// # Errors
    /// If its pieces are no table that a coordinator ever made.
    pub fn unpack(
        &mut self,
        (from, incarnation): (NodeId, Incarnation),
        word: LockWord,
    ) -> Result<Option<LockWord>, BadTable> {
        let known = member(&mut self.members, from, incarnation);
        match word {
            LockWord::Wants { piece } => {
                known.joined.add_wants(piece);
                Ok(None)
            }
            LockWord::Want { number, wants, life, released, promises, rules, periods } => {
                let wants = wants.or_else(|| known.joined.take_wants(number));
                Ok(Some(LockWord::Want { number, wants, life, released, promises, rules, periods }))
            }
            LockWord::Piece { word, piece } => {
                let Some(table) = self.table(from, piece)? else { return Ok(None) };
                self.has(from, table.version());
                Ok(Some(word.with(table)))
            }
            word => {
                match &word {
                    LockWord::Stored { version } | LockWord::Waits { version, .. } => {
                        known.has = known.has.max(*version);
                    }
                    LockWord::Ask { known: version, .. } => known.has = known.has.max(*version),
                    _ => {}
                }
                if let Some(table) = word.table().cloned() {
                    self.remember(&table);
                    self.has(from, table.version());
                }
                Ok(Some(word))
            }
        }
    }

    /// The table of which this is a piece, if it was the last that was needed for it.
    fn table(
        &mut self,
        from: NodeId,
        piece: Arc<TablePiece>,
    ) -> Result<Option<Arc<LockTable>>, BadTable> {
        let (version, is_last) = (piece.version, piece.place.is_last());
        if let Some(known) = self.remembered(version) {
            return Ok(is_last.then_some(known));
        }
        let Some(member) = self.members.get_mut(&from) else { return Ok(None) };
        let Some(joined) = member.joined.table(Arc::unwrap_or_clone(piece)) else {
            return Ok(None);
        };
        let base = joined.base.map_or(Some(Arc::default()), |base| self.remembered(base));
        let Some(base) = base else { return Ok(None) };
        let table = Arc::new(joined.made_of(&base)?);
        self.remember(&table);
        Ok(Some(table))
    }

    fn has(&mut self, member: NodeId, version: Version) {
        if let Some(known) = self.members.get_mut(&member) {
            known.has = known.has.max(version);
        }
    }

    fn remembered(&self, version: Version) -> Option<Arc<LockTable>> {
        self.tables.iter().find(|known| known.version() == version).cloned()
    }

    /// Remembers a table that this member has from now on.
    fn remember(&mut self, table: &Arc<LockTable>) {
        if self.tables.iter().any(|known| known.version() == table.version()) {
            return;
        }
        self.tables.push_back(table.clone());
        if self.tables.len() > REMEMBERED {
            self.tables.pop_front();
        }
    }

    /// Forgets the members that are not in this list any more.
    pub fn keep(&mut self, is_member: impl Fn(NodeId) -> bool) {
        self.members.retain(|id, _| is_member(*id));
    }
}

/// What is known of this life of a member: nothing of another one.
fn member(
    members: &mut BTreeMap<NodeId, MemberParcels>,
    id: NodeId,
    incarnation: Incarnation,
) -> &mut MemberParcels {
    let known = members.entry(id).or_default();
    if known.incarnation != incarnation {
        *known = MemberParcels { incarnation, ..MemberParcels::default() };
    }
    known
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::core::locks::table::{Life, LockName, MOST_NAMES, TableChange};
    use crate::core::locks::voter::PromiseReport;
    use crate::core::locks::word::{LockWant, LockWants};
    use crate::core::membership::{Member, MemberList};
    use crate::core::random::Random;
    use crate::core::types::{Epoch, Role};

    const LIFE: Incarnation = Incarnation(7);

    fn id(number: u128) -> NodeId {
        NodeId(Uuid::from_u128(number))
    }

    fn life(number: u128) -> Life {
        Life { member: id(number), incarnation: LIFE }
    }

    fn list() -> MemberList {
        let member = |number: u128| Member {
            id: id(number),
            name: format!("n{number}"),
            address: format!("h:{number}"),
            admin: None,
            role: Role::Member,
        };
        MemberList::new(Version::default(), (1..=3).map(member).collect())
    }

    fn name(number: usize) -> LockName {
        LockName::new(&format!("name-{number}")).unwrap()
    }

    /// The table after this one, with these names.
    fn next(table: &LockTable, names: impl Iterator<Item = usize>) -> Arc<LockTable> {
        let takes = names.map(|number| TableChange::Take { name: name(number), by: life(1) });
        let version = table.version().next(Epoch(4));
        Arc::new(table.changed(version, &list(), takes.collect()).table)
    }

    /// Two members, one of which says tables to the other.
    #[derive(Default)]
    struct Line {
        says: Parcels,
        hears: Parcels,
    }

    impl Line {
        /// How many words it takes to say that, and what is heard, of those that arrive.
        fn carry(
            &mut self,
            word: LockWord,
            arrives: impl Fn(usize) -> bool,
        ) -> (usize, Vec<LockWord>) {
            let words = self.says.pack((id(2), LIFE), word);
            let (count, mut heard) = (words.len(), Vec::new());
            for (at, word) in words.into_iter().enumerate().filter(|(at, _)| arrives(*at)) {
                assert!(is_long(&word) || at + 1 == count);
                heard.extend(self.hears.unpack((id(1), LIFE), word).unwrap());
            }
            (count, heard)
        }

        /// The other member has this table.
        fn answer(&mut self, version: Version) {
            self.says.unpack((id(2), LIFE), LockWord::Stored { version }).unwrap();
        }
    }

    fn store(table: &Arc<LockTable>) -> LockWord {
        LockWord::Store { table: table.clone() }
    }

    #[test]
    fn a_table_goes_in_pieces_and_later_as_what_differs() {
        let mut line = Line::default();
        let whole = next(&LockTable::default(), 0..MOST_NAMES);
        let (pieces, heard) = line.carry(store(&whole), |_| true);
        assert_eq!((pieces, heard), (7, vec![store(&whole)]));
        line.answer(whole.version());
        let done = LockWord::Done { table: whole.clone() };
        let (pieces, heard) = line.carry(done.clone(), |_| true);
        assert_eq!((pieces, &heard[..]), (1, &[done][..]));

        // A host dies that has a fifth.
        let changes =
            (0..2000).map(|at| TableChange::Move { name: name(at * 5), token: 1, to: life(2) });
        let version = whole.version().next(Epoch(5));
        let moved = Arc::new(whole.changed(version, &list(), changes.collect()).table);
        let promises = PromiseReport::default();
        let read = crate::core::locks::voter::TableRead { table: Some(moved.clone()), promises };
        let word = LockWord::Table { epoch: Epoch(5), read };
        let (pieces, heard) = line.carry(word.clone(), |_| true);
        assert_eq!((pieces, heard), (2, vec![word]));
        // Whoever has it needs nothing of it.
        line.answer(moved.version());
        assert_eq!(line.carry(store(&moved), |_| true), (1, vec![store(&moved)]));
    }

    #[test]
    fn what_did_not_arrive_comes_whole_and_a_next_process_has_nothing() {
        let mut line = Line::default();
        let first = next(&LockTable::default(), 0..4000);
        for lost in 0..3 {
            let (pieces, heard) = line.carry(store(&first), |at| at != lost);
            assert_eq!((pieces, heard), (3, vec![]), "{lost}");
        }
        assert_eq!(line.carry(store(&first), |_| true).1, [store(&first)]);
        line.answer(first.version());
        let second = next(&first, 4000..4001);
        line.hears = Parcels::default();
        assert_eq!(line.carry(store(&second), |_| true), (1, vec![]), "it forgot the first");
        assert_eq!(line.carry(store(&second), |_| true), (3, vec![store(&second)]));
        line.answer(second.version());
        let other = Incarnation(8);
        assert_eq!(line.says.pack((id(2), other), store(&second)).len(), 3);
    }

    #[test]
    fn any_table_comes_out_of_any_other_as_it_was() {
        let (mut random, mut line) = (Random::new(52), Line::default());
        let mut table = Arc::<LockTable>::default();
        for _ in 0..300 {
            let mut changes = Vec::new();
            for _ in 0..random.below(300) {
                let name = name(random.below(600) as usize);
                changes.push(match table.get(&name) {
                    Some(hold) if random.below(2) == 0 => {
                        TableChange::Release { name, token: hold.token }
                    }
                    Some(hold) => TableChange::Move { name, token: hold.token, to: life(2) },
                    None => TableChange::Take { name, by: life(1 + u128::from(random.below(3))) },
                });
            }
            if random.below(5) == 0 {
                changes.push(TableChange::Strip(life(1 + u128::from(random.below(3)))));
            }
            let version = table.version().next(Epoch(4));
            table = Arc::new(table.changed(version, &list(), changes).table);
            if random.below(3) > 0 {
                let lost = random.below(4) == 0;
                let (_, heard) = line.carry(store(&table), |_| !lost);
                assert!(lost || heard.is_empty() || heard == [store(&table)]);
                let (_, again) = line.carry(store(&table), |_| true);
                assert!(!heard.is_empty() || again == [store(&table)], "it comes again");
            }
            if random.below(2) == 0 {
                line.answer(table.version());
            }
        }
    }

    #[test]
    fn what_a_member_wants_comes_together_under_its_number() {
        let mut line = Line::default();
        let want = LockWant { weight: 1, prefer: 1 };
        let wants: Arc<LockWants> = Arc::new((0..4000).map(|at| (name(at), want)).collect());
        let word = |number, wants| LockWord::Want {
            life: life(1),
            number,
            wants,
            released: BTreeMap::new(),
            promises: PromiseReport::default(),
            periods: Default::default(),
            rules: 0,
        };
        let (pieces, heard) = line.carry(word(1, Some(wants.clone())), |_| true);
        assert_eq!((pieces, heard), (4, vec![word(1, Some(wants.clone()))]));
        for lost in 0..3 {
            let (_, heard) = line.carry(word(2, Some(wants.clone())), |at| at != lost);
            assert_eq!(heard, [word(2, None)], "the coordinator says that it lacks them");
        }
        assert_eq!(line.carry(word(2, None), |_| true).1, [word(2, None)]);
    }
}
