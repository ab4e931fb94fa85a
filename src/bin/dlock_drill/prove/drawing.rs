//! From what was seen to what is drawn: pure, and only what the exporter told. What several looks tell of the same instant is
//! drawn once.

use dlock_exporter::view::{Act, Signal};

use super::history::{History, Look, is_lost};
use crate::report::picture::{Held, Lost, Picture, Write};

/// Two things of one kind that are this close are the same, told twice.
const SAME: f64 = 0.06;
/// Marks of one kind that are drawn at most.
const MOST: usize = 2000;

/// How long before the watch a write may be that the first lease in the picture begins with.
const BEFORE: f64 = 3600.0;

/// A look, and when its snapshot was made in the watch's seconds: what is asked for several times shows the same instant then.
struct Shot<'a> {
    look: &'a Look,
    seconds: f64,
}

impl Shot<'_> {
    /// When something of this age was.
    fn at(&self, age: f64) -> f64 {
        self.seconds - age
    }
}

/// The picture of a history.
pub fn picture(history: &History) -> Picture {
    let seconds = history.last().map_or(0.0, |l| l.seconds);
    let mut picture = Picture { seconds, ..Picture::default() };
    for shot in shots(history) {
        writes(&mut picture, &shot);
        beats(&mut picture, &shot);
        happened(&mut picture, &shot);
    }
    for tenure in history.tenures.all() {
        let held = Held { who: tenure.who().to_owned(), from: tenure.seen, until: tenure.over };
        picture.held.push(held);
    }
    picture.lost = lost(history);
    picture
}

/// By the exporter's wall clock, where that ran as ours did; the look that came soonest after its snapshot says how they differ.
fn shots(history: &History) -> impl Iterator<Item = Shot<'_>> {
    let apart = history.looks.iter().map(|l| l.document.taken - l.seconds);
    let first = apart.reduce(f64::max).unwrap_or(0.0);
    history.looks.iter().map(move |look| {
        let by_theirs = look.document.taken - first;
        let is_stepped = (by_theirs - look.seconds).abs() > history.patience;
        Shot { look, seconds: if is_stepped { look.seconds } else { by_theirs } }
    })
}

fn writes(picture: &mut Picture, shot: &Shot<'_>) {
    for write in shot.look.document.recent.writes.iter().flatten() {
        let act = match write.what.as_str() {
            "held" => Act::Held,
            "renewed" => Act::Renewed,
            "ended" => Act::Ended,
            _ => Act::Written,
        };
        let seconds = shot.at(write.age_seconds);
        if !(-BEFORE..1e9).contains(&seconds) {
            continue;
        }
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

fn beats(picture: &mut Picture, shot: &Shot<'_>) {
    for beats in &shot.look.document.recent.beats {
        let known = picture.beats.iter().position(|(worker, _)| *worker == beats.worker);
        let place = known.unwrap_or_else(|| {
            picture.beats.push((beats.worker.clone(), Vec::new()));
            picture.beats.len() - 1
        });
        let Some((_, all)) = picture.beats.get_mut(place) else { continue };
        for age in &beats.ages_seconds {
            let seconds = shot.at(*age);
            if seconds >= 0.0
                && all.last().is_none_or(|last| seconds > last + SAME)
                && all.len() < MOST
            {
                all.push(seconds);
            }
        }
    }
}

fn happened(picture: &mut Picture, shot: &Shot<'_>) {
    for transition in &shot.look.document.lock.transitions {
        let seconds = shot.at(transition.age_seconds);
        if seconds.is_nan() || seconds < 0.0 {
            continue;
        }
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
