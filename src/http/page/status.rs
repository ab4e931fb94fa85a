//! The status page: locks that need a look, then the others, then workers on this host, stores and clocks.

use super::escape::Escaped;
use super::frame::UNKNOWN;
use super::row::{self, Row};
use super::{attention, clocks, facts, frame, stores, words, workers};
use crate::expose::Rendered;
use crate::observe::Mono;

/// Locks shown at most in each table; whoever has more looks at the API or in Prometheus.
const ROWS: usize = 500;

const COLUMNS: [&str; 7] =
    ["Lock", "State", "Holder", "Liveness", "Lease left / length", "Renewed", "Cannot be judged"];

/// The whole page.
pub fn render(snapshot: &Rendered, metrics_path: &str, now: Mono) -> String {
    let view = snapshot.view();
    let rows = row::all(view);
    let (mut flagged, calm): (Vec<&Row<'_>>, Vec<&Row<'_>>) =
        rows.iter().partition(|r| !r.raised.is_empty());
    // Signals are in the order of danger, so that comparing the lists puts the worst lock first.
    flagged.sort_by(|a, b| a.raised.cmp(&b.raised));

    let path = Escaped(metrics_path);
    let links = format!(
        "<a href=\"{path}\">metrics</a> JSON: <a href=\"/api/v1/locks\">locks</a> \
         <a href=\"/api/v1/workers\">workers</a> <a href=\"/api/v1/clocks\">clocks</a>"
    );
    let mut out = frame::open(snapshot, now, "dlock_exporter", "dlock_exporter", &links);
    if flagged.is_empty() {
        all_is_calm(&mut out, &calm);
    } else {
        put!(out, "<h2>Needs a look <small>{}</small></h2>\n", flagged.len());
        attention::table(&mut out, flagged.get(..ROWS).unwrap_or(&flagged));
        more(&mut out, flagged.len());
    }
    others(&mut out, &calm, flagged.len());
    workers::section(&mut out, &view.workers);
    stores::list(&mut out, &view.stores);
    clocks::section(&mut out, view);
    frame::close(out)
}

/// Nothing is wrong only as far as it is known: what was not read lately is not calm.
fn all_is_calm(out: &mut String, locks: &[&Row<'_>]) {
    let unknown = locks.iter().filter(|r| !r.fresh).count() as u64;
    match (locks.len(), unknown) {
        (0, _) => out.push_str("<p>No lock is known yet.</p>\n"),
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

fn others(out: &mut String, locks: &[&Row<'_>], above: usize) {
    if locks.is_empty() && above == 0 {
        return;
    }
    put!(out, "<h2>All locks <small>{}", locks.len() + above);
    match (above, locks.len()) {
        (0, _) => {}
        (_, 0) => put!(out, ", all of them above"),
        (n, _) => put!(out, ", {n} of them above and not repeated here"),
    }
    out.push_str("</small></h2>\n");
    if locks.is_empty() {
        return;
    }
    facts::table(out, &COLUMNS);
    for row in locks.iter().take(ROWS) {
        other(out, row);
    }
    out.push_str("</tbody></table>\n");
    more(out, locks.len());
}

fn other(out: &mut String, row: &Row<'_>) {
    out.push_str("<tr>");
    facts::cell(out, "Lock", &facts::link(row));
    facts::cell(out, "State", &facts::state(row));
    facts::cell(out, "Holder", &facts::holders(row));
    let liveness = row.now(row.lock.liveness).map_or(UNKNOWN, words::liveness);
    facts::cell(out, "Liveness", liveness);
    facts::cell(out, "Lease", &facts::lease(row));
    facts::cell(out, "Renewed", &facts::renewed(row));
    facts::cell(out, "Cannot be judged", &facts::blind(row.lock));
    out.push_str("</tr>\n");
}

fn more(out: &mut String, rows: usize) {
    if let Some(more) = rows.checked_sub(ROWS).filter(|n| *n > 0) {
        put!(
            out,
            "<p>{more} more are not shown; <a href=\"/api/v1/locks\">the JSON document</a> has them all.</p>\n"
        );
    }
}
