//! The thread that writes. It alone touches the directory; a disk that hangs holds it up and nobody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use arc_swap::ArcSwapOption;

use super::compose::Composed;
use super::failures::{Counts, reason};
use super::folder::Folder;
use super::incidents::{Incident, Incidents, LARGEST};
use crate::config::Evidence;
use crate::expose::EvidenceFailure;

/// What the writer is handed.
pub enum Page {
    /// A document.
    Document(Composed),
    /// The config changed.
    Look,
}

/// Writes until nobody can send any more.
pub struct Keeper {
    /// The config in force.
    pub config: Arc<ArcSwapOption<Evidence>>,
    /// The index.
    pub incidents: Incidents,
    /// The counters.
    pub counts: Arc<Counts>,
    /// Bytes that wait.
    pub waiting: Arc<AtomicU64>,
}

impl Keeper {
    /// Runs.
    pub fn run(self, pages: Receiver<Page>) {
        let mut used: Option<Arc<Evidence>> = None;
        let mut folder: Option<Folder> = None;
        self.incidents.reset(None, 0, Vec::new());
        for page in pages {
            let config = self.config.load_full();
            if config != used {
                used = config;
                folder = self.begin_anew(used.as_deref());
            }
            let Page::Document(composed) = page else { continue };
            self.waiting.fetch_sub(composed.incident.bytes, Ordering::Relaxed);
            match &used {
                None => self
                    .incidents
                    .add(Incident { body: Some(composed.bytes.clone()), ..composed.incident }),
                Some(config) => self.write(config, &mut folder, composed),
            }
        }
    }

    fn begin_anew(&self, config: Option<&Evidence>) -> Option<Folder> {
        let Some(config) = config else {
            self.incidents.reset(None, 0, Vec::new());
            return None;
        };
        let opened = self.begin(config);
        if let Err(error) = &opened {
            // No document was lost yet.
            self.counts.failed(reason(error), 0, &config.dir, &error.to_string());
        }
        opened.ok()
    }

    /// Lists the directory.
    fn begin(&self, config: &Evidence) -> std::io::Result<Folder> {
        let opened = Folder::open(config.clone());
        let (folder, known) = opened.map_or_else(|e| (Err(e), Vec::new()), |(f, k)| (Ok(f), k));
        self.incidents.reset(Some(config.dir.clone()), config.keep, known);
        folder
    }

    fn write(&self, config: &Evidence, folder: &mut Option<Folder>, composed: Composed) {
        let Composed { incident, bytes } = composed;
        let size = bytes.len() as u64;
        if size > LARGEST.min(config.max_bytes) {
            let why = format!("a document has {size} bytes");
            self.counts.failed(EvidenceFailure::TooLarge, 1, &config.dir, &why);
            return;
        }
        // After a failure the directory may be another one: it is listed anew.
        let had_failed = folder.is_none();
        let mut open = match folder.take().map_or_else(|| self.begin(config), Ok) {
            Ok(open) => open,
            Err(error) => return self.lost(config, &error),
        };
        if let Err(error) = open.write(&incident.id, &bytes) {
            return self.lost(config, &error);
        }
        self.counts.wrote();
        if had_failed {
            tracing::info!(dir = %config.dir.display(), "evidence is kept again");
        }
        self.incidents.add(incident);
        match open.prune() {
            Ok(deleted) => deleted.iter().for_each(|id| self.incidents.remove(id)),
            Err(error) => self.lost(config, &error),
        }
        *folder = Some(open);
    }

    fn lost(&self, config: &Evidence, error: &std::io::Error) {
        self.counts.failed(reason(error), 1, &config.dir, &error.to_string());
    }
}
