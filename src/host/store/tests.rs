//! The store on a real disk: first start, restart, damage, a second process, a failing disk.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use electd_facts::status::DiskTrouble;
use tempfile::TempDir;

use super::record::samples::{id, record};
use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// A folder in which this record was saved.
fn folder_with(record: &StoreRecord) -> TempDir {
    let dir = TempDir::new().unwrap();
    let (store, _) = Store::open(dir.path(), record.id).unwrap();
    store.save(record).unwrap();
    dir
}

/// The result of a start as member 1 with this content in the state file. The content must stay, and so must a file that
/// was to replace it when a crash came: it may help to repair the state.
fn refusal(content: &[u8]) -> StoreError {
    let dir = TempDir::new().unwrap();
    let leftover = dir.path().join(".state.json.Xa81pQ");
    fs::write(dir.path().join(STATE), content).unwrap();
    fs::write(&leftover, content).unwrap();
    let error = Store::open(dir.path(), id(1)).unwrap_err();
    assert_eq!(fs::read(dir.path().join(STATE)).unwrap(), content);
    assert!(leftover.exists());
    assert!(error.to_string().contains("state.json"), "{error}");
    error
}

#[test]
fn a_first_start_finds_nothing_and_a_restart_what_was_saved() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().join("data/node-1");
    let (store, found) = Store::open(&folder, id(1)).unwrap();
    assert_eq!(found, None);
    store.save(&record(7)).unwrap();
    store.save(&record(8)).unwrap();
    assert_eq!(Store::peek(&folder, id(1)), Some(record(8)), "its process may run");
    assert_eq!(Store::peek(&folder, id(2)), None, "that is another member's");
    drop(store);
    assert_eq!(Store::open(&folder, id(1)).unwrap().1, Some(record(8)));
}

#[test]
fn state_is_for_this_user_only() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().join("data/node-1");
    let (store, _) = Store::open(&folder, id(1)).unwrap();
    store.save(&record(7)).unwrap();
    fs::set_permissions(folder.join(STATE), fs::Permissions::from_mode(0o644)).unwrap();
    store.save(&record(8)).unwrap();
    assert_eq!(mode(&dir.path().join("data")), 0o700);
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join(STATE)), 0o600);
    assert_eq!(mode(&folder.join(LOCK)), 0o600);
}

#[test]
fn a_second_process_is_told_who_holds_the_folder() {
    let dir = TempDir::new().unwrap();
    let (store, _) = Store::open(dir.path(), id(1)).unwrap();
    let error = Store::open(dir.path(), id(1)).unwrap_err();
    assert_eq!(error.trouble(), StoreTrouble::Folder);
    let text = error.to_string();
    assert!(text.contains(&dir.path().display().to_string()), "{text}");
    assert!(text.contains(&format!("process {}:", std::process::id())), "{text}");
    assert_eq!(Store::held(dir.path()).map(|held| held.to_string()), Some(text));
    // A child process that was forked just now has the file open as well.
    let _of_child = store.lock.try_clone().unwrap();
    drop(store);
    assert!(Store::held(dir.path()).is_none());
    assert!(Store::open(dir.path(), id(1)).is_ok());
}

/// Such as one that has not signed the lock yet.
#[test]
fn a_process_that_left_no_id_holds_the_folder_too() {
    let dir = TempDir::new().unwrap();
    let lock = File::create(dir.path().join(LOCK)).unwrap();
    lock.lock().unwrap();
    let told =
        format!("the data directory {} is in use by another process: ", dir.path().display());
    let held = Store::held(dir.path()).unwrap();
    assert!(held.to_string().starts_with(&told), "{held}");
    let refused = Store::open(dir.path(), id(1)).unwrap_err();
    assert!(refused.to_string().starts_with(&told), "{refused}");
}

#[test]
fn state_that_cannot_be_trusted_is_refused_and_left_alone() {
    let other = StoreRecord { id: id(9), ..record(7) }.to_json().unwrap();
    let table: &[(&[u8], &str)] = &[
        (b"", "is damaged: it is empty"),
        (b"{\"format\": 1, \"id\": ", "is damaged: EOF"),
        (br#"{"format": 10}"#, "has format 10, and this electd reads formats up to 9"),
        (br#"{"format": 6}"#, "checksum"),
        (&other, "belongs to member 00000000-0000-4000-8000-000000000009"),
    ];
    for (content, expected) in table {
        let error = refusal(content);
        assert_eq!(error.trouble(), StoreTrouble::State);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn state_that_cannot_be_read_is_not_a_first_start() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join(STATE);
    // A folder and a link that leads nowhere: root, too, cannot read them.
    fs::create_dir(&path).unwrap();
    let error = Store::open(dir.path(), id(1)).unwrap_err();
    let told = error.to_string();
    assert!(
        told.contains("cannot be read: it is a folder, not a regular file; electd opens only"),
        "{told}"
    );
    fs::remove_dir(&path).unwrap();
    symlink("/nonexistent/state.json", &path).unwrap();
    let error = Store::open(dir.path(), id(1)).unwrap_err();
    assert!(matches!(error, StoreError::Unreadable { .. }), "{error}");
    assert_eq!(error.trouble(), StoreTrouble::Folder);
}

/// Runs a program of the system on a path.
fn run(program: &str, arguments: &[&str], path: &Path) {
    assert!(Command::new(program).args(arguments).arg(path).status().unwrap().success());
}

#[test]
fn only_a_regular_file_is_taken_for_state_or_for_a_lock() {
    for name in [STATE, LOCK] {
        let dir = TempDir::new().unwrap();
        let (path, other) = (dir.path().join(name), dir.path().join("other"));
        let refused = |what: &str| {
            let error = Store::open(dir.path(), id(1)).unwrap_err();
            assert_eq!(error.trouble(), StoreTrouble::Folder);
            assert!(error.to_string().contains(what), "{error}");
            assert_eq!(Store::peek(dir.path(), id(1)), None);
            assert!(Store::held(dir.path()).is_none());
            fs::remove_file(&path).unwrap();
        };
        run("mkfifo", &[], &path);
        refused("it is a named pipe, not a regular file");
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        refused("it is a socket");
        symlink("/dev/zero", &path).unwrap();
        refused("it is a link");
        let state = record(7).to_json().unwrap();
        fs::write(&other, &state).unwrap();
        symlink(&other, &path).unwrap();
        refused("it is a link");
        assert_eq!(fs::read(&other).unwrap(), state, "what it points to was overwritten");
        let device = Command::new("mknod").arg(&path).args(["c", "1", "5"]).output().unwrap();
        if device.status.success() {
            refused("it is a device")
        } else {
            println!("skipped: this user may not make a device")
        }
    }
}

#[test]
fn a_lock_is_not_signed_over_what_electd_never_wrote() {
    let dir = TempDir::new().unwrap();
    let (lock, other) = (dir.path().join(LOCK), dir.path().join("other"));
    fs::write(&other, b"precious").unwrap();
    fs::hard_link(&other, &lock).unwrap();
    let error = Store::open(dir.path(), id(1)).unwrap_err();
    let words =
        "its file \"lock\" holds something else than the id of a process; electd opens only";
    assert!(error.to_string().contains(words), "{error}");
    assert_eq!(fs::read(&other).unwrap(), b"precious");
    fs::remove_file(&lock).unwrap();
    fs::write(&lock, "1".repeat(33)).unwrap();
    assert!(Store::open(dir.path(), id(1)).is_err(), "that is no id");
    for left_by_a_power_failure in ["", "\0\0\0\0\0", "12\0\0\0\n"] {
        fs::write(&lock, left_by_a_power_failure).unwrap();
        assert!(Store::open(dir.path(), id(1)).is_ok(), "{left_by_a_power_failure:?}");
    }
    fs::write(&lock, "1".repeat(32)).unwrap(); // longer than any id of a process
    let (store, _) = Store::open(dir.path(), id(1)).unwrap();
    assert_eq!(fs::read_to_string(&lock).unwrap(), format!("{}\n", std::process::id()));
    drop(store);
}

#[test]
fn a_state_beyond_the_cap_is_not_read() {
    let dir = TempDir::new().unwrap();
    let file = File::create(dir.path().join(STATE)).unwrap();
    file.set_len(1 << 40).unwrap(); // it takes no room on the disk
    let error = Store::open(dir.path(), id(1)).unwrap_err();
    assert_eq!(error.trouble(), StoreTrouble::State);
    assert!(error.to_string().contains("is damaged: it has more than 2097152 bytes. "), "{error}");
    for (length, words) in [(2 << 20, "line 1 column 1"), ((2 << 20) + 1, "it has more than")] {
        file.set_len(length).unwrap();
        let error = Store::open(dir.path(), id(1)).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn a_folder_that_is_a_link_is_followed() {
    let dir = TempDir::new().unwrap();
    let (real, link) = (dir.path().join("real"), dir.path().join("link"));
    fs::create_dir(&real).unwrap();
    symlink(&real, &link).unwrap();
    let (store, _) = Store::open(&link.join("node-1"), id(1)).unwrap();
    store.save(&record(7)).unwrap();
    drop(store);
    assert_eq!(Store::open(&real.join("node-1"), id(1)).unwrap().1, Some(record(7)));
}

#[test]
fn what_a_crash_left_half_written_is_not_taken_for_state() {
    let dir = TempDir::new().unwrap();
    let leftover = dir.path().join(".state.json.Xa81pQ");
    fs::write(&leftover, record(9).to_json().unwrap()).unwrap();
    assert_eq!(Store::open(dir.path(), id(1)).unwrap().1, None);
    assert!(!leftover.exists());

    let dir = folder_with(&record(7));
    fs::write(dir.path().join(".state.json.b02LmZ"), b"{\"format\": 1, \"ep").unwrap();
    let (kept, pipe) = (dir.path().join(".state.json.folder"), dir.path().join(".state.json.pipe"));
    fs::create_dir(&kept).unwrap();
    run("mkfifo", &[], &pipe);
    let others = [".state.jsonx", "x.state.json.1"].map(|name| dir.path().join(name));
    others.iter().for_each(|path| fs::write(path, b"").unwrap());
    assert_eq!(Store::open(dir.path(), id(1)).unwrap().1, Some(record(7)));
    assert!(!dir.path().join(".state.json.b02LmZ").exists());
    assert!(kept.is_dir() && pipe.exists(), "electd did not write them");
    assert!(others.iter().all(|path| path.exists()), "those have other names");
}

#[test]
fn a_file_in_place_of_the_folder_is_told() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("data");
    fs::write(&file, b"").unwrap();
    for folder in [file.clone(), file.join("node-1")] {
        let error = Store::open(&folder, id(1)).unwrap_err();
        assert_eq!(error.trouble(), StoreTrouble::Folder);
        assert!(error.to_string().contains("a file is in the way"), "{error}");
    }
}

#[test]
fn a_failed_write_keeps_what_was_stored() {
    let dir = TempDir::new().unwrap();
    let (here, away) = (dir.path().join("node-1"), dir.path().join("away"));
    let (store, _) = Store::open(&here, id(1)).unwrap();
    let pace = store.pace();
    store.save(&record(7)).unwrap();
    let took = pace.slowest();
    assert!(took.is_some(), "the status shows how long it took");
    fs::rename(&here, &away).unwrap();
    let error = store.save(&record(8)).unwrap_err();
    assert_eq!(pace.trouble(), Some(DiskFault::of(&error)));
    assert_eq!(pace.slowest(), took, "it took no time to fail");
    assert_eq!(error.trouble(), StoreTrouble::Folder);
    assert!(error.to_string().contains("what it held before is kept"), "{error}");
    fs::rename(&away, &here).unwrap();
    assert_eq!(read(&here.join(STATE), id(1)).unwrap(), Some(record(7)));
    store.save(&record(9)).unwrap();
    assert_eq!(pace.trouble(), None);
    drop(store);
    assert_eq!(Store::open(&here, id(1)).unwrap().1, Some(record(9)));
}

/// A small file system in memory, where this user may mount one.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn mount(options: &str) -> Option<SmallDisk> {
        let disk = SmallDisk(TempDir::new().unwrap());
        let mounted = disk.run("mount", &["-t", "tmpfs", "-o", options, "none"]);
        if !mounted {
            println!("skipped: this user may not mount a small file system to fill it");
            return None;
        }
        Some(disk)
    }

    fn run(&self, command: &str, arguments: &[&str]) -> bool {
        let output = Command::new(command).args(arguments).arg(self.0.path()).output();
        output.is_ok_and(|output| output.status.success())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a child that another test just forked may have a file open.
        self.run("umount", &["--lazy"]);
    }
}

#[allow(clippy::unnecessary_wraps)] // as it is found
fn fault(kind: DiskTrouble, text: String) -> Option<DiskFault> {
    Some(DiskFault { kind, text })
}

#[test]
fn a_full_or_read_only_disk_is_told_and_keeps_what_was_stored() {
    let Some(disk) = SmallDisk::mount("size=64k") else {
        return;
    };
    let dir = disk.0.path();
    let (store, _) = Store::open(dir, id(1)).unwrap();
    store.save(&record(7)).unwrap();
    let (room, shown) = (rustix::fs::statvfs(dir).unwrap(), dir.display());
    let room = room.f_bavail * room.f_frsize;
    let little = format!(
        "{shown} has room for {room} bytes, and the state takes up to 262144 bytes: free some"
    );
    assert_eq!(disk_trouble(dir), fault(DiskTrouble::Full, little));
    assert_eq!(disk_trouble(Path::new("/proc")), None, "it has no blocks and no files to count");

    let mut ballast = File::create(dir.join("ballast")).unwrap();
    while ballast.write_all(&[0; 512]).is_ok() {}
    let full = store.save(&record(8)).unwrap_err().to_string();
    assert!(full.contains("free some space there"), "{full}");
    assert_eq!(store.pace.trouble(), fault(DiskTrouble::Full, full));
    assert_eq!(fs::read_dir(dir).unwrap().count(), 3, "a half-written file was left behind");
    drop(ballast);
    fs::remove_file(dir.join("ballast")).unwrap();

    // A disk turns read-only only while no file on it is open for writing, such as the lock.
    drop(store);
    if !disk.run("mount", &["-o", "remount,ro"]) {
        println!("skipped: the small file system does not turn read-only");
        return;
    }
    let store =
        Store { path: dir.join(STATE), lock: File::open(dir).unwrap(), pace: Arc::default() };
    let read_only = store.save(&record(9)).unwrap_err().to_string();
    assert!(read_only.contains("mount it read-write"), "{read_only}");
    let told = format!("the file system of {shown} is read-only: the state cannot be written");
    assert_eq!(disk_trouble(dir), fault(DiskTrouble::ReadOnly, told));
    let start = Store::open(dir, id(1)).unwrap_err();
    assert_eq!(start.trouble(), StoreTrouble::Folder);
    assert_eq!(read(&store.path, id(1)).unwrap(), Some(record(7)));
}

#[test]
fn a_disk_without_room_for_one_more_file_is_told_and_one_with_just_enough_is_not() {
    let Some(disk) = SmallDisk::mount("size=256k,nr_inodes=2") else {
        return;
    };
    assert_eq!(disk_trouble(disk.0.path()), None, "one file and 262144 bytes");
    File::create(disk.0.path().join("one")).unwrap();
    let shown = disk.0.path().display();
    let told = format!("the file system of {shown} has no room for one more file: remove some");
    assert_eq!(disk_trouble(disk.0.path()), fault(DiskTrouble::Full, told));
}
