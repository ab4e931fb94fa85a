//! Asks one node after another which shard has which slots: once in each interval, and at once when a key is not where it
//! was looked for. It has a connection of its own, so that a shard that hangs does not keep the others from being found.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use tracing::{info, warn};

use super::super::ability::Abilities;
use super::super::codec::Item;
use super::super::conn::Conn;
use super::super::context::Context;
use super::super::dial::addr_text;
use super::super::failure::Failure;
use super::super::handshake;
use super::super::messages::Report;
use super::super::pack;
use super::map::SlotMap;
use crate::config::RedisAddr;
use crate::observe::node::FailReason;

/// Between two questions at least, whatever happens.
const LEAST: Duration = Duration::from_millis(100);

/// The task that asks.
pub(in crate::poll::redis) struct MapWatch {
    context: Arc<Context>,
    seeds: Vec<RedisAddr>,
    /// Nodes of the last map.
    known: Vec<RedisAddr>,
    next: usize,
    conn: Option<(Conn, RedisAddr)>,
    abilities: Abilities,
    /// Somebody has reason to doubt the last map.
    doubt: Arc<Notify>,
    /// Why it fails at present, which was logged.
    outage: Option<FailReason>,
}

impl MapWatch {
    /// Begins with the addresses of the config.
    pub fn new(context: Arc<Context>, doubt: Arc<Notify>) -> Self {
        let store = &context.store;
        let seeds = std::iter::once(&store.url).chain(&store.further_urls);
        let seeds = seeds.map(|url| url.addr.clone()).collect();
        Self {
            context,
            seeds,
            known: Vec::new(),
            next: 0,
            conn: None,
            abilities: Abilities::default(),
            doubt,
            outage: None,
        }
    }

    /// Asks until nobody listens or the sender of `ended` is gone.
    pub async fn run(mut self, mut ended: watch::Receiver<()>) {
        tokio::select! {
            _ = ended.changed() => {}
            () = self.ask_on() => {}
        }
    }

    async fn ask_on(&mut self) {
        loop {
            let report = match self.ask_any().await {
                Ok(map) => {
                    if self.outage.take().is_some() {
                        info!(store = %self.context.store.name, "the cluster tells its slots again");
                    }
                    let nodes = map.shards.iter().flat_map(|s| s.members());
                    self.known = nodes.map(|m| m.addr.clone()).collect();
                    Report::Slots(map)
                }
                Err((addr, failure)) => {
                    if self.outage.replace(failure.reason) != Some(failure.reason) {
                        warn!(store = %self.context.store.name, node = %addr_text(&addr),
                            reason = failure.reason.as_str(), "no node tells the cluster's slots: {}", failure.detail);
                    }
                    Report::NoSlots(addr, failure)
                }
            };
            if self.context.reports.send(report).await.is_err() {
                return;
            }
            tokio::time::sleep(LEAST).await;
            let rest = self.context.settings.poll_interval.saturating_sub(LEAST);
            if timeout(rest, self.doubt.notified()).await.is_ok() {
                // The one that was asked may not know better yet.
                self.conn = None;
            }
        }
    }

    /// The first answer of any node; each is asked once.
    async fn ask_any(&mut self) -> Result<SlotMap, (RedisAddr, Failure)> {
        if let Some((conn, addr)) = &mut self.conn
            && let Ok(map) = ask(conn, addr).await
        {
            return Ok(map);
        }
        self.conn = None;
        let all: Vec<RedisAddr> = self.known.iter().chain(&self.seeds).cloned().collect();
        let mut last = None;
        for _ in 0..all.len() {
            self.next = self.next.wrapping_add(1);
            let Some(addr) = all.get(self.next % all.len().max(1)).cloned() else { break };
            match self.connect(&addr).await {
                Ok((conn, map)) => {
                    self.conn = Some((conn, addr));
                    return Ok(map);
                }
                Err(failure) => last = Some((addr, failure)),
            }
        }
        Err(last.unwrap_or_else(|| {
            let failure = Failure::new(FailReason::Other, "no address is known");
            (self.context.store.url.addr.clone(), failure)
        }))
    }

    async fn connect(&mut self, addr: &RedisAddr) -> Result<(Conn, SlotMap), Failure> {
        let connecting = handshake::connect(&self.context.store, addr, &mut self.abilities);
        let (mut conn, _) = connecting.await?;
        let map = ask(&mut conn, addr).await?;
        Ok((conn, map))
    }
}

/// Why a node tells no slots. A server that is in no cluster never will.
fn refused(error: &[u8]) -> Failure {
    let failure = Failure::server("CLUSTER SLOTS", error);
    if !String::from_utf8_lossy(error).contains("cluster support disabled") {
        return failure;
    }
    let fix = "this server is in no cluster; leave `topology` out, or give nodes of the cluster in `urls`";
    Failure::new(FailReason::Protocol, format!("{} ({fix})", failure.detail))
}

async fn ask(conn: &mut Conn, addr: &RedisAddr) -> Result<SlotMap, Failure> {
    let mut request = Vec::new();
    pack::command(&mut request, &["CLUSTER", "SLOTS"]);
    conn.exchange(&request, 1).await?;
    let host = match addr {
        RedisAddr::Tcp { host, .. } => host.as_str(),
        RedisAddr::Unix(_) => "localhost",
    };
    if let Some(Item::Error(e)) = conn.walk(0).next() {
        return Err(refused(e));
    }
    let read = SlotMap::read(&mut conn.walk(0), host);
    let map = read.map_err(|detail| Failure::new(FailReason::Protocol, detail))?;
    if map.shards.is_empty() {
        let detail = "this node knows no shard that has slots; is it part of the cluster?";
        return Err(Failure::new(FailReason::NotReady, detail));
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_in_no_cluster_says_what_to_do() {
        let why = refused(b"ERR This instance has cluster support disabled");
        assert!(why.detail.contains("leave `topology` out"), "{}", why.detail);
        let why = refused(b"NOPERM User x has no permissions to run the 'cluster|slots' command");
        assert!(!why.detail.contains("topology"), "{}", why.detail);
    }
}
