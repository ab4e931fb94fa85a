//! What is wrong with a lock as one of few classes, what decided that, and the first steps for it. One source for the pages,
//! the API and the runbooks, which a test holds to it. It only reads verdicts that the view has; it makes none.

mod steps;
#[cfg(test)]
mod tests;

use serde::Serialize;

use super::standing;
use crate::view::{LockView, Signal, StoreView};

pub use steps::{OTHER, Steps, steps};

/// What is wrong, the most dangerous first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Two owners were valid at once.
    Contested,
    /// Something renews the lease of a holder that does not live.
    RenewalAfterLostLiveness,
    /// A holder that does not live owns it.
    StaleHolder,
}

impl Class {
    /// All of them, the most dangerous first.
    pub const ALL: [Class; 3] =
        [Class::Contested, Class::RenewalAfterLostLiveness, Class::StaleHolder];

    /// As the API has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Contested => "contested",
            Class::RenewalAfterLostLiveness => "renewal_after_lost_liveness",
            Class::StaleHolder => "stale_holder",
        }
    }

    /// The signal that says so.
    pub fn signal(self) -> Signal {
        match self {
            Class::Contested => Signal::Contested,
            Class::RenewalAfterLostLiveness => Signal::RenewalAfterLostLiveness,
            Class::StaleHolder => Signal::HolderStale,
        }
    }
}

/// A class that a lock is of, and what decided it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found<'a> {
    /// The class.
    pub class: Class,
    /// What was seen when its signal rose; `None` once that was too many transitions ago.
    pub decided_by: Option<&'a str>,
}

/// The classes of a lock, the most dangerous first; `None` when none of them can be judged now.
pub fn found<'a>(store: &StoreView, lock: &'a LockView) -> Option<Vec<Found<'a>>> {
    let judged = |class: Class| standing::judged(store, lock, class.signal());
    if Class::ALL.iter().all(|class| judged(*class).is_none()) {
        return None;
    }
    let is_so = |class: &&Class| judged(**class) == Some(true);
    Some(Class::ALL.iter().filter(is_so).map(|class| told(lock, *class)).collect())
}

fn told(lock: &LockView, class: Class) -> Found<'_> {
    let rises = lock.transitions.iter().filter(|t| t.what == class.signal().as_str());
    let last = rises.min_by(|a, b| a.age_seconds.total_cmp(&b.age_seconds));
    Found { class, decided_by: last.map(|t| t.detail.as_str()) }
}

/// The first steps for a lock: those of its most dangerous class, general ones where another signal is up; `None` where none
/// is.
pub fn first_steps(store: &StoreView, lock: &LockView) -> Option<&'static Steps> {
    let worst = found(store, lock).and_then(|all| all.first().map(|f| f.class));
    match worst {
        Some(class) => Some(steps(class)),
        None => standing::raised(store, lock).next().map(|_| &OTHER),
    }
}
