use std::collections::BTreeSet;

use super::*;

const OWNER: Owner = Owner { user: 0, group: 0, mode: 0o600 };

fn disk() -> Files {
    Files::new(OWNER)
}

fn name(name: &str) -> &OsStr {
    OsStr::new(name)
}

/// What a file with this name holds; none if there is none.
fn content(files: &mut Files, file: &str) -> Option<Vec<u8>> {
    let number = files.find(ROOT, name(file)).ok()?;
    Some(files.read(number, 0, u32::MAX).unwrap())
}

/// A new file with this content, of which nothing is synced.
fn written(files: &mut Files, file: &str, bytes: &[u8]) -> u64 {
    let number = files.make(ROOT, name(file), Kind::File, OWNER).unwrap();
    files.write(number, 0, bytes).unwrap();
    number
}

/// As electd replaces its state, but for the syncs that are left out.
fn replaced(files: &mut Files, bytes: &[u8], (file, folder): (bool, bool)) {
    let number = written(files, ".state.new", bytes);
    if file {
        files.sync(number).unwrap();
    }
    files.rename((ROOT, name(".state.new")), (ROOT, name("state"))).unwrap();
    if folder {
        files.sync(ROOT).unwrap();
    }
}

/// What the state may be after a power failure, by many seeds.
fn outcomes(files: &Files) -> BTreeSet<Option<Vec<u8>>> {
    let survived = |seed| {
        let (mut files, mut random) = (files.clone(), Random::new(seed));
        let (names, bytes) = (Share::drawn(&mut random), Share::drawn(&mut random));
        files.lose_power(&mut random, names, bytes);
        content(&mut files, "state")
    };
    (0..300).map(survived).collect()
}

#[test]
fn what_was_synced_survives_and_what_was_not_may_not() {
    let mut files = disk();
    replaced(&mut files, b"old", (true, true));
    assert_eq!(outcomes(&files), BTreeSet::from([Some(b"old".to_vec())]));
    replaced(&mut files, b"new", (true, false));
    let either = BTreeSet::from([Some(b"old".to_vec()), Some(b"new".to_vec())]);
    assert_eq!(outcomes(&files), either, "its name was not synced");
    files.sync(ROOT).unwrap();
    assert_eq!(outcomes(&files), BTreeSet::from([Some(b"new".to_vec())]));
}

#[test]
fn a_file_that_was_renamed_before_it_was_synced_may_be_empty() {
    let mut files = disk();
    replaced(&mut files, b"old", (true, true));
    replaced(&mut files, b"new", (false, true));
    assert_eq!(outcomes(&files), BTreeSet::from([Some(Vec::new()), Some(b"new".to_vec())]));
}

#[test]
fn a_write_is_torn_between_sectors_and_not_within_one() {
    let mut files = disk();
    let number = written(&mut files, "state", &[b'a'; 1500]);
    files.sync(number).unwrap();
    files.sync(ROOT).unwrap();
    files.write(number, 100, &[b'b'; 1300]).unwrap();
    let outcomes: Vec<Vec<u8>> = outcomes(&files).into_iter().flatten().collect();
    assert_eq!(outcomes.len(), 8, "each of three sectors is old or new");
    for bytes in outcomes {
        let sectors = [&bytes[100..512], &bytes[512..1024], &bytes[1024..1400]];
        assert!(sectors.iter().all(|sector| sector.iter().all(|byte| *byte == sector[0])));
        assert!(bytes[..100].iter().chain(&bytes[1400..]).all(|byte| *byte == b'a'));
    }
}

#[test]
fn of_two_renames_the_second_may_survive_alone() {
    let mut files = disk();
    for file in ["a", "b"] {
        let number = written(&mut files, file, file.as_bytes());
        files.sync(number).unwrap();
    }
    files.sync(ROOT).unwrap();
    files.rename((ROOT, name("a")), (ROOT, name("c"))).unwrap();
    files.rename((ROOT, name("b")), (ROOT, name("d"))).unwrap();
    let listed = |seed| {
        let (mut files, mut random) = (files.clone(), Random::new(seed));
        let names = Share::drawn(&mut random);
        files.lose_power(&mut random, names, Share::ALL);
        let names = files.list(ROOT).unwrap().into_iter();
        names.map(|(name, ..)| name.into_string().unwrap()).collect::<String>()
    };
    let found: BTreeSet<String> = (0..300).map(listed).collect();
    assert_eq!(found, BTreeSet::from(["ab", "ad", "bc", "cd"].map(str::to_owned)));
}

/// What PostgreSQL learned of Linux in 2018.
#[test]
fn a_sync_after_one_that_failed_succeeds_and_the_data_is_gone() {
    let mut files = disk();
    let number = written(&mut files, "state", b"lost");
    files.sync(ROOT).unwrap();
    files.fail_sync(number).unwrap();
    assert!(files.is_clean(number), "there is nothing to write");
    files.sync(number).unwrap();
    assert_eq!(content(&mut files, "state"), Some(b"lost".to_vec()), "as long as the power lasts");
    assert_eq!(outcomes(&files), BTreeSet::from([Some(Vec::new())]));
}

#[test]
fn what_was_open_when_the_power_failed_is_not_taken_for_another_file() {
    let mut files = disk();
    let folder = files.make(ROOT, name("folder"), Kind::Folder, OWNER).unwrap();
    let socket = files.make(folder, name("socket"), Kind::Socket, OWNER).unwrap();
    let lost = written(&mut files, "lost", b"");
    files.remove(ROOT, name("lost"), false).unwrap();
    files.lose_power(&mut Random::new(0), Share::ALL, Share::ALL);
    for number in [folder, socket, lost] {
        assert_eq!(files.look(number).unwrap_err(), Errno::STALE);
    }
    let again = files.find(ROOT, name("folder")).unwrap();
    let again = files.find(again, name("socket")).unwrap();
    assert_eq!(files.look(again).unwrap().kind, Kind::Socket);
}

#[test]
fn what_no_disk_does_is_refused() {
    let mut files = disk();
    let folder = files.make(ROOT, name("folder"), Kind::Folder, OWNER).unwrap();
    let file = files.make(folder, name("file"), Kind::File, OWNER).unwrap();
    let again = files.make(folder, name("file"), Kind::File, OWNER);
    assert_eq!(again, Err(Errno::EXIST));
    assert_eq!(files.remove(ROOT, name("folder"), true), Err(Errno::NOTEMPTY));
    assert_eq!(files.remove(ROOT, name("folder"), false), Err(Errno::ISDIR));
    assert_eq!(files.remove(folder, name("file"), true), Err(Errno::NOTDIR));
    assert_eq!(files.write(folder, 0, b"x"), Err(Errno::ISDIR));
    assert_eq!(files.find(file, name("x")), Err(Errno::NOTDIR));
    assert_eq!(files.cut(file, 1 << 40), Err(Errno::FBIG));
    files.remove(folder, name("file"), false).unwrap();
    files.remove(ROOT, name("folder"), true).unwrap();
    assert_eq!(files.list(ROOT).unwrap(), []);
}
