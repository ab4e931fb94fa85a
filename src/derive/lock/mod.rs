//! One lock: what its key showed, read by read, as tenures of owners.
//!
//! [`Lock::read`] is the whole of it; the other files of this folder are its parts: [`write`](self) of E, [`judge`] of
//! the lease, [`holder`] liveness, [`end`] of a tenure.

mod counts;
mod end;
mod holder;
mod judge;
mod stall;
mod token;
mod told;
mod write;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::clock::NodeClock;
use super::ends::PendingEnd;
use super::habit::Habit;
use super::holds::Holds;
use super::host::StallRules;
use super::lease::LeaseHistory;
use super::margin::Margins;
use super::replica::{Replica, Sight};
use super::signals::Signals;
use super::tenure::{Seen, Tenure};
use super::wanted::{Effects, Wanted};
use super::words::{Evidence, LeaseSource};
use super::workers::Workers;
use crate::config::LockRules;
use crate::observe::lock::{Decoded, Unreadable};
use crate::observe::{Expiry, Found, KeyId, Mono, Owner, StoreId};
pub use counts::{Counts, expired_under_index};
pub use holder::Judged;
pub use judge::held_of;

/// What a lock is doing.
#[derive(Clone, Debug)]
pub enum Phase {
    /// Never read.
    Unseen,
    /// The key is absent, or (found by a pattern) shows no owner.
    Free {
        /// First read that showed it so.
        since: Mono,
    },
    /// Somebody holds it.
    Held(Box<Tenure>),
}

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Transition {
    /// When it was seen.
    pub at: Mono,
    /// In one word.
    pub what: &'static str,
    /// For a person.
    pub detail: String,
}

/// One lock.
#[derive(Clone, Debug)]
pub struct Lock {
    /// Its store's id.
    pub store: StoreId,
    /// Its store's name.
    pub store_name: Arc<str>,
    /// Its key's id.
    pub key: KeyId,
    /// Its name.
    pub name: Arc<str>,
    /// The key as text.
    pub key_text: Arc<str>,
    /// The config's word on it.
    pub rules: Arc<LockRules>,
    /// What it is doing.
    pub phase: Phase,
    /// The last good read.
    pub seen: Option<Seen>,
    /// Why the last read failed, if it did.
    pub unreadable: Option<Unreadable>,
    /// The last value that named an owner; a pattern's key that never had one is not a lock.
    pub value: Option<Arc<Decoded>>,
    /// The key is there and names no owner.
    pub is_ownerless: bool,
    /// Ends whose evidence waits for the node's facts.
    pub pending: Vec<PendingEnd>,
    /// Who held it before, and how that ended.
    pub previous: Option<(Arc<str>, Evidence)>,
    /// How long the last tenure outlived its holder's death.
    pub overrun: Option<f64>,
    /// Lease lengths.
    pub leases: LeaseHistory,
    /// Renewal habit.
    pub habit: Habit,
    /// Holds.
    pub holds: Holds,
    /// Margins.
    pub margins: Margins,
    /// Signals.
    pub signals: Signals,
    /// A missed renewal is shown at least until then.
    pub overdue_until: Option<Mono>,
    /// Counters.
    pub counts: Counts,
    /// Replicas.
    pub replicas: Vec<Replica>,
    /// The primary's last two views, the newest first, for comparison.
    pub sights: [Option<Sight>; 2],
    /// When a signal was last up, for `series: flagged`.
    pub flagged_at: Option<Mono>,
    /// The last transitions.
    pub timeline: VecDeque<Transition>,
}

/// What a read comes with.
pub struct ReadContext<'a> {
    /// When, and the counters as of then.
    pub seen: Seen,
    /// The primary's replication offset.
    pub offset: Option<u64>,
    /// The primary's clock.
    pub clock: &'a NodeClock,
    /// Time between two polls.
    pub poll: Duration,
    /// Holds of all locks of the same pattern.
    pub pool: Option<&'a Holds>,
    /// What the config says about stalls.
    pub stalls: StallRules,
}

impl Lock {
    /// A lock that was not read yet.
    pub fn new(watched: &crate::observe::lock::KeyWatched, store_name: Arc<str>) -> Self {
        Self {
            store: watched.store,
            store_name,
            key: watched.key,
            name: watched.lock.clone(),
            key_text: watched.key_text.clone(),
            rules: watched.rules.clone(),
            phase: Phase::Unseen,
            seen: None,
            unreadable: None,
            value: None,
            is_ownerless: false,
            pending: Vec::new(),
            previous: None,
            overrun: None,
            leases: LeaseHistory::default(),
            habit: Habit::default(),
            holds: Holds::default(),
            margins: Margins::default(),
            signals: Signals::default(),
            overdue_until: None,
            counts: Counts::default(),
            replicas: Vec::new(),
            sights: [None, None],
            flagged_at: None,
            timeline: VecDeque::new(),
        }
    }

    /// Takes one read of the key on its primary.
    pub fn read(
        &mut self,
        found: &Found,
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        let unreadable = match found {
            Found::Unreadable(why) => Some(*why),
            // Whether somebody holds a list or another library's hash cannot be told; that nobody does, neither.
            Found::Present { value, .. }
                if value.holders.is_empty()
                    && (!is_plain(value) || self.is_declared_otherwise()) =>
            {
                Some(Unreadable::Unexpected)
            }
            _ => None,
        };
        if unreadable.is_some() {
            self.is_ownerless = matches!(found, Found::Present { .. });
            self.unreadable = unreadable;
            return;
        }
        let is_broken = self.is_broken(c);
        self.unreadable = None;
        self.compare_replicas(found, c);
        match found {
            Found::Present { value, expiry } if self.is_lock_value(value) => {
                self.is_ownerless = value.holders.is_empty();
                let holding = value.holders.first();
                let owner = holding.map(|h| &*h.owner);
                let count = holding.map_or(1, |h| h.count);
                let is_same = matches!(&self.phase, Phase::Held(t) if t.is_owner(owner));
                if is_same {
                    self.attribute(holding.map(|h| &h.owner), c, workers, fx);
                    self.continue_tenure(value, *expiry, count, is_broken, c, workers, fx);
                } else {
                    let owner = holding.map(|h| h.owner.clone());
                    let next = (owner, count, value.clone(), *expiry);
                    self.change_owner(Some(next), is_broken, c, workers, fx);
                }
            }
            Found::Present { .. } => {
                // An owner's key that names no owner any more: somebody wrote something else.
                self.is_ownerless = true;
                self.change_owner(None, is_broken, c, workers, fx);
            }
            _ => {
                self.is_ownerless = false;
                self.change_owner(None, is_broken, c, workers, fx);
            }
        }
        self.account_free(is_broken, c);
        self.seen = Some(c.seen);
        self.judge_lease(c, fx);
        self.judge_holder_at_read(c, workers, fx);
        self.judge_stall(c.clock.rtt(), c.stalls, workers, c.seen.span.done, fx);
        self.judge_replicas(c, fx);
    }

    /// A break lies between the last good read and this one: something failed, changed or came too late.
    fn is_broken(&self, c: &ReadContext<'_>) -> bool {
        let Some(seen) = &self.seen else { return true };
        self.unreadable.is_some()
            || seen.marks.breaks != c.seen.marks.breaks
            || c.seen.span.sent.since(seen.span.done) > c.poll * 4
    }

    /// Whether a present value makes the lock held. Found by a pattern, a value that names no owner is a counter, a
    /// queue or a signal, not a lock; configured by its key, it is a lock whose holder is anonymous.
    fn is_lock_value(&self, value: &Decoded) -> bool {
        !value.holders.is_empty() || (self.rules.by_key && is_plain(value))
    }

    /// Whether the config declares a format that no plain string can have.
    fn is_declared_otherwise(&self) -> bool {
        self.rules.format.as_deref().is_some_and(|f| f != "string")
    }

    /// Whether this is a lock as far as is known: configured by key, or found by a pattern and seen with an owner.
    pub fn is_lock(&self) -> bool {
        self.rules.by_key || self.value.is_some()
    }

    /// The learned time to the next renewal: the first of a tenure may come later than the others.
    pub fn period_ahead(&self) -> Option<f64> {
        match self.tenure() {
            Some(t) if t.renewals == 0 => self.habit.first_period(),
            _ => self.habit.period(),
        }
    }

    /// The present tenure.
    pub fn tenure(&self) -> Option<&Tenure> {
        match &self.phase {
            Phase::Held(t) => Some(t),
            _ => None,
        }
    }

    /// L in microseconds.
    pub fn lease(&self) -> Option<(i64, LeaseSource)> {
        self.leases.length(&self.rules, self.tenure())
    }

    /// L in seconds.
    pub fn lease_seconds(&self) -> Option<f64> {
        self.lease().map(|(l, _)| l as f64 / 1e6)
    }

    fn account_free(&mut self, is_broken: bool, c: &ReadContext<'_>) {
        match (&self.phase, &self.seen) {
            (Phase::Free { since }, Some(seen)) if !is_broken && *since <= seen.span.done => {
                self.counts.free_seconds += c.seen.span.done.secs_since(seen.span.done);
            }
            _ => {}
        }
    }

    fn want_read(&self, at: Mono, fx: &mut Effects) {
        fx.wanted.push(Wanted::Key { store: self.store, key: self.key, at });
    }
}

/// An owner, its hold count, the value and the expiry of a tenure that begins.
type Next = (Option<Arc<Owner>>, u64, Arc<Decoded>, Expiry);

/// Whether a value without an owner can be the mark of a lock at all.
fn is_plain(value: &Decoded) -> bool {
    use crate::observe::lock::Shape;
    matches!(value.shape, Shape::Text | Shape::Binary | Shape::Number | Shape::Json | Shape::Empty)
}
