//! A lock over five servers of their own erodes: one server after the other loses its key, by a restart, a flush or an
//! eviction, until another owner gets a majority while the first one's lease lasts.

use super::own::{self, LONG, Own, SOON};
use crate::failure::Failure;
use crate::keys;
use crate::scenario::{Act, Scenario};
use crate::servers::redis::Server;
use crate::servers::wait::Waiting;
use crate::stage::{Ended, Look, Stage, Within};

/// Five servers, of which three lose the lock.
pub struct Quorum;

/// How a server loses a key.
#[derive(Clone, Copy, Debug)]
enum Loss {
    Restart,
    Flush,
    Evict,
}

impl Scenario for Quorum {
    fn name(&self) -> &'static str {
        "quorum-erosion"
    }

    fn about(&self) -> &'static str {
        "servers of a Redlock lose its key one by one: degraded, then free, then contested once another has a majority"
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
    let mut servers = Vec::new();
    for _ in 0..5 {
        servers.push(own.server().start().await?);
    }
    let first_at = servers.first().map(Server::address);
    let first_at = first_at.ok_or_else(|| Failure::new("there are no servers"))?;
    let (name, key) = (stage.lock().to_owned(), keys::lock_key(stage.lock()));
    let calm = format!("{name}-calm");
    let urls: Vec<String> = servers.iter().map(Server::url).collect();
    let locks = own::lock(&name, LONG, "") + &own::lock(&calm, LONG, "");
    let store = format!("topology: quorum\nurls: {urls:?}\nlocks:\n{locks}");
    let _watch = own.watch(stage, first_at, &store, "", poll).await?;
    let (first, second) = (own::token(stage, 1), own::token(stage, 2));
    acquire(&servers, &key, &first).await?;
    let is_whole = |l: &Look| {
        votes(l) == Some(5.0)
            && l.value("dlock_quorum_needed") == Some(3.0)
            && l.is_down("quorum_degraded")
            && l.is_down("contested")
    };
    stage.ready("it is held on all five", is_whole).await?;
    // What a loss is held against has to be known of every server first.
    tokio::time::sleep(poll * 2).await;

    // Which of them lose it, in which order and how, is chance.
    stage.random().shuffle(&mut servers);
    let mut losses = [Loss::Restart, Loss::Flush, Loss::Evict];
    stage.random().shuffle(&mut losses);
    for (server, (loss, left)) in servers.iter_mut().zip(losses.into_iter().zip([4.0, 3.0, 2.0])) {
        stage.wait_at_random().await;
        lose(server, loss, &key).await?;
        stage.mark(&format!("a server loses it ({loss:?}); {left} are left"));
        // One that was started anew has to be reached again first.
        let soon = match loss {
            Loss::Restart => Within::polls(4.0).and_seconds(1.0),
            _ => Within::polls(3.0),
        };
        let what = format!("dlock_quorum_votes {left}");
        stage.expect(&what, soon, |l| votes(l) == Some(left)).await;
        if left >= 3.0 {
            stage.expect("dlock_quorum_degraded 1", soon, |l| l.is_up("quorum_degraded")).await;
            stage
                .expect("it is still held", soon, |l| l.value("dlock_lock_held") == Some(1.0))
                .await;
        } else {
            stage.expect("dlock_lock_held 0", soon, |l| l.is_free()).await;
            stage.expect("dlock_quorum_degraded 0", soon, |l| l.is_down("quorum_degraded")).await;
        }
        let look = stage.look();
        stage.holds("not contested so far", look.is_down("contested"), look.told());
    }

    let got = acquire(&servers, &key, &second).await?;
    if got != 3 {
        return Err(Failure::new(format!("the second owner got {got} votes of three")).into());
    }
    stage.mark("another worker gets the three that are free");
    let soon = Within::polls(3.0);
    stage.expect("dlock_contested 1", soon, |l| l.is_up("contested")).await;
    stage
        .expect("its proof is told as quorum", soon, |l| {
            l.counted("dlock_contention_events_total", ("kind", "quorum")) == 1.0
        })
        .await;
    let worker = keys::worker_name(&name, 2);
    stage.expect("the second one holds it", soon, move |l| l.is_held_by(&worker)).await;
    stage.rises(&[("contested", 1..=1), ("quorum_degraded", 1..=2)]).await;
    let look = stage.look();
    let rose = own::sum(&look, "dlock_signal_rises_total", &[("lock", &calm)]);
    stage.holds("a lock that nobody takes stays quiet", rose == 0.0, format!("{rose} rises"));
    Ok(())
}

fn votes(look: &Look) -> Option<f64> {
    look.value("dlock_quorum_votes")
}

/// One round of an acquire; gives the votes.
async fn acquire(servers: &[Server], key: &str, token: &str) -> Result<usize, Failure> {
    let mut votes = 0;
    for server in servers {
        votes += usize::from(server.take(key, token, LONG).await?);
    }
    Ok(votes)
}

async fn lose(server: &mut Server, loss: Loss, key: &str) -> Result<(), Failure> {
    match loss {
        Loss::Restart => server.restart().await,
        Loss::Flush => server.cmd(&["FLUSHALL"]).await.map(|_| ()),
        Loss::Evict => {
            server.cmd(&["CONFIG", "SET", "maxmemory-policy", "allkeys-random"]).await?;
            server.cmd(&["CONFIG", "SET", "maxmemory", "1"]).await?;
            // It is refused, after everything else was evicted for it.
            let _ =
                server.cmd(&["SET", &format!("{}filler", keys::PREFIX), "more than fits"]).await;
            let waiting = Waiting::new("the server evicts the key", SOON);
            while server.number(&["EXISTS", key]).await? == 1 {
                waiting.on().await?;
            }
            server.cmd(&["CONFIG", "SET", "maxmemory", "0"]).await.map(|_| ())
        }
    }
}
