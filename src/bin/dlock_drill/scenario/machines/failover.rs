//! A primary grants a lock that its replica never gets, and dies; sentinels promote the replica, and another worker takes the
//! lock there. What was lost is told as such, and only that.

use super::own::{self, LONG, Own, SOON};
use crate::keys;
use crate::scenario::{Act, Scenario};
use crate::servers::redis::Server;
use crate::servers::sentinel::{MASTER, Sentinel};
use crate::servers::wait::Waiting;
use crate::stage::{Ended, Look, Stage, Within};

/// A failover by sentinels that loses writes.
pub struct Failover;

impl Scenario for Failover {
    fn name(&self) -> &'static str {
        "failover"
    }

    fn about(&self) -> &'static str {
        "a failover loses a lock that the replica never got: told as failover, and contested once another has it"
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
    let mut primary = own.server().start().await?;
    let replica = own.server().replica_of(&primary).start().await?;
    linked(&replica).await?;
    let mut sentinels = Vec::new();
    for _ in 0..3 {
        sentinels.push(Sentinel::watch(&own.program, &primary, &own.password).await?);
    }
    let waiting = Waiting::new("the sentinels know each other and the replica", SOON);
    for sentinel in &sentinels {
        while sentinel.knows("SENTINELS").await? != 2 || sentinel.knows("REPLICAS").await? != 1 {
            waiting.on().await?;
        }
    }
    let (name, key) = (stage.lock().to_owned(), keys::lock_key(stage.lock()));
    let kept = format!("{name}-kept");
    let kept_token = own::token(stage, 3);
    primary.take(&keys::lock_key(&kept), &kept_token, LONG).await?;
    let urls: Vec<String> = sentinels.iter().map(Sentinel::url).collect();
    let secret = own.file("password");
    let store = format!(
        "topology: sentinel\nurls: {urls:?}\nsentinel: {{ master: {MASTER}, password_file: '{}' }}\nlocks:\n{}{}",
        secret.display(),
        own::lock(&name, LONG, ""),
        own::lock(&kept, LONG, "")
    );
    let _watch = own.watch(stage, primary.address(), &store, "", poll).await?;
    let old = primary.address().to_string();
    let new = replica.address().to_string();
    let is_whole = |l: &Look| {
        has_role(l, &old, "master")
            && has_role(l, &new, "replica")
            && of(l, &kept, "dlock_lock_held") == Some(1.0)
            && of(l, &kept, "dlock_replica_diverged") == Some(0.0)
            && l.is_free()
    };
    stage.ready("primary and replica agree", is_whole).await?;
    stage.wait_at_random().await;

    // The replica is cut off: it cannot log in any more.
    replica.cmd(&["CONFIG", "SET", "masterauth", "not this"]).await?;
    primary.cmd(&["CLIENT", "KILL", "TYPE", "replica"]).await?;
    primary.cmd(&["SET", &format!("{}beyond", keys::PREFIX), "1"]).await?;
    stage.mark("the replica is cut off");
    let cut = |l: &Look| {
        let at = [("addr", new.as_str())];
        own::sum(l, "dlock_store_replica_link_up", &at) == 0.0
            && own::sum(l, "dlock_store_replication_lag_bytes", &at) > 0.0
    };
    let soon = Within::polls(3.0);
    stage.expect("the replica's link is down, and it lags", soon, cut).await;
    // Only an acquire of which a read before it shows that it is beyond the replica's last offset is surely lost.
    tokio::time::sleep(poll * 3).await;
    let (first, second) = (own::token(stage, 1), own::token(stage, 2));
    primary.take(&key, &first, LONG).await?;
    stage.mark("a worker takes the lock on the primary alone");
    stage
        .expect("dlock_lock_unreplicated_seconds rises", Within::polls(5.0), |l| {
            l.value("dlock_lock_unreplicated_seconds") > Some(poll.as_secs_f64() * 2.0)
        })
        .await;
    let alone = of(&stage.look(), &kept, "dlock_lock_unreplicated_seconds");
    stage.holds("the other lock is on the replica", alone == Some(0.0), format!("{alone:?}"));

    if stage.random().bool() {
        primary.kill();
        stage.note("the primary is killed");
    } else {
        primary.pause().await?;
        stage.note("the primary stands still");
    }
    replica.cmd(&["CONFIG", "SET", "masterauth", &own.password]).await?;
    let waiting = Waiting::new("the sentinels promote the replica", SOON);
    for sentinel in &sentinels {
        while sentinel.names().await? != replica.port() {
            waiting.on().await?;
        }
    }
    stage.mark("the sentinels have promoted the replica");
    // A poll, a connection, and a look at the sentinels.
    let soon = Within::polls(4.0).and_seconds(1.0);
    stage
        .expect("dlock_store_failovers_total 1", soon, |l| {
            own::sum(l, "dlock_store_failovers_total", &[]) == 1.0
        })
        .await;
    stage
        .expect("the end is told as failover", soon, |l| own::store_ends(l, "failover") == 1.0)
        .await;
    stage.expect("dlock_lock_held 0", soon, |l| l.is_free()).await;
    stage
        .expect("dlock_store_failover_lost_bytes_total above 0", soon, |l| {
            own::sum(l, "dlock_store_failover_lost_bytes_total", &[]) > 0.0
        })
        .await;
    stage
        .expect("the other lock is still held", soon, |l| {
            of(l, &kept, "dlock_lock_held") == Some(1.0)
        })
        .await;
    let look = stage.look();
    let ends = own::sum(&look, "dlock_store_lease_ends_total", &[]);
    stage.holds("no other end is claimed", ends == 1.0, format!("{ends} ends"));
    stage.holds("not contested while nobody else has it", look.is_down("contested"), look.told());

    replica.take(&key, &second, LONG).await?;
    stage.mark("another worker takes the lock on the new primary");
    let soon = Within::polls(3.0);
    stage.expect("dlock_contested 1", soon, |l| l.is_up("contested")).await;
    stage
        .expect("its proof is told as lost", soon, |l| {
            l.counted("dlock_contention_events_total", ("kind", "lost")) == 1.0
        })
        .await;
    stage.rises(&[("contested", 1..=1)]).await;
    let look = stage.look();
    let rose = own::sum(&look, "dlock_signal_rises_total", &[("lock", &kept)]);
    let taken = of(&look, &kept, "dlock_lock_acquisitions_total");
    let is_quiet = rose == 0.0 && taken == Some(0.0);
    let told = format!("{rose} rises, {taken:?} acquisitions");
    stage.holds("the other lock is the same tenure and stays quiet", is_quiet, told);
    Ok(())
}

/// A metric of the other lock.
fn of(look: &Look, lock: &str, name: &str) -> Option<f64> {
    look.metrics().value(name, &[("lock", lock)])
}

fn has_role(look: &Look, addr: &str, role: &str) -> bool {
    own::sum(look, "dlock_store_role", &[("addr", addr), ("role", role)]) == 1.0
}

async fn linked(replica: &Server) -> Result<(), Ended> {
    let waiting = Waiting::new("the replica is linked", SOON);
    while !replica.text(&["INFO", "replication"]).await?.contains("master_link_status:up") {
        waiting.on().await?;
    }
    Ok(())
}
