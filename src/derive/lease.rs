//! The lease length L of a lock: configured, else learned from its tenures, else the format's default.

use std::collections::VecDeque;

use super::tenure::Tenure;
use super::words::LeaseSource;
use crate::config::LockRules;
use crate::observe::Expiry;

/// Earlier tenures remembered. A maximum for ever would be falsified by one long call or one backward clock step.
const TENURES: usize = 16;

/// What earlier tenures taught.
#[derive(Clone, Debug, Default)]
pub struct LeaseHistory {
    lengths: VecDeque<i64>,
}

impl LeaseHistory {
    /// Takes the length that an ended tenure showed.
    pub fn learn(&mut self, largest: Option<i64>) {
        let Some(largest) = largest else { return };
        if self.lengths.len() == TENURES {
            self.lengths.pop_front();
        }
        self.lengths.push_back(largest);
    }

    /// Whether nothing was learned.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    fn median(&self) -> Option<i64> {
        let mut sorted: Vec<i64> = self.lengths.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }

    /// The median in seconds, and of how many tenures it is.
    pub fn median_seconds(&self) -> Option<(f64, usize)> {
        self.median().map(|m| (m as f64 / 1e6, self.lengths.len()))
    }

    /// L in microseconds of the present tenure (or of the next, while free), and where it comes from.
    pub fn length(&self, rules: &LockRules, tenure: Option<&Tenure>) -> Option<(i64, LeaseSource)> {
        if let Some(l) = rules.lease {
            return Some((i64::try_from(l.as_micros()).unwrap_or(i64::MAX), LeaseSource::Config));
        }
        let own = tenure.and_then(|t| t.largest);
        let learned = match tenure {
            Some(t) if t.is_seen_begin() => own,
            _ => own.max(self.median()),
        };
        learned.map(|l| (l, LeaseSource::Learned)).or_else(|| {
            let tenure = tenure?;
            let default = i64::try_from(tenure.value.default_lease?.as_micros()).ok()?;
            // More was left than the format's default: it was taken for a length of its own.
            match tenure.expiry {
                Expiry::At(e) if tenure.is_own && e.micros_since(tenure.first.time) > default => {
                    Some((e.micros_since(tenure.first.time), LeaseSource::Learned))
                }
                _ => Some((default, LeaseSource::Format)),
            }
        })
    }
}
