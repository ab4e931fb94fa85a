//! The report as a picture: the lock's time in lanes (lease, writes, heartbeats, what happened), the fault and where each
//! expectation was seen. Light or dark as its reader's system is. The lanes are those of the exporter's own pages.

use std::fmt::Write as _;

use dlock_exporter::http::lanes::{self, Window};
use dlock_exporter::observe::Mono;
use dlock_exporter::view::{Act, Mark, TransitionView};

use super::wrap::{lines, printable};
use super::{Finding, Report};
use crate::outcome::Verdict;

/// Width of the whole, and of the lanes within it.
const WIDE: f64 = 760.0;
const LEFT: f64 = 20.0;
const LANE: f64 = WIDE - 2.0 * LEFT;
/// Characters in a line of text.
const CHARACTERS: usize = 108;
/// Height of a line of text.
const LINE: f64 = 17.0;
/// Workers whose hearts have lanes.
const HEARTS: usize = 3;
/// What the picture's end is on an invented clock, which only differences are taken of.
const END: f64 = 1e6;

const STYLE: &str = "\
svg{color-scheme:light dark;--page:#fff;--ink:#1c2733;--soft:#5b6875;--lane:#eef1f4;--link:#1f6feb;--bad:#c62828;--good:#1b7f3b}\
@media(prefers-color-scheme:dark){svg{--page:#11161c;--ink:#e6ebf0;--soft:#9aa7b4;--lane:#1d252e;--link:#6aa8ff;--bad:#ff7b72;\
--good:#56c271}}\
text{font:13px system-ui,sans-serif;fill:var(--ink)}.soft{fill:var(--soft)}.big{font-size:17px;font-weight:600}\
.page{fill:var(--page)}.lane{fill:var(--lane)}.lease{fill:var(--link)}.endless{fill:var(--bad)}.lost{fill:var(--bad);opacity:.3}\
.tick,.turn,.alarm{stroke:var(--link);stroke-width:2px;vector-effect:non-scaling-stroke}.turn{stroke:var(--ink);stroke-width:3px}\
.alarm{stroke:var(--bad);stroke-width:3px}.fault{stroke:var(--bad);stroke-width:2px;stroke-dasharray:5 4}\
.seen{stroke:var(--soft);stroke-width:1px;stroke-dasharray:2 3}.PASS{fill:var(--good)}.FAIL{fill:var(--bad)}.NOT{fill:var(--soft)}\
.number{fill:var(--page);font-size:11px;font-weight:700;text-anchor:middle}.verdict{font-weight:600}\
.owner{stroke:var(--ink);stroke-width:1px;fill:none}.right{text-anchor:end}.middle{text-anchor:middle}";

/// A drawing under way: what is written, and how far down it has come.
struct Sheet<'a> {
    out: String,
    y: f64,
    report: &'a Report,
    window: Window,
}

/// The picture as an SVG document.
pub fn render(report: &Report) -> String {
    let seconds = report.picture.seconds.max(1.0);
    let window = Window { now: Mono::from_secs_f64(END), seconds };
    let mut sheet = Sheet { out: String::new(), y: 32.0, report, window };
    sheet.line("big", &format!("{}: {}", report.word(), report.title()));
    for line in lines(&printable(&report.about), CHARACTERS) {
        sheet.line("soft", &line);
    }
    sheet.y += 26.0;
    let top = sheet.y;
    sheet.lanes();
    sheet.axis();
    let bottom = sheet.y - 22.0;
    sheet.marks(top, bottom);
    sheet.legend();
    let high = sheet.y + 6.0;
    let title = escaped(&format!("{} {}", report.word(), report.title()));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDE} {high:.0}\" width=\"{WIDE}\" height=\"{high:.0}\" \
         role=\"img\" aria-labelledby=\"title\"><title id=\"title\">{title}</title><style>{STYLE}</style>\
         <rect class=\"page\" width=\"{WIDE}\" height=\"{high:.0}\"/>\n{}</svg>\n",
        sheet.out
    )
}

impl Sheet<'_> {
    fn x(&self, seconds: f64) -> f64 {
        LEFT + LANE * (seconds / self.window.seconds).clamp(0.0, 1.0)
    }

    fn text(&mut self, class: &str, x: f64, text: &str) {
        let text = escaped(&printable(text));
        let _ = writeln!(
            self.out,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\">{text}</text>",
            self.y
        );
    }

    fn line(&mut self, class: &str, text: &str) {
        self.text(class, LEFT, text);
        self.y += LINE + 2.0;
    }

    /// A lane of the exporter's pages, in its place.
    fn lane(&mut self, name: &str, high: f64, draw: impl FnOnce(&mut String)) {
        self.line("soft", name);
        self.y -= LINE - 5.0;
        let _ = write!(
            self.out,
            "<rect class=\"lane\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{LANE}\" height=\"{high}\"/>\
             <svg x=\"{LEFT}\" y=\"{y:.1}\" width=\"{LANE}\" height=\"{high}\">",
            y = self.y
        );
        draw(&mut self.out);
        self.out.push_str("</svg>\n");
        self.y += high + 20.0;
    }

    fn lanes(&mut self) {
        let (report, window) = (self.report, self.window);
        let picture = &report.picture;
        let at = |seconds: f64| Mono::from_secs_f64(END - window.seconds + seconds);
        let mark = |w: &super::picture::Write| Mark {
            at: at(w.seconds),
            act: w.act,
            left: w.left.map(|l| l as f32),
        };
        let marks: Vec<Mark> = picture.writes.iter().map(mark).collect();
        if !marks.is_empty() {
            let left = picture.writes.iter().filter_map(|w| w.left);
            let longest = left.filter(|l| l.is_finite()).fold(0.1, f64::max);
            let top = self.y;
            let name =
                format!("Lease left, {longest:.1} s at the top; shaded: its holder was lost");
            self.lane(&name, 72.0, |out| {
                lanes::lease(
                    out,
                    window,
                    &marks,
                    longest,
                    (None, true),
                    &"what was left of the lease",
                );
            });
            self.lost(top + 7.0, 72.0);
            self.owners();
            let renewals = marks.iter().filter(|m| m.act == Act::Renewed).count();
            self.lane("Renewals, and (thicker) other writes of the lease", 18.0, |out| {
                lanes::writes(out, window, &marks, &format!("{renewals} renewals"));
            });
        }
        for (n, (worker, beats)) in picture.beats.iter().take(HEARTS).enumerate() {
            let name = format!("Heartbeats of {worker} while it has the lock");
            self.lane(&name, 18.0, |out| {
                let beats = beats.iter().map(|s| at(*s));
                lanes::beats(out, window, &format!("beats{n}"), beats, None, &"heartbeats");
            });
        }
        let happened: Vec<TransitionView> = picture
            .happened
            .iter()
            .map(|(seconds, what, is_bad)| TransitionView {
                age_seconds: window.seconds - seconds,
                what: if *is_bad { "bad" } else { "" },
                detail: what.clone(),
            })
            .collect();
        self.lane("What happened, signals that rose in red", 18.0, |out| {
            lanes::happened(out, window, &happened, |what| what == "bad", &"what happened");
        });
    }

    /// Where the holder was lost, over the lane of the lease.
    fn lost(&mut self, y: f64, high: f64) {
        for lost in &self.report.picture.lost {
            let (from, until) = (self.x(lost.from), self.x(lost.until));
            let wide = (until - from).max(1.0);
            let _ = writeln!(
                self.out,
                "<rect class=\"lost\" x=\"{from:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high}\"/>"
            );
        }
    }

    /// Who had it, below the lane of the lease.
    fn owners(&mut self) {
        let y = self.y - 12.0;
        self.y = y + 14.0;
        let report = self.report;
        let picture = &report.picture;
        let mut free = LEFT;
        for held in &picture.held {
            let (from, until) = (self.x(held.from), self.x(held.until.unwrap_or(picture.seconds)));
            let _ = writeln!(
                self.out,
                "<path class=\"owner\" d=\"M{from:.1} {:.1}V{y:.1}H{until:.1}V{:.1}\"/>",
                y - 5.0,
                y - 5.0
            );
            // A name that has no room is in the text.
            let wide = held.who.chars().count() as f64 * 7.0;
            if from >= free && from + wide <= LEFT + LANE {
                self.text("soft", from, &held.who);
                free = from + wide + 8.0;
            }
        }
        self.y += 24.0;
    }

    fn axis(&mut self) {
        self.y -= 4.0;
        self.text("soft", LEFT, "0 s");
        let (middle, end) = (self.window.seconds / 2.0, self.window.seconds);
        self.text("soft middle", LEFT + LANE / 2.0, &format!("{middle:.1} s"));
        self.text("soft right", LEFT + LANE, &format!("{end:.1} s"));
        self.y += 26.0;
    }

    /// The fault, and where each expectation was seen, over all lanes.
    fn marks(&mut self, top: f64, bottom: f64) {
        let report = self.report;
        let fault = report.fault_seconds;
        if let Some(fault) = fault {
            let x = self.x(fault);
            let _ = writeln!(
                self.out,
                "<line class=\"fault\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{bottom:.1}\"/>",
                top - 16.0
            );
            let kept = self.y;
            self.y = top - 21.0;
            // It must not run out of the picture.
            let (class, x) = if x > WIDE - 120.0 { ("right", x - 3.0) } else { ("", x + 3.0) };
            self.text(class, x, "the fault is seen");
            self.y = kept;
        }
        // Numbers that fall together stand below each other, and beside each other where the lanes end.
        let rows = ((bottom - top) / 21.0).floor().max(1.0) as u32;
        let mut row = 0;
        let mut last = f64::NEG_INFINITY;
        for (n, finding) in report.expectations.iter().enumerate() {
            let Some(seconds) = finding.seconds else { continue };
            let x = self.x(finding.at.unwrap_or(seconds + fault.unwrap_or(0.0)));
            row = if (x - last).abs() < 20.0 { row + 1 } else { 0 };
            last = x;
            let y = top - 8.0 + f64::from(row % rows) * 21.0;
            let beside = (x + f64::from(row / rows) * 20.0).min(WIDE - 9.0);
            let _ = writeln!(
                self.out,
                "<line class=\"seen\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{y:.1}\" y2=\"{bottom:.1}\"/>"
            );
            self.number(n, finding, beside, y);
        }
    }

    fn number(&mut self, n: usize, finding: &Finding, x: f64, y: f64) {
        let class = finding.verdict.word().split(' ').next().unwrap_or_default();
        let _ = writeln!(
            self.out,
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"9\"/>\
             <text class=\"number\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
            y + 4.0,
            n + 1
        );
    }

    /// The expectations in words.
    fn legend(&mut self) {
        let report = self.report;
        for (n, finding) in report.expectations.iter().enumerate() {
            let y = self.y - 4.5;
            self.number(n, finding, LEFT + 9.0, y);
            let word = finding.verdict.word().split(' ').next().unwrap_or_default();
            self.text(&format!("verdict {word}"), LEFT + 26.0, finding.verdict.word());
            let after = match (finding.verdict, finding.seconds) {
                (Verdict::Pass | Verdict::Fail, Some(s)) => {
                    format!(", after {s:.2} s{}", super::text::since(finding))
                }
                _ => String::new(),
            };
            let what = format!("{}{after}", finding.what);
            let detail = finding.detail.clone().unwrap_or_default();
            let text = lines(&printable(&what), CHARACTERS - 20).into_iter().map(|l| ("", l));
            let more = lines(&printable(&detail), CHARACTERS - 20).into_iter().map(|l| ("soft", l));
            for (class, line) in text.chain(more) {
                self.text(class, LEFT + 130.0, &line);
                self.y += LINE;
            }
            self.y += 8.0;
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
