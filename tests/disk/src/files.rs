//! The files of a disk in memory, as a state machine: what processes see, and what of it survives when the power fails.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::time::SystemTime;

use rustix::io::Errno;

use crate::body::{Content, Entries, Naming, Write, index};
use electd_election::core::random::Random;

use crate::share::Share;

/// The number of the folder that has all others.
pub const ROOT: u64 = 1;

/// The largest file. A larger one would take the memory of the test.
const LARGEST: u64 = 64 << 20;

/// What something with a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    Socket,
    Pipe,
}

/// Whose something is, and who may use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub user: u32,
    pub group: u32,
    pub mode: u16,
}

/// What `stat` says.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub number: u64,
    pub kind: Kind,
    pub owner: Owner,
    pub length: u64,
    pub changed: SystemTime,
}

#[derive(Clone, Debug)]
enum Body {
    File(Content),
    Folder(Entries),
    /// A socket or a pipe has nothing on the disk but its name.
    Other(Kind),
}

/// Owner and mode are on the disk at once: no test is about them.
#[derive(Clone, Debug)]
struct Node {
    owner: Owner,
    changed: SystemTime,
    body: Body,
}

/// All files. Those that have no name any more stay until the power fails: a process may have them open, and no test is long
/// enough for them to matter.
#[derive(Clone, Debug)]
pub struct Files {
    nodes: BTreeMap<u64, Node>,
    /// No number is used twice, so that the kernel never takes one file for another.
    last: u64,
}

impl Files {
    /// A disk with nothing on it.
    #[must_use]
    pub fn new(owner: Owner) -> Files {
        let root = Node::new(Kind::Folder, owner);
        Files { nodes: BTreeMap::from([(ROOT, root)]), last: ROOT }
    }

    fn node(&mut self, number: u64) -> Result<&mut Node, Errno> {
        self.nodes.get_mut(&number).ok_or(Errno::STALE)
    }

    fn folder(&mut self, number: u64) -> Result<&mut Entries, Errno> {
        match &mut self.node(number)?.body {
            Body::Folder(entries) => Ok(entries),
            _ => Err(Errno::NOTDIR),
        }
    }

    fn file(&mut self, number: u64) -> Result<&mut Content, Errno> {
        match &mut self.node(number)?.body {
            Body::File(content) => Ok(content),
            Body::Folder(_) => Err(Errno::ISDIR),
            Body::Other(_) => Err(Errno::INVAL),
        }
    }

    /// The file with this name in a folder.
    pub fn find(&mut self, folder: u64, name: &OsStr) -> Result<u64, Errno> {
        self.folder(folder)?.seen.get(name).copied().ok_or(Errno::NOENT)
    }

    pub fn look(&mut self, number: u64) -> Result<Look, Errno> {
        let node = self.node(number)?;
        let length = match &node.body {
            Body::File(content) => content.seen.len() as u64,
            Body::Folder(_) | Body::Other(_) => 0,
        };
        let (kind, owner, changed) = (node.kind(), node.owner, node.changed);
        Ok(Look { number, kind, owner, length, changed })
    }

    /// The names in a folder, with what they are names of.
    pub fn list(&mut self, folder: u64) -> Result<Vec<(OsString, u64, Kind)>, Errno> {
        let names = self.folder(folder)?.seen.clone();
        let kind = |number: &u64| self.nodes.get(number).map_or(Kind::File, Node::kind);
        Ok(names.iter().map(|(name, number)| (name.clone(), *number, kind(number))).collect())
    }

    /// Makes something with a new name.
    pub fn make(
        &mut self,
        folder: u64,
        name: &OsStr,
        kind: Kind,
        owner: Owner,
    ) -> Result<u64, Errno> {
        if self.find(folder, name).is_ok() {
            return Err(Errno::EXIST);
        }
        let number = self.last + 1;
        self.folder(folder)?.step(vec![(name.to_owned(), Some(number))]);
        self.nodes.insert(number, Node::new(kind, owner));
        self.last = number;
        Ok(number)
    }

    /// Removes a name: of a folder, which has to be empty, or of something else.
    pub fn remove(&mut self, folder: u64, name: &OsStr, is_folder: bool) -> Result<(), Errno> {
        let number = self.find(folder, name)?;
        match &self.node(number)?.body {
            Body::Folder(_) if !is_folder => return Err(Errno::ISDIR),
            Body::Folder(entries) if !entries.seen.is_empty() => return Err(Errno::NOTEMPTY),
            Body::File(_) | Body::Other(_) if is_folder => return Err(Errno::NOTDIR),
            _ => {}
        }
        self.folder(folder)?.step(vec![(name.to_owned(), None)]);
        Ok(())
    }

    /// Gives something another name, which it takes from what had it. Within one folder that is one step; between two the
    /// disk may have either half.
    pub fn rename(
        &mut self,
        (folder, name): (u64, &OsStr),
        (to, new): (u64, &OsStr),
    ) -> Result<(), Errno> {
        let number = self.find(folder, name)?;
        if let Ok(old) = self.find(to, new) {
            let is_full = self.folder(old).is_ok_and(|entries| !entries.seen.is_empty());
            if is_full {
                return Err(Errno::NOTEMPTY);
            }
            if old == number {
                return Ok(());
            }
        }
        let (gone, there) = ((name.to_owned(), None), (new.to_owned(), Some(number)));
        let steps: Vec<(u64, Naming)> = if folder == to {
            vec![(folder, vec![gone, there])]
        } else {
            vec![(to, vec![there]), (folder, vec![gone])]
        };
        steps.into_iter().try_for_each(|(at, step)| {
            self.folder(at)?.step(step);
            Ok(())
        })
    }

    pub fn read(&mut self, number: u64, at: u64, most: u32) -> Result<Vec<u8>, Errno> {
        let bytes = &self.file(number)?.seen;
        let start = index(at).min(bytes.len());
        let end = start.saturating_add(most as usize).min(bytes.len());
        Ok(bytes[start..end].to_vec())
    }

    pub fn write(&mut self, number: u64, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        let end = at.checked_add(bytes.len() as u64).ok_or(Errno::FBIG)?;
        self.step(number, end, Write::At(at, bytes.to_vec()))
    }

    /// Sets the length of a file.
    pub fn cut(&mut self, number: u64, length: u64) -> Result<(), Errno> {
        self.step(number, length, Write::Length(length))
    }

    fn step(&mut self, number: u64, end: u64, write: Write) -> Result<(), Errno> {
        if end > LARGEST {
            return Err(Errno::FBIG);
        }
        self.file(number)?.step(write);
        self.node(number)?.changed = SystemTime::now();
        Ok(())
    }

    /// Sets the owner and the mode.
    pub fn own(&mut self, number: u64, owner: Owner) -> Result<(), Errno> {
        self.node(number)?.owner = owner;
        Ok(())
    }

    /// What a file holds is on the disk, and its name is not; what a folder holds is on the disk, which are names alone.
    pub fn sync(&mut self, number: u64) -> Result<(), Errno> {
        match &mut self.node(number)?.body {
            Body::File(content) => content.sync(),
            Body::Folder(entries) => entries.sync(),
            Body::Other(_) => {}
        }
        Ok(())
    }

    /// A sync that fails, and leaves nothing for the next one to do.
    pub fn fail_sync(&mut self, number: u64) -> Result<(), Errno> {
        match &mut self.node(number)?.body {
            Body::File(content) => content.fail_sync(),
            Body::Folder(entries) => entries.fail_sync(),
            Body::Other(_) => {}
        }
        Ok(())
    }

    /// Whether a sync of this would write something.
    pub fn is_clean(&mut self, number: u64) -> bool {
        match self.node(number).map(|node| &node.body) {
            Ok(Body::File(content)) => content.is_clean(),
            Ok(Body::Folder(entries)) => entries.is_clean(),
            _ => true,
        }
    }

    /// The power fails: of what was not synced, these shares of the names and of the content survive.
    pub fn lose_power(&mut self, random: &mut Random, names: Share, content: Share) {
        for node in self.nodes.values_mut() {
            match &mut node.body {
                Body::File(file) => file.lose_power(random, content),
                Body::Folder(entries) => entries.lose_power(random, names),
                Body::Other(_) => {}
            }
        }
        self.renumber();
    }

    /// Gives all that has a name a new number, and forgets the rest: what a process had open before is gone.
    fn renumber(&mut self) {
        let mut old = std::mem::take(&mut self.nodes);
        let mut numbers = BTreeMap::from([(ROOT, ROOT)]);
        let mut reached = vec![ROOT];
        while let Some(number) = reached.pop() {
            let Some(mut node) = old.remove(&number) else { continue };
            if let Body::Folder(entries) = &mut node.body {
                for name in entries.seen.values_mut() {
                    if *name != ROOT && !numbers.contains_key(name) {
                        self.last += 1;
                        numbers.insert(*name, self.last);
                        reached.push(*name);
                    }
                    *name = numbers[name];
                }
                entries.durable = entries.seen.clone();
            }
            self.nodes.insert(numbers[&number], node);
        }
    }
}

impl Node {
    fn new(kind: Kind, owner: Owner) -> Node {
        let body = match kind {
            Kind::File => Body::File(Content::new()),
            Kind::Folder => Body::Folder(Entries::new()),
            Kind::Socket | Kind::Pipe => Body::Other(kind),
        };
        Node { owner, changed: SystemTime::now(), body }
    }

    fn kind(&self) -> Kind {
        match &self.body {
            Body::File(_) => Kind::File,
            Body::Folder(_) => Kind::Folder,
            Body::Other(kind) => *kind,
        }
    }
}

#[cfg(test)]
mod tests;
