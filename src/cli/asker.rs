//! The user that `check` asks as: what another user may read, run and write, it cannot say.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use nix::unistd::{Uid, User};
use rustix::process::geteuid;

use crate::config::{Config, MemberConfig};

/// This user, and the one that the node runs as, as far as its state tells.
pub struct Asker {
    own: u32,
    /// The owner of the state, and its folder; none before the first start.
    state: Option<(u32, PathBuf)>,
}

impl Asker {
    /// Looks at the state of this node, or at the folder of all state.
    pub fn of(config: &Config, node: &MemberConfig) -> Asker {
        let folders = [config.state_dir(&node.name), config.data_dir.clone()];
        let state = folders.into_iter().find_map(|it| Some((fs::metadata(&it).ok()?.uid(), it)));
        Asker { own: geteuid().as_raw(), state }
    }

    /// The name of this user.
    pub fn name(&self) -> String {
        user(self.own)
    }

    /// The name of the node's user, if that is another one.
    pub fn other(&self) -> Option<String> {
        let (owner, _) = self.state.as_ref()?;
        (*owner != self.own).then(|| user(*owner))
    }

    /// For people.
    pub fn words(&self) -> String {
        let (own, other) = (self.name(), self.other());
        let (Some(other), Some((_, folder))) = (other, &self.state) else { return own };
        format!(
            "WARNING: {own}, and {} belongs to {other}: whether {other} may read, run and write all that is named below \
             was not tried; ask by `sudo -u '{other}' electd check`",
            folder.display()
        )
    }
}

/// The name of a user, as this system knows it, or the number.
fn user(uid: u32) -> String {
    let known = User::from_uid(Uid::from_raw(uid)).ok().flatten();
    known.map_or_else(|| format!("#{uid}"), |user| user.name) // as sudo takes a number
}
