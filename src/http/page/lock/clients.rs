//! Who is connected to the lock's server and can have renewed it. Names are what clients call themselves.

use super::super::escape::Broken;
use super::super::frame::UNKNOWN;
use super::super::{facts, when, words};
use super::Subject;
use crate::view::{ClientView, Fit, RenewalView};

/// Connections that are shown at once; the others are folded away.
const SHOWN: usize = 8;

/// The section; nothing where the server does not tell, or of a lock that was not read lately.
pub fn section(out: &mut String, subject: &Subject<'_>) {
    let (row, lock) = (subject.row, subject.row.lock);
    let clients = row.now(lock.clients.as_deref());
    let renewals = if row.is_held() { lock.renewals.as_slice() } else { &[] };
    if clients.is_none() && renewals.is_empty() {
        return;
    }
    out.push_str("<h2>Who is connected, and who renews it</h2>\n");
    if let Some(last) = renewals.first() {
        out.push_str(match lock.renewer_separate {
            Some(true) => {
                "<p class=\"down\">Another process of this host renews it than the one that works.</p>\n"
            }
            Some(false) => "<p>The process that works renews it itself.</p>\n",
            None => "<p>Which process renews it is not clear so far.</p>\n",
        });
        put!(out, "<p>{}</p>\n", renewal(last));
    }
    let Some(clients) = clients else { return };
    let mut list: Vec<(Option<bool>, &ClientView)> = clients
        .list
        .iter()
        .map(|c| (lock.last_write.and_then(|write| clients.can_have_renewed(c, write)), c))
        .collect();
    list.sort_by_key(|(can, _)| match can {
        Some(true) => 0,
        None => 1,
        Some(false) => 2,
    });
    let age = when::seconds(clients.age_seconds);
    let all = words::count(list.len() as u64, "connection", "connections");
    let more = match clients.beyond {
        0 => String::new(),
        n => format!(", and {n} more that are not shown"),
    };
    let is_before = lock.last_write.is_some_and(|(_, seen)| clients.asked < seen);
    let early = match is_before && row.is_held() {
        true => " That was before its last renewal: who cannot have made that is not known yet.",
        false => "",
    };
    put!(out, "<p>{all} to its server{more}, as it told {age} ago.{early}</p>\n");
    let (first, others) = list.split_at(list.len().min(SHOWN));
    table(out, first);
    if !others.is_empty() {
        let others_are = words::count(others.len() as u64, "more connection", "more connections");
        put!(out, "<details><summary>{others_are}</summary>\n");
        table(out, others);
        out.push_str("</details>\n");
    }
}

/// What the last renewal told of who made it.
fn renewal(last: &RenewalView) -> String {
    let mut parts = vec![format!("its worker's own connections {}", fits(last.own))];
    for (pid, comm, fit) in &last.others {
        let comm = comm.as_deref().unwrap_or("a process");
        parts.push(format!("{} (pid {pid}) {}", Broken(comm), fits(*fit)));
    }
    parts.push(format!("those of other hosts {}", fits(last.elsewhere)));
    format!("The renewal {} ago: {}.", when::seconds(last.age_seconds), parts.join("; "))
}

fn fits(fit: Fit) -> &'static str {
    match fit {
        Fit::Match => "<b>wrote at that time</b>",
        Fit::Possible => "may have made it",
        Fit::Excluded => "cannot have made it",
    }
}

fn table(out: &mut String, list: &[(Option<bool>, &ClientView)]) {
    if list.is_empty() {
        return;
    }
    let columns = ["Process", "Calls itself", "From", "Last command", "Made the last renewal"];
    facts::table(out, &columns);
    for (can, client) in list {
        facts::begin(out, false);
        facts::cell(out, "Process", &process(client));
        facts::cell(out, "Calls itself", &says(client));
        let age = when::seconds(client.age_seconds as f64);
        let from = Broken(&client.addr);
        let from = format!("{from}<div class=\"dim\">connected for {age}</div>");
        facts::cell(out, "From", &from);
        let idle = when::seconds(client.idle_seconds as f64);
        let command = format!("<code>{}</code>, {idle} before", Broken(&client.command));
        let none = client.command.is_empty();
        facts::cell(out, "Last command", if none { UNKNOWN } else { &command });
        let can = match can {
            Some(true) => "possibly",
            Some(false) => "no",
            None => UNKNOWN,
        };
        facts::cell(out, "Made the last renewal", can);
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table>\n");
}

fn process(client: &ClientView) -> String {
    let Some(pid) = client.pid else {
        return match client.origin {
            "hidden" => "of this host, may not be seen",
            "elsewhere" => "of another host",
            _ => "not known",
        }
        .to_owned();
    };
    let mut out = format!("{} (pid {pid})", Broken(client.comm.as_deref().unwrap_or("unnamed")));
    if let Some(worker) = &client.worker {
        put!(out, "<div>worker {}", Broken(worker));
        if let Some(liveness) = client.liveness {
            put!(out, ", {}", words::liveness(liveness));
        }
        out.push_str("</div>");
    }
    out
}

/// Name, library and user, as far as it says them.
fn says(client: &ClientView) -> String {
    let mut parts = Vec::new();
    if !client.name.is_empty() {
        parts.push(Broken(&client.name).to_string());
    }
    let (library, version) = &client.library;
    if !library.is_empty() {
        parts.push(format!("{} {}", Broken(library), Broken(version)));
    }
    if !client.user.is_empty() {
        parts.push(format!("user {}", Broken(&client.user)));
    }
    if parts.is_empty() { UNKNOWN.to_owned() } else { parts.join(", ") }
}
