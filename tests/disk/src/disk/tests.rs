use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;

use tempfile::TempDir;

use super::*;

/// A disk, and the folder that it is mounted at; none where this process may not mount.
fn mounted() -> Option<(Disk, TempDir)> {
    let folder = TempDir::new().unwrap();
    match Disk::mount(folder.path()) {
        Ok(disk) => Some((disk, folder)),
        Err(error) => {
            println!("skipped: a disk for tests needs root and /dev/fuse: {error}");
            None
        }
    }
}

fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// As electd replaces its state.
fn replace(folder: &Path, text: &str) -> io::Result<()> {
    let new = folder.join(".state.new");
    let mut file = File::create(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, folder.join("state"))?;
    sync(folder)
}

fn state(folder: &Path) -> String {
    fs::read_to_string(folder.join("state")).unwrap()
}

#[test]
fn processes_use_it_as_any_other_and_lose_what_they_did_not_sync() {
    let Some((disk, folder)) = mounted() else { return };
    let path = folder.path();
    replace(path, "old").unwrap();
    fs::create_dir(path.join("below")).unwrap();
    fs::write(path.join("state"), "new").unwrap();
    assert_eq!(state(path), "new", "it is seen");
    let file = File::options().write(true).open(path.join("state")).unwrap();
    disk.lose_all_unsynced();
    assert_eq!(state(path), "old");
    assert!(!path.join("below").exists());
    assert!((&file).write_all(b"x").is_err(), "it was open when the power failed");
    fs::set_permissions(path.join("state"), fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(fs::metadata(path.join("state")).unwrap().permissions().mode() & 0o777, 0o640);
    let names: Vec<_> =
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["state"]);
}

#[test]
fn it_has_locks_and_sockets() {
    let Some((_disk, folder)) = mounted() else { return };
    let path = folder.path().join("lock");
    let (one, other) = (File::create(&path).unwrap(), File::open(&path).unwrap());
    one.lock().unwrap();
    assert!(other.try_lock().is_err());
    drop(one);
    other.try_lock().unwrap();
    let path = folder.path().join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    UnixStream::connect(&path).unwrap();
}

#[test]
fn a_sync_fails_once_and_takes_its_data_with_it() {
    let Some((disk, folder)) = mounted() else { return };
    replace(folder.path(), "old").unwrap();
    let file = File::options().write(true).open(folder.path().join("state")).unwrap();
    (&file).write_all(b"new").unwrap();
    disk.fail_next_sync();
    assert!(file.sync_all().is_err());
    file.sync_all().unwrap();
    assert_eq!(state(folder.path()), "new");
    disk.lose_all_unsynced();
    assert_eq!(state(folder.path()), "old");
}

#[test]
fn a_disk_that_refuses_says_so_until_it_does_not() {
    let Some((disk, folder)) = mounted() else { return };
    replace(folder.path(), "old").unwrap();
    disk.refuse(Some(Refusal::Full));
    assert_eq!(replace(folder.path(), "new").unwrap_err().kind(), ErrorKind::StorageFull);
    disk.refuse(Some(Refusal::Broken));
    let broken = replace(folder.path(), "new").unwrap_err();
    assert_eq!(broken.raw_os_error(), Some(rustix::io::Errno::IO.raw_os_error()));
    assert_eq!(state(folder.path()), "old");
    disk.refuse(None);
    replace(folder.path(), "new").unwrap();
    assert_eq!(state(folder.path()), "new");
}

/// A write that waits when the power fails is not done afterwards.
#[test]
fn the_power_fails_at_a_write() {
    let Some((disk, folder)) = mounted() else { return };
    replace(folder.path(), "old").unwrap();
    let of_one = {
        let before = disk.changes();
        replace(folder.path(), "old").unwrap();
        disk.changes() - before
    };
    for calls in 0..of_one {
        disk.stop_after(calls);
        thread::scope(|scope| {
            let writer = scope.spawn(|| replace(folder.path(), "new"));
            while !disk.has_stopped() {
                thread::yield_now();
            }
            disk.lose_all_unsynced();
            assert!(writer.join().unwrap().is_err());
        });
        assert_eq!(state(folder.path()), "old", "after {calls} of {of_one} calls");
    }
}

#[test]
fn who_only_reads_waits_for_no_disk_in_this_host() {
    let Some((disk, folder)) = mounted() else { return };
    replace(folder.path(), "old").unwrap();
    disk.hang(Some(Hang::Writes));
    thread::scope(|scope| {
        let writer = scope.spawn(|| replace(folder.path(), "new"));
        assert_eq!(state(folder.path()), "old");
        disk.hang(None);
        writer.join().unwrap().unwrap();
    });
    assert_eq!(state(folder.path()), "new");
}
