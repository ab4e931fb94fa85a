//! What proved, or hinted, that two owners had the lock at once, the newest first. It stays on the page when the signal is
//! over.

use super::super::escape::Broken;
use super::super::frame::UNKNOWN;
use super::super::{facts, when, words};
use super::Subject;
use crate::view::{Basis, ContentionView, PartyView, Signal};

/// The section; nothing where nothing was ever seen.
pub fn section(out: &mut String, subject: &Subject<'_>) {
    let (row, taken) = (subject.row, subject.view.taken_wall);
    if row.lock.contention.is_empty() {
        return;
    }
    let is_up = row.raised.contains(&Signal::Contested);
    out.push_str("<h2>Two owners at once</h2>\n");
    if !row.lock.contention.iter().any(|c| c.kind.is_proof()) {
        out.push_str("<p>Nothing is proven; what was seen is a reason to look closer.</p>\n");
    }
    facts::table(out, &["When", "Ago", "Shown by", "What was seen", "Owners"]);
    for seen in row.lock.contention.iter().rev() {
        let is_proof = seen.kind.is_proof();
        let at = when::utc(taken - seen.age_seconds);
        let weight = if is_proof { "a proof" } else { "only a hint" };
        let kind = words::plain(seen.kind.as_str());
        facts::begin(out, is_proof && is_up);
        facts::cell(out, "When", at.as_deref().unwrap_or(UNKNOWN));
        facts::cell(out, "Ago", &when::seconds(seen.age_seconds));
        facts::cell(out, "Shown by", &format!("{kind}<div class=\"dim\">{weight}</div>"));
        facts::cell(out, "What was seen", &what(seen));
        facts::cell(out, "Owners", &owners(&seen.owners));
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table>\n");
}

fn what(seen: &ContentionView) -> String {
    let mut out = Broken(&seen.detail).to_string();
    match &seen.basis {
        Basis::End { acquired_after: Some(after), kept: Some(kept), .. } => put!(
            out,
            "<div class=\"dim\">acquired after offset {after}; the new primary has what was written up to {kept}</div>"
        ),
        Basis::Beats(beats) => {
            let beats = words::count(*beats, "heartbeat", "heartbeats");
            put!(
                out,
                "<div class=\"dim\">{beats} seen between the other's first sight and that</div>"
            );
        }
        _ => {}
    }
    out
}

/// The first one first.
fn owners(owners: &[PartyView]) -> String {
    if owners.is_empty() {
        return UNKNOWN.to_owned();
    }
    let mut out = String::new();
    for owner in owners {
        let name = owner.worker.as_deref().unwrap_or("unnamed");
        put!(out, "<div>{}", Broken(name));
        if let Some(fingerprint) = &owner.fingerprint {
            put!(out, ", token <code>{}</code>", Broken(fingerprint));
        }
        if let Some(node) = &owner.node {
            put!(out, ", on {}", Broken(node));
        }
        if let Some(expiry) = owner.expiry_timestamp.and_then(when::utc) {
            put!(out, ", <span class=\"dim\">until {expiry} as last seen</span>");
        }
        out.push_str("</div>");
    }
    out
}
