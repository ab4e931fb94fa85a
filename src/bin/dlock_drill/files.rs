//! The files that a user asks for: told before the work if they cannot be written, and there only when they are whole.

use std::fs;
use std::io::Result as Io;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Whether that file can be written; it is left as it is.
pub fn try_out(path: &Path) -> Result<(), Failure> {
    let tried = match beside(path) {
        // A full disk takes a name and no content.
        Some(new) => {
            let written = fs::write(&new, b"\n");
            written.and(fs::remove_file(&new))
        }
        None if path.is_dir() => Err(std::io::ErrorKind::IsADirectory.into()),
        // To open a pipe and close it again would end its reader.
        None => Ok(()),
    };
    tried.map_err(|e| told(path, &e))
}

/// Writes it at once.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written: Io<()> = match beside(path) {
        Some(new) => {
            fs::write(&new, bytes).and_then(|()| fs::rename(&new, path)).inspect_err(|_| {
                // What is not whole is of no use to anybody.
                let _ = fs::remove_file(&new);
            })
        }
        None => fs::write(path, bytes),
    };
    written.map_err(|e| told(path, &e))
}

/// Where its new content is until it is whole. A device or a pipe is written to, and never put away for a file.
fn beside(path: &Path) -> Option<PathBuf> {
    if fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        return None;
    }
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    Some(new.into())
}

fn told(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{} cannot be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_and_what_is_no_file_stays_what_it_is() {
        let dir = tempfile::TempDir::new().unwrap();
        let file = dir.path().join("a");
        try_out(&file).unwrap();
        assert!(!file.exists());
        write(&file, b"1").unwrap();
        try_out(&file).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"1");
        assert!(try_out(&dir.path().join("no/where")).is_err());
        assert!(try_out(dir.path()).is_err() && write(dir.path(), b"1").is_err());
        let null = dir.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &null).unwrap();
        try_out(&null).unwrap();
        write(&null, b"1").unwrap();
        assert!(fs::symlink_metadata(&null).unwrap().is_symlink());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
