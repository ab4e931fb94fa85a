//! One scrape, as one lock sees it. Values that are not there are `None`, never 0.

use std::sync::Arc;

use crate::exporter::Metrics;

/// What the exporter shows of the lock of a stage.
pub struct Look {
    pub(super) metrics: Arc<Metrics>,
    pub(super) base: Arc<Metrics>,
    pub(super) store: String,
    pub(super) lock: String,
}

impl Look {
    /// All samples.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    fn own(&self) -> [(&str, &str); 2] {
        [("store", &self.store), ("lock", &self.lock)]
    }

    /// A metric of the lock.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.metrics.value(name, &self.own())
    }

    /// A metric of the lock with one more label.
    pub fn labelled(&self, name: &str, label: (&str, &str)) -> Option<f64> {
        let [store, lock] = self.own();
        self.metrics.value(name, &[store, lock, label])
    }

    /// How far a counter of the lock has risen since all was well.
    pub fn counted(&self, name: &str, label: (&str, &str)) -> f64 {
        let [store, lock] = self.own();
        let labels = [store, lock, label];
        let sum = |m: &Metrics| m.all(name, &labels).map(|s| s.value).sum::<f64>();
        sum(&self.metrics) - sum(&self.base)
    }

    /// The same of a counter with no more labels.
    pub fn counted_all(&self, name: &str) -> f64 {
        self.counted(name, ("lock", &self.lock))
    }

    /// Whether a signal is up.
    pub fn is_up(&self, signal: &str) -> bool {
        self.value(&format!("dlock_{signal}")) == Some(1.0)
    }

    /// Whether a signal is judged and down.
    pub fn is_down(&self, signal: &str) -> bool {
        self.value(&format!("dlock_{signal}")) == Some(0.0)
    }

    /// How often a signal rose.
    pub fn rises(&self, signal: &str) -> f64 {
        self.counted("dlock_signal_rises_total", ("signal", signal))
    }

    /// How many tenures ended so.
    pub fn ends(&self, evidence: &str) -> f64 {
        self.counted("dlock_lease_ends_total", ("evidence", evidence))
    }

    /// The worst liveness of its holders, empty if there is none.
    pub fn liveness(&self) -> String {
        let own = self.own();
        let mut states = self.metrics.all("dlock_holder_liveness", &own);
        let state = states.find(|s| s.value == 1.0).and_then(|s| s.label("state"));
        state.unwrap_or_default().to_owned()
    }

    /// Leases that ran out under a holder who was in this state.
    pub fn expired_under(&self, state: &str) -> f64 {
        self.counted("dlock_lease_expired_under_holder_total", ("state", state))
    }

    /// Proofs of two owners at once, and hints at it, of this kind.
    pub fn contentions(&self, kind: &str) -> f64 {
        self.counted("dlock_contention_events_total", ("kind", kind))
    }

    /// Nobody holds it.
    pub fn is_free(&self) -> bool {
        self.value("dlock_lock_held") == Some(0.0)
    }

    /// This worker holds it.
    pub fn is_held_by(&self, worker: &str) -> bool {
        self.labelled("dlock_lock_holder_info", ("worker", worker)) == Some(1.0)
    }

    /// The state of the lock in one line, for an expectation that does not hold.
    pub fn told(&self) -> String {
        let own = self.own();
        let up: Vec<&str> = super::signals().filter(|s| self.is_up(s)).collect();
        let holders = self.metrics.all("dlock_lock_holder_info", &own);
        let holders: Vec<&str> = holders.filter_map(|s| s.label("worker")).collect();
        let held = match self.value("dlock_lock_held") {
            Some(1.0) if holders.is_empty() => "held by nobody that it can name".to_owned(),
            Some(1.0) => format!("held by {}", holders.join(", ")),
            Some(_) => "free".to_owned(),
            None => "whether it is held is not told".to_owned(),
        };
        let mut told = format!("seen last: {held}");
        if !self.liveness().is_empty() {
            told += &format!(", who is {}", self.liveness());
        }
        if let Some(left) = self.value("dlock_lease_remaining_seconds") {
            told += &format!(", {left:.1} s left");
        }
        let up = if up.is_empty() { "none".to_owned() } else { up.join(", ") };
        told + &format!(", signals up: {up}")
    }
}
