//! The member list between the file, the store and the network.

use std::path::Path;
use std::sync::Arc;

use electd_facts::hint::{ClusterFlags, USUAL_FILE};

use crate::config::{Config, MemberConfig};
use crate::core::membership::{ListVersion, Member, MemberList};
use crate::core::restart::counting_members;
use crate::core::settings::Quorum;
use crate::core::types::NodeId;
use crate::net::{Other, PeerAddress};
use crate::store::{Store, StoreError};

/// The members of the file, which bootstrap a cluster.
pub(super) fn of_file(config: &Config) -> MemberList {
    let members = config.members.iter().map(|member| Member {
        id: member.id,
        name: member.name.clone(),
        address: member.address.clone(),
        admin: member.admin.clone(),
        role: member.role,
    });
    MemberList::new(ListVersion::default(), members.collect())
}

/// Where the others are.
pub(super) fn peers(members: &MemberList, own: NodeId) -> Vec<PeerAddress> {
    let others = members.iter().filter(|member| member.id != own);
    let peer = |member: &Member| PeerAddress {
        id: member.id,
        name: member.name.clone(),
        address: member.address.clone(),
    };
    others.map(peer).collect()
}

/// The names and addresses of the others.
pub(super) fn others(members: &MemberList, own: NodeId) -> Vec<Other> {
    let others = members.iter().filter(|member| member.id != own);
    others.map(|member| (member.name.clone(), member.address.clone())).collect()
}

/// How two lists differ, in words; none if they have the same members.
pub(super) fn difference(new: &MemberList, old: &MemberList) -> Option<String> {
    let names = |members: Vec<&Member>| {
        members.iter().map(|member| member.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let lacking = |of: &MemberList, other: &MemberList| {
        let lacking = of.iter().filter(|member| other.get(member.id).is_none());
        names(lacking.cloned().collect::<Vec<_>>().iter().collect())
    };
    let differs = |member: &&Member| old.get(member.id).is_some_and(|before| before != *member);
    let parts = [
        ("with", lacking(new, old)),
        ("without", lacking(old, new)),
        ("with another entry for", names(new.iter().filter(differs).collect())),
    ];
    let parts = parts.iter().filter(|(_, names)| !names.is_empty());
    let words = parts.map(|(how, names)| format!("{how} {names}")).collect::<Vec<_>>();
    (!words.is_empty()).then(|| words.join(", "))
}

/// How the list that counts differs from the file, and what to do about it; none where it does not. A sentence that leaves a
/// node names no flags: they are those of its reader.
pub(super) fn against_file(
    counts: &MemberList,
    file: &MemberList,
    quorum: Quorum,
) -> Option<String> {
    let what = difference(counts, file)?;
    let version = counts.version();
    let moved = counts.digest() == file.digest(); // the same members, with other names or addresses
    if moved && version > ListVersion::default() {
        return Some(format!(
            "the members changed since the file was written: version {version} is {what}; make the file match \
             `member list`, or have the cluster take its names and addresses: `member set --all`"
        ));
    }
    if moved {
        return Some(format!(
            "the file has other names or addresses: the running list is {what}; restart the nodes with the file, or have \
             the cluster take them: `member set --all`"
        ));
    }
    Some(if version > ListVersion::default() {
        format!(
            "the members changed since the file was written: version {version} is {what}; make the file match `member \
             list`"
        )
    } else if quorum == Quorum::Majority {
        format!(
            "the members of the file do not count, as this node has voted by others: its stored \
             list is {what}; restore the file, and change the members of the running cluster with `member add` and \
             `member remove`"
        )
    } else {
        format!(
            "the file lists other members: the running list is {what}; restart the nodes with the new file, or \
             change the members with `member add` and `member remove`"
        )
    })
}

/// Whether the file only lags behind members that commands added or removed. The cluster keeps its list for good, so that such
/// a file does no harm.
pub(super) fn only_lags(counts: &MemberList, file: &MemberList) -> bool {
    let differs = |member: &Member| file.get(member.id).is_some_and(|other| other != member);
    counts.version() > ListVersion::default() && !counts.iter().any(differs)
}

/// Makes sure that the state of this member lies in the folder of its name and in no other.
///
/// # Errors
/// When it does not, so that a start would forget what it knew.
pub fn find_state(config: &Config, own: &MemberConfig) -> Result<(), StoreError> {
    let known = |name: &str| name != own.name && config.member(name).is_some();
    Store::find(&config.data_dir, &own.name, own.id, known)
}

/// The flags that name the cluster of this file, from any folder. A configuration that was made in code has no file.
pub(super) fn flags_for(file: &Path) -> ClusterFlags {
    let named = (file != Path::new(USUAL_FILE) && file.exists()).then_some(file);
    let whole = named.and_then(|file| std::path::absolute(file).ok());
    ClusterFlags::of_command(whole.as_deref())
}

/// How the list that this member stored on this host differs from the file, in words; none if it does
/// not, or if no stored list counts.
#[must_use]
pub fn stored_against_file(config: &Config, member: &MemberConfig) -> Option<String> {
    let record = Store::peek(&config.state_dir(&member.name), member.id)?;
    let (last, file) = (record.kept.durable, Arc::new(of_file(config)));
    let counts = counting_members(Some(&last), &file, config.quorum);
    against_file(&counts, &file, config.quorum)
}

#[cfg(test)]
mod tests {
    use electd_facts::hint::Hint;

    use super::*;
    use crate::core::durable::Durable;
    use crate::core::restart::KeptState;
    use crate::core::types::{Incarnation, Role};
    use crate::store::StoreRecord;
    use serde_json::json;
    use uuid::Uuid;

    /// Whoever reads the sentence of a node may be in another folder, and a file in code is none.
    #[test]
    fn a_node_names_its_file_whole_unless_it_is_the_usual_one() {
        let there = Path::new("Cargo.toml");
        let hint = Hint::History.by(&flags_for(there));
        assert!(hint.starts_with("`electd history --config /"), "{hint}");
        for none in ["(made in code)", USUAL_FILE] {
            assert_eq!(flags_for(Path::new(none)), ClusterFlags::default());
        }
    }

    fn list(members: &[(u128, &str)]) -> MemberList {
        let member = |(id, address): &(u128, &str)| Member {
            id: NodeId(Uuid::from_u128(*id)),
            name: format!("node-{id}"),
            address: (*address).to_owned(),
            admin: None,
            role: Role::Member,
        };
        MemberList::new(ListVersion::default(), members.iter().map(member).collect())
    }

    #[test]
    fn what_differs_is_said_by_name() {
        let old = list(&[(1, "a:1"), (2, "b:1"), (3, "c:1")]);
        assert_eq!(difference(&old, &old), None);
        let new = list(&[(1, "a:2"), (3, "c:1"), (4, "d:1"), (5, "e:1")]);
        let words = "with node-4, node-5, without node-2, with another entry for node-1";
        assert_eq!(difference(&new, &old).as_deref(), Some(words));
    }

    #[test]
    fn a_list_that_differs_from_the_file_is_told_with_what_to_do() {
        let (file, counts) = (list(&[(1, "a:1")]), list(&[(1, "a:1"), (2, "b:1")]));
        let told = |counts: &MemberList, quorum| against_file(counts, &file, quorum);
        assert_eq!(told(&file, Quorum::Majority), None);
        let majority = "the members of the file do not count, as this node has voted by others: its stored list is \
                        with node-2; restore the file, and change the members of the running cluster with \
                        `member add` and `member remove`";
        assert_eq!(told(&counts, Quorum::Majority).as_deref(), Some(majority));
        let none = "the file lists other members: the running list is with node-2; restart the nodes with the new \
                    file, or change the members with `member add` and `member remove`";
        assert_eq!(told(&counts, Quorum::None).as_deref(), Some(none));
        let version = ListVersion { counter: 3, ..ListVersion::default() };
        let changed = MemberList::new(version, counts.iter().cloned().collect());
        let words = "the members changed since the file was written: version 0.3 is with node-2; make the file match \
                     `member list`";
        for quorum in [Quorum::None, Quorum::Majority] {
            assert_eq!(told(&changed, quorum).as_deref(), Some(words));
        }
        let moved =
            MemberList::new(version, list(&[(1, "a:2"), (2, "b:1")]).iter().cloned().collect());
        let lags = [&changed, &counts, &moved, &file].map(|list| only_lags(list, &file));
        assert_eq!(lags, [true, false, false, false], "an entry that differs was edited");
    }

    #[test]
    fn the_list_of_the_file_has_all_that_it_says_of_each_member_and_the_version_before_all_changes()
    {
        let config = two(Path::new("/nowhere"));
        let member = |at: usize, name: &str, admin: Option<&str>, role| Member {
            id: config.members[at].id,
            name: name.to_owned(),
            address: format!("127.0.0.1:{}", at + 1),
            admin: admin.map(str::to_owned),
            role,
        };
        let listed = vec![
            member(0, "a", Some("127.0.0.1:3"), Role::Member),
            member(1, "b", None, Role::Observer),
        ];
        assert_eq!(of_file(&config), MemberList::new(ListVersion::default(), listed));
    }

    #[test]
    fn a_stored_list_that_counts_is_compared_with_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let config = two(folder.path());
        let own = &config.members[0];
        let told = || stored_against_file(&config, own);
        assert_eq!(told(), None, "nothing is stored");
        let (store, _) = Store::open(&config.state_dir("a"), own.id).unwrap();
        let save = |counter, members: Vec<Member>| {
            let version = ListVersion { counter, ..ListVersion::default() };
            let members = Arc::new(MemberList::new(version, members));
            let durable = Durable { members, ..Durable::default() };
            let kept = KeptState { incarnation: Incarnation(1), durable };
            store.save(&StoreRecord { id: own.id, kept }).unwrap();
        };
        let alone = vec![of_file(&config).get(own.id).unwrap().clone()];
        save(3, alone);
        let words = "the members changed since the file was written: version 0.3 is without b; make the file match \
                     `member list`";
        assert_eq!(told().as_deref(), Some(words));
        save(4, of_file(&config).iter().cloned().collect());
        assert_eq!(told(), None, "it is the same");
    }

    /// The members a and b, of which b only observes.
    fn two(data_dir: &Path) -> Config {
        let ids = ["018db8ac-db45-4792-a0b9-9560d9932c98", "6810b99e-43f6-4461-9022-87f37f50ffb1"];
        let a =
            json!({"name": "a", "id": ids[0], "address": "127.0.0.1:1", "admin": "127.0.0.1:3"});
        let b = json!({"name": "b", "id": ids[1], "address": "127.0.0.1:2", "role": "observer"});
        let builder = crate::config::Builder::new("two", "majority", data_dir);
        builder.member_with(a).member_with(b).build().unwrap()
    }

    #[test]
    fn a_member_dials_all_others_and_not_itself() {
        let all = list(&[(1, "a:1"), (2, "b:1"), (3, "c:1")]);
        let own = NodeId(Uuid::from_u128(2));
        let dialed: Vec<_> =
            peers(&all, own).into_iter().map(|peer| (peer.id, peer.name, peer.address)).collect();
        let expected = [(1, "node-1", "a:1"), (3, "node-3", "c:1")].map(|(id, name, address)| {
            (NodeId(Uuid::from_u128(id)), name.to_owned(), address.to_owned())
        });
        assert_eq!(dialed, expected);
        assert_eq!(others(&all, own), expected.map(|(_, name, address)| (name, address)));
    }

    /// The state in a folder that no member has is nobody's that is known: it could be this member's own.
    #[test]
    fn the_state_of_a_member_that_was_renamed_is_looked_for_in_all_folders_but_those_of_the_others()
    {
        let folder = tempfile::tempdir().unwrap();
        let ids = ["018db8ac-db45-4792-a0b9-9560d9932c98", "6810b99e-43f6-4461-9022-87f37f50ffb1"];
        let builder = crate::config::Builder::new("two", "none", folder.path());
        let builder = builder.member("a", ids[0], "127.0.0.1:1").member("b", ids[1], "127.0.0.1:2");
        let config = builder.build().unwrap();
        let find = || find_state(&config, &config.members[0]);
        let spoil = |name: &str| {
            let state = config.state_dir(name);
            std::fs::create_dir_all(&state).unwrap();
            for file in ["state.json", "lock"] {
                std::fs::write(state.join(file), "no state").unwrap();
            }
        };
        assert!(find().is_ok(), "there is none");
        spoil("b");
        assert!(find().is_ok(), "b judges its own");
        spoil("c");
        assert!(matches!(find(), Err(StoreError::Unclear { .. })), "who knows whose it is");
    }
}
