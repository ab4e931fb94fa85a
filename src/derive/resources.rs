//! What sources tell of locks: fencing tokens and side effects, by store and lock. Kept beside the locks, so that neither a
//! reload nor a lost connection to the store forgets the last token.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::fencing::{Fall, Fencing, Look, Reads};
use super::fresh::is_fresh;
use super::side_effects::SideEffects;
use crate::observe::Mono;
use crate::observe::node::FailReason;
use crate::observe::source::{SourceFailed, SourceRead, SourceRef, SourceValue};

/// What sources tell of one lock.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Its fencing tokens.
    pub fencing: Fencing,
    /// Side effects, by resource.
    pub effects: BTreeMap<Arc<str>, SideEffects>,
}

/// What sources tell of all locks.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    by_lock: BTreeMap<(Arc<str>, Arc<str>), Told>,
}

/// Something about a lock's sources that is worth a line.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// A token went down.
    Regressed(String),
    /// The token that a resource accepted did.
    Fell {
        /// The resource.
        resource: Arc<str>,
        /// From what to what.
        fall: Fall,
        /// The same in words.
        detail: String,
    },
    /// There are more side effects than requests.
    Duplicated(String),
    /// A source cannot be read, with what exactly.
    Unreadable(String),
    /// It answers that there is nothing, and never showed anything: perhaps its key has a slip.
    Empty(String),
    /// It can be read again, or shows something for the first time.
    Readable(String),
}

impl Resources {
    /// Takes one read; returns the lock's store and name with what is news.
    pub fn read(
        &mut self,
        read: &SourceRead,
        poll: Duration,
    ) -> Option<(Arc<str>, Arc<str>, News)> {
        let (store, lock, resource) = place(&read.source)?;
        let told = self.by_lock.entry((store.clone(), lock.clone())).or_default();
        let news = match &read.value {
            Ok(None) => told.take(&read.source, resource, None, read, poll),
            Ok(Some(SourceValue::Number(n))) => {
                told.take(&read.source, resource, Some(*n), read, poll)
            }
            // Only workers claim.
            Ok(Some(SourceValue::Claims(_))) => None,
            Err(failed) => told.fail(&read.source, resource, failed),
        };
        news.map(|news| (store.clone(), lock.clone(), news))
    }

    /// Takes what a library's own counter of tokens shows; its absence says that the lock has no tokens, or not any more.
    pub fn counter(
        &mut self,
        store: &Arc<str>,
        lock: &Arc<str>,
        token: Option<u64>,
        at: Mono,
    ) -> Option<String> {
        let key = (store.clone(), lock.clone());
        // Most locks of that library have none.
        if token.is_none() && !self.by_lock.contains_key(&key) {
            return None;
        }
        self.by_lock.entry(key).or_default().fencing.issued.read(token, at)
    }

    /// What is known of a lock.
    pub fn of(&self, store: &Arc<str>, lock: &Arc<str>) -> Option<&Told> {
        self.by_lock.get(&(store.clone(), lock.clone()))
    }

    /// Forgets locks that are not there any more.
    pub fn keep(&mut self, is_there: impl Fn(&str, &str) -> bool) {
        self.by_lock.retain(|(store, lock), _| is_there(store, lock));
    }

    /// Whether there is nothing to forget.
    pub fn is_empty(&self) -> bool {
        self.by_lock.is_empty()
    }
}

impl Told {
    fn take(
        &mut self,
        source: &SourceRef,
        resource: &Arc<str>,
        number: Option<u64>,
        read: &SourceRead,
        poll: Duration,
    ) -> Option<News> {
        let at = read.span.done;
        let was_failing = self.failure(source, resource).is_some();
        let fell = match source {
            SourceRef::FencingIssued { .. } => self.fencing.issued.read(number, at),
            SourceRef::FencingAccepted { .. } => {
                let accepted = self.fencing.accepted.entry(resource.clone()).or_default();
                if !is_fresh(accepted.reads.last, at, poll) {
                    accepted.broken();
                }
                let fell = accepted.read(number, at);
                if let (Some(fell), Some(fall)) = (&fell, accepted.fell) {
                    let (resource, detail) = (resource.clone(), format!("{resource}: {fell}"));
                    return Some(News::Fell { resource, fall, detail });
                }
                None
            }
            SourceRef::FencingRejected { .. } => {
                let rejected = self.fencing.rejected.entry(resource.clone()).or_default();
                rejected.reads.succeeded(at);
                // A count that is not there says nothing, least of all zero.
                number.map(|n| rejected.count.read(n));
                None
            }
            SourceRef::EffectsTotal { .. } => {
                self.effects.entry(resource.clone()).or_default().read_total(number, read.span);
                None
            }
            SourceRef::EffectsDistinct { .. } => {
                let effects = self.effects.entry(resource.clone()).or_default();
                let told = effects.read_distinct(number, read.span, poll);
                if let Some(told) = told {
                    return Some(News::Duplicated(format!("{resource}: {told}")));
                }
                None
            }
            SourceRef::Claim { .. } => None,
        };
        let look = self.reads(source, resource)?.looked(number.is_some(), was_failing);
        fell.map(News::Regressed).or_else(|| Some(in_words(look?, &name_of(source, resource))))
    }

    fn reads(&mut self, source: &SourceRef, resource: &Arc<str>) -> Option<&mut Reads> {
        match source {
            SourceRef::FencingIssued { .. } => Some(&mut self.fencing.issued.reads),
            SourceRef::FencingAccepted { .. } => {
                self.fencing.accepted.get_mut(resource).map(|a| &mut a.reads)
            }
            SourceRef::FencingRejected { .. } => {
                self.fencing.rejected.get_mut(resource).map(|r| &mut r.reads)
            }
            SourceRef::EffectsTotal { .. } => {
                self.effects.get_mut(resource).map(|e| &mut e.reads[0])
            }
            SourceRef::EffectsDistinct { .. } => {
                self.effects.get_mut(resource).map(|e| &mut e.reads[1])
            }
            SourceRef::Claim { .. } => None,
        }
    }

    fn fail(
        &mut self,
        source: &SourceRef,
        resource: &Arc<str>,
        failed: &SourceFailed,
    ) -> Option<News> {
        let reason = failed.reason;
        let is_news = match source {
            SourceRef::FencingIssued { .. } => self.fencing.issued.reads.failed(reason),
            SourceRef::FencingAccepted { .. } => {
                self.fencing.accepted.entry(resource.clone()).or_default().failed(reason)
            }
            SourceRef::FencingRejected { .. } => {
                self.fencing.rejected.entry(resource.clone()).or_default().reads.failed(reason)
            }
            SourceRef::EffectsTotal { .. } => {
                self.effects.entry(resource.clone()).or_default().reads[0].failed(reason)
            }
            SourceRef::EffectsDistinct { .. } => {
                self.effects.entry(resource.clone()).or_default().reads[1].failed(reason)
            }
            SourceRef::Claim { .. } => false,
        };
        let detail = &failed.detail;
        is_news.then(|| {
            let what = name_of(source, resource);
            News::Unreadable(format!("{what} cannot be read: {detail} ({})", reason.as_str()))
        })
    }

    fn failure(&self, source: &SourceRef, resource: &Arc<str>) -> Option<FailReason> {
        match source {
            SourceRef::FencingIssued { .. } => self.fencing.issued.reads.failure,
            SourceRef::FencingAccepted { .. } => self.fencing.accepted.get(resource)?.reads.failure,
            SourceRef::FencingRejected { .. } => self.fencing.rejected.get(resource)?.reads.failure,
            SourceRef::EffectsTotal { .. } => self.effects.get(resource)?.reads[0].failure,
            SourceRef::EffectsDistinct { .. } => self.effects.get(resource)?.reads[1].failure,
            SourceRef::Claim { .. } => None,
        }
    }
}

/// What a read is news of; a token that is not there yet cannot be read again.
fn in_words(look: Look, what: &str) -> News {
    match look {
        Look::Empty => {
            News::Empty(format!("{what}: none seen yet; the source answers that there is nothing"))
        }
        Look::Appeared => News::Readable(format!("{what} is there now")),
        Look::Back => News::Readable(format!("{what} can be read again")),
    }
}

/// Store, lock and resource, which is the lock itself for what it issues.
fn place(source: &SourceRef) -> Option<(&Arc<str>, &Arc<str>, &Arc<str>)> {
    match source {
        SourceRef::Claim { .. } => None,
        SourceRef::FencingIssued { store, lock } => Some((store, lock, lock)),
        SourceRef::FencingAccepted { store, lock, resource }
        | SourceRef::FencingRejected { store, lock, resource }
        | SourceRef::EffectsTotal { store, lock, resource }
        | SourceRef::EffectsDistinct { store, lock, resource } => Some((store, lock, resource)),
    }
}

fn name_of(source: &SourceRef, resource: &str) -> String {
    match source {
        SourceRef::FencingIssued { .. } => "the issued fencing token".to_owned(),
        SourceRef::FencingAccepted { .. } => format!("the token that {resource} accepted"),
        SourceRef::FencingRejected { .. } => format!("what {resource} rejected"),
        SourceRef::EffectsTotal { .. } => format!("the side effects on {resource}"),
        SourceRef::EffectsDistinct { .. } => format!("the requests to {resource}"),
        SourceRef::Claim { worker } => format!("what {worker} claims"),
    }
}
