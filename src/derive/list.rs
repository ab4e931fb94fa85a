//! One list of live workers, and which holders it does not name. A holder is unlisted once every complete read for a minute
//! (three refreshes, if that is longer) lacks it; a list that has never named anybody, or was not read lately, says nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::fencing::Reads;
use super::fresh::is_fresh;
use super::loss::Loss;
use super::words::Liveness;
use crate::observe::source::ListMember;
use crate::observe::{Mono, Owner, Span, Token, label};

/// Least time of absence.
const LEAST: Duration = Duration::from_secs(60);

/// Of a value this long perhaps only the beginning was read.
const READ_IN_PART: usize = 512;

/// A list.
#[derive(Clone, Debug, Default)]
pub struct List {
    refresh: Duration,
    /// It lists workers by their own names and nothing else: whoever has none cannot be missing.
    needs_name: bool,
    members: HashSet<Arc<str>>,
    /// Those of them that are workers, not jobs.
    workers: HashSet<Arc<str>>,
    /// The last complete read.
    last: Option<Span>,
    /// Between the last two complete reads lay too much time for an absence to have lasted.
    is_broken: bool,
    /// Some read named somebody.
    has_named: bool,
    /// How reading goes.
    pub reads: Reads,
    /// What exactly went wrong with the last read, if it failed.
    pub trouble: String,
    holders: HashMap<Token, Sighting>,
}

/// What the list says of a holder.
#[derive(Clone, Copy, Debug, Default)]
struct Sighting {
    /// It named the holder once.
    was_listed: bool,
    /// Since when every complete read lacks it.
    absent_since: Option<Mono>,
    loss: Option<Loss>,
}

impl List {
    /// Takes another time between two reads.
    pub fn set_refresh(&mut self, refresh: Duration) {
        self.refresh = refresh;
    }

    /// Says whether it lists workers by their own names only.
    pub fn set_needs_name(&mut self, needs_name: bool) {
        self.needs_name = needs_name;
    }

    /// Whether a holder that nothing names can never be missing from it.
    pub fn needs_name(&self) -> bool {
        self.needs_name
    }

    /// How long somebody must be absent to count as unlisted.
    pub fn patience(&self) -> Duration {
        LEAST.max(self.refresh * 3)
    }

    /// Takes a complete read. Gives back the workers that the read before did not have.
    pub fn take(&mut self, members: &[ListMember], span: Span) -> Vec<Arc<str>> {
        self.reads.succeeded(span.done);
        // One read that failed, or some of a list that is read often, breaks no absence: half of the wait is watched anyway.
        let is_long = |l: Span| {
            !is_fresh(Some(l.done), span.sent, self.refresh)
                && span.sent.since(l.done) > self.patience() / 2
        };
        self.is_broken = self.last.is_some_and(is_long);
        self.last = Some(span);
        self.has_named |= !members.is_empty();
        self.members = members.iter().map(|m| m.name.clone()).collect();
        let workers = members.iter().filter(|m| !m.is_job).map(|m| m.name.clone());
        let workers: HashSet<Arc<str>> = workers.collect();
        let new = workers.difference(&self.workers).cloned().collect();
        self.workers = workers;
        new
    }

    /// After a complete read: holds it against those that hold a lock now, each with the first read that showed it so. Who
    /// does not is forgotten.
    pub fn hold_against<'a>(
        &mut self,
        holders: impl Iterator<Item = (&'a Owner, Option<&'a Arc<str>>, Mono)>,
    ) {
        let Some(span) = self.last else { return };
        let mut kept = HashMap::new();
        for (owner, worker, first) in holders {
            let mut sighting = self.holders.get(&owner.token).copied().unwrap_or_default();
            if self.names(owner, worker) {
                sighting = Sighting { was_listed: true, ..Sighting::default() };
            } else if self.cannot_miss(owner, worker) && !sighting.was_listed {
                sighting = Sighting::default();
            } else {
                self.miss(&mut sighting, first, span);
            }
            kept.insert(owner.token.clone(), sighting);
        }
        self.holders = kept;
    }

    /// It has no name that could be on the list; or a token that was read only in part, which is not the one there.
    fn cannot_miss(&self, owner: &Owner, worker: Option<&Arc<str>>) -> bool {
        worker.is_none() && (self.needs_name || owner.token.bytes().len() >= READ_IN_PART)
    }

    fn miss(&self, sighting: &mut Sighting, first: Mono, span: Span) {
        if self.is_broken && sighting.loss.is_none() {
            sighting.absent_since = None;
        }
        let since = (*sighting.absent_since.get_or_insert(span.done)).max(first);
        // Another tenure of the same token begins anew.
        sighting.loss = sighting.loss.filter(|loss| loss.since >= since);
        if self.has_named && span.sent.since(since) >= self.patience() {
            sighting.loss.get_or_insert(Loss { since, shown: span.done });
        }
    }

    /// Whether the last complete read names the holder: its worker; where nothing but its host stands for one, the host,
    /// with the pid or without; or its token, as lists of jobs do.
    fn names(&self, owner: &Owner, worker: Option<&Arc<str>>) -> bool {
        let has = |name: &str| self.members.contains(name);
        if worker.is_some_and(|w| has(w)) || has(&label::text(owner.token.bytes())) {
            return true;
        }
        let is_worker = |host: &&str| worker.is_none_or(|w| **w == **host);
        let host = owner.host.as_deref().filter(is_worker);
        host.is_some_and(|h| has(h) || owner.pid.is_some_and(|pid| has(&format!("{h}:{pid}"))))
    }

    /// How long it will be until the absence of a holder counts, which holds a lock since `first`; `None` if it is named or
    /// counts as absent.
    pub fn waits(
        &self,
        owner: &Owner,
        worker: Option<&Arc<str>>,
        first: Mono,
        now: Mono,
    ) -> Option<Duration> {
        let sighting = self.holders.get(&owner.token);
        if self.names(owner, worker) || sighting.is_some_and(|s| s.loss.is_some()) {
            return None;
        }
        let since = sighting.and_then(|s| s.absent_since).map_or(now, |since| since.max(first));
        Some(self.patience().saturating_sub(now.since(since)))
    }

    /// What it says of a holder now.
    pub fn verdict(
        &self,
        owner: &Owner,
        worker: Option<&Arc<str>>,
        now: Mono,
    ) -> (Liveness, Option<Loss>) {
        if !self.is_fresh(now) {
            return (Liveness::Unknown, None);
        }
        if self.names(owner, worker) {
            return (Liveness::Alive, None);
        }
        match self.holders.get(&owner.token) {
            Some(Sighting { loss: Some(loss), .. }) => (Liveness::Unlisted, Some(*loss)),
            // Absent, and not for long enough.
            Some(Sighting { was_listed: true, .. }) => (Liveness::Alive, None),
            _ => (Liveness::Unknown, None),
        }
    }

    /// Whether the last complete read names this worker.
    pub fn has(&self, name: &str) -> bool {
        self.workers.contains(name)
    }

    /// Whether it was read completely not long ago.
    pub fn is_fresh(&self, now: Mono) -> bool {
        is_fresh(self.last.map(|l| l.done), now, self.refresh)
    }

    /// Whether the last read came too late for an absence to have lasted from the one before.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Names in the last complete read, and when that was; `None` before one.
    pub fn last_read(&self) -> Option<(usize, Mono)> {
        self.last.map(|last| (self.members.len(), last.done))
    }

    /// Whether it can say anything at all.
    pub fn has_named(&self) -> bool {
        self.has_named
    }
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
