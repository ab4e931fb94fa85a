//! What is known of a lock, as markup for a table's cell or a list's item. Both pages say it in the same words.

use super::escape::{Broken, Escaped, Prose, segment};
use super::frame::UNKNOWN;
use super::row::Row;
use super::{hints, when, words};
use crate::expose::standing;
use crate::view::{Aspect, BlindReason, HolderView, LeaseSource, LockView, Votes};

/// Holders named in a cell. A semaphore can have many; the lock's own page and the API have them all.
const NAMED: usize = 5;

/// A link to the lock's own page.
fn link(row: &Row<'_>) -> String {
    format!(
        "<a href=\"/locks/{}/{}{}\">{}/<wbr><b>{}</b></a>",
        segment(&row.store.name),
        segment(&row.lock.name),
        row.tail,
        Broken(&row.store.name),
        Broken(&row.lock.name),
    )
}

/// Held, free, or not known now.
pub fn standing(row: &Row<'_>) -> String {
    let state = standing::state(row.store, row.lock);
    match row.lock.held_seconds {
        Some(age) if state == "held" => format!("held for {}", when::seconds(age)),
        _ if state == "unknown" => "not known now".to_owned(),
        _ => state.to_owned(),
    }
}

/// The same; of a lock over several keys also that too few or not all of them are held.
pub fn state(row: &Row<'_>) -> String {
    let state = standing(row);
    match row.now(row.lock.votes).filter(|v| v.most > 0 && v.most < v.of) {
        Some(votes) => format!("{state}<div class=\"dim\">{}</div>", self::votes(votes)),
        None => state,
    }
}

/// How many of a lock's keys the owner has that has most.
pub fn votes(votes: Votes) -> String {
    let Votes { most, needed, of } = votes;
    format!("{most} of {of} keys, {needed} needed")
}

/// Who holds it, by name, or by the token's fingerprint where no worker is named.
pub fn holders(row: &Row<'_>) -> String {
    let lock = row.lock;
    if lock.held != Some(true) {
        return UNKNOWN.to_owned();
    }
    let mut out = String::new();
    if !row.fresh {
        out.push_str("last seen: ");
    }
    if lock.holders.is_empty() {
        out.push_str("unnamed");
    }
    for (n, holder) in lock.holders.iter().take(NAMED).enumerate() {
        put!(out, "{}{}", if n > 0 { ", " } else { "" }, named(holder));
    }
    if let Some(more) = lock.holders.len().checked_sub(NAMED).filter(|n| *n > 0) {
        put!(out, " and {more} more");
    }
    if let Some((count, limit)) = lock.over_limit().filter(|_| row.fresh) {
        put!(out, "<div class=\"down\">{count} hold it, and {limit} may</div>");
    }
    out
}

/// A holder's name.
pub fn named(holder: &HolderView) -> String {
    match (&*holder.worker, &*holder.fingerprint) {
        ("", "") => "unnamed".to_owned(),
        ("", fingerprint) => format!("token <code>{}</code>", Broken(fingerprint)),
        (worker, _) => Broken(worker).to_string(),
    }
}

/// Host, pid and thread of a holder, as far as its token names them.
pub fn place(holder: &HolderView) -> Option<String> {
    let pid = holder.pid.map(|pid| format!("pid {pid}"));
    let thread = holder.thread.as_deref().map(|thread| format!("thread {}", Broken(thread)));
    let host = holder.host.as_deref().map(|host| match is_address(host) {
        true => format!("<span class=\"n\">node {}</span>", Escaped(host)),
        false => format!("on {}", Broken(host)),
    });
    let named: Vec<String> = [pid, thread, host].into_iter().flatten().collect();
    (!named.is_empty()).then(|| named.join(" "))
}

/// The address of a network card, which some tokens have in place of a host's name.
fn is_address(host: &str) -> bool {
    host.len() == 17
        && host.split(':').count() == 6
        && host
            .split(':')
            .all(|part| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// A link to the lock's own page, and in small its format.
pub fn lock(row: &Row<'_>) -> String {
    let lock = row.lock;
    let mut out = link(row);
    match lock.also_fits.as_slice() {
        [] if lock.format.is_empty() => {}
        [] => put!(out, "<div class=\"dim\">{}</div>", lock.format),
        _ => put!(out, "<div class=\"dim\">{}, a guess</div>", lock.format),
    }
    out
}

/// The format; others that fit as well are told, because the name is a guess then.
pub fn format(lock: &LockView) -> String {
    match lock.also_fits.as_slice() {
        [] if lock.format.is_empty() => UNKNOWN.to_owned(),
        [] => lock.format.to_owned(),
        others => format!("{}; {} would fit as well", lock.format, others.join(", ")),
    }
}

/// What is left of the lease, and its length, as a text and as a bar.
pub fn lease(row: &Row<'_>) -> String {
    format!("{}{}", lease_text(row), bar(row))
}

/// What is left of the lease, and its length.
pub fn lease_text(row: &Row<'_>) -> String {
    let left = row.now(row.lock.remaining_seconds).filter(|s| s.is_finite());
    let left = match left {
        Some(s) => Some(when::seconds(s)),
        None if row.is_held() && row.lock.expiry_timestamp.is_none() => {
            Some("no expiry".to_owned())
        }
        None => None,
    };
    match (left, length(row.lock)) {
        (None, None) => UNKNOWN.to_owned(),
        (left, length) => {
            let known = |s: Option<String>| s.unwrap_or_else(|| UNKNOWN.to_owned());
            format!("{} / {}", known(left), known(length))
        }
    }
}

/// What is left of the lease as a bar; nothing where that or the length is not known. The text beside it says the same.
fn bar(row: &Row<'_>) -> String {
    let is_known = |s: &f64| s.is_finite() && *s >= 0.0;
    let left = row.now(row.lock.remaining_seconds).filter(is_known).filter(|_| row.is_held());
    match (left, row.lock.length_seconds.filter(|s| is_known(s) && *s > 0.0)) {
        (Some(left), Some(length)) => {
            let (left, most) = (left.min(length), length);
            let (left, low) = (format!("{left:.1}"), format!("{:.1}", most / 5.0));
            format!(
                "<meter min=\"0\" max=\"{most:.1}\" low=\"{low}\" optimum=\"{most:.1}\" value=\"{left}\" \
                 aria-label=\"Lease left\"></meter>"
            )
        }
        _ => String::new(),
    }
}

/// The lease's length. A learned one is the longest that was seen: the real one is that or more.
pub fn length(lock: &LockView) -> Option<String> {
    let length = when::seconds(lock.length_seconds?);
    let learned = lock.lease_source == Some(LeaseSource::Learned);
    Some(if learned { format!("≥ {length}") } else { length })
}

/// When it was last renewed.
pub fn renewed(row: &Row<'_>) -> String {
    if !row.is_held() {
        return UNKNOWN.to_owned();
    }
    match row.lock.renewal_age_seconds {
        Some(age) if has_renewed(row.lock) => format!("{} ago", when::seconds(age)),
        Some(_) => "not yet".to_owned(),
        None => UNKNOWN.to_owned(),
    }
}

/// Until its first renewal a tenure's last write is its acquisition, which is as old as the tenure or older.
fn has_renewed(lock: &LockView) -> bool {
    match (lock.renewal_age_seconds, lock.held_seconds) {
        (Some(renewal), Some(held)) => lock.counts.renewals > 0 && renewal + 0.001 < held,
        _ => false,
    }
}

/// When its holder last beat.
pub fn beat(row: &Row<'_>) -> String {
    let age = row.now(row.lock.beat_age_seconds).filter(|_| row.is_held());
    age.map_or(UNKNOWN.to_owned(), |age| format!("{} ago", when::seconds(age)))
}

/// Who held it before, and how that ended.
pub fn previous(lock: &LockView) -> String {
    match &lock.previous {
        Some((worker, evidence)) => {
            let who = if worker.is_empty() { "unnamed" } else { &**worker };
            format!("{}: {}", Broken(who), words::end(*evidence))
        }
        None => UNKNOWN.to_owned(),
    }
}

/// What cannot be judged and why; what nobody configured is dimmed, as it is no fault, and so is what libraries do by design.
pub fn blind(lock: &LockView) -> String {
    let mut out = String::new();
    for (aspect, reason) in hints::told_once(&lock.blind) {
        let is_no_fault = matches!(reason, BlindReason::NotConfigured | BlindReason::ReusableToken);
        let class = if is_no_fault { " class=\"dim\"" } else { "" };
        let text = match &lock.missed_pointer {
            Some(pointer) if (aspect, reason) == (Aspect::Holder, BlindReason::Unsupported) => {
                words::missed(pointer)
            }
            _ => hints::blind(lock, aspect, reason),
        };
        put!(out, "<div{class}>{}</div>", Prose(&text));
    }
    if out.is_empty() { UNKNOWN.to_owned() } else { out }
}

/// Columns that say what a row is about.
const NAMES: [&str; 6] = ["Lock", "Group", "Worker", "Signal", "Resource", "Clock"];

/// A row of a table that needs a look, or that does not.
pub fn begin(out: &mut String, is_flagged: bool) {
    let class = if is_flagged { " class=\"flagged\"" } else { "" };
    put!(out, "<tr role=\"row\"{class}>");
}

/// A table's cell of markup. On a phone one that says nothing is left out.
pub fn cell(out: &mut String, label: &str, markup: &str) {
    let class = if markup == UNKNOWN { " class=\"none\"" } else { "" };
    // What a row is about is its heading. Roles are said: on a phone the boxes are no table any more, the meaning is.
    if NAMES.contains(&label) {
        put!(
            out,
            "<th scope=\"row\" role=\"rowheader\" data-label=\"{label}\"{class}>{markup}</th>"
        );
    } else {
        put!(out, "<td role=\"cell\" data-label=\"{label}\"{class}>{markup}</td>");
    }
}

/// The beginning of a table, which is called as the heading before it.
pub fn table(out: &mut String, columns: &[&str]) {
    out.push_str("<table role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\">");
    for column in columns {
        put!(out, "<th scope=\"col\" role=\"columnheader\">{column}</th>");
    }
    out.push_str("</tr></thead><tbody role=\"rowgroup\">\n");
}
