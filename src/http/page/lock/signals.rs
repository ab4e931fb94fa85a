//! All signals of a lock with what each means, those that are up first.

use super::super::escape::{Broken, Prose};
use super::super::row::Row;
use super::super::{attention, facts, when, words};
use super::Subject;
use crate::expose::standing;
use crate::view::Signal;

/// The section.
pub fn section(out: &mut String, subject: &Subject<'_>) {
    let row = subject.row;
    out.push_str("<h2>Signals</h2>\n");
    facts::table(out, &["Signal", "Now", "Rises", "What it means"]);
    let (up, others): (Vec<Signal>, Vec<Signal>) =
        Signal::ALL.iter().partition(|s| row.raised.contains(s));
    for signal in up.into_iter().chain(others) {
        line(out, row, signal);
    }
    out.push_str("</tbody></table>\n");
}

fn line(out: &mut String, row: &Row<'_>, signal: Signal) {
    let judged = standing::judged(row.store, row.lock, signal);
    facts::begin(out, judged == Some(true));
    let metric = words::metric(signal);
    facts::cell(out, "Signal", &format!("<code>{}</code>", Broken(&metric)));
    facts::cell(out, "Now", &standing_of(row, signal, judged));
    let rises = row.lock.rises.iter().find(|(s, _)| *s == signal).map_or(0, |(_, n)| *n);
    facts::cell(out, "Rises", &rises.to_string());
    facts::cell(out, "What it means", &Prose(words::meaning(signal)).to_string());
    out.push_str("</tr>\n");
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
