//! What the kernel talks to: each operation is done on the real files, unless what it is about is haunted.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, Request, WriteFlags,
};

use super::files::attributes;
use super::{Shared, Touch};

/// Nothing may be remembered by the kernel.
const NOW: Duration = Duration::ZERO;
const HUGE: u64 = 1 << 40;

/// What the kernel talks to.
pub(super) struct View(pub(super) Arc<Shared>);

impl View {
    fn entry(shared: &Shared, path: &Path, touch: Touch) -> Result<FileAttr, Errno> {
        let mut attr = attributes(shared.files.number(path), &shared.files.meta(path)?);
        if touch == Touch::Huge && attr.kind == FileType::RegularFile {
            attr.size = HUGE;
        }
        Ok(attr)
    }
}

impl Filesystem for View {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let path = self.0.files.path(parent).join(name);
        let shared = Arc::clone(&self.0);
        let seen = path.clone();
        self.0.visit(&seen, move |touch| {
            match touch.and_then(|touch| Self::entry(&shared, &path, touch)) {
                Ok(attr) => reply.entry(&NOW, &attr, Generation(0)),
                Err(e) => reply.error(e),
            }
        });
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let path = self.0.files.path(ino);
        let shared = Arc::clone(&self.0);
        let seen = path.clone();
        self.0.visit(&seen, move |touch| {
            match touch.and_then(|touch| Self::entry(&shared, &path, touch)) {
                Ok(attr) => reply.attr(&NOW, &attr),
                Err(e) => reply.error(e),
            }
        });
    }

    fn readlink(&self, request: &Request, ino: INodeNo, reply: ReplyData) {
        let path = self.0.files.path(ino);
        // Below /proc it is the reader's own.
        let own = (path == Path::new("self")).then(|| PathBuf::from(request.pid().to_string()));
        let shared = Arc::clone(&self.0);
        self.0.visit(&path.clone(), move |touch| {
            let target = match touch {
                Ok(Touch::Fine) => own.map_or_else(|| shared.files.link(&path), Ok),
                Ok(_) => Ok(PathBuf::from("\u{1}nonsense")),
                Err(e) => Err(e),
            };
            match target {
                Ok(target) => reply.data(target.as_os_str().as_encoded_bytes()),
                Err(e) => reply.error(e),
            }
        });
    }

    fn open(&self, _: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let path = self.0.files.path(ino);
        let shared = Arc::clone(&self.0);
        self.0.visit(&path.clone(), move |touch| {
            // What /proc and cgroups give has no size.
            let fresh = FopenFlags::FOPEN_DIRECT_IO;
            match touch.and_then(|_| shared.files.open(&path, flags.0)) {
                Ok(handle) => reply.opened(handle, fresh),
                Err(e) => reply.error(e),
            }
        });
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let path = self.0.files.path(ino);
        let shared = Arc::clone(&self.0);
        self.0.visit(&path, move |touch| {
            let size = size as usize;
            let bytes = match touch {
                Ok(Touch::Fine) => shared.files.read(fh, offset, size),
                Ok(Touch::Garbage) if offset > 4096 => Ok(Vec::new()),
                Ok(Touch::Garbage) => Ok((0..size).map(|_| fastrand::u8(..)).collect()),
                Ok(Touch::Huge) => Ok(vec![b'1'; size]),
                Err(e) => Err(e),
            };
            match bytes {
                Ok(bytes) => reply.data(&bytes),
                Err(e) => reply.error(e),
            }
        });
    }

    fn readdir(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let path = self.0.files.path(ino);
        let shared = Arc::clone(&self.0);
        self.0.visit(&path.clone(), move |touch| {
            let names = touch.and_then(|_| shared.files.names(&path));
            let names = match names {
                Ok(names) => names,
                Err(e) => return reply.error(e),
            };
            let skip = usize::try_from(offset).unwrap_or(usize::MAX);
            for (at, (name, kind)) in names.into_iter().enumerate().skip(skip) {
                let number = shared.files.number(&path.join(&name));
                if reply.add(number, at as u64 + 1, kind, &name) {
                    break;
                }
            }
            reply.ok();
        });
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let path = self.0.files.path(parent).join(name);
        let shared = Arc::clone(&self.0);
        self.0.visit(&path.clone(), move |touch| {
            let made = touch.and_then(|touch| {
                let handle = shared.files.create(&path, mode, flags)?;
                Ok((handle, Self::entry(&shared, &path, touch)?))
            });
            match made {
                Ok((handle, attr)) => {
                    let fresh = FopenFlags::FOPEN_DIRECT_IO;
                    reply.created(&NOW, &attr, Generation(0), handle, fresh);
                }
                Err(e) => reply.error(e),
            }
        });
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let path = self.0.files.path(ino);
        let (shared, data) = (Arc::clone(&self.0), data.to_vec());
        self.0.visit(&path, move |touch| {
            match touch.and_then(|_| shared.files.write(fh, offset, &data)) {
                Ok(()) => reply.written(data.len() as u32),
                Err(e) => reply.error(e),
            }
        });
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.0.files.close(fh);
        reply.ok();
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.done(ino, reply);
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.done(ino, reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let path = self.0.files.path(parent).join(name);
        let shared = Arc::clone(&self.0);
        self.0.visit(&path.clone(), move |touch| {
            answer(reply, touch.and_then(|_| shared.files.remove(&path)));
        });
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let from = self.0.files.path(parent).join(name);
        let to = self.0.files.path(new_parent).join(new_name);
        let shared = Arc::clone(&self.0);
        self.0.visit(&from.clone(), move |touch| {
            answer(reply, touch.and_then(|_| shared.files.rename(&from, &to)));
        });
    }
}

impl View {
    fn done(&self, ino: INodeNo, reply: ReplyEmpty) {
        let path = self.0.files.path(ino);
        self.0.visit(&path, move |touch| answer(reply, touch.map(|_| ())));
    }
}

fn answer(reply: ReplyEmpty, outcome: Result<(), Errno>) {
    match outcome {
        Ok(()) => reply.ok(),
        Err(e) => reply.error(e),
    }
}
