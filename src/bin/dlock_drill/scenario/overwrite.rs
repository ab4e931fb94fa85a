//! Somebody writes over the holder's key who never asked whether it was free.

use super::{Act, Scenario};
use crate::keys;
use crate::lockserver::Asked;
use crate::stage::{Look, Stage, Within};

/// A plain SET of a foreign token.
pub struct Overwrite;

impl Scenario for Overwrite {
    fn name(&self) -> &'static str {
        "overwrite"
    }

    fn about(&self) -> &'static str {
        "write a foreign token over the holder's: contested, told as overwritten (needs keyspace events)"
    }

    fn run<'a>(&'a self, stage: &'a mut Stage) -> Act<'a> {
        Box::pin(async move {
            let holder = stage.start(stage.worker(1)).await?;
            stage.healthy(&holder).await?;
            let mut server = Asked::new(&stage.world().server);
            let missing = match has_events(&mut server).await {
                false => Some(
                    "the server has no keyspace events on (notify-keyspace-events Kg$xe at least)",
                ),
                true if !hears(stage) => {
                    Some("the exporter has no feed of events (its log says why)")
                }
                true => None,
            };
            let stranger = keys::worker_name(stage.lock(), 2);
            let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
            let token = format!("{stranger}:{host}:1:{:032x}", stage.random().u128(..));
            let lease = format!("{}", (stage.lease() * 1000.0) as u64);
            stage.wait_at_random().await;
            stage.mark("a stranger writes over the holder's key");
            let key = keys::lock_key(stage.lock());
            server.call::<()>(&["SET", &key, &token, "PX", &lease]).await?;
            let soon = Within::polls(1.0);
            stage.expect("the stranger is shown", soon, |l| l.is_held_by(&stranger)).await;
            let Some(missing) = missing else {
                let is_up = |l: &Look| l.is_up("contested");
                if !stage.expect("dlock_contested 1", soon, is_up).await {
                    stage.note(
                        "nothing but keyspace events proves an overwrite: its user needs +psubscribe &__keyspace@0__:dlock_drill:*",
                    );
                }
                stage
                    .expect("the end is told as overwritten", soon, |l| {
                        l.ends("overwritten") == 1.0
                    })
                    .await;
                stage.rises(&[("contested", 1..=1), ("renewal_overdue", 0..=1)]).await;
                return Ok(());
            };
            let why = format!("{missing}, and nothing else proves an overwrite");
            stage.not_judged("dlock_contested 1", &why);
            stage.expect("the end is told as unknown", soon, |l| l.ends("unknown") == 1.0).await;
            stage.rises(&[("renewal_overdue", 0..=1)]).await;
            Ok(())
        })
    }
}

/// Whether the server tells of writes to keys; where that may not be asked, it is taken to.
async fn has_events(server: &mut Asked) -> bool {
    let answer = server.call::<Vec<String>>(&["CONFIG", "GET", "notify-keyspace-events"]).await;
    let Some(flags) = answer.ok().and_then(|mut a| a.pop()) else { return true };
    flags.contains('K') && (flags.contains('A') || flags.contains('$'))
}

/// Whether the exporter has ever heard the store's events.
fn hears(stage: &Stage) -> bool {
    let own = [("store", stage.world().store.as_str())];
    stage.look().metrics().all("dlock_store_event_gap_seconds_total", &own).next().is_some()
}
