//! The page's markup. Every value goes through `Escaped`; a value that is not known is an en dash.

use std::fmt::Write;

use super::escape::{Escaped, segment};
use super::words;
use crate::expose::{Rendered, standing};
use crate::observe::Mono;
use crate::view::{LockView, NodeView, Signal, StoreView};

/// Locks shown at most in each table; whoever has more looks at the API or in Prometheus.
const ROWS: usize = 500;

const UNKNOWN: &str = "–";

/// A lock with its store and its signals that are up.
struct Row<'a> {
    store: &'a StoreView,
    lock: &'a LockView,
    raised: Vec<Signal>,
}

/// The whole page.
pub fn render(snapshot: &Rendered, metrics_path: &str, now: Mono) -> String {
    let mut out = String::with_capacity(16 * 1024);
    let view = snapshot.view();
    let locks: Vec<Row<'_>> = view.stores.iter().flat_map(rows_of).collect();
    let mut flagged: Vec<&Row<'_>> = locks.iter().filter(|r| !r.raised.is_empty()).collect();
    // Signals are in the order of danger, so that comparing the lists puts the worst lock first.
    flagged.sort_by(|a, b| a.raised.cmp(&b.raised));

    head(&mut out, snapshot, metrics_path);
    notices(&mut out, snapshot, now);
    if flagged.is_empty() {
        calm(&mut out, &locks);
    } else {
        table(&mut out, "Needs a look", &flagged);
    }
    table(&mut out, "All locks", &locks.iter().collect::<Vec<_>>());
    stores(&mut out, &view.stores);
    out.push_str("</main></body></html>\n");
    out
}

fn rows_of(store: &StoreView) -> impl Iterator<Item = Row<'_>> {
    store.locks.iter().map(move |lock| Row {
        store,
        lock,
        raised: standing::raised(store, lock).collect(),
    })
}

/// Writing to a String cannot fail; this says so in one place.
fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

fn head(out: &mut String, snapshot: &Rendered, metrics_path: &str) {
    out.push_str(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta http-equiv=\"refresh\" content=\"5\"><title>dlock_exporter</title>\
         <link rel=\"stylesheet\" href=\"/style.css\"></head>\n<body><main>\n",
    );
    let (version, path) = (Escaped(snapshot.own().version), Escaped(metrics_path));
    put(
        out,
        format_args!(
            "<header><h1>dlock_exporter <small>{version}</small></h1><nav><a href=\"{path}\">metrics</a> \
             <a href=\"/api/v1/locks\">API</a></nav></header>\n"
        ),
    );
}

fn notices(out: &mut String, snapshot: &Rendered, now: Mono) {
    if let Some(age) = snapshot.too_old(now) {
        let age = words::seconds(age.as_secs_f64());
        put(
            out,
            format_args!(
                "<p class=\"bad\" role=\"alert\">This snapshot is {age} old: the exporter is stuck and nothing below is \
                 about now.</p>\n"
            ),
        );
    }
    if let Some(error) = &snapshot.own().reload_error {
        put(
            out,
            format_args!(
                "<section class=\"bad\"><h2>The last reload failed</h2><p>The earlier configuration is still in \
                 use.</p><pre>{}</pre></section>\n",
                Escaped(error)
            ),
        );
    }
}

/// Nothing is wrong only as far as it is known: what was not read lately is not calm.
fn calm(out: &mut String, locks: &[Row<'_>]) {
    let unknown = locks.iter().filter(|r| !standing::is_fresh(r.store, r.lock)).count();
    match (locks.len(), unknown) {
        (0, _) => out.push_str("<p>No lock is known yet.</p>\n"),
        (_, 0) => out.push_str("<p class=\"calm\">No signal is up.</p>\n"),
        (all, n) => put(
            out,
            format_args!(
                "<p class=\"bad\">No signal is up, but {n} of {all} locks are not known now.</p>\n"
            ),
        ),
    }
}

fn table(out: &mut String, title: &str, rows: &[&Row<'_>]) {
    if rows.is_empty() {
        return;
    }
    put(out, format_args!("<h2>{title} <small>{}</small></h2>\n<table><thead><tr>", rows.len()));
    for column in [
        "Lock",
        "State",
        "Holder",
        "Liveness",
        "Lease left / length",
        "Signals",
        "Cannot be judged",
    ] {
        put(out, format_args!("<th scope=\"col\">{column}</th>"));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in rows.iter().take(ROWS) {
        lock_row(out, row);
    }
    out.push_str("</tbody></table>\n");
    if let Some(more) = rows.len().checked_sub(ROWS).filter(|n| *n > 0) {
        put(
            out,
            format_args!(
                "<p>{more} more are not shown; <a href=\"/api/v1/locks\">the API</a> has them all.</p>\n"
            ),
        );
    }
}

fn lock_row(out: &mut String, row: &Row<'_>) {
    let Row { store, lock, raised } = row;
    let class = if raised.is_empty() { "" } else { " class=\"flagged\"" };
    put(
        out,
        format_args!(
            "<tr{class}><td data-label=\"Lock\"><a href=\"/api/v1/locks/{}/{}\">{}/<b>{}</b></a></td>",
            segment(&store.name),
            segment(&lock.name),
            Escaped(&store.name),
            Escaped(&lock.name),
        ),
    );
    let fresh = standing::is_fresh(store, lock);
    cell(out, "State", &state(store, lock));
    cell(out, "Holder", &holders(lock, fresh));
    let liveness = lock.liveness.filter(|_| fresh).map_or(UNKNOWN, |l| l.as_str());
    cell(out, "Liveness", liveness);
    cell(out, "Lease", &lease(lock, fresh));
    cell(out, "Signals", &listed(raised.iter().map(|s| words::signal(*s).to_owned())));
    let blind = lock.coverage_lost.iter().map(|(aspect, reason)| words::coverage(*aspect, *reason));
    cell(out, "Cannot be judged", &listed(blind));
    out.push_str("</tr>\n");
}

fn cell(out: &mut String, label: &str, text: &str) {
    put(out, format_args!("<td data-label=\"{label}\">{}</td>", Escaped(text)));
}

fn state(store: &StoreView, lock: &LockView) -> String {
    let state = standing::state(store, lock);
    match lock.held_seconds {
        Some(age) if state == "held" => format!("held for {}", words::seconds(age)),
        _ if state == "unknown" => "not known now".to_owned(),
        _ => state.to_owned(),
    }
}

fn holders(lock: &LockView, fresh: bool) -> String {
    if lock.held != Some(true) {
        return UNKNOWN.to_owned();
    }
    // A semaphore can have many; the API has them all.
    let named = lock
        .holders
        .iter()
        .take(5)
        .map(|h| if h.worker.is_empty() { "unnamed" } else { &*h.worker });
    let mut text = named.collect::<Vec<_>>().join(", ");
    if text.is_empty() {
        text.push_str("unnamed");
    }
    if let Some(more) = lock.holders.len().checked_sub(5).filter(|n| *n > 0) {
        put(&mut text, format_args!(" and {more} more"));
    }
    if fresh { text } else { format!("last seen: {text}") }
}

fn lease(lock: &LockView, fresh: bool) -> String {
    let known = |s: Option<f64>| s.map_or(UNKNOWN.to_owned(), words::seconds);
    let left = lock.remaining_seconds.filter(|s| fresh && s.is_finite());
    match (left, lock.length_seconds) {
        (None, None) => UNKNOWN.to_owned(),
        (left, length) => format!("{} / {}", known(left), known(length)),
    }
}

fn listed(parts: impl Iterator<Item = String>) -> String {
    let text = parts.collect::<Vec<_>>().join("; ");
    if text.is_empty() { UNKNOWN.to_owned() } else { text }
}

fn stores(out: &mut String, stores: &[StoreView]) {
    out.push_str("<h2>Stores</h2>\n");
    if stores.is_empty() {
        out.push_str("<p>No store is known yet.</p>\n");
    }
    for store in stores {
        let fresh = if store.fresh {
            "read lately"
        } else {
            "not read lately: its locks are not known now"
        };
        put(out, format_args!("<h3>{} <small>{fresh}</small></h3><ul>\n", Escaped(&store.name)));
        for node in &store.nodes {
            node_line(out, node);
        }
        out.push_str("</ul>\n");
    }
}

fn node_line(out: &mut String, node: &NodeView) {
    let (class, up) = if node.up { ("up", "up") } else { ("down", "down") };
    let about = node.facts.as_ref().map_or(String::new(), |facts| {
        format!(", {}, {} {}", facts.role, facts.flavor, facts.version)
    });
    put(
        out,
        format_args!(
            "<li>{} <span class=\"{class}\">{up}</span>{}</li>\n",
            Escaped(&node.addr),
            Escaped(&about)
        ),
    );
}
