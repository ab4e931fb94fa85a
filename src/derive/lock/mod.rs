//! One lock: what its key showed, read by read, as tenures of owners.
//!
//! [`Lock::read`] is the whole of it; the other files of this folder are its parts: [`share`] of a holder in a read,
//! [`write`](self) of E, [`judge`] of the lease, [`holder`] liveness, [`end`] of a tenure, [`beside`] the key.

mod absurd;
mod beside;
mod contested;
mod context;
mod counts;
mod creep;
mod crowd;
mod cut;
mod deeds;
mod end;
mod expected;
mod holder;
mod insisted;
mod judge;
mod kept;
mod lapses;
mod let_go;
pub mod look;
mod lost;
mod merged;
mod moved;
mod named;
pub mod past;
mod phase;
mod pointer;
mod probe;
pub mod proof;
mod read;
pub mod recent;
mod resumed;
mod returned;
mod rival;
mod shape;
mod share;
mod slow;
mod stall;
mod still;
mod token;
mod told;
mod unheld;
mod unreplicated;
mod write;

use std::collections::VecDeque;
use std::sync::Arc;

use super::ends::PendingEnd;
use super::habit::Habit;
use super::holds::Holds;
use super::lease::LeaseHistory;
use super::margin::Margins;
use super::renewers::Renewers;
use super::replica::Replica;
use super::servers::Servers;
use super::sight::Sight;
use super::signals::Signals;
use super::spread::Spread;
use super::tenure::{Seen, Tenure};
use super::wanted::{Effects, Wanted};
use super::words::{Evidence, LeaseSource, Signal};
use crate::config::LockRules;
use crate::observe::lock::{Decoded, Sharing, Unreadable};
use crate::observe::{KeyId, Line, Mono, StoreId};
pub use absurd::Growth;
pub(in crate::derive) use absurd::is_far;
pub use beside::{Beside, Issued, Waiters};
pub use contested::Contested;
pub use context::ReadContext;
pub use counts::{Counts, EXPIRED_UNDER, expired_under_index};
pub use creep::Creep;
pub use crowd::Crowd;
pub use deeds::{Deeds, Told};
pub use holder::Judged;
pub use insisted::Beats;
pub use judge::held_of;
pub use kept::{Kept, Rest};
pub use lost::Claim;
pub use phase::{Phase, Transition};
pub use pointer::Missed;
pub use probe::Probe;
pub use shape::Shown;
pub use slow::{SlowCommands, SlowEntry};
pub use still::Learned;
pub use unreplicated::{Replicated, Unreplicated};

/// One lock.
#[derive(Clone, Debug)]
pub struct Lock {
    /// Its store's id.
    pub store: StoreId,
    /// Its store's name.
    pub store_name: Arc<str>,
    /// Its key's id.
    pub key: KeyId,
    /// The line whose primary showed it last.
    pub line: Line,
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
    /// Other nodes that say master.
    pub(super) rivals: Vec<rival::Rival>,
    /// Owners that let it go on some of them.
    pub(in crate::derive) let_go: let_go::LetGo,
    /// Two owners at once.
    pub contested: Contested,
    /// What was done to its key.
    pub deeds: Deeds,
    /// Slow commands on its key.
    pub slow: SlowCommands,
    /// The primary's last two views, the newest first, for comparison.
    pub sights: [Option<Sight>; 2],
    /// Whether a replica has what it shows; `None` while free.
    pub unreplicated: Option<Unreplicated>,
    /// When something of it needed a look, for `series: flagged` and for groups.
    pub look: Option<look::Look>,
    /// A pattern found it and had not seen it in the whole round before: what holds it took it since.
    pub has_appeared: bool,
    /// The last transitions.
    pub timeline: VecDeque<Transition>,
    /// The last writes of its expiry, where they are kept.
    pub recent: Option<recent::Recent>,
    /// The last tenures that are over; kept where `recent` is.
    pub past: Option<past::Past>,
    /// Its last ends.
    pub(super) lapses: lapses::Lapses,
    /// The shapes that its key had.
    pub shapes: shape::Shapes,
    /// What keys beside its own told.
    pub beside: Beside,
    /// It is JSON, and `owner_json` finds no owner in it.
    finds_no_owner: bool,
    /// Something named a worker as its holder, now or before.
    pub was_named: bool,
    /// Reads around its expiries are asked for.
    is_aligned: bool,
    /// While one of several holders stands in: signals that rose for it, and why.
    raised: Option<Vec<(Signal, String)>>,
    /// Who waits, where the value itself shows it.
    pub waiters_inside: Option<Waiters>,
    /// Holders whose share ends a lease after its last refresh, as of the last read.
    refreshed: Vec<share::Refreshed>,
    /// Its keys, if it has several.
    pub spread: Option<Box<Spread>>,
    /// Its servers, if several of their own have it.
    pub servers: Option<Box<Servers>>,
    /// Who renews it.
    pub renewers: Renewers,
}

impl Lock {
    /// A lock that was not read yet.
    pub fn new(watched: &crate::observe::lock::KeyWatched, store_name: Arc<str>) -> Self {
        Self {
            store: watched.store,
            store_name,
            key: watched.key,
            line: Line::default(),
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
            rivals: Vec::new(),
            let_go: let_go::LetGo::default(),
            contested: Contested::default(),
            deeds: Deeds::default(),
            slow: SlowCommands::default(),
            sights: [None, None],
            unreplicated: None,
            look: None,
            has_appeared: watched.has_appeared,
            timeline: VecDeque::new(),
            recent: None,
            past: None,
            lapses: lapses::Lapses::default(),
            shapes: shape::Shapes::default(),
            beside: Beside::default(),
            finds_no_owner: false,
            was_named: false,
            is_aligned: true,
            raised: None,
            waiters_inside: None,
            refreshed: Vec::new(),
            spread: None,
            servers: watched.rules.servers.map(|n| Box::new(Servers::new(n))),
            renewers: Renewers::default(),
        }
    }

    /// Whether this is a lock as far as is known: configured by key, or found by a pattern and seen with an owner.
    pub fn is_lock(&self) -> bool {
        self.rules.by_key || self.value.is_some()
    }

    /// Whether it is a key that a pattern found and that may not be read: nobody knows whether it is a lock.
    pub fn is_refused(&self) -> bool {
        !self.is_lock() && self.unreadable == Some(Unreadable::Permission)
    }

    /// The learned time to the next renewal of a tenure: the first may come later than the others.
    pub fn period_ahead(&self, tenure: Option<&Tenure>) -> Option<f64> {
        match tenure {
            Some(t) if t.renewals == 0 => self.habit.first_period(),
            _ => self.habit.period(),
        }
    }

    /// The present tenures of all its holders.
    pub fn tenures(&self) -> impl Iterator<Item = &Tenure> {
        let members = match &self.phase {
            Phase::Shared(crowd) => crowd.members.as_slice(),
            _ => &[],
        };
        self.tenure().into_iter().chain(members.iter().filter_map(|m| m.tenure()))
    }

    /// The present tenure of an exclusive lock, or of the holder that stands in.
    pub fn tenure(&self) -> Option<&Tenure> {
        match &self.phase {
            Phase::Held(t) => Some(t),
            _ => None,
        }
    }

    /// How many may hold it at once, of a semaphore: the config's word, else the format's.
    pub fn limit(&self) -> Option<u64> {
        let by_format = match self.value.as_ref().map(|v| v.sharing) {
            Some(Sharing::Permits(limit)) => limit,
            // It was not seen held yet.
            None => None,
            Some(_) => return None,
        };
        self.rules.limit.or(by_format)
    }

    /// Whether it is left to run out on purpose: the config's word, else the format's.
    pub fn ends_by_expiry(&self) -> bool {
        let value = self.tenure().map(|t| &t.value).or(self.value.as_ref());
        self.rules.ends_by_expiry.unwrap_or_else(|| value.is_some_and(|v| v.ends_by_expiry))
    }

    /// L in microseconds.
    pub fn lease(&self) -> Option<(i64, LeaseSource)> {
        self.lease_of(self.tenure())
    }

    /// L of one of its tenures (of the next one, while free) in microseconds.
    pub fn lease_of(&self, tenure: Option<&Tenure>) -> Option<(i64, LeaseSource)> {
        self.leases.length(&self.rules, tenure)
    }

    /// The longest L of its tenures (of the next one, while free) in seconds.
    pub fn longest_lease(&self) -> Option<f64> {
        let held = self.tenures().filter_map(|t| self.lease_seconds(Some(t))).reduce(f64::max);
        held.or_else(|| self.lease_seconds(None))
    }

    /// The same in seconds.
    pub fn lease_seconds(&self, tenure: Option<&Tenure>) -> Option<f64> {
        self.lease_of(tenure).map(|(l, _)| l as f64 / 1e6)
    }

    fn want_read(&self, at: Mono, fx: &mut Effects) {
        let store = self.store;
        match &self.spread {
            None => fx.wanted.push(Wanted::Key { store, key: self.key, at }),
            Some(all) => fx.wanted.extend(all.keys().map(|key| Wanted::Key { store, key, at })),
        }
    }
}
