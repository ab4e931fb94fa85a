//! The judges: one criterion each, a pure function over what was seen. A judge may be asked again after every look. It gives no
//! verdict on data that is missing, says what it waits for, and says bounds where polls leave bounds.

mod effects;
mod keeps;
mod kill;
mod lost;
mod needs;
mod partition;
mod passed_over;
mod pause;
mod renewal;
mod takeover;
#[cfg(test)]
mod tests;

use super::history::History;
use super::tenures::Tenure;
use crate::outcome::Verdict;

/// What a criterion is, for people.
pub struct Criterion {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is proven.
    pub about: &'static str,
    /// What the user does to the system.
    pub make: &'static str,
    /// What is watched for it.
    pub watched: &'static str,
    /// What of it has to be configured in the exporter.
    pub needs: &'static str,
    /// Judges what was seen so far.
    pub judge: fn(&History) -> Judgement,
}

/// All of them.
pub const CRITERIA: [Criterion; 5] = [
    pause::CRITERION,
    kill::CRITERION,
    partition::CRITERION,
    effects::CRITERION,
    renewal::CRITERION,
];

/// One thing that has to hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// What.
    pub what: &'static str,
    /// Whether it does; `None` while that is open.
    pub verdict: Option<Verdict>,
    /// When that was seen, in the watch's seconds.
    pub seen: Option<f64>,
    /// What it rests on, or what is missing.
    pub detail: Option<String>,
    /// Without it nothing is proven. What is not needed can refute only.
    pub is_needed: bool,
}

/// What a judge has to say by now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// When the fault was seen, in the watch's seconds.
    pub fault: Option<f64>,
    /// What is waited for; `None` when all is seen.
    pub waiting: Option<String>,
    /// What has to hold.
    pub expectations: Vec<Expected>,
    /// What was seen, in words, with when.
    pub evidence: Vec<(f64, String)>,
}

/// What a proof came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Everything that is needed holds.
    Proven,
    /// Something does not hold.
    Refuted,
    /// Something could not be judged.
    NotJudged,
}

impl Judgement {
    /// Nothing is seen yet but this is waited for.
    pub fn waits(text: impl Into<String>) -> Self {
        Self { waiting: Some(text.into()), ..Self::default() }
    }

    /// It cannot be judged, as this is missing.
    pub fn cannot(what: &'static str, missing: impl Into<String>) -> Self {
        let mut judgement = Self::default();
        judgement.expect(what, Some(Verdict::NotJudged), None, missing);
        judgement
    }

    /// Adds something that is needed.
    pub fn expect(
        &mut self,
        what: &'static str,
        verdict: Option<Verdict>,
        seen: Option<f64>,
        detail: impl Into<String>,
    ) {
        let detail = Some(detail.into()).filter(|d| !d.is_empty());
        self.expectations.push(Expected { what, verdict, seen, detail, is_needed: true });
    }

    /// Adds something that can only refute.
    pub fn expect_besides(
        &mut self,
        what: &'static str,
        verdict: Option<Verdict>,
        seen: Option<f64>,
        detail: impl Into<String>,
    ) {
        self.expect(what, verdict, seen, detail);
        if let Some(last) = self.expectations.last_mut() {
            last.is_needed = false;
        }
    }

    /// Adds what was seen.
    pub fn saw(&mut self, seconds: f64, what: impl Into<String>) {
        self.evidence.push((seconds, what.into()));
    }

    /// Whether there is nothing more to wait for. What is refuted stays refuted.
    pub fn is_over(&self) -> bool {
        self.waiting.is_none() || self.proof() == Proof::Refuted
    }

    /// Whether all that is needed so far holds.
    fn is_all_well(&self) -> bool {
        let mut needed = self.expectations.iter().filter(|e| e.is_needed);
        needed.all(|e| e.verdict == Some(Verdict::Pass))
    }

    /// What it comes to if nothing more is seen.
    pub fn proof(&self) -> Proof {
        let is = |e: &Expected, verdict| e.verdict == Some(verdict);
        if self.expectations.iter().any(|e| is(e, Verdict::Fail)) {
            return Proof::Refuted;
        }
        let mut needed = self.expectations.iter().filter(|e| e.is_needed).peekable();
        let is_some = needed.peek().is_some();
        if is_some && self.waiting.is_none() && needed.all(|e| is(e, Verdict::Pass)) {
            return Proof::Proven;
        }
        Proof::NotJudged
    }
}

/// The first proof of such a kind that two owners had the lock at once which is newer than that instant, with when.
fn contested(
    history: &History,
    since: f64,
    is_meant: impl Fn(&str) -> bool,
) -> Option<(f64, String)> {
    history.since(since).find_map(|look| {
        let lock = &look.document.lock;
        let is_new = |age: f64| look.seconds - age >= since;
        let proof =
            lock.contention.iter().find(|c| c.proof && is_new(c.age_seconds) && is_meant(&c.kind));
        proof.map(|proof| (look.seconds, proof.detail.clone()))
    })
}

/// Whether a renewal may have come after the last read that showed the tenure.
fn is_end_unseen(history: &History, tenure: &Tenure) -> bool {
    let is_seen = tenure.evidence.as_deref() == Some("lapsed");
    let unseen = tenure.gone.zip(tenure.last).map_or(f64::INFINITY, |(gone, last)| gone - last);
    !is_seen && unseen > history.patience
}

/// That no two owners had it at once, as far as the exporter judges that. It refutes; alone it proves nothing.
fn expect_one_owner(judgement: &mut Judgement, history: &History, since: f64, is_over: bool) {
    let what = "no two owners are proven at once";
    match contested(history, since, |_| true) {
        Some((at, detail)) => {
            judgement.expect_besides(what, Some(Verdict::Fail), Some(at), detail);
        }
        None if !is_over => judgement.expect_besides(what, None, None, ""),
        // The watch ends here, and what was taken too early may show later.
        None if judgement.proof() == Proof::Refuted => {
            let detail = "dlock_contested was not watched any longer: it is refuted already";
            judgement.expect_besides(what, Some(Verdict::NotJudged), None, detail);
        }
        None => {
            let judged = history.since(since).all(|l| l.signal("contested").is_some());
            let (verdict, detail) = if judged && !history.has_gap_since(since) {
                (Verdict::Pass, "dlock_contested stayed 0")
            } else {
                (Verdict::NotJudged, "dlock_contested was not judged all the time")
            };
            let last = history.last().map(|l| l.seconds);
            judgement.expect_besides(what, Some(verdict), last, detail);
        }
    }
}

/// Seconds for people.
fn secs(seconds: f64) -> String {
    match seconds.abs() {
        s if s < 0.009_95 => format!("{:.1} ms", seconds * 1000.0),
        s if s < 0.9995 => format!("{:.0} ms", seconds * 1000.0),
        _ => format!("{seconds:.2} s"),
    }
}
