//! The page of one lock: everything the snapshot knows of it, a section for each file here. It judges nothing and, like the
//! API, tells nothing of now about a lock that was not read lately.

mod blind;
mod clients;
mod contention;
mod happened;
pub mod lanes;
mod picture;
mod release;
mod signals;
mod slow;
mod todo;

use super::ask::Ask;
use super::escape::{Broken, segment};
use super::row::Row;
use super::{details, frame};
use crate::expose::Rendered;
use crate::observe::Mono;
use crate::view::View;

/// What a section is written from.
struct Subject<'a> {
    row: &'a Row<'a>,
    view: &'a View,
}

/// The sections in their order. One that has nothing to say writes nothing.
const SECTIONS: [fn(&mut String, &Subject<'_>); 10] = [
    todo::section,
    contention::section,
    release::section,
    picture::section,
    signals::section,
    blind::section,
    clients::section,
    slow::section,
    |out, subject| details::lists(out, subject.row, subject.view),
    happened::section,
];

/// The page.
pub fn render(snapshot: &Rendered, row: &Row<'_>, ask: &Ask, now: Mono) -> String {
    let (store, lock) = (&row.store.name, &row.lock.name);
    let name = format!("{store}/{lock}");
    let json = format!(
        "{} {}<a href=\"/api/v1/locks/{}/{}\">JSON of this lock</a> {}",
        frame::back(ask),
        group(row),
        segment(store),
        segment(lock),
        evidence(row, " ")
    );
    let title = format!("{name} - dlock_exporter");
    let mut out = frame::open(snapshot, now, ask, (&title, &name), &json);
    if !row.fresh {
        out.push_str(
            "<p class=\"bad\">This lock was not read lately: what it is now is not known.</p>\n",
        );
    }
    let subject = Subject { row, view: snapshot.view() };
    for section in SECTIONS {
        section(&mut out, &subject);
    }
    frame::close(out)
}

/// Links to what should be kept of it: all of now, and what was recorded when signals rose.
fn evidence(row: &Row<'_>, between: &str) -> String {
    let (store, lock) = (segment(&row.store.name), segment(&row.lock.name));
    format!(
        "<a href=\"/api/v1/locks/{store}/{lock}/evidence\">evidence of now</a>{between}\
         <a href=\"/api/v1/incidents?store={store}&amp;lock={lock}\">its recorded incidents</a>"
    )
}

/// A link to the page of its group.
fn group(row: &Row<'_>) -> String {
    row.lock.group.as_ref().map_or_else(String::new, |group| {
        let (store, name) = (segment(&row.store.name), segment(group));
        format!("<a href=\"/groups/{store}/{name}{}\">its group</a> ", row.tail)
    })
}

/// The page for a name that no lock has.
pub fn unknown(snapshot: &Rendered, (store, lock): (&str, &str), ask: &Ask, now: Mono) -> String {
    let title = ("No such lock - dlock_exporter", "No such lock");
    let mut out = frame::open(snapshot, now, ask, title, &frame::back(ask));
    // Names come from the client here and may be of any length and kind.
    let name = |text: &str| crate::observe::label::text(text.as_bytes());
    put!(
        out,
        "<p>There is no lock <b>{}</b> in the store <b>{}</b> now. It may never have been seen, or be forgotten since it \
         is free. In a path names are percent-encoded, / too.</p>\n",
        Broken(&name(lock)),
        Broken(&name(store)),
    );
    frame::close(out)
}
