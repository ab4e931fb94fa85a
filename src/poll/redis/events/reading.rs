//! What a feed does with what it is told: has changed keys read by the primary's poller, as far as that can take it, and tells
//! the store of keys that a pattern would find.

use super::task::Feed;
use crate::clock;
use crate::observe::KeyId;
use crate::observe::feed::Deed;
use crate::poll::redis::glob;
use crate::poll::redis::messages::{Report, Request};

/// Keys read at once when any may have changed; the sweep reads the others.
const AT_ONCE: usize = 1000;

impl Feed {
    /// Has changed keys read, and tells of those that a pattern would find.
    pub(super) fn changed(&mut self, keys: Vec<Vec<u8>>) {
        let now = clock::mono();
        let mut read = Vec::new();
        let mut new = Vec::new();
        for key in keys {
            match self.known.get(&key) {
                Some(id) => {
                    self.silence.changed(id, now);
                    if self.changes.changed(id, now) {
                        read.push(id);
                    }
                }
                None => {
                    let mut patterns = self.context.patterns.iter();
                    if patterns.any(|p| glob::matches(p, &key)) {
                        match self.changes.may_be_new(now) {
                            true => new.push(key),
                            false => self.silence.missed(now),
                        }
                    }
                }
            }
        }
        self.read(read);
        if !new.is_empty() {
            // Full means that the store is behind; SCAN will meet them.
            let sent = self.context.reports.try_send(Report::Found(self.line, new, false));
            if sent.is_err() {
                self.silence.missed(now);
            }
        }
    }

    /// A keyspace event. Where all changes are told of by broadcasts too, they say what to read.
    pub(super) fn done_to(&mut self, key: Vec<u8>, deed: Option<Deed>, is_told: bool) {
        if let (Some(hearing), Some(deed)) = (&mut self.hearing, deed)
            && let Some(id) = self.known.get(&key)
        {
            hearing.add(id, deed, clock::mono());
        }
        if !is_told {
            self.changed(vec![key]);
        }
    }

    /// Any key may have changed: has some read, and the counters that tell of a flush.
    pub(super) fn any_changed(&mut self) {
        let now = clock::mono();
        self.silence.any_changed(now);
        let some: Vec<KeyId> = self.known.all().take(AT_ONCE).collect();
        let read = some.into_iter().filter(|id| self.changes.changed(*id, now)).collect();
        self.read(read);
        self.ask(Request::Facts);
    }

    pub(super) fn read(&self, keys: Vec<KeyId>) {
        if !keys.is_empty() {
            self.ask(Request::Changed(keys));
        }
    }

    /// Asks the primary's poller, if it can take it; the next sweep will tell what it cannot.
    pub(super) fn ask(&self, request: Request) {
        if let Some((primary, _)) = self.link().primary {
            let _ = primary.try_send(request);
        }
    }
}
