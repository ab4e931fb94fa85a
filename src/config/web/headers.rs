//! `http_server_config.headers`: the five that the format knows, and their values where only some make sense.

use super::super::cursor::Cursor;
use super::super::mistake::quoted;

/// Each with the values that it may have; none means any.
const KNOWN: [(&str, &[&str]); 5] = [
    ("Content-Security-Policy", &[]),
    ("X-Frame-Options", &["deny", "sameorigin"]),
    ("X-Content-Type-Options", &["nosniff"]),
    ("X-XSS-Protection", &[]),
    ("Strict-Transport-Security", &[]),
];

pub(super) fn read(at: Cursor<'_>) -> Vec<(&'static str, String)> {
    let mut headers = Vec::new();
    for (name, values) in KNOWN {
        // The format has an empty text for a header that is not set.
        if at.word(name) == Some("") {
            continue;
        }
        let Some(value) = at.text(name) else { continue };
        if !values.is_empty() && !values.contains(&value) {
            let fix = format!("it is one of: {}", values.join(", "));
            at.wrong(name, format!("{} has no meaning", quoted(value)), fix);
        } else if !value.bytes().all(|b| (b' '..=b'~').contains(&b)) {
            at.wrong(
                name,
                "has a character that no header may have",
                "use plain ASCII on one line",
            );
        } else {
            headers.push((name, value.to_owned()));
        }
    }
    headers
}
