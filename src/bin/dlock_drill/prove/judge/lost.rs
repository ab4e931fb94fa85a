//! Finds in what was seen the holder that was lost, as it was made to be: frozen, stopped or dead. One that came back while it had
//! the lock is no fault: the pause was too short, and the next one counts.

use crate::prove::history::{History, Look, is_lost};
use crate::prove::tenures::Tenure;

/// A holder that was lost.
#[derive(Clone, Debug)]
pub struct Lost {
    /// Its tenure, as it is known by now.
    pub tenure: Tenure,
    /// How it was shown first.
    pub liveness: String,
    /// The last look that showed it alive, by its place.
    pub alive: usize,
    /// The first that showed it lost.
    pub lost: usize,
}

/// Where the search stands.
#[derive(Clone, Debug)]
pub enum Search {
    /// Nobody holds the lock.
    NoHolder,
    /// Nothing says whether its holder lives.
    NoLiveness {
        /// Since when, in the watch's seconds.
        since: f64,
    },
    /// It lives.
    Alive {
        /// Who.
        who: String,
        /// How often a holder was lost and came back in time.
        returns: usize,
    },
    /// It is lost.
    Lost(Box<Lost>),
}

/// Looks for a holder that was alive and then lost in one of these ways.
pub fn search(history: &History, ways: &[&str]) -> Search {
    let mut alive: Option<(usize, String)> = None;
    let mut found: Option<(usize, usize, String, String)> = None;
    let mut returns = 0;
    let mut last = Search::NoHolder;
    for (n, look) in history.looks.iter().enumerate() {
        if !look.document.lock.fresh {
            continue;
        }
        let Some((fingerprint, who, liveness)) = holder(look) else {
            if found.is_some() {
                break;
            }
            last = Search::NoHolder;
            continue;
        };
        if let Some((_, _, lost, _)) = &found {
            if *lost != fingerprint {
                break;
            }
            if liveness == "alive" {
                (found, returns) = (None, returns + 1);
            }
        }
        match liveness.as_str() {
            "alive" => {
                alive = Some((n, fingerprint));
                last = Search::Alive { who, returns };
            }
            _ if found.is_none() && ways.contains(&liveness.as_str()) => {
                if let Some((at, _)) = alive.as_ref().filter(|(_, f)| *f == fingerprint) {
                    found = Some((*at, n, fingerprint, liveness));
                }
            }
            // A worker that just acquired was not looked at yet.
            _ if !is_lost(&liveness)
                && found.is_none()
                && !matches!(last, Search::NoLiveness { .. }) =>
            {
                last = Search::NoLiveness { since: look.seconds };
            }
            _ => {}
        }
    }
    let Some((alive, lost, fingerprint, liveness)) = found else { return last };
    let since = history.looks.get(alive).map_or(0.0, |l| l.seconds);
    let mut all = history.tenures.all().iter();
    let tenure =
        all.find(|t| t.fingerprint == fingerprint && t.over.is_none_or(|over| over > since));
    match tenure.cloned() {
        Some(tenure) => Search::Lost(Box::new(Lost { tenure, liveness, alive, lost })),
        None => Search::NoHolder,
    }
}

/// The one holder, by its fingerprint, its name for people and how it is.
fn holder(look: &Look) -> Option<(String, String, String)> {
    let lock = &look.document.lock;
    match lock.holders.as_slice() {
        [only] if lock.fresh && lock.state == "held" => {
            let who = only.worker.clone().unwrap_or_else(|| "the holder".to_owned());
            Some((only.fingerprint.clone(), who, only.liveness.clone()))
        }
        _ => None,
    }
}
