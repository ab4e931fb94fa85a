//! The last transitions of a lock, the newest first.

use super::super::escape::Broken;
use super::super::frame::UNKNOWN;
use super::super::{facts, when};
use super::Subject;

/// The section.
pub fn section(out: &mut String, subject: &Subject<'_>) {
    let (lock, taken) = (subject.row.lock, subject.view.taken_wall);
    out.push_str("<h2>What happened last</h2>\n");
    if lock.transitions.is_empty() {
        out.push_str("<p>Nothing yet.</p>\n");
        return;
    }
    facts::table(out, &["When", "Ago", "What", "Detail"]);
    for transition in lock.transitions.iter().rev() {
        let at = when::utc(taken - transition.age_seconds);
        facts::begin(out, false);
        facts::cell(out, "When", at.as_deref().unwrap_or(UNKNOWN));
        facts::cell(out, "Ago", &when::seconds(transition.age_seconds));
        facts::cell(out, "What", &format!("<code>{}</code>", Broken(transition.what)));
        facts::cell(out, "Detail", &Broken(&transition.detail).to_string());
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table>\n");
}
