//! What is read, with its templates filled once and not at each poll.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Reading;
use crate::config::{HttpPart, Source, TlsFiles};
use crate::observe::source::SourceRef;
use crate::poll::lane::Lane;
use crate::poll::source::{Filled, tls};

/// One source, ready to be read.
#[derive(Debug)]
pub struct Slot {
    /// As it was asked for.
    pub reading: Reading,
    /// Where it is.
    pub filled: Filled,
    /// For one that is not in Redis.
    pub lane: Lane,
}

/// All sources.
#[derive(Default)]
pub struct Roster {
    slots: BTreeMap<SourceRef, Arc<Slot>>,
    /// One for each set of files, which are read again and again otherwise.
    tls: Vec<(TlsFiles, Arc<tls::Client>)>,
}

impl Roster {
    /// Replaces what is read; gives back what is new, in the order of `iter`.
    pub fn replace(&mut self, readings: &[Reading]) -> Vec<Arc<Slot>> {
        let mut old = std::mem::take(&mut self.slots);
        let mut new = Vec::new();
        for reading in readings {
            let before = old.remove(&reading.what);
            let lane = before.as_ref().map_or_else(Lane::default, |s| s.lane.clone());
            let slot = before.filter(|slot| slot.reading == *reading).unwrap_or_else(|| {
                let slot =
                    Arc::new(Slot { filled: self.fill(reading), reading: reading.clone(), lane });
                new.push(Arc::clone(&slot));
                slot
            });
            self.slots.insert(reading.what.clone(), slot);
        }
        let is_used = |files: &TlsFiles| {
            readings.iter().any(|r| matches!(&r.source, Source::Http { tls, .. } if tls == files))
        };
        self.tls.retain(|(files, _)| is_used(files));
        new.sort_by(|a, b| a.reading.what.cmp(&b.reading.what));
        new
    }

    /// All of them, totals of effects before what they are held against.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Slot>> {
        self.slots.values()
    }

    fn fill(&mut self, reading: &Reading) -> Filled {
        let mut source = reading.source.clone();
        let mut client = Arc::default();
        if let Source::Http { part, tls, .. } = &mut source {
            // The whole answer is the value.
            if *part == HttpPart::Success {
                *part = HttpPart::Json(String::new());
            }
            client = self.client(tls);
        }
        Filled::of(&source, reading.place, &reading.name, &client)
    }

    fn client(&mut self, files: &TlsFiles) -> Arc<tls::Client> {
        if let Some((_, client)) = self.tls.iter().find(|(known, _)| known == files) {
            return Arc::clone(client);
        }
        let client = Arc::new(tls::Client::new(files.clone()));
        self.tls.push((files.clone(), Arc::clone(&client)));
        client
    }
}
