//! What is counted of the locks of a group: the counters of those that came and went, so that a group's totals never fall
//! however short-lived its locks are. Keeps nothing of a single lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::lock::Lock;
use super::store::Store;
use super::words::{Evidence, Signal};

/// Counters of several locks together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Acquisitions seen.
    pub acquisitions: u64,
    /// Renewals seen.
    pub renewals: u64,
    /// Renewals that came when the lock was overdue.
    pub late_renewals: u64,
    /// Renewals proven to come after the holder lost liveness.
    pub renewals_after_loss: u64,
    /// Ends, in the order of `Evidence::ALL`.
    pub ends: [u64; Evidence::ALL.len()],
    /// Leases that ran out under a holder: alive, stopped, frozen.
    pub expired_under: [u64; 3],
    /// Rises, in the order of `Signal::ALL`.
    pub rises: [u64; Signal::ALL.len()],
}

impl Totals {
    /// Adds what a lock has counted.
    pub fn add(&mut self, lock: &Lock) {
        let counts = &lock.counts;
        self.acquisitions += counts.acquisitions;
        self.renewals += counts.renewals;
        self.late_renewals += counts.late_renewals;
        self.renewals_after_loss += counts.renewals_after_loss;
        sum(&mut self.ends, counts.ends);
        sum(&mut self.expired_under, counts.expired_under);
        sum(&mut self.rises, Signal::ALL.iter().map(|s| lock.signals.rises(*s)));
    }

    /// Takes away what a lock had counted when that was added.
    pub(super) fn take(&mut self, lock: &Lock) {
        let counts = &lock.counts;
        self.acquisitions -= counts.acquisitions;
        self.renewals -= counts.renewals;
        self.late_renewals -= counts.late_renewals;
        self.renewals_after_loss -= counts.renewals_after_loss;
        less(&mut self.ends, counts.ends);
        less(&mut self.expired_under, counts.expired_under);
        less(&mut self.rises, Signal::ALL.iter().map(|s| lock.signals.rises(*s)));
    }

    /// Adds what others have counted.
    fn add_all(&mut self, other: &Self) {
        self.acquisitions += other.acquisitions;
        self.renewals += other.renewals;
        self.late_renewals += other.late_renewals;
        self.renewals_after_loss += other.renewals_after_loss;
        sum(&mut self.ends, other.ends);
        sum(&mut self.expired_under, other.expired_under);
        sum(&mut self.rises, other.rises);
    }
}

fn less(all: &mut [u64], less: impl IntoIterator<Item = u64>) {
    for (n, less) in all.iter_mut().zip(less) {
        *n = n.saturating_sub(less);
    }
}

fn sum(all: &mut [u64], more: impl IntoIterator<Item = u64>) {
    for (n, more) in all.iter_mut().zip(more) {
        *n += more;
    }
}

/// What the locks of each group that are not watched any more had counted.
#[derive(Clone, Debug, Default)]
pub struct Gone(BTreeMap<Arc<str>, Totals>);

impl Gone {
    /// A lock is not watched any more. Ends that wait for evidence will get none.
    pub(super) fn add(&mut self, lock: &Lock) {
        let Some(group) = &lock.rules.group else { return };
        let totals = self.0.entry(group.name.clone()).or_default();
        totals.add(lock);
        if let Some(unknown) = totals.ends.get_mut(Evidence::Unknown as usize) {
            *unknown += lock.pending.len() as u64;
        }
    }

    /// Forgets groups that are no longer configured.
    pub(super) fn keep(&mut self, is_configured: impl Fn(&str) -> bool) {
        self.0.retain(|name, _| is_configured(name));
    }
}

impl Store {
    /// All that was counted of each group's locks, of those that are there and of those that went.
    pub fn totals(&self) -> BTreeMap<Arc<str>, Totals> {
        let mut totals = self.gone.0.clone();
        let awake = self.locks.awake().map(|(_, lock)| lock);
        for lock in awake.chain(self.parked.values()) {
            let Some(group) = &lock.rules.group else { continue };
            match totals.get_mut(&group.name) {
                Some(totals) => totals.add(lock),
                None => totals.entry(group.name.clone()).or_default().add(lock),
            }
        }
        for class in self.locks.at_rest() {
            totals.entry(class.group.clone()).or_default().add_all(&class.totals);
        }
        totals
    }
}
