//! Locks with a signal up: what is wrong and since when, under which name an alert has it, and who is in it. After them those
//! of which sources told something lately that somebody should look at; these are not marked as wrong.

use super::escape::Broken;
use super::frame::UNKNOWN;
use super::row::Row;
use super::{facts, when, words};
use crate::view::{LockView, Signal};

const COLUMNS: [&str; 8] = [
    "Lock",
    "What is wrong",
    "Holder",
    "Last beat",
    "Last renewal",
    "Lease left / length",
    "Held before",
    "Cannot be judged",
];

/// The table of these locks.
pub fn table(out: &mut String, rows: &[&Row<'_>]) {
    facts::table(out, &COLUMNS);
    for row in rows {
        facts::begin(out, !row.raised.is_empty());
        facts::cell(out, "Lock", &facts::lock(row));
        facts::cell(out, "What is wrong", &wrong(row));
        facts::cell(out, "Holder", &holder(row));
        facts::cell(out, "Last beat", &facts::beat(row));
        facts::cell(out, "Last renewal", &facts::renewed(row));
        facts::cell(out, "Lease", &facts::lease(row));
        facts::cell(out, "Held before", &facts::previous(row.lock));
        facts::cell(out, "Cannot be judged", &facts::blind(row.lock));
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table>\n");
}

/// Each signal in words and by its metric. The worst one says all that a stale holder would add.
fn wrong(row: &Row<'_>) -> String {
    let mut out = String::new();
    let says_more = row.raised.contains(&Signal::RenewalAfterLostLiveness);
    for signal in &row.raised {
        if !(says_more && *signal == Signal::HolderStale) {
            put!(out, "<div class=\"signal\">{}</div>", since(row.lock, *signal));
        }
        put!(out, "<code>{}</code>", Broken(&words::metric(*signal)));
    }
    for note in &row.notes {
        put!(out, "<div>{note}</div>");
    }
    out
}

/// What a signal says, and since when where that is known.
fn since(lock: &LockView, signal: Signal) -> String {
    let said = words::signal(signal);
    match (signal, lock.lost_seconds) {
        (Signal::RenewalAfterLostLiveness, Some(lost)) => {
            format!("{said} {} ago", when::seconds(lost))
        }
        (Signal::HolderStale, Some(lost)) => {
            format!("its holder lost liveness {} ago and still owns it", when::seconds(lost))
        }
        _ => match rose(lock, signal) {
            Some(age) => format!("{said}, up for {}", when::seconds(age)),
            None => said.to_owned(),
        },
    }
}

/// How long ago a signal that is up rose, as far back as the lock's transitions are kept.
pub fn rose(lock: &LockView, signal: Signal) -> Option<f64> {
    let rises = lock.transitions.iter().filter(|t| t.what == signal.as_str());
    rises.map(|t| t.age_seconds).min_by(f64::total_cmp)
}

fn holder(row: &Row<'_>) -> String {
    let holders = facts::holders(row);
    if holders == UNKNOWN {
        return facts::state(row);
    }
    let mut out = format!("<div>{holders}</div>");
    if let Some(liveness) = row.lock.liveness {
        let class = if liveness.is_lost() { " class=\"down\"" } else { "" };
        put!(out, "<div{class}>{}</div>", words::liveness(liveness));
    }
    if let [only] = row.lock.holders.as_slice()
        && let Some(place) = facts::place(only)
    {
        put!(out, "<div>{place}</div>");
    }
    put!(out, "<div class=\"dim\">{}</div>", facts::state(row));
    out
}
