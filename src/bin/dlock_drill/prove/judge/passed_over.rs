//! Hand-overs that no criterion counts, and that look as if somebody made a fault: a worker lost the lock before its lease was over,
//! and was lost itself right after. Whether it let go before that no poll tells; that it is not counted has to be said.

use super::{Judgement, secs};
use crate::prove::history::History;
use crate::prove::tenures::Tenure;

/// Polls after the end of a tenure in which the loss of its worker belongs to it.
const SOON: f64 = 6.0;
/// The last ones are said.
const MOST: usize = 5;

/// Adds what is passed over to the evidence.
pub(super) fn tell(judgement: &mut Judgement, history: &History) {
    let all = history.tenures.all();
    let pairs = all.iter().zip(all.iter().skip(1));
    let found: Vec<(f64, String)> =
        pairs.filter_map(|(old, next)| one(history, old, next)).collect();
    for (at, text) in found.iter().rev().take(MOST).rev() {
        judgement.saw(*at, text.clone());
    }
}

fn one(history: &History, old: &Tenure, next: &Tenure) -> Option<(f64, String)> {
    let (over, worker) = (old.over?, old.worker.as_ref()?);
    let left = old.expiry? - next.first?;
    if old.is_same_worker(next) || left <= 0.001 {
        return None;
    }
    let soon = history.since(over).take_while(|l| l.seconds <= over + history.poll * SOON);
    let lost = soon.filter(|l| l.workers.get(worker).and_then(|w| w.is_lost()) == Some(true));
    let at = lost.map(|l| l.seconds).next()?;
    let text = format!(
        "{worker} is lost, but {} had the lock at least {} before the lease of {worker} was over, and {worker} was seen alive last \
         while it had it: looks like a release before that, and is not counted",
        next.who(),
        secs(left)
    );
    Some((at, text))
}
