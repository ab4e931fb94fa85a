//! Memory of a cgroup: use, the limit that holds, and kills for want of it, from whichever of v1 and v2 has the
//! controller. A limit of a cgroup above holds too; a kill above or beside is not the worker's.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::file::{self, Fault};
use super::locate::{Homes, Levels, Place};
use super::{parse, reason};
use crate::observe::stall::HostUnknown;

/// The limit of one cgroup: missing, none, or bytes.
type Own = Result<Option<Option<u64>>, Fault>;

/// What was read of cgroups: processes share all of it, and those below a cgroup its limit.
#[derive(Default)]
pub struct Known {
    cgroups: HashMap<PathBuf, Memory>,
    limits: HashMap<PathBuf, Own>,
}

/// What there is.
#[derive(Clone)]
pub struct Memory {
    /// In use.
    pub bytes: Result<u64, Fault>,
    /// The least limit.
    pub limit: Result<Option<u64>, Fault>,
    /// Kills.
    pub oom_kills: Result<u64, Fault>,
}

const OFF: &str = "the memory controller is not on for it; switch it on in the cgroup.subtree_control \
                   of those above it (systemd: MemoryAccounting=yes)";
const OLD: &str = "the kernel does not count it here; that takes 4.13 or later";

/// Reads it where the process is.
pub fn read(homes: &Homes, known: &mut Known) -> Memory {
    let (home, is_v2) = match &homes.memory {
        Some(home) => (Some(home), false),
        None => (homes.v2.as_ref(), true),
    };
    let nothing =
        |limit, fault: Fault| Memory { bytes: Err(fault.clone()), limit, oom_kills: Err(fault) };
    let Some(home) = home else {
        let fault = Fault::new(
            HostUnknown::Unsupported,
            "the kernel has no memory controller (cgroup_enable=memory on its command line?)",
        );
        return nothing(Err(fault.clone()), fault);
    };
    match &home.place {
        Place::In(levels) => {
            if let Some(memory) = known.cgroups.get(&levels.dir) {
                return memory.clone();
            }
            let memory = if is_v2 { v2(levels, &mut known.limits) } else { v1(&levels.dir) };
            known.cgroups.insert(levels.dir.clone(), memory.clone());
            memory
        }
        // Nothing limits the root.
        Place::Root => nothing(Ok(None), reason::elsewhere(&home.place, &home.path)),
        place => {
            let fault = reason::elsewhere(place, &home.path);
            nothing(Err(fault.clone()), fault)
        }
    }
}

fn v2(levels: &Levels, limits: &mut HashMap<PathBuf, Own>) -> Memory {
    let dir = levels.dir.as_path();
    Memory {
        bytes: file::read(dir, "memory.current", OFF, parse::number),
        limit: least_limit(levels, limits),
        oom_kills: key(dir, "memory.events", "oom_kill", OFF),
    }
}

/// Over the cgroup and all above it; those without the controller set none.
fn least_limit(levels: &Levels, limits: &mut HashMap<PathBuf, Own>) -> Result<Option<u64>, Fault> {
    let mut least = None;
    let mut any = false;
    for dir in levels.up() {
        let own = limits.entry(dir.to_owned()).or_insert_with(|| own_limit(dir)).clone()?;
        any |= own.is_some();
        least = [least, own.flatten()].into_iter().flatten().min();
    }
    match least {
        Some(bytes) => Ok(Some(bytes)),
        None if !levels.is_whole => Err(reason::above(levels)),
        None if any => Ok(None),
        None => Err(file::unsupported(&levels.dir, OFF)),
    }
}

fn own_limit(dir: &Path) -> Own {
    let text = file::find(dir, "memory.max")?;
    text.map(|t| file::parsed(dir, "memory.max", parse::limit(&t))).transpose()
}

fn v1(dir: &Path) -> Memory {
    // The kernel walks up itself, by rules that depend on `memory.use_hierarchy`, and beyond what we can see.
    let limit = key(dir, "memory.stat", "hierarchical_memory_limit", OLD);
    Memory {
        bytes: file::read(dir, "memory.usage_in_bytes", OLD, parse::number),
        limit: limit.map(parse::below_none),
        oom_kills: key(dir, "memory.oom_control", "oom_kill", OLD),
    }
}

/// The number of a key that the kernel writes if it can.
fn key(dir: &Path, name: &str, key: &str, missing: &str) -> Result<u64, Fault> {
    let found = file::read(dir, name, missing, |text| parse::value(text, key))?;
    found.ok_or_else(|| file::unsupported(dir, OLD))
}
