//! The files of a web configuration: read whole and bounded, and summed up, so that a change of any of them is seen by
//! its content. Paths that do not begin with `/` are taken from the directory of the web configuration.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use super::super::checks::{self, Wrong};
use super::super::mistake::quoted;

/// Largest file that is read; bundles of authorities have a few hundred kilobytes.
const MAX_BYTES: u64 = 1 << 20;

/// Reads files and keeps the sum of what was in them.
pub(super) struct Files {
    dir: PathBuf,
    sum: Sha256,
}

impl Files {
    /// For the web configuration at this path.
    pub(super) fn new(path: &Path) -> Self {
        Self { dir: path.parent().unwrap_or(Path::new("")).to_owned(), sum: Sha256::new() }
    }

    /// The content of a file, or why there is none.
    pub(super) fn bytes(&mut self, path: &Path) -> Result<Vec<u8>, Wrong> {
        let path = self.dir.join(path);
        let read = bounded(&path);
        // Where one ends and the next begins is part of the sum, and so is that one could not be read.
        let bytes = read.as_ref().map_or(&[][..], Vec::as_slice);
        self.sum.update([u8::from(read.is_ok())]);
        self.sum.update((bytes.len() as u64).to_le_bytes());
        self.sum.update(bytes);
        read
    }

    /// The same as text. The web configuration's own path is no path inside of it.
    pub(super) fn text(&mut self, path: &Path) -> Result<String, Wrong> {
        let dir = std::mem::take(&mut self.dir);
        let bytes = self.bytes(path);
        self.dir = dir;
        String::from_utf8(bytes?).map_err(|_| ("not UTF-8 text".into(), "save it as UTF-8".into()))
    }

    /// The sum of all that was read.
    pub(super) fn digest(self) -> [u8; 32] {
        self.sum.finalize().into()
    }
}

/// Opened without waiting, and looked at then: what was a file a moment ago may be a pipe now, which nobody may ever write.
fn opened(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

fn bounded(path: &Path) -> Result<Vec<u8>, Wrong> {
    let path = checks::file(&path.to_string_lossy())?;
    let shown = quoted(&path.to_string_lossy());
    let mut bytes = Vec::new();
    match opened(&path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)) {
        Ok(_) if bytes.len() as u64 > MAX_BYTES => {
            Err((format!("{shown} is larger than 1 MiB"), "is this the right file?".into()))
        }
        Ok(_) => Ok(bytes),
        Err(error) => Err((
            format!("{shown} cannot be read: {error}"),
            "create it, or let this program's user read it".into(),
        )),
    }
}
