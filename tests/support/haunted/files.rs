//! The real files below a directory, by the numbers that the kernel knows them by. It haunts nothing.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use fuser::{Errno, FileAttr, FileHandle, FileType, INodeNo};

use super::lock;

/// See the module.
pub(super) struct Files {
    base: PathBuf,
    known: Mutex<Known>,
    open: Mutex<HashMap<u64, Arc<File>>>,
}

/// Numbers begin with the root's, which is 1.
#[derive(Default)]
struct Known {
    paths: Vec<PathBuf>,
    numbers: HashMap<PathBuf, u64>,
    handles: u64,
}

impl Files {
    pub fn below(base: &Path) -> Self {
        let files = Self { base: base.to_owned(), known: Mutex::default(), open: Mutex::default() };
        files.number(Path::new(""));
        files
    }

    /// Its number, the same each time.
    pub fn number(&self, path: &Path) -> INodeNo {
        let mut known = lock(&self.known);
        if let Some(number) = known.numbers.get(path) {
            return INodeNo(*number);
        }
        known.paths.push(path.to_owned());
        let number = known.paths.len() as u64;
        known.numbers.insert(path.to_owned(), number);
        INodeNo(number)
    }

    /// What has this number, below the root.
    pub fn path(&self, number: INodeNo) -> PathBuf {
        let at = usize::try_from(number.0 - 1).unwrap_or(usize::MAX);
        lock(&self.known).paths.get(at).cloned().unwrap_or_default()
    }

    pub fn meta(&self, path: &Path) -> Result<Metadata, Errno> {
        let real = self.base.join(path);
        // A process's root is a link that leads out of here, and is shown as what it leads to.
        let meta =
            if path.ends_with("root") { fs::metadata(real) } else { fs::symlink_metadata(real) };
        meta.map_err(errno)
    }

    pub fn link(&self, path: &Path) -> Result<PathBuf, Errno> {
        fs::read_link(self.base.join(path)).map_err(errno)
    }

    pub fn names(&self, path: &Path) -> Result<Vec<(OsString, FileType)>, Errno> {
        let entries = fs::read_dir(self.base.join(path)).map_err(errno)?;
        let of = |entry: fs::DirEntry| {
            let kind = entry.file_type().ok().and_then(FileType::from_std);
            (entry.file_name(), kind.unwrap_or(FileType::RegularFile))
        };
        Ok(entries.flatten().map(of).collect())
    }

    pub fn open(&self, path: &Path, flags: i32) -> Result<FileHandle, Errno> {
        // O_WRONLY and O_RDWR.
        let writes = flags & 3 != 0;
        let opened =
            OpenOptions::new().read(flags & 3 != 1).write(writes).open(self.base.join(path));
        Ok(self.keep(opened.map_err(errno)?))
    }

    pub fn create(&self, path: &Path, mode: u32, _: i32) -> Result<FileHandle, Errno> {
        let mut options = OpenOptions::new();
        let opened = options.write(true).create_new(true).mode(mode).open(self.base.join(path));
        Ok(self.keep(opened.map_err(errno)?))
    }

    fn keep(&self, file: File) -> FileHandle {
        let mut known = lock(&self.known);
        known.handles += 1;
        lock(&self.open).insert(known.handles, Arc::new(file));
        FileHandle(known.handles)
    }

    fn file(&self, handle: FileHandle) -> Result<Arc<File>, Errno> {
        lock(&self.open).get(&handle.0).cloned().ok_or(Errno::EBADF)
    }

    pub fn read(&self, handle: FileHandle, offset: u64, size: usize) -> Result<Vec<u8>, Errno> {
        let file = self.file(handle)?;
        let mut bytes = vec![0; size];
        let mut done = 0;
        while done < size {
            match file.read_at(&mut bytes[done..], offset + done as u64).map_err(errno)? {
                0 => break,
                n => done += n,
            }
        }
        bytes.truncate(done);
        Ok(bytes)
    }

    pub fn write(&self, handle: FileHandle, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.file(handle)?.write_all_at(bytes, offset).map_err(errno)
    }

    pub fn close(&self, handle: FileHandle) {
        lock(&self.open).remove(&handle.0);
    }

    pub fn remove(&self, path: &Path) -> Result<(), Errno> {
        fs::remove_file(self.base.join(path)).map_err(errno)
    }

    pub fn rename(&self, from: &Path, to: &Path) -> Result<(), Errno> {
        fs::rename(self.base.join(from), self.base.join(to)).map_err(errno)
    }
}

fn errno(error: io::Error) -> Errno {
    Errno::from(error)
}

/// As the kernel wants them.
pub(super) fn attributes(ino: INodeNo, meta: &Metadata) -> FileAttr {
    let time = |t: io::Result<std::time::SystemTime>| t.unwrap_or(std::time::UNIX_EPOCH);
    FileAttr {
        ino,
        size: meta.size(),
        blocks: meta.blocks(),
        atime: time(meta.accessed()),
        mtime: time(meta.modified()),
        ctime: time(meta.modified()),
        crtime: time(meta.modified()),
        kind: FileType::from_std(meta.file_type()).unwrap_or(FileType::RegularFile),
        perm: u16::try_from(meta.mode() & 0o7777).unwrap_or(0),
        nlink: u32::try_from(meta.nlink()).unwrap_or(1),
        uid: meta.uid(),
        gid: meta.gid(),
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}
