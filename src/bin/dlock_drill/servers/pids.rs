//! Another process with the process id of one that ended: what happens by chance when a host runs through its ids, made to
//! happen. It must not take an id that is in use: the kernel gives none twice.

use std::path::Path;
use std::process::Command;

use super::wait::at;
use crate::children::Group;
use crate::failure::Failure;

/// Where the kernel is told which id it gave last.
const LAST: &str = "/proc/sys/kernel/ns_last_pid";
/// Other processes that begin at the same moment may get the id first, and give it back.
const TRIES: usize = 500;

/// Starts a process that only sleeps with this id, which must be free.
pub fn take(pid: u32, dir: &Path) -> Result<Group, Failure> {
    for _ in 0..TRIES {
        std::fs::write(LAST, pid.saturating_sub(1).to_string())
            .map_err(|e| at(Path::new(LAST), e))?;
        let stranger = stranger(dir)?;
        if stranger.pid() == pid {
            return Ok(stranger);
        }
    }
    Err(Failure::new(format!("process id {pid} was given to another process")))
}

/// Starts a process that only sleeps.
pub fn stranger(dir: &Path) -> Result<Group, Failure> {
    Group::start("stranger", Command::new("sleep").arg("600"), dir)
}

/// Whether this process may choose ids: root may, and who has CAP_CHECKPOINT_RESTORE.
pub fn may_be_chosen() -> bool {
    // What is written is what was there, so that nothing changes.
    std::fs::read_to_string(LAST).is_ok_and(|last| std::fs::write(LAST, last).is_ok())
}
