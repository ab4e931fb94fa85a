//! What a rehearsal found: each expectation with its verdict and its times. It must not decide them.

use serde::Serialize;

/// Whether an expectation held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It did.
    Pass,
    /// It did not.
    Fail,
    /// It could not be judged in this world.
    NotJudged,
}

impl Verdict {
    /// For a person.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Pass => "PASS",
            Verdict::Fail => "FAIL",
            Verdict::NotJudged => "NOT JUDGED",
        }
    }
}

/// One expectation.
#[derive(Clone, Debug, Serialize)]
pub struct Expectation {
    /// What was expected.
    pub what: String,
    /// Whether it held.
    pub verdict: Verdict,
    /// When that was seen, in seconds since the beginning.
    pub at: Option<f64>,
    /// After so many seconds of what it is expected after.
    pub seconds: Option<f64>,
    /// What that is, if it is not the fault.
    pub since: Option<String>,
    /// The same in poll intervals of the exporter.
    pub polls: Option<f64>,
    /// The latest that it may be, in seconds, without the slack of the machine.
    pub within_seconds: Option<f64>,
    /// That slack.
    pub slack_seconds: Option<f64>,
    /// What was there instead, or what else was seen.
    pub detail: Option<String>,
}

/// What happened on the stage, with seconds since its beginning.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    /// When.
    pub seconds: f64,
    /// What.
    pub what: String,
}

/// One run of a scenario.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Its name.
    pub scenario: String,
    /// Which run of it.
    pub run: u32,
    /// What its random timing came from.
    pub seed: u64,
    /// The exporter's poll interval in seconds.
    pub poll_seconds: f64,
    /// When the fault was made, in seconds since the beginning.
    pub fault_seconds: Option<f64>,
    /// Why it was not run, if it was not.
    pub not_run: Option<String>,
    /// What was expected.
    pub expectations: Vec<Expectation>,
    /// What happened.
    pub events: Vec<Event>,
}

impl Outcome {
    /// Everything that was expected held; what was not run, or was not judged in a part, has not passed.
    pub fn has_passed(&self) -> bool {
        self.not_run.is_none()
            && !self.expectations.is_empty()
            && self.expectations.iter().all(|e| e.verdict == Verdict::Pass)
    }

    /// Something failed.
    pub fn has_failed(&self) -> bool {
        self.expectations.iter().any(|e| e.verdict == Verdict::Fail)
    }
}
