//! A worker's stalls in words, for the table of workers and for the page of a lock that one of them holds.

use super::escape::Prose;
use super::frame::UNKNOWN;
use super::{when, words};
use crate::view::{View, WorkerHostView, WorkerView, WorstStallView};

/// A worker by name.
pub fn worker<'a>(view: &'a View, name: &str) -> Option<&'a WorkerView> {
    view.workers.iter().find(|w| &*w.name == name)
}

/// The worst stall between its bounds, each with what showed it.
pub fn worst(host: &WorkerHostView) -> String {
    match host.worst_stall {
        Some(worst) => bounds(&worst),
        None => UNKNOWN.to_owned(),
    }
}

fn bounds(worst: &WorstStallView) -> String {
    let lower = when::small(worst.lower_seconds);
    let mut out = String::new();
    // A lower bound of nothing has no source.
    if worst.lower_seconds > 0.0 {
        let age = when::seconds(worst.lower_age_seconds);
        let source = words::stall(worst.lower_source);
        put!(
            out,
            "<div>at least <b class=\"n\">{lower}</b> <span class=\"dim\">{source}, <span class=\"n\">{age} ago</span></span></div>"
        );
    }
    match worst.upper {
        Some((upper, source)) => {
            let (upper, source) = (when::small(upper), words::stall(source));
            put!(
                out,
                "<div>at most <b class=\"n\">{upper}</b> <span class=\"dim\">{source}</span></div>"
            );
        }
        None => out.push_str("<div class=\"dim\">how long at most is not known</div>"),
    }
    out
}

/// What keeps it from running now; nothing where nothing is seen to.
pub fn now(host: &WorkerHostView) -> String {
    let mut out = String::new();
    if let Some(seconds) = host.ongoing_stall_seconds {
        let seconds = when::small(seconds);
        put!(out, "<div class=\"down\">a runnable thread has not moved for {seconds}</div>");
    }
    if host.jvm.as_ref().is_some_and(|j| j.is_collecting) {
        out.push_str("<div>in a collection</div>");
    }
    out
}

/// What cannot be judged of it, and why.
pub fn blind(worker: &WorkerView, is_told: impl Fn(&str) -> bool) -> String {
    let mut out = String::new();
    for (aspect, reason) in worker.coverage_lost.iter().filter(|(aspect, _)| is_told(aspect)) {
        put!(out, "<div>{}</div>", Prose(&words::worker_blind(aspect, reason)));
    }
    if let Some(host) = worker.host.as_ref().filter(|h| h.threads_beyond_cap > 0) {
        let threads = words::count(host.threads_beyond_cap, "thread is", "threads are");
        put!(out, "<div>{threads} not looked at: too many</div>");
    }
    out
}
