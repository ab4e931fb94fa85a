//! One cell of the matrix: a part is broken in one way, its own series go and say why, it is healed, and they are back. What
//! else has to hold all the while is watched by the row.

use std::time::Duration;

use dlock_exporter::clock;

use crate::support::{Exporter, Metrics, SLACK, for_a_while};

/// Time between two polls of every exporter here.
pub const POLL: Duration = Duration::from_millis(400);
/// What is withheld is so after three intervals; a timeout, the longest of which is 5 s, may come before that.
const LOST_WITHIN: Duration = Duration::from_millis(3 * 400 + 6000);
/// How long what must not change is looked at.
const LOOK: Duration = Duration::from_millis(4 * 400);

/// A way for a part to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Absent,
    Refusing,
    Hanging,
    Slow,
    Garbage,
    Huge,
    Flapping,
    Denied,
    Back,
}

impl Fault {
    pub const ALL: [Fault; 9] = [
        Fault::Absent,
        Fault::Refusing,
        Fault::Hanging,
        Fault::Slow,
        Fault::Garbage,
        Fault::Huge,
        Fault::Flapping,
        Fault::Denied,
        Fault::Back,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Fault::Absent => "absent",
            Fault::Refusing => "refusing",
            Fault::Hanging => "hanging",
            Fault::Slow => "slow",
            Fault::Garbage => "garbage",
            Fault::Huge => "huge",
            Fault::Flapping => "flapping",
            Fault::Denied => "no permission",
            Fault::Back => "gone and back",
        }
    }
}

/// What a fault has to do to a part's own series.
pub enum Effect {
    /// They go, and one of these says why.
    Loses(&'static [&'static str]),
    /// They stay: it is no loss.
    Keeps,
    /// Neither is asked for; only that it is whole again afterwards.
    Waits,
    /// This part cannot fail so.
    Never(&'static str),
}

/// Says what is wrong with a scrape, if anything is.
pub type Wrong = Box<dyn Fn(&Metrics) -> Option<String> + Send>;

/// A part that can be broken.
pub trait Part: Send {
    /// Breaks it.
    fn broken(&mut self, fault: Fault) -> Effect;

    /// Ends the fault.
    fn heal(&mut self, fault: Fault);

    /// Comes and goes.
    fn flap(&mut self, _is_broken: bool) {}

    /// What is wrong with what is not lost with it, beside what must be good in every row.
    fn wrong(&self) -> Wrong {
        Box::new(|_| None)
    }

    /// Done before each look, where something has to happen for the part to be used at all.
    fn nudge(&mut self, _exporter: &Exporter) {}

    /// Whether all its series are there and are of now.
    fn is_whole(&self, m: &Metrics) -> bool;

    /// Whether they are gone.
    fn is_lost(&self, m: &Metrics) -> bool;

    /// Why, as told since `before`.
    fn reasons(&self, before: &Metrics, m: &Metrics) -> Vec<String>;

    /// Series of it for a message.
    fn shows(&self) -> &'static str;

    /// What it may take to be whole again, beside two intervals: a timeout that is under way, a resolver's second try.
    fn settles(&self, _fault: Fault) -> Duration {
        Duration::from_millis(400)
    }
}

/// What became of a cell.
pub enum Outcome {
    /// As it should be: how long until lost, if at all, and until whole again.
    Held(Option<Duration>, Duration),
    /// It cannot be.
    Never(&'static str),
    /// Not this time.
    Left,
    /// It was not as it should be.
    Broken(String),
}

/// Does one.
pub fn run(part: &mut dyn Part, exporter: &Exporter, fault: Fault) -> Outcome {
    match done(part, exporter, fault) {
        Ok(outcome) => outcome,
        Err(what) => {
            part.heal(fault);
            Outcome::Broken(format!("{what}; the log ends:\n{}", tail(exporter)))
        }
    }
}

fn done(part: &mut dyn Part, exporter: &Exporter, fault: Fault) -> Result<Outcome, String> {
    let before = exporter.metrics();
    let lost = match part.broken(fault) {
        Effect::Never(why) => return Ok(Outcome::Never(why)),
        Effect::Loses(wanted) => {
            let what = format!("lost by one of {wanted:?}");
            Some(until(part, exporter, &what, LOST_WITHIN, |part, m| {
                let reasons = part.reasons(&before, m);
                part.is_lost(m) && reasons.iter().any(|r| wanted.contains(&r.as_str()))
            })?)
        }
        Effect::Keeps => {
            let end = clock::mono().plus(LOOK);
            while clock::mono() < end {
                part.nudge(exporter);
                let m = exporter.metrics();
                if part.is_lost(&m) {
                    return Err(format!("lost something: {}", m.lines(part.shows())));
                }
                for_a_while(POLL / 4);
            }
            None
        }
        Effect::Waits => {
            let end = clock::mono().plus(LOOK);
            let mut is_broken = true;
            while clock::mono() < end {
                part.nudge(exporter);
                for_a_while(POLL / 2);
                is_broken = !is_broken;
                part.flap(is_broken);
            }
            None
        }
    };
    part.heal(fault);
    let within = POLL * 2 + part.settles(fault) + SLACK;
    let back = until(part, exporter, "whole again", within, |part, m| part.is_whole(m))?;
    Ok(Outcome::Held(lost, back))
}

/// Waits for it; the error says what was seen instead.
pub fn until(
    part: &mut dyn Part,
    exporter: &Exporter,
    what: &str,
    within: Duration,
    condition: impl Fn(&dyn Part, &Metrics) -> bool,
) -> Result<Duration, String> {
    let begun = clock::mono();
    loop {
        part.nudge(exporter);
        let m = exporter.metrics();
        let took = clock::mono().since(begun);
        if condition(part, &m) {
            return Ok(took);
        }
        if took > within {
            let failures = m.lines_of(|s| {
                s.value > 0.0 && (s.name.contains("failures_total") || s.name.contains("coverage"))
            });
            let seen = m.lines(part.shows());
            return Err(format!("not {what} within {within:?}: {seen}{failures}"));
        }
        for_a_while(POLL / 5);
    }
}

fn tail(exporter: &Exporter) -> String {
    let log = exporter.log();
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(6)..].join("\n")
}

/// The reasons of polls of these that failed since.
pub fn failed_since(before: &Metrics, m: &Metrics, is_own: impl Fn(&str) -> bool) -> Vec<String> {
    let name = "dlock_exporter_poll_failures_total";
    let own = m.all(name, &[]).into_iter().filter(|s| is_own(s.label("target")));
    own.filter(|s| {
        let labels = ["poller", "target", "reason"].map(|l| (l, s.label(l)));
        s.value > before.sum(name, &labels)
    })
    .map(|s| s.label("reason").to_owned())
    .collect()
}
