//! All values of a lock as lists of terms. A value that is not known, or not about now, is an en dash.

use super::escape::{Broken, Prose};
use super::frame::UNKNOWN;
use super::row::Row;
use super::{facts, resources, stalls, when, words};
use crate::view::{HolderView, LockView, SeriesTier, Signal, View};

/// The lists.
pub fn lists(out: &mut String, row: &Row<'_>, view: &View) {
    let lock = row.lock;
    section(out, "Holder", |out| holder(out, row));
    section(out, "Lease", |out| lease(out, row, view));
    resources::section(out, row, view);
    section(out, "Seen since the exporter started", |out| counts(out, lock));
    section(out, "Lock", |out| lock_itself(out, lock));
}

fn section(out: &mut String, title: &str, items: impl FnOnce(&mut String)) {
    put!(out, "<h2>{title}</h2>\n<dl>\n");
    items(out);
    out.push_str("</dl>\n");
}

/// A term and its markup.
fn item(out: &mut String, term: &str, markup: &str) {
    let class = if markup == UNKNOWN { " class=\"dim\"" } else { "" };
    put!(out, "<dt>{term}</dt><dd{class}>{markup}</dd>\n");
}

fn length(out: &mut String, term: &str, value: Option<f64>) {
    item(out, term, &value.map_or(UNKNOWN.to_owned(), when::seconds));
}

fn instant(out: &mut String, term: &str, value: Option<f64>) {
    item(out, term, &value.and_then(when::utc).unwrap_or_else(|| UNKNOWN.to_owned()));
}

fn holder(out: &mut String, row: &Row<'_>) {
    let lock = row.lock;
    item(out, "State", &facts::standing(row));
    let label = if row.fresh { "Holder" } else { "Last seen holder" };
    let is_one_of_many = lock.holders.len() > 1;
    for holder in &lock.holders {
        let mut text = facts::named(holder);
        if !holder.worker.is_empty() && !holder.fingerprint.is_empty() {
            put!(text, ", token <code>{}</code>", Broken(&holder.fingerprint));
        }
        if holder.count != 1 {
            put!(text, ", holds it {}", words::count(holder.count, "time", "times"));
        }
        if let Some(mode) = words::mode(holder.mode) {
            put!(text, ", {mode}");
        }
        if row.fresh {
            put!(text, ", {}", words::liveness(holder.liveness));
        }
        item(out, label, &text);
        if is_one_of_many {
            let left = row.now(holder.remaining_seconds).map_or(UNKNOWN.to_owned(), when::seconds);
            item(out, "Left of its lease", &left);
        }
        if let Some(place) = facts::place(holder) {
            item(out, "Its token names", &place);
        }
        if holder.taken_at.is_some() {
            instant(out, "Acquired, as its token says", holder.taken_at);
        }
    }
    if lock.votes.is_some() {
        let votes = row.now(lock.votes).map_or(UNKNOWN.to_owned(), facts::votes);
        item(out, "Keys of one owner", &votes);
    }
    for (server, ballot) in lock.ballots.iter().filter(|_| row.fresh) {
        item(out, &format!("Server {}", Broken(server)), words::ballot(*ballot));
    }
    if lock.holders_beyond > 0 {
        item(out, "More holders", &lock.holders_beyond.to_string());
    }
    if let Some(limit) = lock.limit {
        let text = match lock.over_limit().filter(|_| row.fresh) {
            Some((count, _)) => format!("<span class=\"down\">{limit}, and {count} do</span>"),
            None => limit.to_string(),
        };
        item(out, "May hold it at once", &text);
    }
    if let Some(waiters) = lock.waiters.filter(|_| row.fresh) {
        item(out, "Waiting for it", &waiters.to_string());
    }
    let liveness = row.now(lock.liveness).map_or(UNKNOWN, words::liveness);
    item(out, "Liveness", liveness);
    length(out, "Lost for", row.now(lock.lost_seconds));
    item(out, "Last beat", &facts::beat(row));
    length(out, "Last renewal minus last beat", row.now(lock.renewal_minus_heartbeat_seconds));
    instant(out, "Held since, server clock", lock.held_since_timestamp);
    length(out, "Usual longest hold", lock.typical_hold_seconds);
    item(out, "Before", &facts::previous(lock));
    length(out, "The last tenure outlived its holder by", lock.overrun_seconds);
}

fn lease(out: &mut String, row: &Row<'_>, view: &View) {
    let lock = row.lock;
    item(out, "Left / length", &facts::lease(row));
    let source = match lock.lease_source {
        Some(source) => source.as_str(),
        None => UNKNOWN,
    };
    item(out, "Length from", source);
    instant(out, "Expires, server clock", row.now(lock.expiry_timestamp));
    item(out, "Last renewal", &facts::renewed(row));
    length(out, "Last renewal or acquisition", row.now(lock.renewal_age_seconds));
    instant(out, "The same, server clock", row.now(lock.last_renewal_timestamp));
    length(out, "Usual time between renewals", row.now(lock.renewal_period_seconds));
    let margin = row.now(lock.least_margin_ratio).filter(|m| m.is_finite());
    let margin = margin.map_or(UNKNOWN.to_owned(), |m| format!("{:.0} % of the lease", m * 100.0));
    item(out, "Least left before a renewal, last hour", &margin);
    let survives = row.now(lock.stall_budget_seconds).map_or(UNKNOWN.to_owned(), when::small);
    item(out, "Longest stall it survives", &survives);
    for holder in lock.holders.iter().filter(|_| row.is_held()) {
        worst_stall(out, holder, view);
    }
    item(out, "Left by the replicas' own clocks", &by_replica(row));
    let differing = lock.divergences.iter().filter(|_| row.fresh);
    let differing: Vec<String> = differing
        .map(|(addr, kind)| format!("{}: {}", Broken(addr), words::plain(kind.as_str())))
        .collect();
    let differing = if differing.is_empty() { UNKNOWN.to_owned() } else { differing.join("<br>") };
    item(out, "Replicas that differ", &differing);
}

/// What the holder's host showed, beside what the lease survives. A holder seen nowhere near has no such line.
fn worst_stall(out: &mut String, holder: &HolderView, view: &View) {
    let worker = stalls::worker(view, &holder.worker);
    let Some(host) = worker.and_then(|w| w.host.as_ref()) else { return };
    let name = Broken(&holder.worker);
    item(out, &format!("Worst stall of {name}"), &stalls::worst(host));
    let now = stalls::now(host);
    if !now.is_empty() {
        item(out, &format!("{name} now"), &now);
    }
}

/// A replica whose clock is ahead would let go of the lock early, were it made primary.
fn by_replica(row: &Row<'_>) -> String {
    let mut parts = Vec::new();
    for (addr, left, earlier) in row.lock.remaining_by_replica.iter().filter(|_| row.fresh) {
        let apart = match when::small(earlier.abs()) {
            none if none == "0 s" => "as on the primary".to_owned(),
            some if *earlier > 0.0 => format!("{some} earlier than on the primary"),
            some => format!("{some} later than on the primary"),
        };
        parts.push(format!("{}: {}, {apart}", Broken(addr), when::seconds(*left)));
    }
    if parts.is_empty() { UNKNOWN.to_owned() } else { parts.join("<br>") }
}

fn counts(out: &mut String, lock: &LockView) {
    let counts = &lock.counts;
    let number = |out: &mut String, term: &str, n: u64| item(out, term, &n.to_string());
    number(out, "Acquisitions", counts.acquisitions);
    number(out, "Renewals", counts.renewals);
    number(out, "Renewals after it was overdue", counts.late_renewals);
    number(out, "Renewals after lost liveness", counts.renewals_after_lost_liveness);
    let ends = counts.ends.iter().filter(|(_, n)| *n > 0);
    item(out, "Ends", &each(ends.map(|(end, n)| (end.as_str(), *n))));
    let under = counts.expired_under_holder.iter().flatten().filter(|(_, n)| *n > 0);
    let under = match counts.expired_under_holder {
        Some(_) => each(under.map(|(liveness, n)| (liveness.as_str(), *n))),
        None => UNKNOWN.to_owned(),
    };
    item(out, "Leases that ran out under a holder", &under);
    length(out, "Time free", Some(counts.free_seconds));
    let rises = lock.rises.iter().filter(|(_, n)| *n > 0);
    item(out, "Rises", &each(rises.map(|(signal, n): &(Signal, u64)| (signal.as_str(), *n))));
}

/// Counts with their names; `none` where all of them are 0.
fn each<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> String {
    let parts: Vec<String> =
        counts.map(|(what, n)| format!("{} {n}", words::plain(what))).collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

fn lock_itself(out: &mut String, lock: &LockView) {
    item(out, "Key", &format!("<code>{}</code>", Broken(&lock.key)));
    item(out, "Format", &facts::format(lock));
    if lock.format == "rueidislock" && lock.votes.is_none() {
        let hint = "a lock of rueidislock is held by who has most of its keys: name all in `keys`";
        item(out, "Its other keys", &Prose(hint).to_string());
    }
    let series = match lock.tier {
        None => "none while no signal is up",
        Some(SeriesTier::Flagged) => "while a signal is up",
        Some(SeriesTier::Core) => "core",
        Some(SeriesTier::Full) => "full",
    };
    item(out, "Metrics", series);
}
