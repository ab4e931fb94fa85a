//! The holder stands still for longer than its lease, and goes on as if nothing had been: a successor has the lock by then, and only
//! the fencing token keeps the old holder's next effect out.

use super::{Act, Scenario};
use crate::stage::{Stage, Within};

/// SIGSTOP to a correct worker beyond its lease, and SIGCONT while its successor works.
pub struct Pause;

impl Scenario for Pause {
    fn name(&self) -> &'static str {
        "pause"
    }

    fn about(&self) -> &'static str {
        "stop the holder for longer than its lease: stale, lapsed under a stopped holder, and the resource refuses its old token"
    }

    fn run<'a>(&'a self, stage: &'a mut Stage) -> Act<'a> {
        Box::pin(async move {
            let holder = stage.start(stage.worker(1)).await?;
            stage.healthy(&holder).await?;
            let next = stage.start(stage.worker(2)).await?;
            stage.wait_at_random().await;
            stage.mark("the holder is stopped");
            holder.pause().await?;
            let soon = Within::polls(1.0);
            stage.expect("dlock_holder_stale 1", soon, |l| l.is_up("holder_stale")).await;
            stage
                .expect("dlock_holder_liveness stopped", soon, |l| l.liveness() == "stopped")
                .await;
            stage.lapse_to(&next, "stopped").await;
            stage
                .expect("dlock_holder_stale 0", stage.lapsed(), |l| l.is_down("holder_stale"))
                .await;
            // The successor's first effects bring its higher token to the resource.
            stage.wait_for_effects(&next).await;
            stage.mark("the old holder goes on");
            holder.resume()?;
            stage.expect_rejections().await;
            if stage.look().ends("lapsed") > 0.0 {
                stage
                    .expect("the hint `resumed` is counted", Within::polls(3.0), |l| {
                        l.contentions("resumed") >= 1.0
                    })
                    .await;
            }
            stage
                .rises(&[
                    ("holder_stale", 1..=1),
                    ("renewal_overdue", 0..=1),
                    ("lease_shorter_than_stall", 0..=2),
                    ("lease_lapses_in_use", 0..=1),
                ])
                .await;
            Ok(())
        })
    }
}
