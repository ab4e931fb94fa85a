//! Reports of what was rehearsed or proven: one model for both, as text for people, as JSON for pipelines ([`json`] documents its
//! names), and as a picture of the lock's time. It decides nothing.

pub mod json;
pub mod picture;
pub mod svg;
#[cfg(test)]
mod tests;
pub mod text;
mod wrap;

use serde::Serialize;

use crate::outcome::{Event, Expectation, Outcome, Verdict};

pub use picture::Picture;

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A scenario was rehearsed.
    Scenario,
    /// A criterion was to be proven.
    Criterion,
}

/// What it came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Came {
    /// All that is needed holds.
    Pass,
    /// Something does not.
    Fail,
    /// Something could not be judged, or it was not run.
    NotJudged,
}

/// The result of one scenario or criterion.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// What is rehearsed or proven, in a sentence.
    pub about: String,
    /// What it came to.
    pub verdict: Came,
    /// The lock's store.
    pub store: Option<String>,
    /// The lock.
    pub lock: Option<String>,
    /// The exporter's poll interval.
    pub poll_seconds: f64,
    /// The n-th run of a scenario.
    pub run: Option<u32>,
    /// What its random timing came from.
    pub seed: Option<u64>,
    /// When the fault was seen, in seconds since the beginning.
    pub fault_seconds: Option<f64>,
    /// Why it was not run, or not to its end.
    pub not_run: Option<String>,
    /// What was expected.
    pub expectations: Vec<Finding>,
    /// What is missing for what could not be judged.
    pub missing: Vec<String>,
    /// What happened, in seconds since the beginning.
    pub events: Vec<Event>,
    /// What the exporter recorded of it meanwhile.
    pub recorded: Vec<Recorded>,
    /// What can be drawn.
    #[serde(skip)]
    pub picture: Picture,
}

/// An incident of the exporter's.
#[derive(Clone, Debug, Serialize)]
pub struct Recorded {
    /// As in `/api/v1/incidents/{id}`.
    pub id: String,
    /// What was the case.
    pub summary: String,
}

/// One expectation.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What was expected.
    pub what: String,
    /// Whether it held.
    pub verdict: Verdict,
    /// Nothing passes without it; what is not needed can only fail.
    pub needed: bool,
    /// When it was seen, in seconds since the beginning, if that is not the fault and `seconds`.
    #[serde(skip)]
    pub at: Option<f64>,
    /// When it was seen, in seconds since the fault.
    pub seconds: Option<f64>,
    /// What `seconds` counts from, if that is not the fault.
    pub since: Option<String>,
    /// The same in poll intervals of the exporter.
    pub polls: Option<f64>,
    /// The latest that it may be, in seconds.
    pub within_seconds: Option<f64>,
    /// What a busy machine is given beyond that.
    pub slack_seconds: Option<f64>,
    /// What it rests on, or what is missing.
    pub detail: Option<String>,
}

impl From<&Expectation> for Finding {
    fn from(e: &Expectation) -> Self {
        Self {
            what: e.what.clone(),
            verdict: e.verdict,
            needed: true,
            at: e.at,
            seconds: e.seconds,
            since: e.since.clone(),
            polls: e.polls,
            within_seconds: e.within_seconds,
            slack_seconds: e.slack_seconds,
            detail: e.detail.clone(),
        }
    }
}

impl Report {
    /// Of a scenario.
    pub fn of_scenario(outcome: &Outcome, about: &str) -> Self {
        Self {
            kind: Kind::Scenario,
            name: outcome.scenario.clone(),
            about: about.to_owned(),
            verdict: match outcome {
                o if o.has_failed() => Came::Fail,
                o if o.has_passed() => Came::Pass,
                _ => Came::NotJudged,
            },
            store: None,
            lock: None,
            poll_seconds: outcome.poll_seconds,
            run: Some(outcome.run),
            seed: Some(outcome.seed),
            fault_seconds: outcome.fault_seconds,
            not_run: outcome.not_run.clone(),
            expectations: outcome.expectations.iter().map(Finding::from).collect(),
            missing: Vec::new(),
            events: outcome.events.clone(),
            recorded: Vec::new(),
            picture: Picture::of_events(&outcome.events),
        }
    }

    /// Its headline in a word.
    pub fn word(&self) -> &'static str {
        match (self.kind, self.verdict) {
            (Kind::Criterion, Came::Pass) => "PROVEN",
            (Kind::Criterion, Came::Fail) => "REFUTED",
            (Kind::Scenario, Came::Pass) => "PASS",
            (Kind::Scenario, Came::Fail) => "FAIL",
            (Kind::Scenario, _) if self.not_run.is_some() => "NOT RUN",
            _ => "NOT JUDGED",
        }
    }

    /// What it is of: `pause of main/orders`, `kill (run 2)`.
    pub fn title(&self) -> String {
        match (&self.store, &self.lock, self.run) {
            (Some(store), Some(lock), _) => format!("{} of {store}/{lock}", self.name),
            (_, _, Some(run)) => format!("{} (run {run})", self.name),
            _ => self.name.clone(),
        }
    }
}
