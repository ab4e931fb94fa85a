//! What samples of all processes share: where the procfs is, whether it hides processes, and the cgroup trees that can
//! freeze. Read anew once in a while, not for each process.

use std::io;
use std::time::Duration;

use super::files::Pool;
use super::tasks::Tasks;
use crate::observe::Mono;
use crate::observe::stall::HostUnknown;
use crate::poll::cgroup::Freezer;
use crate::poll::mounts::Mounts;
use crate::poll::process::Paths;
use crate::poll::process::dir::{SMALL, is_gone};
use crate::poll::process::visibility::Visibility;

/// So long a process is taken to be in the cgroup in which it was.
const TEXT_HOLDS: Duration = Duration::from_secs(2);

/// The surroundings of all processes.
#[derive(Debug)]
pub struct Surroundings {
    /// Where the kernel's file systems are.
    pub paths: Paths,
    /// The descriptors that may be held.
    pub pool: Pool,
    refresh: Duration,
    refreshed: Option<Mono>,
    visibility: Visibility,
    freezer: Freezer,
}

/// The text of a process's `cgroup` file and when it was read: processes seldom move. Whoever holds it forgets it when the
/// process may have been moved.
pub type CgroupText = Option<(Mono, Vec<u8>)>;

impl Surroundings {
    /// Nothing has been read; what changes seldom is read again after `refresh`.
    pub fn new(paths: Paths, pool: Pool, refresh: Duration) -> Self {
        Self {
            paths,
            pool,
            refresh,
            refreshed: None,
            visibility: Visibility::default(),
            freezer: Freezer::default(),
        }
    }

    /// Begins a tick.
    pub fn begin(&mut self, now: Mono) {
        self.freezer.begin_pass();
        if self.refreshed.is_none_or(|at| now.since(at) >= self.refresh) {
            self.refreshed = Some(now);
            let mounts = Mounts::of_self().unwrap_or_default();
            self.visibility = Visibility::of(&self.paths.procfs, &mounts);
            self.freezer = Freezer::find(&mounts, self.paths.cgroupfs.as_deref());
        }
    }

    /// What an error of a process's files says. With hidepid, a living process looks like one that has gone.
    pub fn why(&self, e: &io::Error) -> HostUnknown {
        match e.kind() {
            // Only a file that was held tells this, and it was this process's.
            _ if is_gone(e) && e.kind() != io::ErrorKind::NotFound => HostUnknown::Gone,
            io::ErrorKind::NotFound if self.visibility.hides().is_some() => HostUnknown::Hidden,
            io::ErrorKind::NotFound => HostUnknown::Gone,
            io::ErrorKind::PermissionDenied => HostUnknown::Permission,
            io::ErrorKind::InvalidData => HostUnknown::Malformed,
            _ => HostUnknown::Failed,
        }
    }

    /// Whether a process's cgroup is frozen; `None` if that cannot be read. One that cannot be frozen is not.
    pub fn frozen(&mut self, tasks: &Tasks, text: &mut CgroupText, now: Mono) -> Option<bool> {
        if text.as_ref().is_none_or(|(at, _)| now.since(*at) >= TEXT_HOLDS) {
            let path = tasks.process_dir().join("cgroup");
            let mut bytes = Vec::new();
            let read = std::fs::File::open(path)
                .and_then(|f| io::Read::read_to_end(&mut io::Read::take(f, SMALL), &mut bytes));
            *text = read.is_ok().then_some((now, bytes));
        }
        let (_, bytes) = text.as_ref()?;
        self.freezer.effective(bytes)
    }
}
