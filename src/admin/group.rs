//! The group whose users may use the control socket (`control_group`).

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

/// Makes sure that there is such a group, given by its name or by its number.
///
/// # Errors
/// If there is none, with the remedy.
pub fn find(name: &str) -> io::Result<()> {
    id(name).map(|_| ())
}

/// The number of a group, given by its name in /etc/group or by the number.
pub(super) fn id(name: &str) -> io::Result<u32> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let groups = fs::read_to_string("/etc/group")?;
    let found = groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok()).flatten()
    });
    found.ok_or_else(|| {
        let what = format!("there is no group \"{name}\" in /etc/group: correct control_group");
        io::Error::new(ErrorKind::InvalidInput, what)
    })
}

/// Lets the users of this group pass a folder on the way to the socket, unless they may already. They cannot list it.
///
/// # Errors
/// If this process may not do that, or another group uses the folder and must not lose that; with the remedy.
pub(super) fn let_pass(folder: &Path, group: u32) -> io::Result<()> {
    let made = fs::metadata(folder)?;
    let (mode, is_theirs) = (made.permissions().mode(), made.gid() == group);
    if mode & if is_theirs { 0o010 } else { 0o001 } != 0 {
        return Ok(());
    }
    if !is_theirs && mode & 0o070 != 0 {
        return Err(cannot_pass(folder, &io::Error::other("another group may use it")));
    }
    let given = if is_theirs { Ok(()) } else { chown(folder, None, Some(group)) };
    let opened =
        given.and_then(|()| fs::set_permissions(folder, Permissions::from_mode(mode | 0o010)));
    opened.map_err(|error| cannot_pass(folder, &error))
}

fn cannot_pass(folder: &Path, error: &io::Error) -> io::Error {
    let folder = folder.display();
    let what = format!(
        "the users of control_group may not pass {folder}, so that they cannot reach the control socket: {error}; let \
         them, by chgrp and chmod g+x, or setfacl"
    );
    io::Error::new(error.kind(), what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_known_by_name_and_by_number() {
        assert_eq!((id("root").unwrap(), id("7").unwrap()), (0, 7));
        assert!(find("no such group").unwrap_err().to_string().contains("correct control_group"));
    }

    #[test]
    fn a_folder_that_the_group_may_pass_already_or_another_group_uses_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let own = fs::metadata(folder.path()).unwrap().gid();
        let mode = || fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777;
        for (before, group, passes) in
            [(0o755, own + 1, true), (0o750, own, true), (0o750, own + 1, false)]
        {
            fs::set_permissions(folder.path(), Permissions::from_mode(before)).unwrap();
            assert_eq!(let_pass(folder.path(), group).is_ok(), passes, "{before:o}");
            assert_eq!(mode(), before);
        }
    }
}
