//! The holder is killed and nothing renews for it: stale until the lease ends, and then free.

use super::{Act, Scenario};
use crate::stage::{Stage, Within};

/// SIGKILL to a correct worker.
pub struct Kill;

impl Scenario for Kill {
    fn name(&self) -> &'static str {
        "kill"
    }

    fn about(&self) -> &'static str {
        "kill the holder: stale until its lease ends, then free; nothing renews"
    }

    fn run<'a>(&'a self, stage: &'a mut Stage) -> Act<'a> {
        Box::pin(async move {
            let mut worker = stage.start(stage.worker(1)).await?;
            stage.healthy(&worker).await?;
            stage.wait_at_random().await;
            stage.mark("the holder is killed");
            worker.kill()?;
            stage
                .expect("dlock_holder_stale 1", Within::polls(1.0), |l| l.is_up("holder_stale"))
                .await;
            stage
                .expect("dlock_holder_liveness dead", Within::polls(1.0), |l| {
                    l.liveness() == "dead"
                })
                .await;
            let lease = stage.lapsed();
            stage.expect("dlock_lock_held 0", lease, |l| l.is_free()).await;
            stage.expect("dlock_holder_stale 0", lease, |l| l.is_down("holder_stale")).await;
            stage.expect_lapse().await;
            let most = stage.lease() + stage.world().slack.as_secs_f64();
            stage
                .expect("dlock_lease_overrun_seconds is at most the lease", lease, move |l| {
                    l.value("dlock_lease_overrun_seconds").is_some_and(|s| s > 0.0 && s <= most)
                })
                .await;
            stage.rises(&[("holder_stale", 1..=1), ("renewal_overdue", 0..=1)]).await;
            Ok(())
        })
    }
}
