//! The server evicts a held lock for want of memory, and another worker takes it: the end is told as evicted, by the server's
//! own event, and two owners were valid at once.

use super::own::{self, LONG, Own};
use crate::keys;
use crate::scenario::{Act, Scenario};
use crate::stage::{Ended, Stage, Within};

/// A server with a limit of memory that its keys outgrow.
pub struct Eviction;

/// Keys that fill the memory at most.
const MOST: usize = 5000;

impl Scenario for Eviction {
    fn name(&self) -> &'static str {
        "eviction"
    }

    fn about(&self) -> &'static str {
        "a server that runs out of memory evicts a held lock: told as evicted, and contested once another has it"
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
    let setup = own.server().line("maxmemory-policy allkeys-lru").line("maxmemory 100mb");
    let server = setup.line("notify-keyspace-events KA").start().await?;
    let (name, key) = (stage.lock().to_owned(), keys::lock_key(stage.lock()));
    let store = format!("url: {}\nlocks:\n{}", server.url(), own::lock(&name, LONG, ""));
    let _watch = own.watch(stage, server.address(), &store, "", poll).await?;
    let (first, second) = (own::token(stage, 1), own::token(stage, 2));
    server.take(&key, &first, LONG).await?;
    let worker = keys::worker_name(&name, 1);
    stage.ready("it is held", |l| l.is_held_by(&worker) && l.is_down("contested")).await?;
    let danger = |l: &crate::stage::Look| own::sum(l, "dlock_store_evicts_locks", &[]) == 1.0;
    stage
        .expect("dlock_store_evicts_locks 1 while nothing is evicted", Within::polls(1.0), danger)
        .await;
    stage.wait_at_random().await;

    server.cmd(&["CONFIG", "SET", "maxmemory", "3mb"]).await?;
    let filler = "x".repeat(100_000);
    let mut n = 0;
    while server.number(&["EXISTS", &key]).await? == 1 {
        // Refused when even this cannot be made room for; the lock is gone by then, or never goes.
        let filled = server.cmd(&["SET", &format!("{}filler:{n}", keys::PREFIX), &filler]).await;
        n += 1;
        if n > MOST || filled.is_err() {
            return Err(Ended::NotRun("the server does not evict the lock".into()));
        }
    }
    stage.mark("the server has evicted the lock's key");
    let soon = Within::polls(2.0);
    stage
        .expect("the end is told as evicted", soon, |l| own::store_ends(l, "evicted") == 1.0)
        .await;
    stage.expect("dlock_lock_held 0", soon, |l| l.is_free()).await;
    stage
        .expect("dlock_store_evicted_keys_total counts it", soon, |l| {
            own::sum(l, "dlock_store_evicted_keys_total", &[]) >= 1.0
        })
        .await;
    let look = stage.look();
    let ends = ["released", "lapsed", "overwritten", "unknown"].map(|e| own::store_ends(&look, e));
    stage.holds("no other end is claimed", ends == [0.0; 4], format!("{ends:?}"));
    stage.holds("not contested while nobody else has it", look.is_down("contested"), look.told());

    server.cmd(&["CONFIG", "SET", "maxmemory", "100mb"]).await?;
    server.take(&key, &second, LONG).await?;
    stage.mark("another worker takes the lock");
    stage.expect("dlock_contested 1", soon, |l| l.is_up("contested")).await;
    stage
        .expect("its proof is told as lost", soon, |l| {
            l.counted("dlock_contention_events_total", ("kind", "lost")) == 1.0
        })
        .await;
    stage.rises(&[("contested", 1..=1)]).await;
    Ok(())
}
