//! The last slow commands on the lock's key, the newest first.

use super::super::escape::Broken;
use super::super::frame::UNKNOWN;
use super::super::{facts, when};
use super::Subject;
use crate::view::SlowCommandView;

/// The section; nothing where none was seen.
pub fn section(out: &mut String, subject: &Subject<'_>) {
    let slow = &subject.row.lock.slow_commands;
    if slow.is_empty() {
        return;
    }
    out.push_str("<h2>Slow commands on its key</h2>\n");
    facts::table(out, &["Server clock", "Took", "Command", "Client", "Server", "Its token"]);
    for command in slow.iter().rev() {
        line(out, command);
    }
    out.push_str("</tbody></table>\n");
}

fn line(out: &mut String, slow: &SlowCommandView) {
    facts::begin(out, false);
    facts::cell(out, "Server clock", when::utc(slow.timestamp).as_deref().unwrap_or(UNKNOWN));
    facts::cell(out, "Took", &when::small(slow.duration_seconds));
    let mut command = format!("<code>{}</code>", Broken(&slow.command));
    if slow.touches != "key" {
        command
            .push_str("<div class=\"dim\">perhaps on another key: the server cut its name</div>");
    }
    facts::cell(out, "Command", &command);
    let named = |text: &Option<std::sync::Arc<str>>| {
        text.as_deref().filter(|t| !t.is_empty()).map(|t| Broken(t).to_string())
    };
    let client: Vec<String> =
        [named(&slow.client_name), named(&slow.client_address)].into_iter().flatten().collect();
    let client = if client.is_empty() { UNKNOWN.to_owned() } else { client.join(", ") };
    facts::cell(out, "Client", &client);
    facts::cell(out, "Server", &Broken(&slow.addr).to_string());
    let token = named(&slow.owner_fingerprint).map(|t| format!("<code>{t}</code>"));
    facts::cell(out, "Its token", token.as_deref().unwrap_or(UNKNOWN));
    out.push_str("</tr>\n");
}
