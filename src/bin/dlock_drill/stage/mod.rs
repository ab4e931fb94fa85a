//! The stage of one run: one lock, its workers, random timing from a seed, and what is expected of the exporter, with its
//! deadlines in poll intervals. Whatever is started on it ends with it.

mod actor;
mod common;
mod expect;
mod look;

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use dlock_exporter::clock::mono;
use dlock_exporter::observe::Mono;

use crate::exporter::Metrics;
use crate::failure::Failure;
use crate::outcome::{Event, Outcome};
use crate::world::{Run, World};

pub use actor::Actor;
pub use expect::Within;
pub use look::Look;

/// Longest wait for a world that is well, in seconds, and in polls where that is longer: four renewals are eight of them.
const READY: f64 = 60.0;
const READY_POLLS: f64 = 24.0;

/// To whoever waits, beside the report.
pub fn progress(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

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

/// Length of the leases in seconds where the exporter polls so often.
pub fn lease(poll: Duration) -> f64 {
    (poll.as_secs_f64() * 8.0).max(3.0)
}

/// Each run has its own course, and the same one when it is run alone.
fn course(seed: u64, lock: &str) -> fastrand::Rng {
    lock.bytes().fold(fastrand::Rng::with_seed(seed), |mut rng, byte| {
        fastrand::Rng::with_seed(rng.u64(..) ^ u64::from(byte))
    })
}

/// Where one run of a scenario takes place.
pub struct Stage {
    world: Arc<World>,
    lock: String,
    begun: Mono,
    marked: Mono,
    /// What happened then, if that is not the fault.
    since: Option<String>,
    random: fastrand::Rng,
    /// The metrics before the fault: what counters are held against.
    base: Arc<Metrics>,
    /// When the exporter was started: what another one counted is no help.
    started: Option<f64>,
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
            fault_seconds: None,
            not_run: None,
            expectations: Vec::new(),
            events: Vec::new(),
        };
        Self {
            lock: run.lock(),
            begun: now,
            marked: now,
            since: None,
            random: course(seed, &run.lock()),
            base: world.exporter.now().metrics,
            started: world.exporter.now().metrics.started(),
            base_token: None,
            outcome,
            world,
        }
    }

    /// Waits until the exporter shows what has to be there before anything can be rehearsed. What counters show then is
    /// what they are held against later.
    pub async fn ready(&mut self, what: &str, holds: impl Fn(&Look) -> bool) -> Result<(), Ended> {
        self.marked = mono();
        let Some((_, look)) = self.until(self.patience(), holds).await else {
            let told = self.look().told();
            return Err(
                Failure::new(format!("the exporter does not see that {what}; {told}")).into()
            );
        };
        self.base = look.metrics;
        self.note(what);
        Ok(())
    }

    /// Longest wait for a world that is well.
    fn patience(&self) -> Duration {
        Duration::from_secs_f64((self.world.poll.as_secs_f64() * READY_POLLS).max(READY))
    }

    /// What it stands in.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Goes on in another world: one with servers and an exporter of the scenario's own.
    pub fn enter(&mut self, world: Arc<World>) {
        self.base = world.exporter.now().metrics;
        self.started = self.base.started();
        self.outcome.poll_seconds = world.poll.as_secs_f64();
        self.world = world;
    }

    /// The lock of this run.
    pub fn lock(&self) -> &str {
        &self.lock
    }

    /// Length of the leases here in seconds: long enough for the exporter to see what happens within one.
    pub fn lease(&self) -> f64 {
        lease(self.world.poll)
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
        self.since = self.outcome.fault_seconds.is_some().then(|| what.into());
        self.outcome.fault_seconds.get_or_insert(self.marked.secs_since(self.begun));
        self.note(what);
        // A scenario takes a while, and its report comes at its end.
        progress(&format!("{}: {what}", self.lock));
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

    /// What was found.
    pub fn into_outcome(mut self) -> Outcome {
        self.check_exporter();
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
        self.check_exporter();
        self.outcome
    }

    /// One that was started anew meanwhile has counted from 0. It may have been the fault that ended it: it fails.
    fn check_exporter(&mut self) {
        if self.world.exporter.now().metrics.started() != self.started {
            let why = "it was started anew, and counts from 0: what fails above may fail for that; if you did it, rehearse again";
            self.holds("the exporter runs all the time", false, why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::course;

    #[test]
    fn runs_differ_and_can_be_repeated() {
        let first = |seed, lock: &str| course(seed, lock).u64(..);
        assert_eq!(first(7, "drill-kill-1"), first(7, "drill-kill-1"));
        assert_ne!(first(7, "drill-kill-1"), first(7, "drill-kill-2"));
        assert_ne!(first(7, "drill-kill-1"), first(8, "drill-kill-1"));
        let heads = (1..=64).filter(|n| course(7, &format!("drill-kill-{n}")).bool()).count();
        assert!((16..=48).contains(&heads), "{heads} of 64");
    }
}
