//! Pressure of a v2 cgroup. It is read where v2 has the process even if all controllers are on v1; cgroups of v1 have
//! none, and the root's is the whole host's, which must not be taken for a worker's.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::file::{self, Fault};
use super::locate::{Home, Place};
use super::{parse, reason};
use crate::observe::cgroup::Pressure;
use crate::observe::stall::HostUnknown;

/// Memory, CPU, I/O.
pub type All = [Result<Pressure, Fault>; 3];

/// What was read of cgroups, so that processes of one share it.
pub type Known = HashMap<PathBuf, All>;

const FILES: [&str; 3] = ["memory.pressure", "cpu.pressure", "io.pressure"];

/// Reads all three.
pub fn read(home: Option<&Home>, known: &mut Known) -> All {
    let none = |fault: Fault| [Err(fault.clone()), Err(fault.clone()), Err(fault)];
    let Some(home) = home else {
        return none(Fault::new(
            HostUnknown::Unsupported,
            "only cgroup v2 has pressure and none is mounted here; mount it, also beside v1",
        ));
    };
    match &home.place {
        Place::In(levels) => {
            let known = known.entry(levels.dir.clone());
            known.or_insert_with(|| FILES.map(|name| one(&levels.dir, name))).clone()
        }
        place => none(reason::elsewhere(place, &home.path)),
    }
}

fn one(dir: &Path, name: &str) -> Result<Pressure, Fault> {
    match file::find(dir, name)? {
        Some(text) => file::parsed(dir, name, parse::pressure(&text)),
        None => Err(file::unsupported(dir, missing(dir))),
    }
}

/// Why there is no pressure file.
fn missing(dir: &Path) -> &'static str {
    match file::find(dir, "cgroup.pressure") {
        Ok(Some(text)) if text.trim_ascii_end() == b"0" => {
            "its pressure is off; write 1 to its cgroup.pressure"
        }
        _ => "the kernel has no pressure (CONFIG_PSI, 4.20 or later, not cgroup_disable=pressure)",
    }
}
