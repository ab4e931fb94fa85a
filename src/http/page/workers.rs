//! Workers: how long they were kept from running, by what, and what of that cannot be seen.

use super::escape::Broken;
use super::frame::UNKNOWN;
use super::{facts, stalls, when, words};
use crate::expose::standing;
use crate::view::{CgroupView, WorkerView};

/// Workers shown at most; the API has them all.
const ROWS: usize = 200;

const COLUMNS: [&str; 7] = [
    "Worker",
    "Process on this host",
    "Worst stall",
    "Pressure, last 10 s",
    "CPU quota",
    "JVM",
    "Cannot be judged",
];

/// The section; nothing where nothing of their hosts is known: no process of theirs is here, and none paused.
pub fn section(out: &mut String, workers: &[WorkerView]) {
    let mut shown: Vec<&WorkerView> = workers.iter().filter(|w| is_seen(w)).collect();
    if shown.is_empty() {
        return;
    }
    // The worst first; those of which nothing is known last.
    shown.sort_by(|a, b| longest(b).total_cmp(&longest(a)));
    put!(out, "<h2>Workers <small>{}</small></h2>\n", shown.len());
    facts::table(out, &COLUMNS);
    for worker in shown.iter().take(ROWS) {
        row(out, worker);
    }
    out.push_str("</tbody></table>\n");
    if let Some(more) = shown.len().checked_sub(ROWS).filter(|n| *n > 0) {
        put!(
            out,
            "<p>{more} more are not shown; <a href=\"/api/v1/workers\">the JSON document</a> has them all.</p>\n"
        );
    }
}

fn is_seen(worker: &WorkerView) -> bool {
    worker.host.is_some() || worker.process.is_some() || worker.process_gone
}

fn longest(worker: &WorkerView) -> f64 {
    let worst = worker.host.as_ref().and_then(|h| h.worst_stall);
    worst.map(|w| w.lower_seconds).filter(|s| s.is_finite()).unwrap_or(-1.0)
}

fn row(out: &mut String, worker: &WorkerView) {
    let host = worker.host.as_ref();
    let cgroup = host.and_then(|h| h.cgroup.as_ref());
    let known = |markup: Option<String>| {
        markup.filter(|m| !m.is_empty()).unwrap_or_else(|| UNKNOWN.to_owned())
    };
    facts::begin(out, false);
    facts::cell(out, "Worker", &format!("<b>{}</b>", Broken(&worker.name)));
    facts::cell(out, "Process", &known(Some(now(worker))));
    facts::cell(out, "Worst stall", &known(host.map(stalls::worst)));
    facts::cell(out, "Pressure", &known(cgroup.map(pressure)));
    facts::cell(out, "CPU quota", &known(cgroup.map(throttling)));
    facts::cell(out, "JVM", &known(Some(jvm(worker))));
    facts::cell(out, "Cannot be judged", &known(Some(stalls::blind(worker, |_| true))));
    out.push_str("</tr>\n");
}

fn now(worker: &WorkerView) -> String {
    let mut out = String::new();
    if let Some(state) = standing::process(worker) {
        let class = if matches!(state, "stopped" | "traced" | "zombie" | "gone") {
            " class=\"down\""
        } else {
            ""
        };
        put!(out, "<div{class}>{}</div>", words::plain(state));
    }
    if worker.process.as_ref().is_some_and(|p| p.frozen == Some(true)) {
        out.push_str("<div class=\"down\">its cgroup is frozen</div>");
    }
    if let Some(host) = &worker.host {
        out.push_str(&stalls::now(host));
        if let Some(n) = host.runnable_threads.filter(|n| *n > 0) {
            put!(
                out,
                "<div class=\"dim\">{}</div>",
                words::count(n, "runnable thread", "runnable threads")
            );
        }
    }
    out
}

/// Shares of the last 10 s, and kills for want of memory.
fn pressure(cgroup: &CgroupView) -> String {
    let mut out = String::new();
    for resource in ["memory", "cpu", "io"] {
        let of = |kind: &str| {
            let mut all =
                cgroup.pressure.iter().filter(|(r, k, _, _)| (*r, *k) == (resource, kind));
            all.next().and_then(|(_, _, share, _)| *share).filter(|s| s.is_finite() && *s >= 0.005)
        };
        // Whenever all tasks wait, some do.
        let Some(some) = of("some") else { continue };
        put!(out, "<div>{resource}: some task <span class=\"n\">{:.0} %</span>", some * 100.0);
        if let Some(full) = of("full") {
            put!(out, ", all <span class=\"n\">{:.0} %</span>", full * 100.0);
        }
        out.push_str("</div>");
    }
    if out.is_empty() && cgroup.pressure.iter().any(|(_, _, share, _)| share.is_some()) {
        out.push_str("none");
    }
    if let Some(kills) = cgroup.oom_kills.filter(|n| *n > 0) {
        let processes = words::count(kills, "process", "processes");
        put!(out, "<div class=\"down\">{processes} killed for want of memory</div>");
    }
    out
}

fn throttling(cgroup: &CgroupView) -> String {
    match (cgroup.throttled_seconds, cgroup.throttled_periods) {
        (_, Some(0)) => "never used up".to_owned(),
        (Some(seconds), Some(periods)) => {
            let periods = words::count(periods, "period", "periods");
            format!("throttled for <span class=\"n\">{}</span> in {periods}", when::small(seconds))
        }
        (Some(seconds), None) => format!("throttled for {}", when::small(seconds)),
        (None, Some(periods)) => {
            format!("throttled in {}", words::count(periods, "period", "periods"))
        }
        (None, None) => String::new(),
    }
}

fn jvm(worker: &WorkerView) -> String {
    let Some(jvm) = worker.host.as_ref().and_then(|h| h.jvm.as_ref()) else {
        return String::new();
    };
    let mut out = String::new();
    if let Some(pause) = jvm.longest_pause_seconds {
        let at_least = if jvm.longest_pause_is_exact { "" } else { "at least " };
        put!(out, "<div>longest pause {at_least}<b class=\"n\">{}</b></div>", when::small(pause));
    }
    if let Some(stopped) = jvm.safepoint_seconds {
        put!(out, "<div class=\"dim\">stopped for {} in all</div>", when::small(stopped));
    }
    out
}
