//! Programs that are not the drill's own and must not outlive it: this program sets the kernel to end it with its parent, and
//! becomes the other. It must be started by a thread that lasts as long as the drill: the kernel goes by threads.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::failure::Failure;

/// A command that runs `program` and ends, however, with this process.
pub fn command(program: &Path) -> Result<Command, Failure> {
    let own = std::env::current_exe()
        .map_err(|e| Failure::new(format!("this program cannot be found again: {e}")))?;
    let mut command = Command::new(own);
    command.args(["bound", "--"]).arg(program);
    Ok(command)
}

/// Becomes that program; comes back only with why it did not.
pub fn run(words: &[OsString]) -> Failure {
    let Some((program, rest)) = words.split_first() else {
        return Failure::new("there is no program to start");
    };
    if let Err(e) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return Failure::new(format!("the kernel does not end it with the drill: {e}"));
    }
    let error = Command::new(program).args(rest).exec();
    Failure::new(format!("{} cannot be started: {error}", program.display()))
}
