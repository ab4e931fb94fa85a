//! What renews is not what works, and only one of the two stands still.

use rustix::process::Signal;

use super::{Act, Scenario};
use crate::stage::{Stage, Within};

/// The separate renewer stands still; the work goes on.
pub struct RenewalPaused;

impl Scenario for RenewalPaused {
    fn name(&self) -> &'static str {
        "renewal-paused"
    }

    fn about(&self) -> &'static str {
        "stop only what renews: overdue, lapsed under a living holder, and a successor takes it"
    }

    fn run<'a>(&'a self, stage: &'a mut Stage) -> Act<'a> {
        Box::pin(async move {
            let holder = stage.start(stage.worker(1).separate_renewer()).await?;
            stage.healthy(&holder).await?;
            let next = stage.start(stage.worker(2)).await?;
            stage.wait_at_random().await;
            stage.mark("the renewer is stopped");
            holder.pause_renewer().await?;
            stage.expect_overdue().await;
            let within = stage.lapsed();
            stage.expect("dlock_holder_liveness alive", within, |l| l.liveness() == "alive").await;
            stage.lapse_to(&next, "alive").await;
            stage.wait_for_effects(&next).await;
            stage.expect_rejections().await;
            stage.wait_at_random().await;
            stage.mark("the renewer goes on");
            holder.resume_renewer()?;
            stage.stays_with(&next).await;
            stage.rises(&[("renewal_overdue", 1..=1), ("lease_lapses_in_use", 0..=1)]).await;
            Ok(())
        })
    }
}

/// The work stands still or is killed; the separate renewer goes on.
pub struct RenewalOutlives;

impl Scenario for RenewalOutlives {
    fn name(&self) -> &'static str {
        "renewal-outlives"
    }

    fn about(&self) -> &'static str {
        "stop or kill the work while a separate process renews: stale, renewed after lost liveness, and never free by itself"
    }

    fn run<'a>(&'a self, stage: &'a mut Stage) -> Act<'a> {
        Box::pin(async move {
            let mut holder = stage.start(stage.worker(1).separate_renewer()).await?;
            stage.healthy(&holder).await?;
            stage.wait_at_random().await;
            let is_kill = stage.random().bool();
            if is_kill {
                stage.mark("the worker is killed");
                holder.kill()?;
            } else {
                stage.mark("the worker is stopped");
                holder.pause().await?;
            }
            let soon = Within::polls(1.0);
            stage.expect("dlock_holder_stale 1", soon, |l| l.is_up("holder_stale")).await;
            let state = if is_kill { "dead" } else { "stopped" };
            let what = format!("dlock_holder_liveness {state}");
            stage.expect(&what, soon, |l| l.liveness() == state).await;
            let renewed = Within::polls(2.0).and_seconds(stage.renew_every());
            stage
                .expect("dlock_renewal_after_lost_liveness 1", renewed, |l| {
                    l.is_up("renewal_after_lost_liveness")
                })
                .await;
            stage
                .expect("such renewals are counted", renewed, |l| {
                    l.counted_all("dlock_lease_renewals_after_lost_liveness_total") >= 1.0
                })
                .await;
            let length = std::time::Duration::from_secs_f64(stage.lease());
            tokio::time::sleep(length).await;
            stage.mark("that was the length of a lease");
            let name = holder.name().to_owned();
            stage.expect("it is still held", soon, move |l| l.is_held_by(&name)).await;
            stage.mark("the renewer is killed too");
            holder.signal_renewer(Signal::KILL)?;
            let over = stage.lapsed();
            stage.expect("dlock_lock_held 0", over, |l| l.is_free()).await;
            stage
                .expect("both signals are 0", over, |l| {
                    l.is_down("holder_stale") && l.is_down("renewal_after_lost_liveness")
                })
                .await;
            stage
                .rises(&[
                    ("holder_stale", 1..=1),
                    ("renewal_after_lost_liveness", 1..=1),
                    ("renewal_overdue", 0..=1),
                    ("lease_shorter_than_stall", 0..=2),
                    ("lease_lapses_in_use", 0..=1),
                ])
                .await;
            Ok(())
        })
    }
}
