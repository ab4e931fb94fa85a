//! The holder is cut off from the lock server and comes back after its lease: a successor has the lock, and the old holder must
//! leave it alone.

use super::{Act, Scenario};
use crate::proxy::Proxy;
use crate::stage::{Ended, Stage, Within};

/// A correct worker behind a proxy that is cut and healed.
pub struct Partition;

impl Scenario for Partition {
    fn name(&self) -> &'static str {
        "partition"
    }

    fn about(&self) -> &'static str {
        "cut the holder off and heal: overdue, lapsed under a living holder; afterwards the lock stays its successor's"
    }

    fn run<'a>(&'a self, stage: &'a mut Stage) -> Act<'a> {
        Box::pin(async move {
            let proxy = proxy(stage).await?;
            let part = stage.worker(1).through(&proxy.address().to_string());
            let holder = stage.start(part).await?;
            stage.healthy(&holder).await?;
            let next = stage.start(stage.worker(2)).await?;
            stage.wait_at_random().await;
            stage.mark("the holder is cut off from the lock server");
            proxy.cut();
            stage.expect_overdue().await;
            stage.lapse_to(&next, "alive").await;
            stage.wait_for_effects(&next).await;
            stage.expect_rejections().await;
            stage.wait_at_random().await;
            stage.mark("the partition heals");
            proxy.heal();
            stage.stays_with(&next).await;
            stage
                .rises(&[
                    ("renewal_overdue", 1..=1),
                    ("holder_stale", 0..=1),
                    ("lease_shorter_than_stall", 0..=2),
                    ("lease_lapses_in_use", 0..=1),
                ])
                .await;
            Ok(())
        })
    }
}

/// A worker behind a proxy that is back late and writes its old token over its successor's.
pub struct LateRestore;

impl Scenario for LateRestore {
    fn name(&self) -> &'static str {
        "late-restore"
    }

    fn about(&self) -> &'static str {
        "cut off a holder that restores its token when it is back: contested, two owners at once"
    }

    fn run<'a>(&'a self, stage: &'a mut Stage) -> Act<'a> {
        Box::pin(async move {
            let proxy = proxy(stage).await?;
            let part = stage.worker(1).through(&proxy.address().to_string()).restoring_late();
            let holder = stage.start(part).await?;
            stage.healthy(&holder).await?;
            let next = stage.start(stage.worker(2)).await?;
            stage.wait_at_random().await;
            stage.mark("the holder is cut off from the lock server");
            proxy.cut();
            stage.lapse_to(&next, "alive").await;
            stage.wait_for_effects(&next).await;
            stage.wait_at_random().await;
            stage.mark("the partition heals, and the old holder restores its token");
            proxy.heal();
            // It notices when its last try has timed out and the next renewal is due.
            let back = Within::polls(2.0).and_seconds(2.0 + stage.renew_every());
            stage.expect("dlock_contested 1", back, |l| l.is_up("contested")).await;
            let name = holder.name().to_owned();
            stage.expect("the old holder is shown", back, move |l| l.is_held_by(&name)).await;
            stage
                .expect("a token that returned, or an overwrite, is counted", back, |l| {
                    l.contentions("token_returned") + l.contentions("overwrite") >= 1.0
                })
                .await;
            stage.expect_rejections().await;
            stage
                .rises(&[
                    ("contested", 1..=1),
                    ("renewal_overdue", 0..=2),
                    ("holder_stale", 0..=1),
                    ("lease_shorter_than_stall", 0..=2),
                    ("lease_lapses_in_use", 0..=1),
                ])
                .await;
            Ok(())
        })
    }
}

/// What a worker reaches the lock server through.
async fn proxy(stage: &Stage) -> Result<Proxy, Ended> {
    let Some(to) = stage.world().server.tcp() else {
        return Err(Ended::NotRun(
            "the lock server is behind a Unix socket, which no proxy cuts".into(),
        ));
    };
    Ok(Proxy::start(([127, 0, 0, 1], 0).into(), &to).await?)
}
