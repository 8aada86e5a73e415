//! The user that `check` asks as: what another user may read, run and write, it cannot say.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use nix::unistd::{Uid, User};
use rustix::process::geteuid;

use crate::config::{Config, MemberConfig};

/// This user, and the one that the node runs as, as far as its state tells.
pub struct AskingUser {
    own: u32,
    /// The owner of the state, and its folder; none before the first start.
    state: Option<(u32, PathBuf)>,
}

impl AskingUser {
    /// Looks at the state of this node, or at the folder of all state.
    pub fn of(config: &Config, node: &MemberConfig) -> AskingUser {
        let folders = [config.state_dir(&node.name), config.data_dir.clone()];
        let state = folders.into_iter().find_map(|it| Some((fs::metadata(&it).ok()?.uid(), it)));
        AskingUser { own: geteuid().as_raw(), state }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Its own folder, or that of all nodes before its first start.
    #[test]
    fn the_folder_of_the_state_tells_as_whom_the_node_runs() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cluster.json");
        let config = crate::config::parse(include_str!("../../conf/cluster.json"), &file).unwrap();
        let found = || {
            let asker = AskingUser::of(&config, &config.members[1]);
            (asker.own, asker.state)
        };
        let own = geteuid().as_raw();
        assert_eq!(found(), (own, None));
        let data = folder.path().join("data");
        for made in [data.clone(), data.join("node-2")] {
            fs::create_dir(&made).unwrap();
            assert_eq!(found(), (own, Some((own, made))));
        }
    }

    #[test]
    fn the_user_of_the_state_is_named_if_it_is_another_one_and_as_sudo_takes_it() {
        let asked = |owner: Option<u32>| {
            let asker = AskingUser { own: 0, state: owner.map(|owner| (owner, "/data/a".into())) };
            (asker.name(), asker.other(), asker.words())
        };
        for same in [None, Some(0)] {
            assert_eq!(asked(same), ("root".to_owned(), None, "root".to_owned()));
        }
        let words = "WARNING: root, and /data/a belongs to #4000000000: whether #4000000000 may read, run and write \
                     all that is named below was not tried; ask by `sudo -u '#4000000000' electd check`";
        let other = Some("#4000000000".to_owned());
        assert_eq!(asked(Some(4_000_000_000)), ("root".to_owned(), other, words.to_owned()));
    }
}
