//! What a criterion needs of the exporter's config, told before anybody breaks anything: a source that is configured is there after
//! a few polls, and one that is not never comes.

use super::Judgement;
use crate::prove::history::{History, Look};

/// Polls of a lock that is held in which each of its sources is read.
const UNREAD: f64 = 10.0;

/// That no fault is to be made, as long as `lacks` names something; for good, if it was never there.
pub(super) fn unmet(
    history: &History,
    what: &'static str,
    lacks: impl Fn(&Look) -> Option<String>,
) -> Option<Judgement> {
    if history.tenures.is_missing {
        return Some(Judgement::cannot(
            what,
            "the exporter keeps no tenures of this lock: name it by its `key` in the exporter's config",
        ));
    }
    let last = history.last().filter(|l| l.document.lock.fresh)?;
    let lacking = lacks(last)?;
    let is_held = |l: &&Look| l.document.lock.fresh && !l.document.lock.holders.is_empty();
    let Some(held) = history.looks.iter().find(is_held) else {
        return Some(Judgement::waits("a worker to hold the lock"));
    };
    let was_met = history.looks.iter().any(|l| l.document.lock.fresh && lacks(l).is_none());
    if !was_met && history.polls(last.seconds - held.seconds) > UNREAD {
        return Some(Judgement::cannot(what, lacking));
    }
    Some(Judgement::waits(format!("what is needed to be read; make no fault yet ({lacking})")))
}
