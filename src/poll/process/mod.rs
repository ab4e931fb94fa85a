//! Looks at workers' processes through a procfs (`--path.procfs`), blocking. Says what is there, that it is not there, or
//! why that cannot be told; whether that means dead is decided elsewhere. A process that is hidden is never "gone".

pub mod dir;
pub mod host;
pub mod inner;
pub mod privilege;
pub mod scan;
pub mod stat;
pub mod visibility;

use std::fs;
use std::path::{Path, PathBuf};

use super::TokenPid;
use super::cgroup::Freezer;
use super::mounts::Mounts;
use crate::clock;
use crate::observe::worker::{Process, ProcessSeen, ProcessUnknown};
use crate::observe::{Mono, Span};
use dir::Reading;
use host::Named;
use inner::Inner;
use visibility::Visibility;

/// Where the kernel's file systems are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// `--path.procfs`.
    pub procfs: PathBuf,
    /// `--path.cgroupfs`; the mounts of this process otherwise.
    pub cgroupfs: Option<PathBuf>,
}

/// Which process or processes to look at.
#[derive(Clone, Debug)]
pub enum Target {
    /// The pid that a pid file held, and when the file was written.
    Pid(i32, Mono),
    /// The pid that the owner's token names.
    Token(TokenPid),
    /// Every process whose command line matches.
    Command(regex::bytes::Regex),
    /// Every process in the cgroup of this systemd unit.
    Unit(String),
    /// Every process in this cgroup or one below.
    Cgroup(String),
}

/// What one look showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// When.
    pub span: Span,
    /// What.
    pub seen: ProcessSeen,
    /// What exactly failed or hid it; empty if nothing did.
    pub detail: String,
}

/// Looks at all targets in one pass over the procfs; one answer for each, in their order.
pub fn look(paths: &Paths, targets: &[Target]) -> Vec<Seen> {
    let sent = clock::mono();
    let mut pass = match Pass::begin(paths) {
        Ok(pass) => pass,
        Err(detail) => {
            let unknown = ProcessSeen::Unknown(ProcessUnknown::Failed);
            let seen = Seen { span: Span { sent, done: clock::mono() }, seen: unknown, detail };
            return vec![seen; targets.len()];
        }
    };
    let mut found = scan::scan(&paths.procfs, targets).into_iter();
    targets
        .iter()
        .map(|target| {
            let ((seen, detail), sent) = match target {
                Target::Pid(pid, written) => (pass.pid(*pid, *written), None),
                Target::Token(token) => (pass.token(token), None),
                // The scan began at the beginning, and what it did not find was not there at some time since.
                _ => (pass.matched(found.next().unwrap_or_default()), Some(sent)),
            };
            let started = std::mem::replace(&mut pass.last, clock::mono());
            Seen { span: Span { sent: sent.unwrap_or(started), done: pass.last }, seen, detail }
        })
        .collect()
}

type Answer = (ProcessSeen, String);

fn unknown(why: ProcessUnknown, detail: impl Into<String>) -> Answer {
    (ProcessSeen::Unknown(why), detail.into())
}

fn processes(list: Vec<Process>) -> Answer {
    (ProcessSeen::Processes(list), String::new())
}

/// One pass: what is the same for all of its targets is read once.
struct Pass<'a> {
    root: &'a Path,
    freezer: Freezer,
    /// This host's name.
    own: String,
    visibility: Visibility,
    /// Pids as seen inside containers; read when first needed.
    inner: Option<Inner>,
    last: Mono,
}

impl<'a> Pass<'a> {
    fn begin(paths: &'a Paths) -> Result<Self, String> {
        let root = paths.procfs.as_path();
        if let Err(e) = fs::read_dir(root) {
            return Err(format!("{}: {e}; check --path.procfs", root.display()));
        }
        let mounts = Mounts::of_self().map_err(|e| format!("/proc/self/mountinfo: {e}"))?;
        Ok(Self {
            root,
            freezer: Freezer::find(&mounts, paths.cgroupfs.as_deref()),
            own: host::own(),
            visibility: Visibility::of(root, &mounts),
            inner: None,
            last: clock::mono(),
        })
    }

    fn read(&mut self, pid: i32) -> Reading {
        dir::read(self.root, pid, &mut self.freezer)
    }

    fn pid(&mut self, pid: i32, written: Mono) -> Answer {
        let is_init = pid == 1 && self.visibility.has_kernel();
        match self.read(pid) {
            Reading::There(process) if !is_init => processes(vec![process]),
            reading => match self.written(pid, written) {
                Some(outer) => self.mapped(outer, pid),
                None if is_init => {
                    let why = "the file's pid is 1, which is init here: it was written in a container that is not \
                               seen, or in one of several";
                    unknown(ProcessUnknown::Hidden, why)
                }
                // A pid file from before a reboot may have a number that belongs to the kernel now.
                None => self.absent(pid, reading, false),
            },
        }
    }

    /// A process of a container, found by the pid that it has inside.
    fn mapped(&mut self, outer: i32, inner: i32) -> Answer {
        match self.read(outer) {
            Reading::There(process) => processes(vec![process]),
            _ => unknown(
                ProcessUnknown::Failed,
                format!("pid {outer}, which is {inner} in its container, went while it was read"),
            ),
        }
    }

    fn token(&mut self, token: &TokenPid) -> Answer {
        let pid = token.pid;
        if pid <= 0 {
            return unknown(ProcessUnknown::NoPid, format!("the token's pid is {pid}"));
        }
        let named = host::names(token.host.as_deref(), &self.own);
        if named == Named::Elsewhere {
            // Containers have host names of their own.
            let name = token.host.as_deref().unwrap_or_default();
            let root = self.root;
            return match self.inner().named(root, pid, name) {
                Some(outer) => self.mapped(outer, pid),
                None => unknown(
                    ProcessUnknown::ForeignHost,
                    "the token names another host, or this one by a full name that it is not known by",
                ),
            };
        }
        let named_here = named == Named::Here;
        if named_here && let Some(why) = self.visibility.foreign_numbering() {
            return unknown(ProcessUnknown::Hidden, why);
        }
        // The first process of a container; init here lives for ever and would hide its death.
        if pid == 1 && self.visibility.has_kernel() {
            let why = "the token's pid is 1, which is init here: it is of another pid namespace";
            return unknown(ProcessUnknown::Hidden, why);
        }
        match self.read(pid) {
            Reading::KernelThread => unknown(
                ProcessUnknown::Hidden,
                format!(
                    "pid {pid} is a kernel thread here: the token's pid is of another pid namespace"
                ),
            ),
            Reading::There(process) => processes(vec![process]),
            Reading::NotThere if named_here && self.inner().has(pid) => unknown(
                ProcessUnknown::Hidden,
                format!("no pid {pid} here, but a process in a container has that number inside"),
            ),
            reading => self.absent(pid, reading, named_here),
        }
    }

    fn absent(&self, pid: i32, reading: Reading, named_here: bool) -> Answer {
        let path = self.root.join(pid.to_string());
        match (reading, self.visibility.hides()) {
            (Reading::NotThere, None) => (ProcessSeen::Gone { named_here }, String::new()),
            (Reading::NotThere, Some(why)) => unknown(ProcessUnknown::Hidden, why),
            (Reading::Denied(e), _) => {
                let fix = "run as the worker's user, in the gid= group of the mount, or with CAP_SYS_PTRACE";
                unknown(ProcessUnknown::Hidden, format!("{}: {e}; {fix}", path.display()))
            }
            (Reading::Failed(e), _) => {
                unknown(ProcessUnknown::Failed, format!("{}: {e}", path.display()))
            }
            (Reading::There(process), _) => processes(vec![process]),
            (Reading::KernelThread, _) => (ProcessSeen::Gone { named_here: false }, String::new()),
        }
    }

    fn matched(&mut self, found: scan::Found) -> Answer {
        let mut list = Vec::new();
        let mut unread = found.unread;
        for pid in found.pids {
            match self.read(pid) {
                Reading::There(process) => list.push(process),
                Reading::NotThere | Reading::KernelThread => {}
                Reading::Denied(e) | Reading::Failed(e) => unread = Some(format!("pid {pid}: {e}")),
            }
        }
        if !list.is_empty() {
            return processes(list);
        }
        if let Some(e) = found.failed {
            return unknown(ProcessUnknown::Failed, format!("{}: {e}", self.root.display()));
        }
        match self.visibility.hides().or(unread) {
            Some(why) => unknown(ProcessUnknown::Hidden, why),
            None => (ProcessSeen::Gone { named_here: false }, String::new()),
        }
    }

    fn written(&mut self, pid: i32, at: Mono) -> Option<i32> {
        let root = self.root;
        self.inner().written(root, pid, at)
    }

    fn inner(&mut self) -> &Inner {
        self.inner.get_or_insert_with(|| scan::inner_pids(self.root))
    }
}

#[cfg(test)]
mod tests;
