//! One snapshot and what is shown of it. Each form is made once, when it is first asked for: most snapshots are never
//! scraped, and many scrapers share one.

use std::io::Write;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::json;
use super::self_facts::{OwnProcess, SelfFacts};
use super::text::{self, Pieces};
use crate::observe::Mono;
use crate::view::View;

/// A snapshot with its printed forms. Making one is cheap; the first call of each form does that form's work, so that
/// callers on an async thread use a blocking one for it.
#[derive(Debug)]
pub struct Rendered {
    view: Arc<View>,
    own: SelfFacts,
    text: OnceLock<Pieces>,
    gzip: OnceLock<Option<Pieces>>,
    locks_json: OnceLock<Option<Bytes>>,
}

impl Rendered {
    /// A snapshot to be shown with what the exporter knows of itself at that time.
    pub fn new(view: Arc<View>, own: SelfFacts) -> Self {
        Self {
            view,
            own,
            text: OnceLock::new(),
            gzip: OnceLock::new(),
            locks_json: OnceLock::new(),
        }
    }

    /// The snapshot.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// What the exporter knew of itself.
    pub fn own(&self) -> &SelfFacts {
        &self.own
    }

    /// How old the snapshot is, if it is too old to be shown.
    pub fn too_old(&self, now: Mono) -> Option<Duration> {
        let age = now.since(self.view.taken);
        (age > self.own.snapshot_good_for()).then_some(age)
    }

    /// Metrics text. The exporter's own process is read when this is made.
    pub fn text(&self) -> Pieces {
        let make = || {
            let process = self.own.process.clone().or_else(OwnProcess::read);
            text::render(&self.view, &SelfFacts { process, ..self.own.clone() })
        };
        self.text.get_or_init(make).clone()
    }

    /// Metrics text, compressed or not, if it has been made.
    pub fn made(&self, compressed: bool) -> Option<Pieces> {
        match compressed {
            true => self.gzip.get().cloned().flatten(),
            false => self.text.get().cloned(),
        }
    }

    /// The same, compressed; `None` if that failed.
    pub fn gzip(&self) -> Option<Pieces> {
        self.gzip.get_or_init(|| compress(&self.text()).ok()).clone()
    }

    /// The API's document of locks, `limit` of them from `offset` on; `None` if it cannot be made. Only the one that is asked
    /// for without a word about either is kept.
    pub fn locks_json(&self, offset: usize, limit: usize) -> Option<Bytes> {
        let document = || json::document(&self.view, offset, limit);
        let make = || serde_json::to_vec_pretty(&document()).ok().map(Bytes::from);
        match (offset, limit) {
            (0, json::LOCKS) => self.locks_json.get_or_init(make).clone(),
            _ => make(),
        }
    }

    /// The API's document of all workers; made for each answer, as few ask for it.
    pub fn workers_json(&self) -> Option<Bytes> {
        serde_json::to_vec_pretty(&json::workers(&self.view)).ok().map(Bytes::from)
    }

    /// The API's document of all clocks; made for each answer, as few ask for it.
    pub fn clocks_json(&self) -> Option<Bytes> {
        serde_json::to_vec_pretty(&json::clocks(&self.view)).ok().map(Bytes::from)
    }
}

/// Level 1: higher levels take four to seven times as long for a few percent.
fn compress(text: &Pieces) -> std::io::Result<Pieces> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 16), Compression::new(1));
    for piece in text.iter() {
        encoder.write_all(piece)?;
    }
    Ok(Bytes::from(encoder.finish()?).into())
}
