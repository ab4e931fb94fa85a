//! What is expected on a stage: waiting for it with a deadline, and writing down what came of it. Nothing is done here to anybody.

use std::ops::RangeInclusive;
use std::time::Duration;

use dlock_exporter::clock::mono;

use super::{Look, Stage, signals};
use crate::outcome::{Expectation, Verdict};

/// The worst delay that something may have.
#[derive(Clone, Copy, Debug)]
pub struct Within {
    polls: f64,
    seconds: f64,
}

impl Within {
    /// So many polls of the exporter.
    pub fn polls(polls: f64) -> Self {
        Self { polls, seconds: 0.0 }
    }

    /// And so many seconds.
    pub fn and_seconds(self, seconds: f64) -> Self {
        Self { seconds: self.seconds + seconds, ..self }
    }
}

impl Stage {
    /// Waits until the exporter shows something; the time since the last mark if it did within the deadline, and the scrape.
    pub(super) async fn until(
        &self,
        deadline: Duration,
        holds: impl Fn(&Look) -> bool,
    ) -> Option<(Duration, Look)> {
        let mut last = self.marked;
        loop {
            let left = self.marked.plus(deadline).since(mono());
            // Read before the mark it may show what was before.
            let seen = self.world.exporter.after(last, left.max(Duration::from_millis(1))).await?;
            last = seen.at;
            let look = self.look_at(seen.metrics);
            if holds(&look) {
                return Some((mono().since(self.marked), look));
            }
        }
    }

    /// Something that the exporter must show within this time of the last mark; whether it did.
    pub async fn expect(
        &mut self,
        what: &str,
        within: Within,
        holds: impl Fn(&Look) -> bool,
    ) -> bool {
        let poll = self.world.poll.as_secs_f64();
        let worst = within.polls * poll + within.seconds;
        let deadline = Duration::try_from_secs_f64(worst).unwrap_or_default() + self.world.slack;
        let took = self.until(deadline, holds).await.map(|(took, _)| took);
        let seconds = took.map(|t| t.as_secs_f64());
        self.record(Expectation {
            what: what.into(),
            verdict: if took.is_some() { Verdict::Pass } else { Verdict::Fail },
            at: seconds.map(|_| mono().secs_since(self.begun)),
            seconds,
            since: self.since.clone(),
            polls: seconds.map(|s| s / poll),
            within_seconds: Some(worst),
            slack_seconds: Some(self.world.slack.as_secs_f64()),
            detail: took.is_none().then(|| self.look().told()),
        });
        took.is_some()
    }

    /// Something that must be so now.
    pub fn holds(&mut self, what: &str, is_so: bool, detail: impl Into<String>) {
        let verdict = if is_so { Verdict::Pass } else { Verdict::Fail };
        self.untimed(what, verdict, (!is_so).then(|| detail.into()));
    }

    /// Something that this world does not let anybody judge.
    pub fn not_judged(&mut self, what: &str, why: &str) {
        self.untimed(what, Verdict::NotJudged, Some(why.into()));
    }

    fn untimed(&mut self, what: &str, verdict: Verdict, detail: Option<String>) {
        self.record(Expectation {
            what: what.into(),
            verdict,
            at: None,
            seconds: None,
            since: None,
            polls: None,
            within_seconds: None,
            slack_seconds: None,
            detail,
        });
    }

    fn record(&mut self, expectation: Expectation) {
        if expectation.verdict == Verdict::Fail {
            self.note(&format!("FAIL {}", expectation.what));
        }
        self.outcome.expectations.push(expectation);
    }

    /// How often each signal may have risen since all was well; those that are not named must have stayed quiet.
    pub async fn rises(&mut self, allowed: &[(&str, RangeInclusive<u32>)]) {
        tokio::time::sleep(self.world.poll * 2).await;
        self.marked = mono();
        // Counters that are not told now are no zeros.
        let limit = self.world.slack + self.world.poll * 2;
        let own = [("lock", self.lock.as_str())];
        let is_told = |l: &Look| l.metrics().all("dlock_signal_rises_total", &own).next().is_some();
        let Some((_, look)) = self.until(limit, is_told).await else {
            let told = self.look().told();
            return self.holds("every other signal stays quiet", false, told);
        };
        let wrong: Vec<String> = signals()
            .filter_map(|signal| {
                let allowed = allowed.iter().find(|(s, _)| *s == signal);
                let (low, high) = allowed.map_or((0, 0), |(_, r)| (*r.start(), *r.end()));
                let rose = look.rises(signal);
                let is_right = (f64::from(low)..=f64::from(high)).contains(&rose);
                (!is_right).then(|| format!("{signal} rose {rose} times, not {low} to {high}"))
            })
            .collect();
        if !wrong.is_empty() {
            return self.holds("every other signal stays quiet", false, wrong.join("; "));
        }
        // Whoever is paged by one of these wants to know that it belongs to the fault.
        let rose: Vec<&str> = signals().filter(|s| look.rises(s) > 0.0).collect();
        let detail = (!rose.is_empty()).then(|| format!("rose, as they may: {}", rose.join(", ")));
        self.untimed("every other signal stays quiet", Verdict::Pass, detail);
    }
}
