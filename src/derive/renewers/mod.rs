//! Whether the process that renews a lease is the one that works. A server does not say who wrote a key; but it says when
//! each connection was last used and for what. A connection that was idle since before a renewal did not make it, and one
//! whose last command is a write at just that time probably did. Several renewals together decide, or nothing does.

mod fit;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::connections::{Connection, Origin};
use super::tenure::RenewalMark;
use crate::observe::{Mono, Span};

pub use fit::{Fit, fit};

/// Renewals in a row that have to agree.
const AGREE: usize = 3;
/// Renewals that are remembered.
const MOST: usize = 8;
/// Other processes that are followed at most.
const MOST_OTHERS: usize = 64;
/// A list this long after a renewal tells what was used for it from what is used all the time.
const SHARP_SECONDS: f64 = 2.5;

/// What one list of clients said of one renewal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighed {
    /// The reads between which it was made.
    pub renewed: (Mono, Mono),
    /// The worker's own connections.
    pub own: Fit,
    /// Those of other processes of this host, by pid.
    pub others: BTreeMap<i32, Fit>,
    /// All others.
    pub elsewhere: Fit,
    /// Connections came and went unseen, the worker's among them perhaps.
    pub has_churn: bool,
    /// The list was made long enough after the renewal.
    pub is_sharp: bool,
}

/// What is known of who renews one tenure.
#[derive(Clone, Debug, Default)]
pub struct Renewers {
    tenure: Mono,
    own: BTreeSet<(i32, u64)>,
    /// The last renewals, the newest last.
    pub weighed: VecDeque<Weighed>,
    /// Processes other than the worker's that were found to renew, by pid and start time, and of which tenure: who renewed
    /// once may go on after the worker has ended, when nothing can be weighed any more.
    others: (Mono, BTreeSet<(i32, u64)>),
}

impl Renewers {
    /// Whether nobody could be told when this was last asked.
    pub fn is_forgotten(&self) -> bool {
        self.weighed.is_empty() && self.own.is_empty()
    }

    /// Nobody can be told any more.
    pub fn forget(&mut self) {
        self.weighed.clear();
        self.own.clear();
    }

    /// The processes other than the worker's that were found to renew this tenure.
    pub fn others(&self, tenure: Mono) -> impl Iterator<Item = (i32, u64)> + '_ {
        let (of, known) = &self.others;
        known.iter().copied().filter(move |_| *of == tenure)
    }

    /// Keeps in mind who renews, if it is another process. `started` tells when one did.
    pub fn remember(&mut self, started: impl Fn(i32) -> Option<u64>) {
        if self.others.0 != self.tenure {
            self.others = (self.tenure, BTreeSet::new());
        }
        if self.separate() != Some(true) {
            return;
        }
        let last = || self.weighed.iter().rev().take(AGREE);
        let fits = |w: &Weighed, pid: &i32| w.others.get(pid).is_some_and(|f| *f != Fit::Excluded);
        let newest = last().next().into_iter().flat_map(|w| w.others.keys());
        let found: BTreeSet<(i32, u64)> = newest
            .filter(|pid| last().all(|w| fits(w, pid)))
            .filter_map(|pid| Some((*pid, started(*pid)?)))
            .collect();
        if found.is_empty() {
            return;
        }
        // Who only happened to be busy with each of a few renewals was not with others.
        let is_ruled_out = |pid: &i32| last().any(|w| w.others.get(pid) == Some(&Fit::Excluded));
        self.others.1.retain(|(pid, _)| !is_ruled_out(pid));
        let room = MOST_OTHERS.saturating_sub(self.others.1.len());
        self.others.1.extend(found.into_iter().take(room));
    }

    /// How many of the last renewals the last command of a process fits; who fits more is the likelier one.
    pub fn matches(&self, pid: i32) -> usize {
        self.weighed.iter().filter(|w| w.others.get(&pid) == Some(&Fit::Match)).count()
    }

    /// Takes a list of the primary's clients. `tenure` is when it was first seen, `own` the worker's processes.
    pub fn weigh(
        &mut self,
        tenure: Mono,
        own: &BTreeSet<(i32, u64)>,
        renewal: RenewalMark,
        listed: Span,
        connections: &[Connection],
        has_churn: bool,
    ) {
        if self.tenure != tenure || self.own != *own {
            self.forget();
            (self.tenure, self.own) = (tenure, own.clone());
        }
        let renewed = (renewal.earlier, renewal.later);
        if listed.sent < renewal.later {
            return;
        }
        let pids: BTreeSet<i32> = own.iter().map(|(pid, _)| *pid).collect();
        let mut new = Weighed {
            renewed,
            own: Fit::Excluded,
            others: BTreeMap::new(),
            elsewhere: Fit::Excluded,
            has_churn,
            is_sharp: listed.sent.secs_since(renewal.later) >= SHARP_SECONDS,
        };
        for connection in connections {
            let fit = fit(connection, renewed);
            match &connection.origin {
                Origin::Own => {}
                // It may be the worker's.
                Origin::Unknown if fit != Fit::Excluded => return,
                Origin::Unknown => {}
                // Of one that a child inherited, nobody knows who used it.
                Origin::Here(who) => {
                    for pid in who {
                        if pids.contains(pid) {
                            new.own = new.own.max(fit);
                        } else if new.others.len() < MOST_OTHERS || new.others.contains_key(pid) {
                            let other = new.others.entry(*pid).or_insert(Fit::Excluded);
                            *other = fit.max(*other);
                        } else {
                            new.elsewhere = new.elsewhere.max(fit);
                        }
                    }
                }
                Origin::Hidden | Origin::Elsewhere => new.elsewhere = new.elsewhere.max(fit),
            }
        }
        match self.weighed.back_mut().filter(|w| w.renewed == renewed) {
            Some(known) => known.join(new),
            None => {
                if self.weighed.len() == MOST {
                    self.weighed.pop_front();
                }
                self.weighed.push_back(new);
            }
        }
    }

    /// Whether another process renews than the one that works; `None` if that cannot be told.
    pub fn separate(&self) -> Option<bool> {
        let last: Vec<&Weighed> = self.weighed.iter().rev().take(AGREE).collect();
        if last.len() < AGREE {
            return None;
        }
        let is_sharp = last.iter().filter(|w| w.is_sharp).count() + 1 >= AGREE;
        let has_churn = last.iter().any(|w| w.has_churn);
        let all = |least: Fit, of: &dyn Fn(&Weighed) -> Fit| last.iter().all(|w| of(w) >= least);
        let others: BTreeSet<i32> = last.iter().flat_map(|w| w.others.keys().copied()).collect();
        let other =
            |pid: i32| move |w: &Weighed| w.others.get(&pid).copied().unwrap_or(Fit::Excluded);
        let matches = |of: &dyn Fn(&Weighed) -> Fit| is_sharp && all(Fit::Match, of);
        if last.iter().all(|w| w.own == Fit::Excluded) {
            // Where connections come and go, the worker's may have been one of them: then the other's has to fit exactly.
            let is_other = |pid: &i32| {
                let of = other(*pid);
                matches(&of) || (!has_churn && all(Fit::Possible, &of))
            };
            return others.iter().any(is_other).then_some(true);
        }
        let own = |w: &Weighed| w.own;
        let no_other = others.iter().all(|pid| !all(Fit::Possible, &other(*pid)))
            && !all(Fit::Possible, &|w| w.elsewhere);
        let is_alone = !has_churn && no_other && all(Fit::Possible, &own);
        let fits = matches(&own) && others.iter().all(|pid| !all(Fit::Match, &other(*pid)));
        (is_alone || fits).then_some(false)
    }
}

impl Weighed {
    /// Joins what a later list says of the same renewal: what was idle once did not make it, and what fitted once may have
    /// been used for something else since.
    fn join(&mut self, later: Weighed) {
        let (mut kept, other) =
            if self.is_sharp { (self.clone(), later) } else { (later, self.clone()) };
        let exclude = |fit: &mut Fit, by: Fit| {
            if by == Fit::Excluded {
                *fit = Fit::Excluded;
            }
        };
        exclude(&mut kept.own, other.own);
        exclude(&mut kept.elsewhere, other.elsewhere);
        for (pid, fit) in &mut kept.others {
            exclude(fit, other.others.get(pid).copied().unwrap_or(Fit::Excluded));
        }
        kept.has_churn |= other.has_churn;
        *self = kept;
    }
}

#[cfg(test)]
mod tests;
