//! From what was seen to what is drawn: pure, and only what the exporter told. What several looks tell of the same instant is
//! drawn once.

use dlock_exporter::view::{Act, Signal};

use super::history::{History, Look, is_lost};
use crate::report::picture::{Held, Lost, Picture, Write};

/// Two things of one kind that are this close are the same, told twice.
const SAME: f64 = 0.06;
/// Marks of one kind that are drawn at most.
const MOST: usize = 2000;

/// The picture of a history.
pub fn picture(history: &History) -> Picture {
    let seconds = history.last().map_or(0.0, |l| l.seconds);
    let mut picture = Picture { seconds, ..Picture::default() };
    for look in &history.looks {
        writes(&mut picture, look);
        beats(&mut picture, look);
        happened(&mut picture, look);
    }
    for tenure in history.tenures.all() {
        let held = Held { who: tenure.who().to_owned(), from: tenure.seen, until: tenure.over };
        picture.held.push(held);
    }
    picture.lost = lost(history);
    picture
}

/// When it was, as this look has it; `None` if that was before the watch began.
fn at(look: &Look, age: f64) -> Option<f64> {
    Some(look.seconds - age).filter(|at| *at >= 0.0 && at.is_finite())
}

fn writes(picture: &mut Picture, look: &Look) {
    for write in look.document.recent.writes.iter().flatten() {
        let act = match write.what.as_str() {
            "held" => Act::Held,
            "renewed" => Act::Renewed,
            "ended" => Act::Ended,
            _ => Act::Written,
        };
        let Some(seconds) = at(look, write.age_seconds) else { continue };
        let last = picture.writes.last();
        // An owner may have followed another within one read.
        let is_known = last.is_some_and(|l| {
            seconds < l.seconds - SAME || ((seconds - l.seconds).abs() <= SAME && l.act == act)
        });
        let is_before = last.is_some_and(|l| {
            l.act == Act::Held && act == Act::Ended && seconds <= l.seconds + SAME
        });
        if !is_known && !is_before && picture.writes.len() < MOST {
            let seconds = last.map_or(seconds, |l| l.seconds.max(seconds));
            picture.writes.push(Write { seconds, act, left: write.left_seconds });
        }
    }
}

fn beats(picture: &mut Picture, look: &Look) {
    for beats in &look.document.recent.beats {
        let known = picture.beats.iter().position(|(worker, _)| *worker == beats.worker);
        let place = known.unwrap_or_else(|| {
            picture.beats.push((beats.worker.clone(), Vec::new()));
            picture.beats.len() - 1
        });
        let Some((_, all)) = picture.beats.get_mut(place) else { continue };
        for age in &beats.ages_seconds {
            let Some(seconds) = at(look, *age) else { continue };
            if all.last().is_none_or(|last| seconds > last + SAME) && all.len() < MOST {
                all.push(seconds);
            }
        }
    }
}

fn happened(picture: &mut Picture, look: &Look) {
    for transition in &look.document.lock.transitions {
        let Some(seconds) = at(look, transition.age_seconds) else { continue };
        let is_known = picture
            .happened
            .iter()
            .any(|(at, what, _)| (at - seconds).abs() <= SAME && *what == transition.what);
        if !is_known && picture.happened.len() < MOST {
            let is_bad = Signal::ALL.iter().any(|s| s.as_str() == transition.what);
            picture.happened.push((seconds, transition.what.clone(), is_bad));
        }
    }
}

/// The times in which the holder was lost, from look to look.
fn lost(history: &History) -> Vec<Lost> {
    let mut all: Vec<Lost> = Vec::new();
    let mut since: Option<f64> = None;
    for look in &history.looks {
        let lock = &look.document.lock;
        let is = lock.fresh && lock.holders.iter().any(|h| is_lost(&h.liveness));
        match (since, is) {
            (None, true) => since = Some(look.seconds),
            (Some(from), false) => {
                all.push(Lost { from, until: look.seconds });
                since = None;
            }
            _ => {}
        }
    }
    let last = history.last().map_or(0.0, |l| l.seconds);
    all.extend(since.map(|from| Lost { from, until: last }));
    all
}
