//! The page of one lock: everything the snapshot knows of it. It judges nothing and, like the API, tells nothing of now
//! about a lock that was not read lately.

use super::escape::{Broken, Prose, segment};
use super::frame::{self, UNKNOWN};
use super::row::Row;
use super::{attention, details, facts, stalls, when, words};
use crate::expose::{Rendered, standing};
use crate::observe::Mono;
use crate::view::{Signal, View};

const BACK: &str = "<a href=\"/\">all locks</a>";

/// The page.
pub fn render(snapshot: &Rendered, row: &Row<'_>, now: Mono) -> String {
    let (store, lock) = (&row.store.name, &row.lock.name);
    let name = format!("{store}/{lock}");
    let json = format!(
        "{BACK} {}<a href=\"/api/v1/locks/{}/{}\">JSON of this lock</a>",
        group(row),
        segment(store),
        segment(lock)
    );
    let mut out = frame::open(snapshot, now, &format!("{name} - dlock_exporter"), &name, &json);
    if !row.fresh {
        out.push_str(
            "<p class=\"bad\">This lock was not read lately: what it is now is not known.</p>\n",
        );
    }
    signals(&mut out, row);
    blind(&mut out, row, snapshot.view());
    details::lists(&mut out, row, snapshot.view());
    transitions(&mut out, row, snapshot.view().taken_wall);
    frame::close(out)
}

/// A link to the page of its group.
fn group(row: &Row<'_>) -> String {
    row.lock.group.as_ref().map_or_else(String::new, |group| {
        let (store, name) = (segment(&row.store.name), segment(group));
        format!("<a href=\"/groups/{store}/{name}\">its group</a> ")
    })
}

/// The page for a name that no lock has.
pub fn unknown(snapshot: &Rendered, store: &str, lock: &str, now: Mono) -> String {
    let title = "No such lock - dlock_exporter";
    let mut out = frame::open(snapshot, now, title, "No such lock", BACK);
    // Names come from the client here and may be of any length and kind.
    let name = |text: &str| crate::observe::label::text(text.as_bytes());
    put!(
        out,
        "<p>There is no lock <b>{}</b> in the store <b>{}</b> now. It may never have been seen, or be forgotten since it \
         is free. In a path names are percent-encoded, / too.</p>\n",
        Broken(&name(lock)),
        Broken(&name(store)),
    );
    frame::close(out)
}

fn signals(out: &mut String, row: &Row<'_>) {
    out.push_str("<h2>Signals</h2>\n");
    facts::table(out, &["Signal", "Now", "Rises", "What it means"]);
    for signal in Signal::ALL {
        let judged = standing::judged(row.store, row.lock, *signal);
        let class = if judged == Some(true) { " class=\"flagged\"" } else { "" };
        put!(out, "<tr{class}>");
        let metric = words::metric(*signal);
        facts::cell(out, "Signal", &format!("<code>{}</code>", Broken(&metric)));
        facts::cell(out, "Now", &standing_of(row, *signal, judged));
        let rises = row.lock.rises.iter().find(|(s, _)| s == signal).map_or(0, |(_, n)| *n);
        facts::cell(out, "Rises", &rises.to_string());
        facts::cell(out, "What it means", &Prose(words::meaning(*signal)).to_string());
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table>\n");
}

fn standing_of(row: &Row<'_>, signal: Signal, judged: Option<bool>) -> String {
    match (judged, attention::rose(row.lock, signal)) {
        (Some(true), Some(age)) => {
            format!("<b class=\"down\">up</b> for {}", when::seconds(age))
        }
        (Some(true), None) => "<b class=\"down\">up</b>".to_owned(),
        (Some(false), _) => "not up".to_owned(),
        (None, _) => "<span class=\"dim\">not judged</span>".to_owned(),
    }
}

/// Of the lock, and of its holders what is not said there already.
fn blind(out: &mut String, row: &Row<'_>, view: &View) {
    let mut list = facts::blind(row.lock).replace(UNKNOWN, "");
    for holder in row.lock.holders.iter().filter(|_| row.is_held()) {
        if let Some(worker) = stalls::worker(view, &holder.worker) {
            let is_of_host = |aspect: &str| !matches!(aspect, "heartbeat" | "process");
            let of_host = stalls::blind(worker, is_of_host);
            if !of_host.is_empty() {
                let name = Broken(&holder.worker);
                put!(list, "<div class=\"dim\">of the stalls of {name}:</div>{of_host}");
            }
        }
    }
    if !list.is_empty() {
        put!(out, "<h2>Cannot be judged</h2>\n{list}\n");
    }
}

fn transitions(out: &mut String, row: &Row<'_>, taken: f64) {
    out.push_str("<h2>What happened last</h2>\n");
    if row.lock.transitions.is_empty() {
        out.push_str("<p>Nothing yet.</p>\n");
        return;
    }
    facts::table(out, &["When", "Ago", "What", "Detail"]);
    for transition in row.lock.transitions.iter().rev() {
        let at = when::utc(taken - transition.age_seconds);
        out.push_str("<tr>");
        facts::cell(out, "When", at.as_deref().unwrap_or(UNKNOWN));
        facts::cell(out, "Ago", &when::seconds(transition.age_seconds));
        facts::cell(out, "What", &format!("<code>{}</code>", Broken(transition.what)));
        facts::cell(out, "Detail", &Broken(&transition.detail).to_string());
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table>\n");
}
