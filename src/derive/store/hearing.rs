//! What a feed of keyspace events tells of a line's locks, and up to when. A read and an event come over two connections,
//! so that an event counts as between two reads if it may have been: all that arrived from before the first was sent until the
//! feed had answered what it was asked after the second.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Store;
use super::line::LineState;
use crate::derive::ends::PendingEnd;
use crate::derive::lock::{Lock, Told};
use crate::derive::wanted::{Effects, Wanted};
use crate::observe::feed::{Deed, Heard, Standing};
use crate::observe::{KeyId, Mono, Span};

/// Answers remembered.
const ANSWERS: usize = 32;
/// Locks whose ends wait for an answer at most; others wait for the next facts.
const MOST_WAITING: usize = 1024;

/// What is known of the feed.
#[derive(Clone, Debug)]
pub struct Hearing {
    addr: Arc<str>,
    /// All is heard from here on.
    since: Mono,
    answers: VecDeque<Span>,
    /// From when on keys up to a number are known to it, the first first.
    known: VecDeque<(KeyId, Mono)>,
    /// Locks that were written or evicted lately.
    written: Vec<KeyId>,
}

impl Hearing {
    /// What it tells of an end.
    pub(super) fn told(&self, lock: &Lock, end: &PendingEnd) -> Told {
        let from = end.last.span.sent;
        let is_known = self.known.iter().any(|(key, at)| lock.key <= *key && *at <= from);
        if self.since > from || !is_known || !end.may_be_told() {
            return Told::Nothing;
        }
        let Some(answer) = self.answers.iter().find(|a| a.sent >= end.gone.span.done) else {
            return Told::NotYet;
        };
        match lock.deeds.prove(from, answer.done, !end.is_succeeded) {
            // Nothing tells of its other keys.
            Told::Eviction if lock.spread.is_some() => Told::Nothing,
            told => told,
        }
    }
}

impl Store {
    /// Takes what the feed heard.
    pub fn hear(&mut self, heard: &Heard, fx: &mut Effects) {
        let addr = &heard.node.addr;
        let known = heard.known;
        let line = self.lines.entry(heard.node.line).or_default();
        let Some(since) = heard.since else {
            line.hearing = None;
            return;
        };
        let hearing = match &mut line.hearing {
            Some(same) if same.addr == *addr && same.since == since => same,
            other => other.insert(Hearing {
                addr: addr.clone(),
                since,
                answers: VecDeque::new(),
                known: VecDeque::new(),
                written: Vec::new(),
            }),
        };
        if hearing.answers.len() >= ANSWERS {
            hearing.answers.pop_front();
        }
        hearing.answers.push_back(heard.asked);
        if let Some(known) = known.filter(|k| hearing.known.back().is_none_or(|b| b.0 != k.0)) {
            if hearing.known.len() >= ANSWERS {
                hearing.known.pop_front();
            }
            hearing.known.push_back(known);
        }
        let mut waiting = std::mem::take(&mut hearing.written);
        for (key, at, deed) in &heard.deeds {
            if let Some(lock) = self.locks.get_mut(key) {
                lock.deeds.add(*deed, *at);
                if matches!(deed, Deed::Wrote | Deed::Evicted) && waiting.len() < MOST_WAITING {
                    waiting.push(*key);
                }
            }
        }
        waiting.sort_unstable();
        waiting.dedup();
        waiting.retain(|key| self.locks.get(key).is_some_and(|l| !l.pending.is_empty()));
        let primary = self.primary(heard.node.line).filter(|p| p.addr == *addr);
        let facts = primary.and_then(|p| p.facts.clone());
        if let Some(facts) = facts.filter(|_| !waiting.is_empty()) {
            for (key, evidence) in self.settle_some(&facts, Some(&waiting), fx) {
                if evidence == crate::derive::Evidence::Overwritten {
                    // Its next read shows what that means.
                    fx.wanted.push(Wanted::Key { store: self.id, key, at: heard.asked.done });
                }
            }
        }
        waiting.retain(|key| self.locks.get(key).is_some_and(|l| !l.pending.is_empty()));
        let is_evicted = |(key, _, deed): &(KeyId, Mono, Deed)| {
            *deed == Deed::Evicted && waiting.binary_search(key).is_ok()
        };
        if heard.deeds.iter().any(is_evicted) {
            fx.wanted.push(Wanted::Facts { store: self.id });
        }
        let line = self.lines.entry(heard.node.line).or_default();
        if let Some(hearing) = &mut line.hearing {
            hearing.written = waiting;
        }
    }
}

impl LineState {
    /// What it hears now, if it hears all.
    pub(super) fn hearing(&self) -> Option<&Hearing> {
        let is_live = self.feed.is_some_and(|f| f.standing == Standing::Live);
        self.hearing.as_ref().filter(|h| is_live && self.is_led_by(&h.addr))
    }

    /// Whether overwrites of its locks would be proven.
    pub fn hears_overwrites(&self) -> bool {
        self.hearing().is_some()
    }
}
