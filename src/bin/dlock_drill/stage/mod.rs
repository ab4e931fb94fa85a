//! The stage of one run: one lock, its workers, random timing from a seed, and what is expected of the exporter, with its
//! deadlines in poll intervals. Whatever is started on it ends with it.

mod actor;
mod common;
mod look;

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use dlock_exporter::clock::mono;
use dlock_exporter::observe::Mono;

use crate::exporter::Metrics;
use crate::failure::Failure;
use crate::outcome::{Event, Expectation, Outcome, Verdict};
use crate::world::{Run, World};

pub use actor::Actor;
pub use look::Look;

/// Longest wait for a world that is well.
const READY: Duration = Duration::from_secs(60);

/// All signals of a lock, by their label values.
fn signals() -> impl Iterator<Item = &'static str> {
    dlock_exporter::derive::Signal::ALL.iter().map(|s| s.as_str())
}

/// Why a scenario ended early.
#[derive(Debug)]
pub enum Ended {
    /// It cannot be run on this machine or in this world, and why.
    NotRun(String),
    /// Something broke that is no finding about the exporter.
    Broken(Failure),
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Ended::Broken(failure)
    }
}

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

/// Where one run of a scenario takes place.
pub struct Stage {
    world: Arc<World>,
    lock: String,
    begun: Mono,
    marked: Mono,
    random: fastrand::Rng,
    /// The metrics before the fault: what counters are held against.
    base: Arc<Metrics>,
    /// The fencing token that the resource knew then.
    base_token: Option<u64>,
    outcome: Outcome,
}

impl Stage {
    /// An empty one.
    pub fn new(world: Arc<World>, run: Run, seed: u64) -> Self {
        let now = mono();
        let outcome = Outcome {
            scenario: run.scenario.name().into(),
            run: run.number,
            seed,
            poll_seconds: world.poll.as_secs_f64(),
            not_run: None,
            expectations: Vec::new(),
            events: Vec::new(),
        };
        // Each run has its own course, and the same one when it is run alone.
        let own = run.lock().bytes().fold(seed, |s, b| s.wrapping_mul(31).wrapping_add(b.into()));
        Self {
            lock: run.lock(),
            begun: now,
            marked: now,
            random: fastrand::Rng::with_seed(own),
            base: world.exporter.now().metrics,
            base_token: None,
            outcome,
            world,
        }
    }

    /// Waits until the exporter shows what has to be there before anything can be rehearsed. What counters show then is
    /// what they are held against later.
    pub async fn ready(&mut self, what: &str, holds: impl Fn(&Look) -> bool) -> Result<(), Ended> {
        self.marked = mono();
        if self.until(READY, holds).await.is_none() {
            let told = self.look().told();
            return Err(
                Failure::new(format!("the exporter does not see that {what}; {told}")).into()
            );
        }
        self.base = self.world.exporter.now().metrics;
        self.note(what);
        Ok(())
    }

    /// What it stands in.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Goes on in another world: one with servers and an exporter of the scenario's own.
    pub fn enter(&mut self, world: Arc<World>) {
        self.base = world.exporter.now().metrics;
        self.outcome.poll_seconds = world.poll.as_secs_f64();
        self.world = world;
    }

    /// The lock of this run.
    pub fn lock(&self) -> &str {
        &self.lock
    }

    /// Length of the leases here in seconds: long enough for the exporter to see what happens within one.
    pub fn lease(&self) -> f64 {
        (self.world.poll.as_secs_f64() * 8.0).max(3.0)
    }

    /// Time between renewals in seconds.
    pub fn renew_every(&self) -> f64 {
        self.lease() / 4.0
    }

    /// Random numbers, the same for the same seed.
    pub fn random(&mut self) -> &mut fastrand::Rng {
        &mut self.random
    }

    /// Waits for at most a renewal and a poll, so that the fault falls anywhere between two of either.
    pub async fn wait_at_random(&mut self) {
        let most = self.renew_every() + self.world.poll.as_secs_f64();
        let length = Duration::from_secs_f64(self.random.f64() * most);
        tokio::time::sleep(length).await;
    }

    /// Something happens now; what is expected next is held against this instant.
    pub fn mark(&mut self, what: &str) {
        self.marked = mono();
        self.note(what);
    }

    /// Something that happens, for the report.
    pub fn note(&mut self, what: &str) {
        let seconds = mono().secs_since(self.begun);
        self.outcome.events.push(Event { seconds, what: what.into() });
    }

    /// What the exporter shows now.
    pub fn look(&self) -> Look {
        self.look_at(self.world.exporter.now().metrics)
    }

    fn look_at(&self, metrics: Arc<Metrics>) -> Look {
        let store = self.world.store.clone();
        Look { metrics, base: Arc::clone(&self.base), store, lock: self.lock.clone() }
    }

    /// Waits until the exporter shows something; the time since the last mark if it did within the deadline, and the scrape.
    async fn until(
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
            seconds,
            polls: seconds.map(|s| s / poll),
            within_seconds: Some(worst),
            detail: took.is_none().then(|| self.look().told()),
        });
        took.is_some()
    }

    /// Something that must be so now.
    pub fn holds(&mut self, what: &str, is_so: bool, detail: impl Into<String>) {
        self.record(Expectation {
            what: what.into(),
            verdict: if is_so { Verdict::Pass } else { Verdict::Fail },
            seconds: None,
            polls: None,
            within_seconds: None,
            detail: (!is_so).then(|| detail.into()),
        });
    }

    /// Something that this world does not let anybody judge.
    pub fn not_judged(&mut self, what: &str, why: &str) {
        self.record(Expectation {
            what: what.into(),
            verdict: Verdict::NotJudged,
            seconds: None,
            polls: None,
            within_seconds: None,
            detail: Some(why.into()),
        });
    }

    fn record(&mut self, expectation: Expectation) {
        self.note(&format!("{} {}", expectation.verdict.word(), expectation.what));
        self.outcome.expectations.push(expectation);
    }

    /// How often each signal may have risen since all was well; those that are not named must have stayed quiet.
    pub async fn rises(&mut self, allowed: &[(&str, RangeInclusive<u32>)]) {
        tokio::time::sleep(self.world.poll * 2).await;
        self.marked = mono();
        // Counters that are not told now are no zeros.
        let limit = self.world.slack + self.world.poll * 2;
        let is_told = |l: &Look| l.labelled("dlock_signal_rises_total", ("signal", "holder_stale"));
        let Some((_, look)) = self.until(limit, |l| is_told(l).is_some()).await else {
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
        self.holds("every other signal stays quiet", wrong.is_empty(), wrong.join("; "));
    }

    /// What was found.
    pub fn into_outcome(self) -> Outcome {
        self.outcome
    }

    /// The same, of a scenario that ended early.
    pub fn into_outcome_of(mut self, ended: Ended) -> Outcome {
        match ended {
            Ended::NotRun(why) => self.outcome.not_run = Some(why),
            Ended::Broken(failure) => {
                self.holds("the scenario runs to its end", false, failure.to_string())
            }
        }
        self.outcome
    }
}
