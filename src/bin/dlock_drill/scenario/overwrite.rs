//! Somebody writes over the holder's key who never asked whether it was free.

use super::{Act, Scenario};
use crate::keys;
use crate::lockserver::Kept;
use crate::stage::{Stage, Within};

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
            let mut server = Kept::new(&stage.world().server);
            let proves = has_events(&mut server);
            let stranger = keys::worker_name(stage.lock(), 2);
            let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
            let token = format!("{stranger}:{host}:1:{:032x}", stage.random().u128(..));
            let lease = format!("{}", (stage.lease() * 1000.0) as u64);
            stage.wait_at_random().await;
            stage.mark("a stranger writes over the holder's key");
            let key = keys::lock_key(stage.lock());
            server.call::<()>(&["SET", &key, &token, "PX", &lease])?;
            let soon = Within::polls(1.0);
            stage.expect("the stranger is shown", soon, |l| l.is_held_by(&stranger)).await;
            if proves {
                stage.expect("dlock_contested 1", soon, |l| l.is_up("contested")).await;
                stage
                    .expect("the end is told as overwritten", soon, |l| {
                        l.ends("overwritten") == 1.0
                    })
                    .await;
                stage.rises(&[("contested", 1..=1), ("renewal_overdue", 0..=1)]).await;
            } else {
                stage.not_judged(
                    "dlock_contested 1",
                    "the server has no keyspace events on (notify-keyspace-events KEA), and nothing else proves an overwrite",
                );
                stage
                    .expect("the end is told as unknown", soon, |l| l.ends("unknown") == 1.0)
                    .await;
                stage.rises(&[("renewal_overdue", 0..=1)]).await;
            }
            Ok(())
        })
    }
}

/// Whether the server tells of writes to keys; where that may not be asked, it is taken to.
fn has_events(server: &mut Kept) -> bool {
    let answer = server.call::<Vec<String>>(&["CONFIG", "GET", "notify-keyspace-events"]);
    let Some(flags) = answer.ok().and_then(|mut a| a.pop()) else { return true };
    flags.contains('K') && (flags.contains('A') || flags.contains('$'))
}
