//! Small files of `/proc`, held open from one look to the next where there are descriptors to spare: reading a held one
//! costs a third. A held file is of one process or thread for ever, whoever gets its number later.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, pread};
use rustix::process::{Resource, getrlimit};

/// The kernel keeps a page for each held file.
const MOST: usize = 2048;
/// No line of a `stat` or `schedstat` is longer.
const LINE: usize = 1024;

/// The descriptors that may be held, shared by all files.
#[derive(Debug)]
pub struct Pool {
    held: Rc<()>,
    most: usize,
}

impl Pool {
    /// A quarter of what this process may open.
    pub fn of_self() -> Self {
        let soft = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        Self::of(usize::try_from(soft / 4).unwrap_or(MOST).min(MOST))
    }

    /// So many.
    pub fn of(most: usize) -> Self {
        Self { held: Rc::new(()), most }
    }

    /// How many are held.
    pub fn held(&self) -> usize {
        Rc::strong_count(&self.held).saturating_sub(1)
    }

    fn place(&self) -> Option<Rc<()>> {
        (self.held() < self.most).then(|| Rc::clone(&self.held))
    }
}

/// One file that is read again and again.
#[derive(Debug, Default)]
pub struct Held(Option<(OwnedFd, Rc<()>)>);

/// What a read gave.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    bytes: [u8; LINE],
    length: usize,
}

impl Line {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

impl Held {
    /// Reads it from its beginning, and opens it first if it is not held. It is let go of after an error.
    pub fn read(&mut self, pool: &Pool, path: &Path) -> io::Result<Line> {
        let mut line = Line { bytes: [0; LINE], length: 0 };
        if let Some((file, _)) = &self.0 {
            let read = retry(|| pread(file, &mut line.bytes, 0));
            line.length = read.inspect_err(|_| self.0 = None)?;
            return Ok(line);
        }
        let file = retry(|| open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()))?;
        line.length = retry(|| pread(&file, &mut line.bytes, 0))?;
        self.0 = pool.place().map(|place| (file, place));
        Ok(line)
    }
}

fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}
