//! A resource that does not check fencing tokens, and workers that repeat what their predecessor may have done: effects take place
//! twice, and an old holder's passes for a new one's.

use super::{Act, Scenario};
use crate::stage::{Stage, Within};

/// Two workers with the same requests, the first of which stands still and goes on after the second.
pub struct Replay;

impl Scenario for Replay {
    fn name(&self) -> &'static str {
        "replay"
    }

    fn about(&self) -> &'static str {
        "repeat effects at a resource that checks no tokens: duplicates are counted, and an old token that passes is contention"
    }

    fn run<'a>(&'a self, stage: &'a mut Stage) -> Act<'a> {
        Box::pin(async move {
            let lock = stage.lock().to_owned();
            stage.world().resource.check(&lock, false);
            // After its tenure it leaves the lock alone, so that its last effect is the last one.
            let holder = stage.start(stage.worker(1).repeating().cycles(0, 0.0, 600.0)).await?;
            stage.healthy(&holder).await?;
            stage.wait_at_random().await;
            stage.mark("the holder is stopped");
            holder.pause().await?;
            stage.expect("dlock_lock_held 0", stage.lapsed(), |l| l.is_free()).await;
            stage.mark("its successor begins with the first request again");
            let work = stage.lease();
            let next = stage.start(stage.worker(2).repeating().cycles(1, work, 0.0)).await?;
            let name = next.name().to_owned();
            stage
                .expect("the successor is shown", Within::polls(2.0).and_seconds(1.0), move |l| {
                    l.is_held_by(&name)
                })
                .await;
            stage
                .expect(
                    "dlock_effect_duplicates_total",
                    Within::polls(3.0).and_seconds(work),
                    |l| l.counted_all("dlock_effect_duplicates_total") >= 1.0,
                )
                .await;
            let over = Within::polls(2.0).and_seconds(work + 1.0);
            stage.expect("the successor releases it", over, |l| l.ends("released") == 1.0).await;
            stage.mark("the old holder goes on, and its old token passes");
            holder.resume()?;
            let read = Within::polls(3.0).and_seconds(1.0);
            stage.expect("dlock_contested 1", read, |l| l.is_up("contested")).await;
            stage
                .expect("the proof `fencing` is counted", read, |l| l.contentions("fencing") >= 1.0)
                .await;
            stage
                .expect("dlock_fencing_regressions_total", read, |l| {
                    l.counted_all("dlock_fencing_regressions_total") >= 1.0
                })
                .await;
            let counts = stage.world().resource.counts(&lock);
            let twice = (counts.effects - counts.requests) as f64;
            stage
                .expect("as many duplicates as the resource counted", read, move |l| {
                    l.value("dlock_effect_duplicates_total").is_some_and(|d| d >= twice)
                })
                .await;
            stage
                .rises(&[
                    ("contested", 1..=1),
                    ("holder_stale", 1..=1),
                    ("renewal_overdue", 0..=2),
                    ("lease_shorter_than_stall", 0..=2),
                    ("lease_lapses_in_use", 0..=1),
                ])
                .await;
            Ok(())
        })
    }
}
