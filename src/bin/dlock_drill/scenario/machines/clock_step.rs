//! The lock server's clock is stepped, a little forward and back and then beyond the lease of a lock that is renewed well. A
//! step is counted and sized, a lease that it ends is told as ended by it, and only a worker that gets the lock by it makes
//! two owners.

use std::time::Duration;

use tokio::task::AbortHandle;

use super::own::{self, Own};
use crate::keys;
use crate::scenario::{Act, Scenario};
use crate::servers::clock::SteppedClock;
use crate::servers::redis::command;
use crate::stage::{Ended, Look, Stage, Within};

/// A private server whose clock is stepped.
pub struct ClockStep;

/// Longer than the small steps, shorter than the large one.
const LEASE: Duration = Duration::from_secs(20);
const PERIOD: Duration = Duration::from_millis(600);
const RENEW: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) else return 0 end";

impl Scenario for ClockStep {
    fn name(&self) -> &'static str {
        "clock-step"
    }

    fn about(&self) -> &'static str {
        "the server's clock steps: counted and sized; a lease that it ends is told as clock_step, and as contested only once taken"
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn run<'a>(&'a self, stage: &'a mut Stage) -> Act<'a> {
        Box::pin(run(stage))
    }
}

async fn run(stage: &mut Stage) -> Result<(), Ended> {
    let own = Own::begin(stage)?;
    let poll = stage.world().poll;
    let mut clock = SteppedClock::make().map_err(|e| Ended::NotRun(e.to_string()))?;
    let server = own.server().clock(&clock).start().await?;
    let (name, key) = (stage.lock().to_owned(), keys::lock_key(stage.lock()));
    let locks = own::lock(&name, LEASE, ", renewed: true");
    let store = format!("url: {}\nlocks:\n{locks}", server.url());
    let _watch = own.watch(stage, server.address(), &store, "", poll).await?;
    let (first, second) = (own::token(stage, 1), own::token(stage, 2));
    server.take(&key, &first, LEASE).await?;
    let _renewing = Renewing::start(server.port(), &own.password, &key, &first);
    let is_well = |l: &Look| {
        l.value("dlock_lease_renewals_total") >= Some(4.0)
            && l.is_down("contested")
            && l.is_down("renewal_overdue")
            && steps(l) == [0.0, 0.0]
    };
    stage.ready("it is held and renewed", is_well).await?;

    let soon = Within::polls(2.0);
    let size = 1.0 + stage.random().f64() * 3.0;
    for (nth, seconds) in [size, -size].into_iter().enumerate() {
        stage.wait_at_random().await;
        clock.step(seconds)?;
        stage
            .mark(&format!("the server's clock is stepped by {seconds:.2} s, less than the lease"));
        let counted = [[1.0, 0.0], [1.0, 1.0]].get(nth).copied().unwrap_or_default();
        stage
            .expect("dlock_store_clock_steps_total counts it", soon, |l| steps(l) == counted)
            .await;
        is_sized(stage, seconds).await;
        // The renewals after it, each of which is a chance to be wrong.
        tokio::time::sleep(PERIOD * 2).await;
        let look = stage.look();
        let ends = own::sum(&look, "dlock_store_lease_ends_total", &[]);
        let is_same = ends == 0.0 && look.value("dlock_lock_held") == Some(1.0);
        stage.holds("the lock is still held, and nothing ended", is_same, look.told());
        stage.holds("not contested", look.is_down("contested"), look.told());
    }

    stage.wait_at_random().await;
    let seconds = 30.0 + stage.random().f64() * 40.0;
    clock.step(seconds)?;
    stage.mark(&format!("the server's clock is stepped by {seconds:.2} s, beyond the lease"));
    stage.expect("dlock_store_clock_steps_total counts it", soon, |l| steps(l) == [2.0, 1.0]).await;
    is_sized(stage, seconds).await;
    stage
        .expect("the end is told as clock_step", soon, |l| own::store_ends(l, "clock_step") == 1.0)
        .await;
    stage.expect("dlock_lock_held 0", soon, |l| l.is_free()).await;
    let look = stage.look();
    let ends = own::sum(&look, "dlock_store_lease_ends_total", &[]);
    stage.holds("no other end is claimed", ends == 1.0, format!("{ends} ends"));
    stage.holds("not contested while nobody else has it", look.is_down("contested"), look.told());

    server.take(&key, &second, LEASE).await?;
    stage.mark("another worker takes it, while the first one's lease would last");
    stage.expect("dlock_contested 1", soon, |l| l.is_up("contested")).await;
    stage
        .expect("its proof is told as lost", soon, |l| {
            l.counted("dlock_contention_events_total", ("kind", "lost")) == 1.0
        })
        .await;
    // Set back, the clock leaves more of a lease than it has, until it is renewed: that is told as what it is.
    stage.rises(&[("contested", 1..=1), ("lease_absurd", 0..=1)]).await;
    Ok(())
}

/// Steps forward and backward.
fn steps(look: &Look) -> [f64; 2] {
    ["forward", "backward"]
        .map(|d| own::sum(look, "dlock_store_clock_steps_total", &[("direction", d)]))
}

async fn is_sized(stage: &mut Stage, seconds: f64) {
    let what = "dlock_store_clock_step_seconds is its size";
    stage
        .expect(what, Within::polls(2.0), |l| {
            // The intervals before and after it are each as wide as a round trip on a loaded machine.
            let told = l.metrics().value("dlock_store_clock_step_seconds", &[]);
            told.is_some_and(|told| (told - seconds).abs() < 0.1)
        })
        .await;
}

/// The first worker: it renews until the lock is not its own any more.
struct Renewing(AbortHandle);

impl Renewing {
    fn start(port: u16, password: &str, key: &str, token: &str) -> Self {
        let [password, key, token] = [password, key, token].map(str::to_owned);
        let lease = LEASE.as_millis().to_string();
        let task = tokio::spawn(async move {
            let words = ["EVAL", RENEW, "1", &key, &token, &lease];
            while command(port, Some(&password), &words)
                .await
                .is_ok_and(|r| r == redis::Value::Int(1))
            {
                tokio::time::sleep(PERIOD).await;
            }
        });
        Self(task.abort_handle())
    }
}

impl Drop for Renewing {
    fn drop(&mut self) {
        self.0.abort();
    }
}
