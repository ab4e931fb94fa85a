//! The status page: locks that need a look, groups of locks, then the other locks, then workers, stores and clocks. It is
//! shown a part at a time, and a reader can look for a name.

use super::ask::Ask;
use super::escape::{Broken, Escaped};
use super::frame::UNKNOWN;
use super::row::{self, Row};
use super::{attention, clocks, facts, frame, groups, stores, words, workers};
use crate::expose::{Rendered, standing};
use crate::observe::Mono;
use crate::view::{StoreView, View};

/// Locks on a page.
const ROWS: usize = 100;

const COLUMNS: [&str; 7] =
    ["Lock", "State", "Holder", "Liveness", "Lease left / length", "Renewed", "Cannot be judged"];

/// The whole page.
pub fn render(snapshot: &Rendered, metrics_path: &str, ask: &Ask, now: Mono) -> String {
    let view = snapshot.view();
    let rows = row::all(view, ask);
    // The locks of a group are on its own page, but for the first that need a look.
    let listed = || rows.iter().filter(|r| standing::is_listed(r.lock));
    let wanted = |r: &&Row<'_>| ask.filter.is_empty() || r.has(&ask.filter);
    let (mut flagged, calm): (Vec<&Row<'_>>, Vec<&Row<'_>>) =
        listed().filter(wanted).partition(|r| r.needs_a_look());
    let calm: Vec<&Row<'_>> = calm.into_iter().filter(|r| r.lock.group.is_none()).collect();
    // Signals are in the order of danger, so that comparing the lists puts the worst lock first; those without come last.
    flagged.sort_by(|a, b| {
        a.raised.is_empty().cmp(&b.raised.is_empty()).then_with(|| a.raised.cmp(&b.raised))
    });

    let mut out = frame::open(
        snapshot,
        now,
        ask,
        ("dlock_exporter", "dlock_exporter"),
        &format!(
            "<a href=\"{}\">metrics</a> JSON: <a href=\"/api/v1/locks\">locks</a> \
             <a href=\"/api/v1/workers\">workers</a> <a href=\"/api/v1/clocks\">clocks</a>",
            Escaped(metrics_path)
        ),
    );
    let is_partial = stores::notes(&mut out, &view.stores);
    if !listed().any(|r| !r.raised.is_empty()) {
        all_is_calm(&mut out, view, &rows, is_partial);
    }
    let all = flagged.len() + calm.len();
    if listed().count() > ROWS || !ask.filter.is_empty() {
        search(&mut out, ask, all);
    }
    let pages = all.div_ceil(ROWS).max(1);
    let page = ask.page.min(pages);
    let part = |rows: &[&Row<'_>], before: usize| {
        let from = ((page - 1) * ROWS).saturating_sub(before).min(rows.len());
        let to = (page * ROWS).saturating_sub(before).min(rows.len());
        (from, to)
    };
    let (from, to) = part(&flagged, 0);
    if from < to {
        put!(out, "<h2>Needs a look <small>{}</small></h2>\n", flagged.len());
        attention::table(&mut out, flagged.get(from..to).unwrap_or_default());
    }
    let is_first = page == 1 && ask.filter.is_empty();
    if is_first {
        groups::section(&mut out, &view.stores, ask);
    }
    let has_groups = view.stores.iter().any(|s| !s.groups.is_empty());
    let title = if has_groups { "All locks outside of groups" } else { "All locks" };
    let above = flagged.iter().filter(|r| r.lock.group.is_none()).count();
    let (from, to) = part(&calm, flagged.len());
    let shown = calm.get(from..to).unwrap_or_default();
    others(&mut out, title, shown, calm.len(), above);
    turn(&mut out, ask, page, pages);
    if is_first {
        workers::section(&mut out, &view.workers);
        stores::list(&mut out, &view.stores);
        clocks::section(&mut out, view);
    }
    frame::close(out)
}

/// A field for a name to look for.
fn search(out: &mut String, ask: &Ask, found: usize) {
    let text = Escaped(ask.filter_text());
    put!(
        out,
        "<form method=\"get\" action=\"/\"><label for=\"q\">Lock, key or holder has</label> \
         <input id=\"q\" name=\"q\" type=\"text\" value=\"{text}\" maxlength=\"300\"> \
         <button type=\"submit\">Look for it</button>"
    );
    if ask.is_still {
        out.push_str("<input type=\"hidden\" name=\"refresh\" value=\"off\">");
    }
    if !ask.filter.is_empty() {
        let locks = words::count(found as u64, "lock has it.", "locks have it.");
        put!(out, " {locks} <a href=\"/{}\">Show all</a>", ask.tail());
    }
    out.push_str("</form>\n");
}

/// Links to the parts before and after.
fn turn(out: &mut String, ask: &Ask, page: usize, pages: usize) {
    if pages < 2 {
        return;
    }
    let to = |page: usize| ask.here("page", Some(&page.to_string()));
    put!(out, "<nav aria-label=\"Parts of the list\">Page {page} of {pages} ");
    if page > 1 {
        put!(out, "<a href=\"{}\">first</a> <a href=\"{}\">before</a> ", to(1), to(page - 1));
    }
    if page < pages {
        put!(out, "<a href=\"{}\">next</a> <a href=\"{}\">last</a>", to(page + 1), to(pages));
    }
    out.push_str("</nav>\n");
}

/// Nothing is wrong only as far as it is known: what was not read lately is not calm.
fn all_is_calm(out: &mut String, view: &View, locks: &[Row<'_>], is_partial: bool) {
    if locks.iter().any(|r| !r.raised.is_empty()) {
        out.push_str("<p class=\"bad\">Locks of a group need a look; see there.</p>\n");
        return;
    }
    let counted = |of: fn(&StoreView) -> u64| view.stores.iter().map(of).sum::<u64>();
    let all = locks.len() as u64 + counted(|s| s.counted_only.0);
    let stale = counted(|s| if s.fresh { s.counted_only.1 } else { s.counted_only.0 });
    let unknown = locks.iter().filter(|r| !r.fresh).count() as u64 + stale;
    match (all, unknown) {
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

fn others(out: &mut String, title: &str, shown: &[&Row<'_>], all: usize, above: usize) {
    if all == 0 && above == 0 {
        return;
    }
    put!(out, "<h2>{title} <small>{}", all + above);
    match (above, all) {
        (0, _) => {}
        (_, 0) => out.push_str(", all of them above"),
        (n, _) => put!(out, ", {n} of them above and not repeated here"),
    }
    out.push_str("</small></h2>\n");
    if !shown.is_empty() {
        table(out, shown.iter().copied());
    }
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
    facts::begin(out, false);
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
