//! What every page begins and ends with: head, heading, the time of the snapshot, and notices about the exporter itself.

use super::ask::{Ask, REFRESH_SECONDS};
use super::escape::{Broken, Escaped};
use super::when;
use crate::expose::Rendered;
use crate::observe::Mono;

/// A value that is not known.
pub const UNKNOWN: &str = "–";

/// Everything up to the first section. Title and heading are text, `links` is markup. That it reloads itself is in a header
/// of the answer.
pub fn open(
    snapshot: &Rendered,
    now: Mono,
    ask: &Ask,
    (title, heading): (&str, &str),
    links: &str,
) -> String {
    let mut out = String::with_capacity(16 * 1024);
    put!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{}</title>\
         <link rel=\"stylesheet\" href=\"/style.css\"></head>\n<body>\
         <header><a class=\"skip\" href=\"#main\">Skip to the content</a>\
         <h1>{}</h1><nav aria-label=\"Pages and documents\">{links}</nav></header>\n<main id=\"main\">\n",
        Escaped(title),
        Broken(heading),
    );
    taken(&mut out, snapshot, ask, now);
    notices(&mut out, snapshot, now);
    out
}

/// The end of a page.
pub fn close(mut out: String) -> String {
    out.push_str("</main></body></html>\n");
    out
}

/// The link back to all locks.
pub fn back(ask: &Ask) -> String {
    format!("<a href=\"/{}\">all locks</a>", ask.tail())
}

fn taken(out: &mut String, snapshot: &Rendered, ask: &Ask, now: Mono) {
    let view = snapshot.view();
    let at = when::utc(view.taken_wall).unwrap_or_else(|| "an unknown time".to_owned());
    let age = when::seconds(now.since(view.taken).as_secs_f64());
    let version = Escaped(snapshot.own().version);
    put!(out, "<p class=\"taken\">Snapshot of <b>{at}</b>, {age} old. ");
    if ask.is_still {
        let on = ask.here("refresh", None);
        put!(out, "This page stands still. <a href=\"{on}\">Refresh it by itself</a>");
    } else {
        let off = ask.here("refresh", Some("off"));
        put!(out, "Refreshes every {REFRESH_SECONDS} s. <a href=\"{off}\">Stop that</a>");
    }
    put!(out, " <span>dlock_exporter {version}</span></p>\n");
}

fn notices(out: &mut String, snapshot: &Rendered, now: Mono) {
    if let Some(age) = snapshot.too_old(now) {
        let age = when::seconds(age.as_secs_f64());
        put!(
            out,
            "<p class=\"bad\" role=\"alert\">This snapshot is {age} old: the exporter is stuck and nothing below is \
             about now.</p>\n"
        );
    }
    if let Some(error) = &snapshot.own().reload_error {
        put!(
            out,
            "<section class=\"bad\"><h2>The last reload failed</h2><p>The earlier configuration is still in \
             use.</p><pre>{}</pre></section>\n",
            Escaped(error)
        );
    }
}
