//! The directory. A document appears in it whole or not at all: it is written to a file beside it, brought to the disk, and
//! renamed. It is bounded in number and bytes, the oldest go first. Files that are not named as documents are never touched.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{Result, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;

use super::incidents::{self, Incident};
use super::name;
use crate::config::Evidence;

/// The directory and what is in it, the oldest first.
pub struct Folder {
    config: Evidence,
    files: VecDeque<(Arc<str>, u64)>,
}

/// What a document says of itself.
#[derive(Deserialize)]
struct Head {
    summary: String,
    signal: Option<String>,
    taken: f64,
    lock: Names,
}

#[derive(Deserialize)]
struct Names {
    store: String,
    lock: String,
}

impl Folder {
    /// Lists what is there, takes away what an earlier run left unfinished, and deletes what is too much.
    pub fn open(config: Evidence) -> Result<(Self, Vec<Incident>)> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&config.dir)? {
            let entry = entry?;
            let file = entry.file_name();
            let Some(file) = file.to_str() else { continue };
            if file.strip_suffix(name::UNFINISHED).is_some_and(name::is_ours) {
                let _ = fs::remove_file(entry.path());
            } else if let Some(id) = file.strip_suffix(name::SUFFIX).filter(|id| name::is_ours(id))
                && let Ok(meta) = entry.metadata()
                && meta.is_file()
            {
                found.push((Arc::<str>::from(id), meta.len()));
            }
        }
        found.sort();
        let mut folder = Self { config, files: found.into() };
        folder.prune()?;
        let known = folder.files.iter().map(|(id, bytes)| folder.describe(id, *bytes)).collect();
        Ok((folder, known))
    }

    fn describe(&self, id: &Arc<str>, bytes: u64) -> Incident {
        let head = incidents::read(&self.path(id, name::SUFFIX)).ok();
        let head = head.and_then(|text| serde_json::from_slice::<Head>(&text).ok());
        let (taken, signal) =
            (head.as_ref().map(|h| h.taken), head.as_ref().and_then(|h| h.signal.clone()));
        let summary = head.as_ref().map(|h| h.summary.clone());
        let (store, lock) = head.map(|h| (h.lock.store, h.lock.lock)).unzip();
        Incident { id: id.clone(), taken, store, lock, signal, summary, bytes, body: None }
    }

    fn path(&self, id: &str, suffix: &str) -> PathBuf {
        self.config.dir.join(format!("{id}{suffix}"))
    }

    /// Writes a document.
    pub fn write(&mut self, id: &Arc<str>, bytes: &[u8]) -> Result<()> {
        let (unfinished, path) = (self.path(id, name::UNFINISHED), self.path(id, name::SUFFIX));
        let written =
            self.write_to(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, &path));
        if let Err(error) = written {
            let _ = fs::remove_file(&unfinished);
            return Err(error);
        }
        File::open(&self.config.dir)?.sync_all()?;
        self.files.push_back((id.clone(), bytes.len() as u64));
        Ok(())
    }

    fn write_to(&self, path: &std::path::Path, bytes: &[u8]) -> Result<()> {
        // A token is for whoever runs the exporter only; anything else may also be read by its group.
        let mode = if self.config.raw_tokens { 0o600 } else { 0o640 };
        let mut file = File::options().write(true).create_new(true).mode(mode).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    /// Deletes the oldest until the rest is within bounds, and tells which. What is gone already counts as deleted.
    pub fn prune(&mut self) -> Result<Vec<Arc<str>>> {
        let mut bytes: u64 = self.files.iter().map(|(_, n)| n).sum();
        let mut deleted = Vec::new();
        while self.files.len() > self.config.keep || bytes > self.config.max_bytes {
            let Some((id, size)) = self.files.front().cloned() else { break };
            match fs::remove_file(self.path(&id, name::SUFFIX)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => drop(self.files.pop_front()),
            }
            bytes = bytes.saturating_sub(size);
            deleted.push(id);
        }
        Ok(deleted)
    }
}
