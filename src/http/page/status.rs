//! The status page: locks that need a look, groups of locks, then the other locks, then workers, stores and clocks.

use super::escape::{Broken, Escaped};
use super::frame::UNKNOWN;
use super::row::{self, Row};
use super::{attention, clocks, facts, frame, groups, stores, words, workers};
use crate::expose::{Rendered, standing};
use crate::observe::Mono;

/// Locks shown at most in each table; whoever has more looks at the API or in Prometheus.
const ROWS: usize = 500;

const COLUMNS: [&str; 7] =
    ["Lock", "State", "Holder", "Liveness", "Lease left / length", "Renewed", "Cannot be judged"];

/// The whole page.
pub fn render(snapshot: &Rendered, metrics_path: &str, now: Mono) -> String {
    let view = snapshot.view();
    let rows = row::all(view);
    // The locks of a group are on its own page, but for the first that need a look.
    let (mut flagged, calm): (Vec<&Row<'_>>, Vec<&Row<'_>>) =
        rows.iter().filter(|r| standing::is_listed(r.lock)).partition(|r| r.needs_a_look());
    let calm: Vec<&Row<'_>> = calm.into_iter().filter(|r| r.lock.group.is_none()).collect();
    // Signals are in the order of danger, so that comparing the lists puts the worst lock first; those without come last.
    flagged.sort_by(|a, b| {
        a.raised.is_empty().cmp(&b.raised.is_empty()).then_with(|| a.raised.cmp(&b.raised))
    });

    let path = Escaped(metrics_path);
    let links = format!(
        "<a href=\"{path}\">metrics</a> JSON: <a href=\"/api/v1/locks\">locks</a> \
         <a href=\"/api/v1/workers\">workers</a> <a href=\"/api/v1/clocks\">clocks</a>"
    );
    let mut out = frame::open(snapshot, now, "dlock_exporter", "dlock_exporter", &links);
    let is_partial = stores::notes(&mut out, &view.stores);
    if flagged.iter().all(|r| r.raised.is_empty()) {
        all_is_calm(&mut out, &rows, is_partial);
    }
    if !flagged.is_empty() {
        put!(out, "<h2>Needs a look <small>{}</small></h2>\n", flagged.len());
        attention::table(&mut out, flagged.get(..ROWS).unwrap_or(&flagged));
        more(&mut out, flagged.len());
    }
    groups::section(&mut out, &view.stores);
    let has_groups = view.stores.iter().any(|s| !s.groups.is_empty());
    let title = if has_groups { "All locks outside of groups" } else { "All locks" };
    let above = flagged.iter().filter(|r| r.lock.group.is_none()).count();
    others(&mut out, title, &calm, above);
    workers::section(&mut out, &view.workers);
    stores::list(&mut out, &view.stores);
    clocks::section(&mut out, view);
    frame::close(out)
}

/// Nothing is wrong only as far as it is known: what was not read lately is not calm.
fn all_is_calm(out: &mut String, locks: &[Row<'_>], is_partial: bool) {
    if locks.iter().any(|r| !r.raised.is_empty()) {
        out.push_str("<p class=\"bad\">Locks of a group need a look; see there.</p>\n");
        return;
    }
    let unknown = locks.iter().filter(|r| !r.fresh).count() as u64;
    match (locks.len(), unknown) {
        (0, _) => out.push_str("<p>No lock is known yet.</p>\n"),
        (_, 0) if is_partial => {
            out.push_str("<p>No signal is up, as far as the locks are watched.</p>\n");
        }
        (_, 0) => out.push_str("<p class=\"calm\">No signal is up.</p>\n"),
        (all, 1) => put!(
            out,
            "<p class=\"bad\">No signal is up, but 1 lock of {all} is not known now.</p>\n"
        ),
        (all, n) => put!(
            out,
            "<p class=\"bad\">No signal is up, but {n} locks of {all} are not known now.</p>\n"
        ),
    }
}

fn others(out: &mut String, title: &str, locks: &[&Row<'_>], above: usize) {
    if locks.is_empty() && above == 0 {
        return;
    }
    put!(out, "<h2>{title} <small>{}", locks.len() + above);
    match (above, locks.len()) {
        (0, _) => {}
        (_, 0) => put!(out, ", all of them above"),
        (n, _) => put!(out, ", {n} of them above and not repeated here"),
    }
    out.push_str("</small></h2>\n");
    if locks.is_empty() {
        return;
    }
    table(out, locks.iter().copied().take(ROWS));
    more(out, locks.len());
}

/// The table of these locks.
pub fn table<'a, 'b: 'a>(out: &mut String, rows: impl Iterator<Item = &'a Row<'b>>) {
    facts::table(out, &COLUMNS);
    for row in rows {
        other(out, row);
    }
    out.push_str("</tbody></table>\n");
}

fn other(out: &mut String, row: &Row<'_>) {
    out.push_str("<tr>");
    facts::cell(out, "Lock", &facts::lock(row));
    facts::cell(out, "State", &state(row));
    facts::cell(out, "Holder", &facts::holders(row));
    let liveness = row.now(row.lock.liveness).map_or(UNKNOWN, words::liveness);
    facts::cell(out, "Liveness", liveness);
    facts::cell(out, "Lease", &facts::lease(row));
    facts::cell(out, "Renewed", &facts::renewed(row));
    facts::cell(out, "Cannot be judged", &facts::blind(row.lock));
    out.push_str("</tr>\n");
}

/// Held or free, and the signals that are up: those of a group's locks are in one table with the others.
fn state(row: &Row<'_>) -> String {
    let mut out = facts::state(row);
    for signal in &row.raised {
        put!(out, "<div class=\"down\"><code>{}</code></div>", Broken(&words::metric(*signal)));
    }
    for note in &row.notes {
        put!(out, "<div class=\"prose\">{note}</div>");
    }
    out
}

fn more(out: &mut String, rows: usize) {
    if let Some(more) = rows.checked_sub(ROWS).filter(|n| *n > 0) {
        put!(
            out,
            "<p>{more} more are not shown; <a href=\"/api/v1/locks\">the JSON document</a> has them all.</p>\n"
        );
    }
}
