//! The report for people, in lines that fit a narrow terminal.

use super::wrap::{lines, printable};
use super::{Came, Finding, Kind, Report};

/// Not narrower, whatever the terminal is.
const LEAST: usize = 40;
/// Not wider: long lines are hard to read.
const MOST: usize = 100;

/// As wide as the terminal is; 80 where there is none.
pub fn width() -> usize {
    terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0))
}

/// The report in lines of at most `width` characters.
pub fn render(report: &Report, width: usize) -> String {
    let width = width.clamp(LEAST, MOST);
    let mut out = String::new();
    paragraph(&mut out, "", &format!("{}: {}", report.word(), report.title()), width);
    paragraph(&mut out, "  ", &report.about, width);
    if let Some(why) = &report.not_run {
        paragraph(&mut out, "  ", why, width);
    }
    for finding in &report.expectations {
        let what = format!("{}{}", finding.what, times(finding));
        hanging(&mut out, &format!("  {:12}", finding.verdict.word()), &what, width);
        if let Some(detail) = &finding.detail {
            hanging(&mut out, "              ", detail, width);
        }
    }
    // A scenario's events are its expectations again, and of use where one does not hold.
    let is_told = report.kind == Kind::Criterion || report.verdict == Came::Fail;
    if is_told && !report.events.is_empty() {
        paragraph(&mut out, "  ", "What happened, in seconds since the beginning:", width);
        for event in &report.events {
            hanging(&mut out, &format!("  {:>9.2}   ", event.seconds), &event.what, width);
        }
    }
    if !report.recorded.is_empty() {
        paragraph(&mut out, "  ", "The exporter recorded (/api/v1/incidents/ID):", width);
        for one in &report.recorded {
            hanging(&mut out, "  - ", &format!("{} {}", one.id, one.summary), width);
        }
    }
    if !report.missing.is_empty() {
        paragraph(&mut out, "  ", "What is missing:", width);
        for missing in &report.missing {
            hanging(&mut out, "  - ", missing, width);
        }
    }
    out
}

/// When it was seen.
fn times(finding: &Finding) -> String {
    let since = since(finding);
    let slack = finding.slack_seconds.filter(|s| *s > 0.0);
    let slack = slack.map_or(String::new(), |s| format!(" and {s} s of slack"));
    let within = finding.within_seconds;
    match (finding.seconds, finding.polls) {
        (Some(s), Some(p)) => {
            let worst = within.map_or(String::new(), |w| format!(" (worst {w:.1} s{slack})"));
            format!(", after {s:.2} s = {p:.1} polls{worst}{since}")
        }
        _ => within.map_or(String::new(), |w| format!(", not within {w:.1} s{slack}{since}")),
    }
}

/// What its time counts from, where that is not the fault.
pub fn since(finding: &Finding) -> String {
    finding.since.as_ref().map_or(String::new(), |what| format!(", counted from: {what}"))
}

fn paragraph(out: &mut String, indent: &str, text: &str, width: usize) {
    for line in lines(&printable(text), width.saturating_sub(indent.len())) {
        out.push_str(indent);
        out.push_str(&line);
        out.push('\n');
    }
}

/// The first line begins with `head`, the others with as many blanks.
pub fn hanging(out: &mut String, head: &str, text: &str, width: usize) {
    let indent = head.chars().count();
    for (n, line) in lines(&printable(text), width.saturating_sub(indent)).iter().enumerate() {
        let begin = if n == 0 { head.to_owned() } else { " ".repeat(indent) };
        out.push_str(&begin);
        out.push_str(line);
        out.push('\n');
    }
}
