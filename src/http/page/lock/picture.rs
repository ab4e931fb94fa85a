//! The last minutes of a lock, drawn: what was left of its lease, its writes, its holders' heartbeats, what happened; and the
//! same as a table, for whoever does not see the picture or wants the numbers.

use super::super::escape::Broken;
use super::super::frame::UNKNOWN;
use super::super::{facts, stalls, when, words};
use super::Subject;
use super::lanes::{self, Window};
use crate::view::{Act, HolderView, Mark, Signal, WorkerView};

/// The least and the most that is shown, in seconds.
const SHORTEST: f64 = 60.0;
const LONGEST: f64 = 600.0;

/// Holders with a lane of their own.
const HOLDERS: usize = 3;

/// The section; nothing of a lock of which no writes are kept and to which nothing happened.
pub fn section(out: &mut String, subject: &Subject<'_>) {
    let (row, view) = (subject.row, subject.view);
    let lock = row.lock;
    let marks: Vec<Mark> = lock.recent.iter().flat_map(|r| r.iter().copied()).collect();
    if marks.is_empty() && lock.transitions.is_empty() {
        return;
    }
    let holders: Vec<(&HolderView, &WorkerView)> = lock
        .holders
        .iter()
        .filter(|_| row.is_held())
        .filter_map(|h| Some((h, stalls::worker(view, &h.worker)?)))
        .filter(|(_, worker)| !worker.beats.is_empty())
        .take(HOLDERS)
        .collect();
    let now = view.taken;
    let oldest = marks.first().into_iter().map(|m| m.at);
    let oldest = oldest.chain(holders.iter().filter_map(|(_, w)| w.beats.front().copied()));
    let oldest = oldest.map(|at| now.secs_since(at)).fold(SHORTEST, f64::max);
    let window = Window { now, seconds: oldest.min(LONGEST).ceil() };

    let span = when::seconds(window.seconds);
    put!(out, "<h2>The last {span}</h2>\n<figure class=\"picture\">\n");
    if !marks.is_empty() {
        let lefts = marks.iter().filter_map(|m| m.left).map(f64::from);
        let longest = lefts.chain(lock.length_seconds).filter(|s| s.is_finite());
        let longest = longest.fold(0.1, f64::max);
        put!(out, "<div>Lease left, {} at the top</div>\n", when::seconds(longest));
        let state = (row.now(lock.lost_seconds), row.fresh);
        let left = format!("{} left of the length", facts::lease_text(row));
        lanes::lease(out, window, &marks, longest, state, &left);
        let renewals = marks.iter().filter(|m| m.act == Act::Renewed);
        let ages: Vec<f64> = renewals.map(|m| window.age(m.at)).collect();
        out.push_str("<div>Renewals, and (thicker) other writes of the lease</div>\n");
        lanes::writes(out, window, &marks, &times(&ages, "renewal", "renewals"));
    }
    for (n, (holder, worker)) in holders.iter().enumerate() {
        put!(out, "<div>Heartbeats of {}</div>\n", Broken(&worker.name));
        let ages: Vec<f64> = worker.beats.iter().map(|at| window.age(*at)).collect();
        let said = times(&ages, "beat", "beats");
        let (id, beats) = (format!("beats{n}"), worker.beats.iter().copied());
        lanes::beats(out, window, &id, beats, row.now(holder.lost_seconds), &said);
    }
    out.push_str("<div>What happened, signals that rose in red</div>\n");
    let is_signal = |what: &str| Signal::ALL.iter().any(|s| s.as_str() == what);
    let said = "the table of what happened last has it in words";
    lanes::happened(out, window, &lock.transitions, is_signal, &said);
    put!(out, "<div class=\"axis\"><span>{span} ago</span><span>now</span></div>\n");
    if row.now(lock.lost_seconds).is_some() {
        out.push_str("<figcaption>Shaded: its holder had lost liveness.</figcaption>\n");
    }
    out.push_str("</figure>\n");
    table(out, &marks, window, view.taken_wall);
}

/// How often, and when last.
fn times(ages: &[f64], one: &str, many: &str) -> String {
    let count = words::count(ages.len() as u64, one, many);
    match ages.iter().copied().reduce(f64::min) {
        Some(last) => format!("{count} seen, the last {} ago", when::seconds(last)),
        None => "none seen".to_owned(),
    }
}

/// The writes, the newest first.
fn table(out: &mut String, marks: &[Mark], window: Window, taken: f64) {
    if marks.is_empty() {
        return;
    }
    let rows = words::count(marks.len() as u64, "row", "rows");
    put!(out, "<details><summary>The writes of its lease as a table ({rows})</summary>\n");
    facts::table(out, &["When", "Ago", "What was seen", "Lease left then"]);
    for mark in marks.iter().rev() {
        let age = window.age(mark.at);
        facts::begin(out, false);
        facts::cell(out, "When", when::utc(taken - age).as_deref().unwrap_or(UNKNOWN));
        facts::cell(out, "Ago", &when::seconds(age));
        let act = match mark.act {
            Act::Held => "an owner has it",
            Act::Renewed => "renewed",
            Act::Written => "written in another way",
            Act::Ended => "its owner has it no more",
        };
        facts::cell(out, "What was seen", act);
        let left = match mark.left {
            _ if mark.act == Act::Ended => UNKNOWN.to_owned(),
            Some(left) => when::seconds(f64::from(left)),
            None => "no expiry".to_owned(),
        };
        facts::cell(out, "Lease left then", &left);
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></details>\n");
}
