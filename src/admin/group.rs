//! The group whose users may use the control socket (`control_group`).

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

use log::{info, warn};
use rustix::fs::{Mode, OFlags, open};

/// The mode of a folder that was made for the node's user alone, once a group may pass it.
const PASSED: u32 = 0o710;

/// The number of a group, given by its name in /etc/group or by the number.
///
/// # Errors
/// If there is no such group, with the remedy; or the list of groups cannot be read.
pub fn id(name: &str) -> io::Result<u32> {
    let number = match name.parse() {
        Ok(number) => Some(number),
        Err(_) => fs::read_to_string("/etc/group")?.lines().find_map(|line| {
            let mut fields = line.split(':');
            (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok()).flatten()
        }),
    };
    number.filter(|number| *number != u32::MAX).ok_or_else(|| {
        let what = format!("there is no group \"{name}\" in /etc/group: correct control_group");
        io::Error::new(ErrorKind::InvalidInput, what)
    })
}

/// Lets the users of this group pass the folder of the state and the one above it, `data_dir`. Warns of each folder on
/// the way that they may not pass by its mode; an access control list may let them pass all the same.
pub(super) fn let_in(state: &Path, group: u32) {
    let way = match state.canonicalize() {
        Ok(way) => way,
        Err(error) => {
            warn!(event = "control_group"; "control_group cannot be let into {}: {error}", state.display());
            return;
        }
    };
    for (above, folder) in way.ancestors().enumerate() {
        let may_change = above < 2;
        if let Err(why) = let_pass(folder, group, may_change) {
            let folder = folder.display();
            warn!(
                event = "control_group";
                "the users of control_group may not pass {folder}, so that they cannot reach the control socket: \
                 {why}; let them, by chgrp and chmod g+x, or setfacl"
            );
        }
    }
}

/// Lets the users of this group pass a folder, unless they may already. They cannot list it.
fn let_pass(folder: &Path, group: u32, may_change: bool) -> io::Result<()> {
    let made = fs::metadata(folder)?;
    let (mode, is_theirs) = (made.mode() & 0o777, made.gid() == group);
    if mode & if is_theirs { 0o010 } else { 0o001 } != 0 {
        return Ok(());
    }
    let is_others = !is_theirs && mode & 0o070 != 0 && mode != PASSED; // they must not lose it
    if is_others || !may_change {
        return Err(io::Error::other(format!("its mode is {mode:o}, its group {}", made.gid())));
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = File::from(open(folder, flags, Mode::empty())?);
    fchown(&opened, None, Some(group))?;
    opened.set_permissions(Permissions::from_mode(mode | 0o010))?;
    info!(event = "control_group"; "the users of control_group may pass {} now", folder.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::logged::logged;

    #[test]
    fn a_group_is_known_by_name_and_by_number() {
        assert_eq!((id("root").unwrap(), id("7").unwrap()), (0, 7));
        for none in ["no such group", "4294967295"] {
            let refused = id(none).unwrap_err();
            let words =
                format!("there is no group \"{none}\" in /etc/group: correct control_group");
            assert_eq!((refused.kind(), refused.to_string()), (ErrorKind::InvalidInput, words));
        }
    }

    #[test]
    fn only_a_folder_of_the_nodes_user_alone_changes() {
        let folder = tempfile::tempdir().unwrap();
        let own = fs::metadata(folder.path()).unwrap().gid();
        let mode = || fs::metadata(folder.path()).unwrap().mode() & 0o777;
        for (before, group, may_change, after) in [
            (0o755, own + 1, true, Some(0o755)),
            (0o701, own + 1, false, Some(0o701)),
            (0o710, own, false, Some(0o710)),
            (0o701, own, true, Some(0o711)),
            (0o750, own, true, Some(0o750)),
            (0o750, own + 1, true, None),
            (0o700, own, true, Some(0o710)),
            (0o700, own, false, None),
        ] {
            fs::set_permissions(folder.path(), Permissions::from_mode(before)).unwrap();
            let passes = let_pass(folder.path(), group, may_change).is_ok();
            assert_eq!((passes, mode()), (after.is_some(), after.unwrap_or(before)), "{before:o}");
        }
    }

    #[test]
    fn a_folder_that_another_group_uses_is_not_taken_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let own = fs::metadata(folder.path()).unwrap().gid();
        for mode in [0o740, 0o720, 0o750, 0o770] {
            fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
            let refused = let_pass(folder.path(), own + 1, true).unwrap_err().to_string();
            assert_eq!(refused, format!("its mode is {mode:o}, its group {own}"));
        }
    }

    /// The file may name another group by now. Only root can give a folder to a group that it is not in.
    #[test]
    fn a_folder_is_given_to_the_group_and_nothing_else_is() {
        let above = tempfile::tempdir().unwrap();
        let made =
            |path: &Path| fs::metadata(path).map(|it| (it.gid(), it.mode() & 0o777)).unwrap();
        let (folder, file) = (above.path().join("folder"), above.path().join("file"));
        fs::create_dir(&folder).unwrap();
        fs::write(&file, "").unwrap();
        let link = above.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        let own = made(&folder).0;
        for (other, mode, at) in [(&link, 0o700, &folder), (&file, 0o600, &file)] {
            fs::set_permissions(at, Permissions::from_mode(mode)).unwrap();
            let_pass(other, own, true).unwrap_err();
            assert_eq!(made(at), (own, mode), "{other:?}");
        }
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root changes the group");
            return;
        }
        for group in [own + 1, own + 2] {
            let_pass(&folder, group, true).unwrap();
            assert_eq!(made(&folder), (group, 0o710));
        }
    }

    /// The two folders that are the node's are changed, and what stands above them is told.
    #[test]
    fn each_folder_on_the_way_is_passed_or_told() {
        let above = tempfile::tempdir().unwrap();
        let state = above.path().join("data/node");
        fs::create_dir_all(&state).unwrap();
        let own = fs::metadata(&state).unwrap().gid();
        let close = |folder: &Path| {
            fs::set_permissions(folder, Permissions::from_mode(0o700)).unwrap();
        };
        [above.path(), state.parent().unwrap(), &state].into_iter().for_each(close);
        let lines = logged(|| let_in(&state, own));
        let passed = |folder: &Path| {
            format!(
                "INFO control_group: the users of control_group may pass {} now",
                folder.display()
            )
        };
        let why = format!("its mode is 700, its group {own}");
        let told = format!(
            "WARN control_group: the users of control_group may not pass {}, so that they cannot reach the control \
             socket: {why}; let them, by chgrp and chmod g+x, or setfacl",
            above.path().display()
        );
        assert_eq!(lines, [passed(&state), passed(state.parent().unwrap()), told.clone()]);
        assert_eq!(logged(|| let_in(&state, own)), [told], "they may pass the others already");
        let none = above.path().join("none");
        let told = format!(
            "WARN control_group: control_group cannot be let into {}: No such file or directory (os error 2)",
            none.display()
        );
        assert_eq!(logged(|| let_in(&none, own)), [told]);
    }
}
