//! One round over processes: each to its cgroup, each cgroup once. A process is told by its start time, so that a pid
//! that another process has now is not booked to the worker.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::file::{self, Fault};
use super::locate::{Home, Homes, Place, Trees};
use super::members::Members;
use super::reason::{self, Notes};
use super::{cpu, freezer, memory, pressure};
use crate::clock;
use crate::observe::cgroup::{Cgroup, Reading};
use crate::observe::stall::HostUnknown;
use crate::observe::{CgroupRead, Mono, Span, label};
use crate::poll::process::dir::{self, ProcDir, SMALL};
use crate::poll::process::stat;
use crate::poll::residents::Resident;

/// What was read of one cgroup.
#[derive(Clone)]
struct Shared {
    span: Span,
    seen: Reading<Cgroup>,
    detail: String,
}

/// What was read so far.
pub struct Round<'a> {
    procfs: &'a Path,
    trees: Trees,
    members: &'a mut Members,
    known: HashMap<Arc<Homes>, Shared>,
    memory: memory::Known,
    pressure: pressure::Known,
    quotas: cpu::Quotas,
    states: freezer::States,
}

impl<'a> Round<'a> {
    /// Nothing yet.
    pub fn new(procfs: &'a Path, trees: Trees, members: &'a mut Members) -> Self {
        Self {
            procfs,
            trees,
            members,
            known: HashMap::new(),
            memory: memory::Known::default(),
            pressure: pressure::Known::new(),
            quotas: cpu::Quotas::new(),
            states: freezer::States::new(),
        }
    }

    /// The cgroup of one process.
    pub fn read(&mut self, resident: &Resident) -> CgroupRead {
        let sent = clock::mono();
        let Shared { span, seen, detail } = match self.homes(resident, sent) {
            Ok(homes) => self.shared(homes),
            Err(fault) => unknown(Span { sent, done: clock::mono() }, fault),
        };
        if is_lost(&seen) {
            // Its cgroup was removed, or it ended: it may be found elsewhere next time.
            self.members.forget(resident.process);
        }
        let worker = Arc::clone(&resident.worker);
        CgroupRead { worker, process: resident.process, span, seen, detail }
    }

    /// The cgroup in which a process was that ended; `None` if it was never found, or its cgroup was removed as well.
    pub fn last(&mut self, resident: &Resident) -> Option<CgroupRead> {
        let homes = self.members.last(resident.process)?;
        let Shared { span, seen, detail } = self.shared(homes);
        let worker = Arc::clone(&resident.worker);
        let read = CgroupRead { worker, process: resident.process, span, seen, detail };
        (!is_lost(&read.seen)).then_some(read)
    }

    /// Where it is: as it was found before, or by its `/proc/<pid>/cgroup`.
    fn homes(&mut self, resident: &Resident, now: Mono) -> Result<Arc<Homes>, Fault> {
        if let Some(homes) = self.members.of(resident.process, now) {
            return Ok(homes);
        }
        let homes = Arc::new(self.trees.homes(&self.lines(resident)?));
        self.members.found(resident.process, now, &homes);
        Ok(homes)
    }

    /// Its `/proc/<pid>/cgroup`, if it is still the same process.
    fn lines(&self, resident: &Resident) -> Result<Vec<u8>, Fault> {
        let process = resident.process;
        let path = self.procfs.join(process.pid.to_string());
        let failed = |e: io::Error| {
            let why = match e.kind() {
                _ if dir::is_gone(&e) => HostUnknown::Gone,
                io::ErrorKind::PermissionDenied => HostUnknown::Permission,
                _ => HostUnknown::Failed,
            };
            Fault::new(why, format!("{}: {e}", file::shown(&path)))
        };
        // Both files are of one process, whatever becomes of its pid meanwhile.
        let dir = ProcDir::open(self.procfs, process.pid).map_err(failed)?;
        let Some(stat) = stat::parse(&dir.file("stat", SMALL).map_err(failed)?) else {
            let what = format!("{}/stat is not what the kernel's manual says", path.display());
            return Err(Fault::new(HostUnknown::Malformed, what));
        };
        if stat.start_ticks != process.start_ticks {
            let what = format!("{} is another process by now", path.display());
            return Err(Fault::new(HostUnknown::Gone, what));
        }
        dir.file("cgroup", SMALL).map_err(failed)
    }

    fn shared(&mut self, homes: Arc<Homes>) -> Shared {
        if let Some(known) = self.known.get(&homes) {
            return known.clone();
        }
        let sent = clock::mono();
        let shared = match nowhere(&homes) {
            Some(fault) => unknown(Span { sent, done: sent }, fault),
            None => {
                let mut notes = Notes::default();
                let cgroup = self.cgroup(&homes, &mut notes);
                let span = Span { sent, done: clock::mono() };
                Shared { span, seen: Ok(cgroup), detail: notes.text() }
            }
        };
        self.known.insert(homes, shared.clone());
        shared
    }

    fn cgroup(&mut self, homes: &Homes, notes: &mut Notes) -> Cgroup {
        let [mem, cpu, io] = pressure::read(homes.v2.as_ref(), &mut self.pressure);
        let throttling = cpu::read(homes, &mut self.quotas);
        let memory = memory::read(homes, &mut self.memory);
        let frozen = freezer::state(homes, &mut self.states);
        let frozen_total = match homes.v2.as_ref().map(|home| &home.place) {
            Some(Place::In(levels)) => freezer::total(levels),
            _ => None,
        };
        Cgroup {
            path: name(homes).into(),
            memory: notes.keep("memory pressure", mem),
            cpu: notes.keep("cpu pressure", cpu),
            io: notes.keep("io pressure", io),
            oom_kills: notes.keep("oom kills", memory.oom_kills),
            throttling: notes.keep("throttling", throttling),
            frozen: notes.keep("freeze", frozen),
            frozen_total,
            memory_bytes: notes.keep("memory use", memory.bytes),
            memory_limit: notes.keep("memory limit", memory.limit),
        }
    }
}

/// Whether a cgroup, or one of its numbers, was gone when it was read.
fn is_lost(seen: &Reading<Cgroup>) -> bool {
    seen.as_ref().map_or(true, Cgroup::is_removed)
}

fn unknown(span: Span, Fault { why, what }: Fault) -> Shared {
    Shared { span, seen: Err(why), detail: reason::bounded(what) }
}

fn all(homes: &Homes) -> impl Iterator<Item = (&'static str, &Home)> {
    let Homes { v2, memory, cpu, freezer } = homes;
    let named = [("memory", memory), ("cpu", cpu), ("freezer", freezer)];
    v2.iter()
        .map(|h| ("v2", h))
        .chain(named.into_iter().filter_map(|(n, h)| Some((n, h.as_ref()?))))
}

/// Why nothing at all is known, if so.
fn nowhere(homes: &Homes) -> Option<Fault> {
    let mut first = None;
    for (_, home) in all(homes) {
        if matches!(home.place, Place::Root | Place::In(_)) {
            return None;
        }
        first.get_or_insert(home);
    }
    Some(match first {
        Some(home) => reason::elsewhere(&home.place, &home.path),
        None => Fault::new(
            HostUnknown::Absent,
            "the process is in no cgroup that has a memory, cpu or freezer controller or pressure",
        ),
    })
}

/// A name that two processes share only if they share every cgroup: the path if it is the same everywhere, else each
/// path but the root with its hierarchy.
fn name(homes: &Homes) -> String {
    let mut paths: Vec<(&[u8], String)> = Vec::new();
    for (hierarchy, home) in all(homes) {
        match paths.iter_mut().find(|(path, _)| *path == home.path) {
            Some((_, names)) => {
                names.push(',');
                names.push_str(hierarchy);
            }
            None => paths.push((&home.path, hierarchy.to_owned())),
        }
    }
    if let [(path, _)] = paths.as_slice() {
        return printable(path);
    }
    let parts = paths.iter().filter(|(path, _)| *path != b"/");
    parts.map(|(path, names)| format!("{names}:{}", printable(path))).collect::<Vec<_>>().join(" ")
}

/// A path as the kernel writes it, unless a part of it cannot be shown so.
fn printable(path: &[u8]) -> String {
    let parts = path.split(|b| *b == b'/').map(|part| {
        let shown = label::text(part);
        match std::str::from_utf8(part) {
            // Units have escapes of their own in their names.
            Ok(plain) if shown.replace("\\x5cx", "\\x") == plain => plain.to_owned(),
            _ => shown,
        }
    });
    parts.collect::<Vec<_>>().join("/")
}
