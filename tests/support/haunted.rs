//! A file system over real files that answers as a broken one would: files that are gone, that no read ever comes back
//! from, that are slow, full of nonsense, without end, or not for us. It shows what is below a directory as it is, and
//! haunts one name of it at a time. Needs root and FUSE. What hangs goes on when it is healed; nothing is lost.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fuser::{BackgroundSession, Config, Errno, MountOption, SessionACL};
use tempfile::TempDir;

use super::not_tested;

mod files;
mod view;

use files::Files;
use view::View;

/// What happens to whoever looks at the haunted name or below it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ghost {
    /// It is not there.
    Gone,
    /// The device fails.
    Broken,
    /// Nothing comes back until it is healed.
    Mute,
    /// Everything takes that long.
    Slow(Duration),
    /// Reads give nonsense.
    Garbage,
    /// Reads give digits without end.
    Huge,
    /// It is not for us.
    Denied,
}

/// What an operation is to do.
#[derive(Clone, Copy, PartialEq)]
enum Touch {
    Fine,
    Garbage,
    Huge,
}

type Work = Box<dyn FnOnce(Result<Touch, Errno>) + Send>;

struct Shared {
    files: Files,
    haunted: Mutex<Option<(Ghost, OsString)>>,
    waiting: Mutex<Vec<Work>>,
    touched: AtomicU64,
}

/// A mounted one; gone with the value.
pub struct Haunted {
    point: TempDir,
    shared: Arc<Shared>,
    session: Option<BackgroundSession>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Haunted {
    /// Shows what is below `base`; `None`, and told, where this machine lets us mount nothing.
    pub fn over(base: &Path) -> Option<Self> {
        let point = TempDir::new().expect("a temporary directory can be made");
        let shared = Arc::new(Shared {
            files: Files::below(base),
            haunted: Mutex::default(),
            waiting: Mutex::default(),
            touched: AtomicU64::new(0),
        });
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("dlock-test".into())];
        config.acl = SessionACL::All;
        match fuser::spawn_mount(View(Arc::clone(&shared)), point.path(), &config) {
            Ok(session) => Some(Self { point, shared, session: Some(session) }),
            Err(e) => {
                not_tested(&format!("no FUSE, so no file system that hangs: {e}"));
                None
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.point.path()
    }

    /// From now on this name is haunted, wherever it is in the tree; all of it, if it is empty.
    pub fn haunt(&self, ghost: Ghost, name: impl AsRef<OsStr>) {
        *lock(&self.shared.haunted) = Some((ghost, name.as_ref().to_owned()));
        self.shared.touched.store(0, Ordering::Relaxed);
    }

    /// How often the haunted name was looked at since then.
    pub fn touched(&self) -> u64 {
        self.shared.touched.load(Ordering::Relaxed)
    }

    /// All is as it really is, and what hung goes on.
    pub fn heal(&self) {
        *lock(&self.shared.haunted) = None;
        let waiting = std::mem::take(&mut *lock(&self.shared.waiting));
        waiting.into_iter().for_each(|work| work(Ok(Touch::Fine)));
    }
}

impl Drop for Haunted {
    fn drop(&mut self) {
        self.heal();
        if let Some(session) = self.session.take() {
            // Whoever still has a file open there keeps the session, not the mount.
            drop(session);
        }
    }
}

impl Shared {
    /// Does it now, later, or not at all.
    fn visit(&self, path: &Path, work: impl FnOnce(Result<Touch, Errno>) + Send + 'static) {
        let haunted = lock(&self.haunted);
        let ghost = haunted
            .as_ref()
            .filter(|(_, name)| name.is_empty() || path.iter().any(|part| part == name));
        let Some((ghost, _)) = ghost else {
            drop(haunted);
            return work(Ok(Touch::Fine));
        };
        self.touched.fetch_add(1, Ordering::Relaxed);
        let told = match *ghost {
            Ghost::Mute => return lock(&self.waiting).push(Box::new(work)),
            Ghost::Slow(length) => {
                std::thread::spawn(move || {
                    std::thread::sleep(length);
                    work(Ok(Touch::Fine));
                });
                return;
            }
            Ghost::Gone => Err(Errno::ENOENT),
            Ghost::Broken => Err(Errno::EIO),
            Ghost::Denied => Err(Errno::EACCES),
            Ghost::Garbage => Ok(Touch::Garbage),
            Ghost::Huge => Ok(Touch::Huge),
        };
        drop(haunted);
        work(told);
    }
}
