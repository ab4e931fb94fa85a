//! What is kept now, for the API: an index of the documents, the newest first, and the way to one of them by its id. Ids are
//! looked up in the index and never put together to a path from what a client sends.

use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};

use bytes::Bytes;
use serde::Serialize;

use super::name;

/// A document has at most this many bytes.
pub const LARGEST: u64 = 1 << 20;
/// Documents kept in memory at most.
pub const IN_MEMORY: usize = 50;
/// Bytes that they may have together there.
const MEMORY: u64 = 4 << 20;

/// One document in the index. What is `None` could not be read from it.
#[derive(Clone, Debug, Serialize)]
pub struct Incident {
    /// Its id.
    pub id: Arc<str>,
    /// When it was put together, seconds since the epoch on the exporter's host.
    pub taken: Option<f64>,
    /// Of which store.
    pub store: Option<String>,
    /// Of which lock.
    pub lock: Option<String>,
    /// The signal that rose.
    pub signal: Option<String>,
    /// Its first sentence.
    pub summary: Option<String>,
    /// Its size.
    pub bytes: u64,
    /// The document, where there is no directory.
    #[serde(skip)]
    pub body: Option<Bytes>,
}

/// A part of the index.
#[derive(Serialize)]
pub struct Listing {
    kept_in: &'static str,
    keep: usize,
    incidents_kept: usize,
    bytes: u64,
    total: usize,
    offset: usize,
    incidents: Vec<Incident>,
}

/// Which incidents are asked for: all, or those of a store, of a lock's name, or of both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Of this store only.
    pub store: Option<String>,
    /// Of locks of this name only.
    pub lock: Option<String>,
}

impl Wanted {
    /// One of which it is not known whose it is belongs to nobody who is asked for by name.
    fn has(&self, incident: &Incident) -> bool {
        let is = |wanted: &Option<String>, own: &Option<String>| wanted.is_none() || wanted == own;
        is(&self.store, &incident.store) && is(&self.lock, &incident.lock)
    }
}

/// A document that was asked for.
pub enum Found {
    /// It.
    Document(Bytes),
    /// It is in the index, and its file cannot be read.
    Gone,
    /// There is none of that id.
    Unknown,
}

#[derive(Default)]
struct Inner {
    /// Where they are; in memory if absent.
    dir: Option<PathBuf>,
    keep: usize,
    /// The oldest first.
    all: Vec<Incident>,
}

/// The index.
#[derive(Clone, Default)]
pub struct Incidents(Arc<RwLock<Inner>>);

impl Incidents {
    /// Begins anew with what a directory has, or with nothing in memory.
    pub fn reset(&self, dir: Option<PathBuf>, keep: usize, all: Vec<Incident>) {
        if let Ok(mut inner) = self.0.write() {
            *inner = Inner { dir, keep, all };
        }
    }

    /// Adds one.
    pub fn add(&self, incident: Incident) {
        let Ok(mut inner) = self.0.write() else { return };
        let at = inner.all.partition_point(|i| i.id < incident.id);
        inner.all.insert(at, incident);
        if inner.dir.is_none() {
            let mut bytes: u64 = inner.all.iter().map(|i| i.bytes).sum();
            let mut beyond = 0;
            for old in &inner.all {
                if inner.all.len() - beyond <= IN_MEMORY && bytes <= MEMORY {
                    break;
                }
                (beyond, bytes) = (beyond + 1, bytes - old.bytes);
            }
            inner.all.drain(..beyond);
        }
    }

    /// Takes one out.
    pub fn remove(&self, id: &str) {
        if let Ok(mut inner) = self.0.write() {
            inner.all.retain(|i| &*i.id != id);
        }
    }

    /// `limit` of those that are wanted from `offset` on, the newest first.
    pub fn list(&self, wanted: &Wanted, offset: usize, limit: usize) -> Option<Listing> {
        let inner = self.0.read().ok()?;
        let all = || inner.all.iter().rev().filter(|i| wanted.has(i));
        let part = all().skip(offset).take(limit);
        Some(Listing {
            kept_in: if inner.dir.is_some() { "directory" } else { "memory" },
            keep: if inner.dir.is_some() { inner.keep } else { IN_MEMORY },
            incidents_kept: inner.all.len(),
            bytes: inner.all.iter().map(|i| i.bytes).sum(),
            total: all().count(),
            offset,
            incidents: part.map(|i| Incident { body: None, ..i.clone() }).collect(),
        })
    }

    /// One document. Reads its file: not for an async thread.
    pub fn read(&self, id: &str) -> Found {
        if !name::is_ours(id) {
            return Found::Unknown;
        }
        let path = {
            let Ok(inner) = self.0.read() else { return Found::Gone };
            let Some(known) = inner.all.iter().find(|i| &*i.id == id) else {
                return Found::Unknown;
            };
            if let Some(body) = &known.body {
                return Found::Document(body.clone());
            }
            match &inner.dir {
                Some(dir) => dir.join(format!("{}{}", known.id, name::SUFFIX)),
                None => return Found::Gone,
            }
        };
        match read(&path) {
            Ok(bytes) => Found::Document(bytes.into()),
            Err(_) => Found::Gone,
        }
    }
}

/// A document's file, or as much of it as one may have.
pub fn read(path: &std::path::Path) -> std::io::Result<Vec<u8>> {
    use std::os::unix::fs::OpenOptionsExt;
    // Neither a link that somebody put there nor a pipe is followed or waited for.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file = std::fs::File::options().read(true).custom_flags(flags).open(path)?;
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}
