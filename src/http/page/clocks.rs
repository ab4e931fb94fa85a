//! Clocks: how wrong this host's and the configured ones can be, and how far the lock servers' are from this host's.

use super::escape::Broken;
use super::frame::UNKNOWN;
use super::{facts, when, words};
use crate::view::{ClockView, NodeFactsView, NodeView, View};

/// Nodes shown at most; the API has them all.
const NODES: usize = 200;

/// The section; nothing where no clock is known.
pub fn section(out: &mut String, view: &View) {
    let all = view.stores.iter().flat_map(|s| s.nodes.iter().map(move |n| (&*s.name, n)));
    let nodes: Vec<_> = all.filter_map(|(store, n)| Some((store, n, clock_of(n)?))).collect();
    let (forward, backward) = view.host_clock_steps;
    if nodes.is_empty() && view.clocks.is_empty() && (forward, backward) == (0, 0) {
        return;
    }
    out.push_str("<h2>Clocks</h2>\n");
    if forward > 0 || backward > 0 {
        put!(out, "<p>This host's own clock was stepped: {}.</p>\n", steps(forward, backward));
    }
    configured(out, &view.clocks);
    servers(out, &nodes);
}

/// The facts of a node, if its clock is in them.
fn clock_of(node: &NodeView) -> Option<&NodeFactsView> {
    let facts = node.facts.as_ref()?;
    (facts.clock_offset.is_some() || facts.skew_bound_seconds.is_some()).then_some(facts)
}

fn steps(forward: u64, backward: u64) -> String {
    let times = |n: u64, way: &str| (n > 0).then(|| format!("{n} {way}"));
    let both = [times(forward, "forward"), times(backward, "backward")];
    both.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn configured(out: &mut String, clocks: &[ClockView]) {
    if clocks.is_empty() {
        return;
    }
    facts::table(out, &["Clock", "State", "Offset from true time", "Wrong by at most", "Source"]);
    for clock in clocks {
        facts::begin(out, false);
        let here = if clock.is_local { " <small>this host's</small>" } else { "" };
        facts::cell(out, "Clock", &format!("<b>{}</b>{here}", Broken(&clock.name)));
        facts::cell(out, "State", &format!("<span class=\"prose\">{}</span>", state(clock)));
        let offset = clock.offset_seconds.filter(|s| s.is_finite());
        facts::cell(out, "Offset", &offset.map_or(UNKNOWN.to_owned(), ahead));
        let bound = clock.error_bound_seconds.filter(|s| s.is_finite());
        facts::cell(out, "Wrong by at most", &bound.map_or(UNKNOWN.to_owned(), when::small));
        facts::cell(out, "Source", &source(clock));
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table>\n");
}

fn state(clock: &ClockView) -> String {
    match (&clock.failure, clock.status) {
        (Some((reason, detail)), _) => format!(
            "<span class=\"down\">{}</span>: {}",
            words::plain(reason.as_str()),
            Broken(detail)
        ),
        (None, Some(status)) => words::clock(status).to_owned(),
        (None, None) => UNKNOWN.to_owned(),
    }
}

fn source(clock: &ClockView) -> String {
    let Some(said) = &clock.tracking else { return UNKNOWN.to_owned() };
    let stratum = format!("stratum {}", said.stratum);
    match said.source {
        Some(source) => format!("{}, {stratum}", Broken(&source.to_string())),
        None => stratum,
    }
}

/// An offset of which positive is ahead.
fn ahead(seconds: f64) -> String {
    match when::small(seconds.abs()) {
        none if none == "0 s" => none,
        some if seconds > 0.0 => format!("{some} ahead"),
        some => format!("{some} behind"),
    }
}

fn servers(out: &mut String, nodes: &[(&str, &NodeView, &NodeFactsView)]) {
    if nodes.is_empty() {
        return;
    }
    facts::table(out, &["Lock server", "Against this host", "Apart by at most", "Its steps"]);
    for (store, node, facts) in nodes.iter().take(NODES) {
        facts::begin(out, false);
        let name = format!("{}/<wbr><b>{}</b>", Broken(store), Broken(&node.addr));
        facts::cell(out, "Lock server", &name);
        facts::cell(out, "Against this host", &offset(facts));
        let bound = facts.skew_bound_seconds.filter(|s| s.is_finite());
        facts::cell(out, "Apart by at most", &bound.map_or(UNKNOWN.to_owned(), when::small));
        facts::cell(out, "Its steps", &stepped(node, facts));
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table>\n");
    if let Some(more) = nodes.len().checked_sub(NODES).filter(|n| *n > 0) {
        put!(
            out,
            "<p>{more} more are not shown; <a href=\"/api/v1/clocks\">the JSON document</a> has them all.</p>\n"
        );
    }
}

fn offset(facts: &NodeFactsView) -> String {
    match facts.clock_offset {
        Some((offset, error)) if offset.is_finite() && error.is_finite() => {
            format!("{}, give or take {}", ahead(offset), when::small(error))
        }
        _ => UNKNOWN.to_owned(),
    }
}

fn stepped(node: &NodeView, facts: &NodeFactsView) -> String {
    let mut out = String::new();
    if facts.clock_frozen == Some(true) {
        out.push_str("<div class=\"down\">it stands still: no lease runs out there</div>");
    }
    let (forward, backward) = node.clock_steps;
    match (forward > 0 || backward > 0, node.clock_step_seconds) {
        (true, Some(last)) => {
            put!(out, "{}, the last by {}", steps(forward, backward), when::small(last));
        }
        (true, None) => out.push_str(&steps(forward, backward)),
        (false, _) => {}
    }
    if out.is_empty() { UNKNOWN.to_owned() } else { out }
}
