//! A file with a process id, there as long as the process minds it.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Removed when it is dropped; a process that is killed leaves it.
pub struct PidFile {
    path: PathBuf,
}

impl PidFile {
    /// With this process's id.
    pub fn write(path: &Path) -> Result<Self, Failure> {
        write(path, std::process::id())?;
        Ok(Self { path: path.into() })
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whole or not at all: who reads it never sees half a number.
pub fn write(path: &Path, pid: u32) -> Result<(), Failure> {
    let told = |e| Failure::new(format!("{} cannot be written: {e}", path.display()));
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    std::fs::write(&new, format!("{pid}\n")).map_err(told)?;
    std::fs::rename(&new, path).map_err(told)
}

/// Where the id of the worker's renewer is.
pub fn of_renewer(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".renewer");
    name.into()
}
