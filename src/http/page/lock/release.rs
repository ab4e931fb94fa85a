//! Whether the lock's key could be deleted by hand now: the answer first, then what speaks against it, what is left to find
//! out, and what was found in order.

use super::super::escape::Broken;
use super::super::{when, words};
use super::Subject;
use crate::view::{Check, release};

/// The section; one line where there is nothing to release, or nobody knows.
pub fn section(out: &mut String, subject: &Subject<'_>) {
    let row = subject.row;
    let judged = release(row.store, row.lock);
    out.push_str("<h2>Releasing it by hand</h2>\n");
    if let [only] = judged.checks.as_slice() {
        put!(out, "<p>{}.</p>\n", first_upper(&only.found));
        return;
    }
    if judged.safe == Some(false) && !row.needs_a_look() {
        // Nobody who looks at a lock that is well wants all of it.
        let against = judged.checks.iter().filter(|c| c.passed == Some(false));
        let against: Vec<String> = against.map(|c| Broken(&c.found).to_string()).collect();
        put!(out, "<p>Not safe: {}.</p>\n", against.join("; "));
        return;
    }
    out.push_str(match judged.safe {
        Some(true) => {
            "<p><b class=\"up\">Safe now</b>: its holder has ended, and nothing would work on beside the next one.</p>\n"
        }
        Some(false) => "<p><b class=\"down\">Not safe</b>: do not delete its key now.</p>\n",
        None => {
            "<p><b>Not known to be safe</b>: do not delete its key before what is missing is found out.</p>\n"
        }
    });
    list(out, "Against it", &judged.checks, Some(false));
    list(out, "Not known", &judged.checks, None);
    list(out, "In order", &judged.checks, Some(true));
    if let Some(fingerprint) = &judged.fingerprint {
        let fingerprint = Broken(fingerprint);
        put!(out, "<p>The token that would be taken away: <code>{fingerprint}</code></p>\n");
    }
    if let Some(left) = judged.ends_by_itself_seconds.filter(|s| s.is_finite() && *s >= 0.0) {
        let left = when::seconds(left);
        put!(out, "<p>It ends by itself in {left} if nothing renews it.</p>\n");
    }
}

fn list(out: &mut String, title: &str, checks: &[Check], passed: Option<bool>) {
    let found: Vec<&Check> = checks.iter().filter(|c| c.passed == passed).collect();
    if found.is_empty() {
        return;
    }
    put!(out, "<h3>{title}</h3><ul>");
    for check in found {
        let (found, what) = (Broken(&check.found), words::plain(check.what));
        put!(out, "<li>{found} <small>({what})</small></li>");
    }
    out.push_str("</ul>\n");
}

/// Escaped, and as the beginning of a sentence.
fn first_upper(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    let text: String = first.into_iter().chain(chars).collect();
    Broken(&text).to_string()
}
