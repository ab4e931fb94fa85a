//! Stores, their nodes and their lists of live workers: what answers, what does not and why, and what is known to be missing
//! from the page.

use super::escape::{Broken, Escaped};
use super::{when, words};
use crate::observe::feed::{Standing, Why};
use crate::view::{LeftOut, ListView, NodeView, StoreView};

/// All stores.
pub fn list(out: &mut String, stores: &[StoreView]) {
    out.push_str("<h2>Stores</h2>\n");
    if stores.is_empty() {
        out.push_str("<p>No store is known yet.</p>\n");
    }
    for store in stores {
        let (class, read) = read(store);
        put!(out, "<h3>{} <small class=\"{class}\">{read}</small></h3><ul>\n", Broken(&store.name));
        for node in &store.nodes {
            node_line(out, node);
        }
        for list in &store.lists {
            list_line(out, list);
        }
        out.push_str("</ul>\n");
        left_out(out, store);
    }
}

fn read(store: &StoreView) -> (&'static str, String) {
    match store.read_age_seconds {
        _ if store.fresh => ("", "up to date".to_owned()),
        Some(age) => {
            let age = when::seconds(age);
            ("down", format!("not read for {age}: its locks are not known now"))
        }
        None => ("down", "not read yet: its locks are not known".to_owned()),
    }
}

fn node_line(out: &mut String, node: &NodeView) {
    put!(out, "<li>{} ", Broken(&node.addr));
    match &node.failure {
        Some((reason, detail, seconds)) => put!(
            out,
            "<span class=\"down\">down for {}: {} - </span>{}",
            when::seconds(*seconds),
            words::plain(reason.as_str()),
            Broken(detail)
        ),
        None if node.up => out.push_str("<span class=\"up\">up</span>"),
        None => out.push_str("<span class=\"down\">not read yet</span>"),
    }
    if let Some(facts) = &node.facts {
        put!(
            out,
            "<span class=\"dim\">, {}, {} {}</span>",
            facts.role,
            Broken(&facts.flavor),
            Escaped(&facts.version)
        );
        if let Some(said) = node.feed.and_then(feed) {
            put!(out, "<div class=\"dim\">{said}</div>");
        }
        if facts.restart_unsafe == Some(true) {
            out.push_str(
                "<div class=\"down\">restarted without durable data less than the longest lease ago: a holder from \
                 before may still believe in its lock while another has it</div>",
            );
        }
    }
    out.push_str("</li>\n");
}

/// What is missing where changes are not told of as they happen.
fn feed(standing: Standing) -> Option<String> {
    let why = match standing {
        Standing::Live => return None,
        Standing::Down(reason) => {
            let reason = words::plain(reason.as_str());
            return Some(format!(
                "its event feed is interrupted ({reason}): only polls tell of changes"
            ));
        }
        Standing::Off(Why::Permission) => "the server refuses it",
        Standing::Off(Why::Unsupported) => "the server has no such thing",
        Standing::Off(Why::Costly) => "it would cost the server too much",
    };
    Some(format!(
        "no event feed ({why}): only polls tell of changes, and of an overwrite nothing does"
    ))
}

fn list_line(out: &mut String, list: &ListView) {
    let (name, preset) = (Broken(&list.name), list.preset);
    put!(out, "<li>live workers <b>{name}</b> <span class=\"dim\">({preset})</span> ");
    match &list.failure {
        Some((reason, detail)) => put!(
            out,
            "<span class=\"down\">cannot be read: {} - </span>{}",
            words::plain(reason.as_str()),
            Broken(detail)
        ),
        None if list.read.is_none() => out.push_str("<span class=\"dim\">not read yet</span>"),
        None if !list.fresh => out.push_str("<span class=\"down\">not read lately</span>"),
        None if !list.has_named => {
            out.push_str("never named anybody, so it says nothing yet");
        }
        None => out.push_str("<span class=\"up\">read</span>"),
    }
    if let Some((members, age)) = list.read {
        let members = words::count(members, "member", "members");
        put!(out, "<span class=\"dim\">, {members} {} ago</span>", when::seconds(age));
    }
    out.push_str("</li>\n");
}

fn left_out(out: &mut String, store: &StoreView) {
    let (keys, name, shown) = match store.ownerless.count {
        1 => ("key matches", "names", "it is not shown as a lock"),
        _ => ("keys match", "name", "they are not shown as locks"),
    };
    if store.ownerless.count > 0 {
        let n = store.ownerless.count;
        put!(out, "<p class=\"dim\">{n} {keys} a pattern and {name} no owner; {shown}.");
        examples(out, &store.ownerless);
    }
    for (reason, n) in store.dropped.iter().filter(|(_, n)| *n > 0) {
        let locks = words::count(*n, "lock is", "locks are");
        put!(out, "<p class=\"dim\">{locks} not watched: <code>{}</code>.</p>\n", Broken(reason));
    }
}

/// Names some of the keys, and ends the paragraph.
fn examples(out: &mut String, keys: &LeftOut) {
    let is_all = keys.examples.len() as u64 == keys.count;
    out.push_str(if is_all { " Which:" } else { " Some of them:" });
    for key in &keys.examples {
        put!(out, " <code>{}</code>", Broken(key));
    }
    out.push_str("</p>\n");
}

/// What is missing from the page, for its top: nobody looks for that at the end of a long one. Whether there is something.
pub fn notes(out: &mut String, stores: &[StoreView]) -> bool {
    let before = out.len();
    for store in stores {
        let name = Broken(&store.name);
        if store.refused.count > 0 {
            let keys = match store.refused.count {
                1 => "1 key of <b>".to_owned(),
                n => format!("{n} keys of <b>"),
            };
            put!(
                out,
                "<p class=\"bad\">{keys}{name}</b> may not be read, so that nobody knows whether it is locked there: the \
                 ACL user lacks them (see the README)."
            );
            examples(out, &store.refused);
        }
        let dropped = store.dropped.iter().find(|(reason, _)| *reason == "max_locks");
        if let Some((_, n)) = dropped.filter(|(_, n)| *n > 0) {
            let locks = words::count(*n, "lock", "locks");
            put!(
                out,
                "<p class=\"bad\">{locks} of <b>{name}</b> more than <code>max_locks</code> lets be watched: nothing here is \
                 about them.</p>\n"
            );
        }
    }
    out.len() > before
}
