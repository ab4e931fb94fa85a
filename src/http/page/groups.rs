//! Groups of locks: a row for each on the status page, and a page of its own with its locks, those that need a look first,
//! a hundred at a time.

use super::super::part::Part;
use super::ask::Ask;
use super::escape::{Broken, segment};
use super::frame::{self, UNKNOWN};
use super::row::Row;
use super::{facts, status, when, words};
use crate::expose::{Rendered, standing};
use crate::observe::Mono;
use crate::view::{GroupView, StoreView, View};

/// Locks on a page unless asked otherwise, and at most.
pub const ROWS: (usize, usize) = (100, 500);

const COLUMNS: [&str; 7] = [
    "Group",
    "Held",
    "Free",
    "Signals",
    "Least lease left",
    "Held for longest",
    "Needs a look, now or lately",
];

/// All groups.
pub fn section(out: &mut String, stores: &[StoreView], ask: &Ask) {
    if stores.iter().all(|s| s.groups.is_empty()) {
        return;
    }
    out.push_str("<h2>Groups of locks</h2>\n");
    facts::table(out, &COLUMNS);
    for (store, group) in stores.iter().flat_map(|s| s.groups.iter().map(move |g| (s, g))) {
        row(out, store, group, ask);
    }
    out.push_str("</tbody></table>\n");
}

fn row(out: &mut String, store: &StoreView, group: &GroupView, ask: &Ask) {
    let now = |value: String| if store.fresh { value } else { "not known now".to_owned() };
    let seconds = |s: Option<f64>| match s.filter(|s| store.fresh && s.is_finite()) {
        Some(s) => when::seconds(s),
        None => UNKNOWN.to_owned(),
    };
    let up = signals(group);
    facts::begin(out, store.fresh && up != UNKNOWN);
    facts::cell(out, "Group", &link(store, group, ask));
    let count = |n: u64| if group.is_known() { n.to_string() } else { "not known".to_owned() };
    let mut held = now(count(group.held));
    if group.refused > 0 {
        let keys = words::count(group.refused, "key", "keys");
        put!(held, "<div class=\"down\">{keys} not to be read: permission refused</div>");
    }
    facts::cell(out, "Held", &held);
    facts::cell(out, "Free", &now(count(group.free)));
    facts::cell(out, "Signals", &now(up));
    facts::cell(out, "Least lease left", &seconds(group.remaining_min_seconds));
    facts::cell(out, "Held for longest", &seconds(group.held_max_seconds));
    facts::cell(out, "Needs a look", &group.looks.to_string());
    out.push_str("</tr>\n");
}

fn signals(group: &GroupView) -> String {
    let mut out = String::new();
    for (signal, n) in group.flagged.iter().filter(|(_, n)| *n > 0) {
        put!(out, "<div>{n} <code>{}</code></div>", Broken(&words::metric(*signal)));
    }
    if out.is_empty() { UNKNOWN.to_owned() } else { out }
}

/// A link to the group's own page.
fn link(store: &StoreView, group: &GroupView, ask: &Ask) -> String {
    format!(
        "<a href=\"{}{}\">{}/<wbr><b>{}</b></a>",
        path(store, group),
        ask.tail(),
        Broken(&store.name),
        Broken(&group.name)
    )
}

fn path(store: &StoreView, group: &GroupView) -> String {
    format!("/groups/{}/{}", segment(&store.name), segment(&group.name))
}

/// One group by name.
pub fn find<'a>(
    view: &'a View,
    store: &str,
    group: &str,
) -> Option<(&'a StoreView, &'a GroupView)> {
    let store = view.stores.iter().find(|s| *s.name == *store)?;
    Some((store, store.groups.iter().find(|g| *g.name == *group)?))
}

/// The page of a group.
pub fn render(
    snapshot: &Rendered,
    (store, group): (&StoreView, &GroupView),
    part: Part,
    ask: &Ask,
    now: Mono,
) -> String {
    let name = format!("{}/{}", store.name, group.name);
    let links = format!(
        "{} <a href=\"/api/v1{}\">JSON of this group</a>",
        frame::back(ask),
        path(store, group)
    );
    let title = format!("{name} - dlock_exporter");
    let mut out = frame::open(snapshot, now, ask, (&title, &name), &links);
    facts::table(&mut out, &COLUMNS);
    row(&mut out, store, group, ask);
    out.push_str("</tbody></table>\n");
    let view = snapshot.view();
    let (members, all) = standing::members(view, store, group, part.offset, part.limit);
    put!(out, "<h2>Its locks <small>{all}</small></h2>\n");
    put!(
        out,
        "<p class=\"dim\">Those that need a look, or did lately, come first. A lock that was let go is shown for four polls; \
         what it counted stays with the group.</p>\n"
    );
    let shown: Vec<Row<'_>> = members.iter().map(|l| Row::new(store, l, ask)).collect();
    if !shown.is_empty() {
        status::table(&mut out, shown.iter());
    }
    turn(&mut out, ask, part, all);
    frame::close(out)
}

/// Links to the parts before and after.
fn turn(out: &mut String, ask: &Ask, part: Part, all: usize) {
    let Part { offset, limit } = part;
    let to = |offset: usize| ask.here("offset", Some(&offset.to_string()));
    out.push_str("<nav aria-label=\"Parts\">");
    if offset > 0 {
        put!(out, "<a href=\"{}\">before</a> ", to(offset.saturating_sub(limit)));
    }
    let next = offset.saturating_add(limit);
    if limit > 0 && next < all {
        put!(out, "<a href=\"{}\">{} more</a>", to(next), all - next);
    }
    out.push_str("</nav>\n");
}

/// The page for a name that no group has.
pub fn unknown(snapshot: &Rendered, ask: &Ask, now: Mono) -> String {
    let title = ("No such group - dlock_exporter", "No such group");
    let mut out = frame::open(snapshot, now, ask, title, &frame::back(ask));
    out.push_str(
        "<p>The config has no group of this name. In a path names are percent-encoded, / too.</p>\n",
    );
    frame::close(out)
}
