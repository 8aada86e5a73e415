//! Answers the kernel for a disk. Nothing is cached above it: each call of a process comes here.

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use parking_lot::MutexGuard;
use rustix::fs::FileType as Type;
use rustix::io::Errno as Error;

use crate::faults::{Call, Refusal, Shared, State};
use crate::files::{Kind, Look, Owner};

/// The kernel asks anew each time.
const FRESH: Duration = Duration::ZERO;

/// No number is used twice.
const ONLY: Generation = Generation(0);

/// No file is known by where it was opened.
const HANDLE: FileHandle = FileHandle(0);

const BLOCK: u32 = 4096;

/// The size that it pretends to have, in blocks.
const BLOCKS: u64 = 1 << 20;

/// What answers the kernel.
#[derive(Debug)]
pub struct Served(Arc<Shared>);

impl Served {
    pub fn new(shared: Arc<Shared>) -> Served {
        Served(shared)
    }

    /// Does something to the files, if the disk takes the call.
    fn call<T>(
        &self,
        call: Call,
        work: impl FnOnce(&mut MutexGuard<'_, State>) -> Result<T, Error>,
    ) -> Result<T, Errno> {
        let done = self.0.enter(call).and_then(|mut state| work(&mut state));
        done.map_err(|error| Errno::from_i32(error.raw_os_error()))
    }

    fn look(&self, number: INodeNo) -> Result<FileAttr, Errno> {
        self.call(Call::Look, |state| Ok(shown(state.files.look(number.0)?)))
    }

    fn make(
        &self,
        request: &Request,
        (folder, name): (INodeNo, &OsStr),
        kind: Kind,
        mode: u32,
    ) -> Result<FileAttr, Errno> {
        let owner = Owner { user: request.uid(), group: request.gid(), mode: permissions(mode) };
        self.call(Call::Write, |state| {
            let number = state.files.make(folder.0, name, kind, owner)?;
            Ok(shown(state.files.look(number)?))
        })
    }

    fn remove(&self, (folder, name): (INodeNo, &OsStr), is_folder: bool, reply: ReplyEmpty) {
        let done = self.call(Call::Rename, |state| state.files.remove(folder.0, name, is_folder));
        answer(done, reply);
    }

    fn sync(&self, number: INodeNo, reply: ReplyEmpty) {
        answer(self.call(Call::Sync, |state| state.sync(number.0)), reply);
    }
}

fn answer(done: Result<(), Errno>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

fn enter(found: Result<FileAttr, Errno>, reply: ReplyEntry) {
    match found {
        Ok(found) => reply.entry(&FRESH, &found, ONLY),
        Err(error) => reply.error(error),
    }
}

fn attributes(found: Result<FileAttr, Errno>, reply: ReplyAttr) {
    match found {
        Ok(found) => reply.attr(&FRESH, &found),
        Err(error) => reply.error(error),
    }
}

/// The permissions in a mode.
fn permissions(mode: u32) -> u16 {
    u16::try_from(mode & 0o7777).unwrap_or_default()
}

fn shown(look: Look) -> FileAttr {
    FileAttr {
        ino: INodeNo(look.number),
        size: look.length,
        blocks: look.length.div_ceil(512),
        atime: look.changed,
        mtime: look.changed,
        ctime: look.changed,
        crtime: look.changed,
        kind: of_kind(look.kind),
        perm: look.owner.mode,
        nlink: 1,
        uid: look.owner.user,
        gid: look.owner.group,
        rdev: 0,
        blksize: BLOCK,
        flags: 0,
    }
}

fn of_kind(kind: Kind) -> FileType {
    match kind {
        Kind::File => FileType::RegularFile,
        Kind::Folder => FileType::Directory,
        Kind::Socket => FileType::Socket,
        Kind::Pipe => FileType::NamedPipe,
    }
}

impl Filesystem for Served {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self.call(Call::Look, |state| {
            let number = state.files.find(parent.0, name)?;
            Ok(shown(state.files.look(number)?))
        });
        enter(found, reply);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        attributes(self.look(ino), reply);
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let changed = self.call(Call::Rename, |state| {
            if let Some(size) = size {
                state.files.cut(ino.0, size)?;
            }
            let mut owner = state.files.look(ino.0)?.owner;
            owner.mode = mode.map_or(owner.mode, permissions);
            (owner.user, owner.group) = (uid.unwrap_or(owner.user), gid.unwrap_or(owner.group));
            state.files.own(ino.0, owner)?;
            Ok(shown(state.files.look(ino.0)?))
        });
        attributes(changed, reply);
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        let kind = match Type::from_raw_mode(mode) {
            Type::RegularFile => Kind::File,
            Type::Socket => Kind::Socket,
            Type::Fifo => Kind::Pipe,
            _ => return reply.error(Errno::EPERM),
        };
        enter(self.make(request, (parent, name), kind, mode & !umask), reply);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        enter(self.make(request, (parent, name), Kind::Folder, mode & !umask), reply);
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        match self.make(request, (parent, name), Kind::File, mode & !umask) {
            Ok(made) => reply.created(&FRESH, &made, ONLY, HANDLE, FopenFlags::FOPEN_DIRECT_IO),
            Err(error) => reply.error(error),
        }
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.remove((parent, name), false, reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.remove((parent, name), true, reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        if !(flags - RenameFlags::RENAME_NOREPLACE).is_empty() {
            return reply.error(Errno::EINVAL);
        }
        let done = self.call(Call::Rename, |state| {
            let is_there = state.files.find(newparent.0, newname).is_ok();
            if is_there && flags.contains(RenameFlags::RENAME_NOREPLACE) {
                return Err(Error::EXIST);
            }
            state.files.rename((parent.0, name), (newparent.0, newname))
        });
        answer(done, reply);
    }

    fn open(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.look(ino) {
            Ok(_) => reply.opened(HANDLE, FopenFlags::FOPEN_DIRECT_IO),
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.call(Call::Look, |state| state.files.read(ino.0, offset, size)) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.call(Call::Write, |state| state.files.write(ino.0, offset, data)) {
            Ok(()) => reply.written(u32::try_from(data.len()).unwrap_or(u32::MAX)),
            Err(error) => reply.error(error),
        }
    }

    /// The end of a process closes its files, and must not wait for the disk: the kernel asks once, and not again.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.sync(ino, reply);
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.sync(ino, reply);
    }

    fn readdir(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let listed = match self.call(Call::Look, |state| state.files.list(ino.0)) {
            Ok(listed) => listed,
            Err(error) => return reply.error(error),
        };
        let skipped = crate::body::index(offset);
        for (place, (name, number, kind)) in (1..).zip(listed).skip(skipped) {
            if reply.add(INodeNo(number), place, of_kind(kind), name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        match self.call(Call::Look, |state| Ok(state.refuses == Some(Refusal::Full))) {
            Ok(is_full) => {
                let free = if is_full { 0 } else { BLOCKS / 2 };
                reply.statfs(BLOCKS, free, free, BLOCKS, BLOCKS / 2, BLOCK, 255, BLOCK);
            }
            Err(error) => reply.error(error),
        }
    }
}
