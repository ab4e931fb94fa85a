//! Reads a fleet's registry of its live workers, by a preset or in its generic form, over a connection of its own: what is
//! in a registry may be large or odd, and must not cost the locks a read. A read is complete or a failure.

mod bullmq;
pub mod celery;
mod members;
mod resque;
mod rq;
mod sidekiq;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::ability::{Abilities, Ability, RETRY_REFUSED};
use super::conn::Conn;
use super::dial::parse_addr;
use super::failure::Failure;
use super::handshake;
use super::messages::Request;
use super::parts::PartReader;
use super::store::StoreHandle;
use crate::clock;
use crate::config::Preset;
use crate::observe::node::FailReason;
use crate::observe::source::{ListMember, SourceFailed};
use crate::observe::{Mono, label};
use walk::Budget;

/// Longest time for one read of a registry.
const DEADLINE: Duration = Duration::from_secs(10);

/// Reads registries of one store.
pub struct ListReader {
    store: StoreHandle,
    link: Option<Link>,
    abilities: Abilities,
    refused: Option<Refused>,
}

/// The server does not let us read a registry. Each refusal raises its error counters and fills its ACL log.
struct Refused {
    failure: Failure,
    at: Mono,
    /// How often somebody had asked to try again.
    tries: u64,
}

impl Refused {
    /// Whether it is left alone for now.
    fn holds(&self, store: &StoreHandle) -> bool {
        self.tries == store.retries() && clock::mono().since(self.at) < RETRY_REFUSED
    }
}

/// The key that a registry begins with: in a cluster its shard is the one to be asked.
fn main_key(preset: &Preset) -> &[u8] {
    match preset {
        Preset::Sidekiq => b"processes",
        Preset::Rq => b"rq:workers",
        Preset::Resque => b"resque:workers",
        Preset::Members { key, .. } => key.as_bytes(),
        Preset::BullMq { .. } | Preset::Celery { .. } => b"",
    }
}

/// A connection to the primary of this address.
struct Link {
    addr: Arc<str>,
    conn: Conn,
    parts: PartReader,
}

impl ListReader {
    /// Connects with the first read.
    pub fn new(store: StoreHandle) -> Self {
        Self { store, link: None, abilities: Abilities::default(), refused: None }
    }

    /// Reads the whole registry on the primary.
    pub async fn read(&mut self, preset: &Preset) -> Result<Vec<ListMember>, SourceFailed> {
        let read = match timeout(DEADLINE, self.try_read(preset)).await {
            Ok(read) => read,
            Err(_) => {
                let seconds = DEADLINE.as_secs();
                let detail = format!("the registry was not read within {seconds} s");
                Err(Failure::new(FailReason::Timeout, detail))
            }
        };
        read.map(Names::into_members).map_err(|failure| {
            // A connection that failed once is not used again.
            self.link = None;
            let detail = format!("store {}: {}", self.store.config().name, failure.detail);
            SourceFailed { reason: failure.reason, detail }
        })
    }

    async fn try_read(&mut self, preset: &Preset) -> Result<Names, Failure> {
        if let Some(refused) = self.refused.as_ref().filter(|r| r.holds(&self.store)) {
            let failure = refused.failure.clone();
            self.tell(preset, Ability::Refused(refused.at));
            return Err(failure);
        }
        let tries = self.store.retries();
        let read = self.ask(preset).await;
        let at = clock::mono();
        match &read {
            Ok(_) => {
                self.refused = None;
                self.tell(preset, Ability::Works);
            }
            // Without a connection nothing was asked.
            Err(f) if f.reason == FailReason::Permission && self.link.is_some() => {
                self.refused = Some(Refused { failure: f.clone(), at, tries });
                self.tell(preset, Ability::Refused(at));
            }
            Err(_) => {}
        }
        read
    }

    /// Lets the store show whether the one command may be sent that nothing else needs.
    fn tell(&self, preset: &Preset, ability: Ability) {
        if let Preset::BullMq { .. } = preset {
            self.store.tell(Request::Learned("client|list", ability));
        }
    }

    async fn ask(&mut self, preset: &Preset) -> Result<Names, Failure> {
        self.store.tried().await;
        let addr = self
            .store
            .primary_for(main_key(preset))
            .map_err(|reason| Failure::new(reason, "its primary is not connected"))?;
        if self.link.as_ref().is_none_or(|link| link.addr != addr) {
            let unusable = || Failure::new(FailReason::Other, format!("{addr} is no address"));
            let at = parse_addr(&addr).ok_or_else(unusable)?;
            let (conn, _) =
                handshake::connect(self.store.config(), &at, &mut self.abilities).await?;
            self.link = Some(Link { addr, conn, parts: PartReader::default() });
        }
        let Some(Link { conn, parts, .. }) = &mut self.link else {
            return Err(Failure::new(FailReason::Other, "there is no connection"));
        };
        let mut budget = Budget::default();
        match preset {
            Preset::Sidekiq => sidekiq::read(conn, &mut budget).await,
            Preset::Rq => rq::read(conn, &mut budget).await,
            Preset::Resque => resque::read(conn, &mut budget).await,
            Preset::BullMq { queue } => bullmq::read(conn, queue, &mut budget).await,
            // It is listened to, not read.
            Preset::Celery { .. } => Err(Failure::new(FailReason::Other, "nothing is kept there")),
            Preset::Members { key, kind, heartbeat } => {
                let heartbeat = heartbeat.as_deref();
                members::read(conn, parts, key, *kind, heartbeat, &mut budget).await
            }
        }
    }
}

/// Names with their last beat; the same name twice is one member. Jobs are by themselves: their ids are no workers' names.
#[derive(Default)]
struct Names {
    workers: BTreeMap<Arc<str>, Option<f64>>,
    jobs: BTreeSet<Arc<str>>,
}

impl Names {
    fn add(&mut self, name: &[u8], beat: Option<f64>) {
        if !name.is_empty() {
            let at = self.workers.entry(label::text(name).into()).or_default();
            *at = beat.or(*at);
        }
    }

    fn add_job(&mut self, id: &[u8]) {
        if !id.is_empty() {
            self.jobs.insert(label::text(id).into());
        }
    }

    fn into_members(self) -> Vec<ListMember> {
        let Self { workers, jobs } = self;
        let job = |name| ListMember { name, is_job: true, beat: None };
        let jobs: Vec<_> =
            jobs.into_iter().filter(|id| !workers.contains_key(id)).map(job).collect();
        let worker = |(name, beat)| ListMember { name, is_job: false, beat };
        workers.into_iter().map(worker).chain(jobs).collect()
    }
}

/// A time as Ruby and Python write it, in seconds since the epoch; for people only.
fn written_time(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let text = text.strip_suffix("+00:00").unwrap_or(text);
    let at = humantime::parse_rfc3339_weak(text).ok()?;
    at.duration_since(std::time::UNIX_EPOCH).ok().map(|d| d.as_secs_f64())
}

/// Seconds since the epoch as a number; for people only.
fn number(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0)
}
