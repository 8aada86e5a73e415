//! Each bound, at both of its sides, and what is said of whoever is beyond it.

use super::*;
use crate::core::membership::ListVersion;
use crate::core::types::{Epoch, NodeId, Role};

fn id(number: u8) -> NodeId {
    NodeId(uuid::Builder::from_random_bytes([number; 16]).into_uuid())
}

fn other_id(kind: &str) -> NodeId {
    NodeId(format!("00000000-0000-{kind}-000000000001").parse().unwrap())
}

fn member(number: u8) -> Member {
    let (name, role) = (format!("node-{number}"), Role::Member);
    let (address, admin) = (format!("host:{number}"), Some(format!("host:7{number:03}")));
    Member { id: id(number), name, address, admin, role }
}

fn list(members: &[Member]) -> MemberList {
    MemberList::new(ListVersion::default(), members.to_vec())
}

#[test]
fn names_are_safe_as_folders() {
    for name in ["a", "node-1", "Node_1.example", "...", &"x".repeat(63)] {
        assert!(is_name(name), "{name}");
    }
    for name in ["", ".", "..", "a/b", "a b", "ä", "a\n", "a\0", &"x".repeat(64)] {
        assert!(!is_name(name), "{name}");
    }
}

#[test]
fn what_others_have_us_show_is_one_short_line() {
    assert!(is_line("") && is_line(&"ä".repeat(128)));
    for text in ["a\nb", "a\0b", "\u{1b}[2J", "a\u{202e}b", "a\u{2028}b", &"a".repeat(129)] {
        assert!(!is_line(text), "{text:?}");
    }
    for name in ["", " a", "a ", "a\n", &"ä".repeat(64)] {
        assert!(!is_cluster_name(name), "{name:?}");
    }
    assert!(is_cluster_name("my cluster") && is_cluster_name(&"ä".repeat(63)));
}

/// Marks that turn text around, of which each kind has another end, and the two separators.
#[test]
fn no_mark_changes_how_a_line_reads() {
    for mark in ('\u{2028}'..='\u{202e}').chain('\u{2066}'..='\u{2069}') {
        assert!(!is_line(&format!("a{mark}b")), "{mark:?}");
        assert!(!is_cluster_name(&format!("a{mark}b")), "{mark:?}");
        assert_eq!(quote(&mark.to_string()), mark.escape_unicode().to_string());
    }
    for plain in ['\u{2027}', '\u{202f}', '\u{2065}', '\u{206a}', 'ä', ' '] {
        assert!(!disguises(plain) && is_line(&plain.to_string()), "{plain:?}");
    }
}

#[test]
fn quoted_text_stays_on_one_line_and_short() {
    assert_eq!(quote("a\n\u{1b}[31m"), "a\\n\\u{1b}[31m");
    assert_eq!(quote("71\u{202e}01"), "71\\u{202e}01");
    assert_eq!((shown("abc", 3), shown("abc", 2)), ("abc".to_owned(), "ab...".to_owned()));
    assert_eq!((shown("", 0), shown("ä\nb", 2)), (String::new(), "ä\\n...".to_owned()));
    assert_eq!(quote(&"x".repeat(60)), "x".repeat(60));
    assert_eq!(quote(&"x".repeat(61)), "x".repeat(60) + "...");
}

#[test]
fn every_part_of_an_entry_is_judged() {
    let wrong = |change: fn(&mut Member)| {
        let mut entry = member(1);
        let (address, admin) = entry.judge().unwrap();
        assert_eq!(Ok(address), HostPort::parse("host:1"));
        assert_eq!(admin.map(Ok), Some(HostPort::parse("host:7001")));
        change(&mut entry);
        entry.judge().expect_err("it is wrong").to_string()
    };
    let rule = "use 1 to 63 of the characters A-Z a-z 0-9 . _ - (but neither \".\" nor \"..\")";
    let name = |shown: &str| format!("\"name\": \"{shown}\" is not a name: {rule}");
    assert_eq!(wrong(|m| m.name = "a\0b".into()), name("a\\u{0}b"));
    assert_eq!(wrong(|m| m.name = "n".repeat(9999)), name(&("n".repeat(60) + "...")));
    let id = |shown: &str| {
        format!(
            "\"id\": \"{shown}\" is not a version 4 UUID: give a fresh one, as `uuidgen -r` prints"
        )
    };
    assert_eq!(wrong(|m| m.id = NodeId::default()), id("00000000-0000-0000-0000-000000000000"));
    // Of another version, and of another variant.
    for kind in ["1000-8000", "4000-0000", "5000-8000"] {
        let entry = Member { id: other_id(kind), ..member(1) };
        let told = entry.judge().unwrap_err().to_string();
        assert_eq!(told, id(&format!("00000000-0000-{kind}-000000000001")));
    }
    let bad = |key: &str, text: &str| {
        let bad = HostPort::parse(text).unwrap_err();
        format!("\"{key}\": \"{text}\" {}: {}", bad.what, bad.remedy)
    };
    assert_eq!(wrong(|m| m.address = "host".into()), bad("address", "host"));
    assert_eq!(wrong(|m| m.admin = Some("h:0".into())), bad("admin", "h:0"));
    for every in ["[::]:1", "0.0.0.0:1"] {
        let entry = Member { address: every.to_owned(), ..member(1) };
        let words =
            format!("\"address\": \"{every}\" is every address of a host: give one to dial");
        assert_eq!(entry.judge().unwrap_err().to_string(), words);
    }
    let own = |admin: &str| {
        format!("\"admin\": \"{admin}\" is its address: give admin a port of its own")
    };
    assert_eq!(wrong(|m| m.admin = Some("0.0.0.0:1".into())), own("0.0.0.0:1"));
    assert_eq!(wrong(|m| m.admin = Some("host:1".into())), own("host:1"));
    let without = Member { admin: None, ..member(1) };
    assert_eq!(without.judge().map(|(_, admin)| admin), Ok(None));
}

#[test]
fn why_a_list_is_refused_is_told_in_words() {
    let id = Uuid::from_u128(7);
    for (error, words) in [
        (
            ListError::Count(65),
            "there are 65 members; at least 1 and at most 64 belong to a cluster",
        ),
        (
            ListError::Member(3, MemberError::Wildcard("[::]:1".to_owned())),
            "member 3: \"address\": \"[::]:1\" is every address of a host: give one to dial",
        ),
        (
            ListError::Shared(3, "name"),
            "member 3: its name is that of another member: give every member one of its own",
        ),
        (ListError::NoCandidate, "no member may lead: give at least one the role \"member\""),
        (ListError::Removed(257), "there are 257 removed members; the most is 256"),
        (
            ListError::RemovedTwice(id),
            "the removed id 00000000-0000-0000-0000-000000000007 is there twice, or is that of a member",
        ),
        (
            ListError::Version,
            "its version is beyond all changes; the greatest is 4611686018427387904",
        ),
    ] {
        assert_eq!(error.to_string(), words);
    }
    let files = "raise the limit of open files (LimitNOFILE= in the unit, or ulimit -n)";
    assert_eq!(MORE_FILES, files);
}

#[test]
fn a_list_is_judged_as_a_whole() {
    let three = [member(1), member(2), member(3)];
    assert_eq!(list(&three).judge(), Ok(()));
    assert_eq!(list(&three).with_removed(vec![id(4)]).judge(), Ok(()));
    let wrong = |change: fn(&mut Member)| {
        let mut members = three.clone();
        change(&mut members[2]);
        list(&members).judge().expect_err("it is wrong")
    };
    assert_eq!(wrong(|m| m.id = id(2)), ListError::Shared(3, "id"));
    assert_eq!(wrong(|m| m.name = "node-1".into()), ListError::Shared(3, "name"));
    assert_eq!(wrong(|m| m.address = "HOST.:1".into()), ListError::Shared(3, "address"));
    assert_eq!(wrong(|m| m.address = "host:7001".into()), ListError::Shared(3, "address"));
    assert_eq!(wrong(|m| m.admin = Some("host:1".into())), ListError::Shared(3, "admin"));
    assert_eq!(wrong(|m| m.admin = Some("host:7001".into())), ListError::Shared(3, "admin"));
    let name = MemberError::Name(String::new());
    assert_eq!(wrong(|m| m.name.clear()), ListError::Member(3, name));

    assert_eq!(wrong(|m| *m = member(2)), ListError::Shared(3, "id"), "the first that is wrong");
    let admin = |m: &mut Member| m.admin = None;
    let mut without = three.clone();
    without.iter_mut().for_each(admin);
    assert_eq!(list(&without).judge(), Ok(()));
    assert_eq!(list(&[]).judge(), Err(ListError::Count(0)));
    let witness = Member { role: Role::Witness, ..member(1) };
    assert_eq!(list(&[witness]).judge(), Err(ListError::NoCandidate));
    let judged =
        |epoch, counter| list(&three).stamped(ListVersion { epoch: Epoch(epoch), counter }).judge();
    assert_eq!(judged(GREATEST, GREATEST), Ok(()));
    assert_eq!(judged(GREATEST, GREATEST + 1), Err(ListError::Version));
    assert_eq!(judged(GREATEST + 1, GREATEST), Err(ListError::Version));
}

/// Rule X1.
#[test]
fn no_part_of_a_list_is_longer_than_a_cluster_makes_it() {
    let many = |count: u16| -> Vec<Member> {
        let entry = |number: u16| {
            let id = NodeId(
                uuid::Builder::from_random_bytes(u128::from(number).to_be_bytes()).into_uuid(),
            );
            let (name, role) = (format!("node-{number}"), Role::Member);
            Member { id, name, address: format!("h:{}", number + 1), admin: None, role }
        };
        (0..count).map(entry).collect()
    };
    assert_eq!(list(&many(64)).judge(), Ok(()));
    assert_eq!(list(&many(65)).judge(), Err(ListError::Count(65)));
    let ids = |count| many(count).iter().map(|member| member.id).collect::<Vec<_>>();
    let removed = |ids| list(&[member(1)]).with_removed(ids).judge();
    assert_eq!(removed(ids(256)), Ok(()));
    assert_eq!(removed(ids(257)), Err(ListError::Removed(257)));
    assert_eq!(removed(vec![id(2), id(2)]), Err(ListError::RemovedTwice(id(2).0)));
    assert_eq!(removed(vec![id(1)]), Err(ListError::RemovedTwice(id(1).0)));
}
