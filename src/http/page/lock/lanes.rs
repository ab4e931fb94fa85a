//! The lanes of a lock's picture, each a drawing without text: names and times stand beside it, where they can be read at any
//! size. It only places what the snapshot has.

use std::fmt;

use super::super::escape::Escaped;
use crate::observe::Mono;
use crate::view::{Act, Mark, TransitionView};

/// Width of a lane in its own units.
const WIDE: f64 = 600.0;

/// The minutes that are shown.
#[derive(Clone, Copy)]
pub struct Window {
    /// Their end.
    pub now: Mono,
    /// Their length.
    pub seconds: f64,
}

impl Window {
    /// Where something this long ago is, in it or at its edge.
    fn x(&self, age: f64) -> f64 {
        let share = if age.is_finite() { 1.0 - age / self.seconds } else { 0.0 };
        WIDE * share.clamp(0.0, 1.0)
    }

    /// How long ago it was.
    pub fn age(&self, at: Mono) -> f64 {
        self.now.secs_since(at).max(0.0)
    }
}

/// Opens a lane: a picture that is called `title` and says `desc` to whoever cannot see it. `id` is unique on the page.
fn open(out: &mut String, id: &str, height: u32, title: &str, desc: &dyn fmt::Display) {
    put!(
        out,
        "<svg viewBox=\"0 0 {WIDE} {height}\" height=\"{height}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{desc}</desc>",
        Escaped(title),
    );
}

/// The time since its holder lost liveness.
fn lost(out: &mut String, window: Window, seconds: Option<f64>, height: f64) {
    if let Some(seconds) = seconds {
        let x = window.x(seconds);
        put!(
            out,
            "<rect class=\"lost\" x=\"{x:.1}\" y=\"0\" width=\"{:.1}\" height=\"{height}\"/>",
            WIDE - x
        );
    }
}

/// What was left of the lease: it falls until it is renewed.
pub fn lease(
    out: &mut String,
    window: Window,
    marks: &[Mark],
    length: f64,
    (loss, is_fresh): (Option<f64>, bool),
    desc: &dyn fmt::Display,
) {
    const HIGH: f64 = 72.0;
    open(out, "lease", 72, "Lease left", desc);
    for (n, mark) in marks.iter().enumerate() {
        // Nothing is drawn of what was not read.
        let next = marks.get(n + 1).map(|m| window.age(m.at)).or(is_fresh.then_some(0.0));
        let begin = window.age(mark.at);
        let (Some(end), true) = (next, mark.act != Act::Ended) else { continue };
        if end >= window.seconds {
            continue;
        }
        let x = window.x(begin);
        match mark.left.map(f64::from).filter(|l| l.is_finite()) {
            None => {
                let width = window.x(end) - x;
                put!(
                    out,
                    "<rect class=\"endless\" x=\"{x:.1}\" y=\"0\" width=\"{width:.1}\" height=\"{HIGH}\"/>"
                );
            }
            Some(left) => {
                let end = end.max(begin - left.max(0.0)).min(begin);
                let y = |left: f64| HIGH * (1.0 - (left / length).clamp(0.0, 1.0));
                // Of a lease that began before the window only the rest is in it.
                let gone = (begin - window.seconds).max(0.0);
                put!(
                    out,
                    "<path class=\"lease\" d=\"M{x:.1} {HIGH}L{x:.1} {:.1}L{:.1} {:.1}L{:.1} {HIGH}Z\"/>",
                    y(left - gone),
                    window.x(end),
                    y(left - (begin - end)),
                    window.x(end),
                );
            }
        }
    }
    lost(out, window, loss, HIGH);
    out.push_str("</svg>\n");
}

fn tick(out: &mut String, window: Window, class: &str, age: f64, height: u32) {
    if (0.0..=window.seconds).contains(&age) {
        let x = window.x(age);
        put!(out, "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{height}\"/>");
    }
}

/// Each write of the lease.
pub fn writes(out: &mut String, window: Window, marks: &[Mark], desc: &dyn fmt::Display) {
    open(out, "writes", 18, "Renewals and other writes of the lease", desc);
    for mark in marks {
        let class = if mark.act == Act::Renewed { "tick" } else { "turn" };
        tick(out, window, class, window.age(mark.at), 18);
    }
    out.push_str("</svg>\n");
}

/// Each beat of a holder.
pub fn beats(
    out: &mut String,
    window: Window,
    id: &str,
    beats: impl Iterator<Item = Mono>,
    loss: Option<f64>,
    desc: &dyn fmt::Display,
) {
    open(out, id, 18, "Heartbeats", desc);
    lost(out, window, loss, 18.0);
    beats.for_each(|at| tick(out, window, "tick", window.age(at), 18));
    out.push_str("</svg>\n");
}

/// Each transition; a signal that rose is marked as bad.
pub fn happened(
    out: &mut String,
    window: Window,
    transitions: &[TransitionView],
    is_signal: impl Fn(&str) -> bool,
    desc: &dyn fmt::Display,
) {
    open(out, "happened", 18, "What happened", desc);
    for transition in transitions {
        let class = if is_signal(transition.what) { "alarm" } else { "turn" };
        tick(out, window, class, transition.age_seconds, 18);
    }
    out.push_str("</svg>\n");
}
