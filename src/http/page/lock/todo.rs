//! What is wrong with a lock in one glance, and the first steps: what to record, to check, and not to do. The words are those
//! of the API and the runbooks.

use super::super::escape::{Broken, Prose};
use super::super::row::Row;
use super::super::{facts, words};
use super::Subject;
use crate::expose::advice;
use crate::view::Signal;

/// The section; of a lock of which nothing is up only how it stands.
pub fn section(out: &mut String, subject: &Subject<'_>) {
    let row = subject.row;
    glance(out, row);
    let Some(steps) = advice::first_steps(row.store, row.lock) else { return };
    out.push_str("<section class=\"bad\"><h2>What to do first</h2>\n");
    put!(out, "<p>{}</p>\n", Prose(steps.means));
    for found in advice::found(row.store, row.lock).unwrap_or_default() {
        if let Some(decided_by) = found.decided_by {
            let class = words::plain(found.class.as_str());
            put!(out, "<p>Decided by: {} <small>({class})</small></p>\n", Broken(decided_by));
        }
    }
    list(out, "Record", "ul", steps.record);
    put!(out, "<p>To save: {}</p>\n", super::evidence(row, ", "));
    list(out, "Check", "ol", steps.check);
    list(out, "Do not", "ul", steps.do_not);
    out.push_str("</section>\n");
}

/// Who holds it, with what is left.
fn glance(out: &mut String, row: &Row<'_>) {
    // The worst one says all that a stale holder would add.
    let says_more = row.raised.contains(&Signal::RenewalAfterLostLiveness);
    let said = row.raised.iter().filter(|s| !(says_more && **s == Signal::HolderStale));
    let words = said.map(|s| words::signal(*s)).collect::<Vec<_>>();
    let class = if words.is_empty() { "" } else { " class=\"down\"" };
    let words = match words.as_slice() {
        [] if row.fresh => "no signal is up".to_owned(),
        [] => "not known now".to_owned(),
        some => some.join("; "),
    };
    put!(
        out,
        "<div class=\"glance\"><div{class}>{words}</div><div>{}</div><div>Held by: {}</div><div>Lease left: {}</div></div>\n",
        facts::state(row),
        facts::holders(row),
        facts::lease(row)
    );
}

fn list(out: &mut String, title: &str, kind: &str, texts: &[&str]) {
    put!(out, "<h3>{title}</h3><{kind}>");
    for text in texts {
        put!(out, "<li>{}</li>", Prose(text));
    }
    put!(out, "</{kind}>\n");
}
