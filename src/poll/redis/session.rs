//! Polling over one connection: a sweep each interval, its batches spread over half of it in short bursts, and between two batches what
//! was asked for: reads at an instant, parts, facts, one SCAN call. One request is in flight at a time.

mod proof;
mod requests;
mod steps;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::oneshot;
use tracing::warn;

use super::ability::{Ability, RETRY_REFUSED};
use super::ahead::Ahead;
use super::conn::Conn;
use super::facts::FactsReader;
use super::messages::{End, Report};
use super::pace::Sweep;
use super::parts::{PartRequest, PartsFailed, PartsReply};
use super::scan::Page;
use super::task::NodeTask;
use crate::clock;
use crate::observe::{BatchRead, KeyId, Mono, Observation};

/// Keys that wait for their instant, at most.
const MAX_TIMED: usize = 4096;
/// Reads of parts that wait, at most.
const MAX_PARTS: usize = 64;
/// Instants this near to each other share a read.
const TOGETHER: Duration = Duration::from_millis(1);

type PartsJob = (Vec<PartRequest>, oneshot::Sender<Result<PartsReply, PartsFailed>>);

/// A usable connection.
pub struct Session<'a> {
    pub(super) task: &'a mut NodeTask,
    pub(super) conn: Conn,
    pub(super) reader: FactsReader,
    timed: BTreeMap<Mono, Vec<KeyId>>,
    timed_keys: usize,
    parts: VecDeque<PartsJob>,
    pub(super) facts_wanted: bool,
    pub(super) sweep: Option<Sweep>,
    next_sweep: Mono,
    /// The first sweep is not spread out.
    first: bool,
    /// A sweep ended over this connection.
    pub(super) is_polled: bool,
    /// Among the keys that are to be read now are some that changed.
    changed: bool,
    /// Since when the feed was whole as the last sweep began, and when the last one began that read all.
    whole_since: Option<Mono>,
    read_all_at: Option<Mono>,
    /// A batch that was sent; nothing else is until its replies came.
    ahead: Option<Ahead>,
    /// Room for what is told next.
    reads: Vec<BatchRead>,
    /// A burst is over, and what waited for its end has not had its turn.
    owes: bool,
}

impl<'a> Session<'a> {
    /// Takes over a fresh connection.
    pub fn new(task: &'a mut NodeTask, conn: Conn, reader: FactsReader) -> Self {
        task.beside.rest();
        Self {
            task,
            conn,
            reader,
            timed: BTreeMap::new(),
            timed_keys: 0,
            parts: VecDeque::new(),
            facts_wanted: false,
            sweep: None,
            next_sweep: clock::mono(),
            first: true,
            is_polled: false,
            changed: false,
            whole_since: None,
            read_all_at: None,
            ahead: None,
            reads: Vec::new(),
            owes: false,
        }
    }

    /// Polls until the connection fails or nobody needs it.
    pub async fn run(mut self) -> End {
        loop {
            if let Err(end) = self.turn().await {
                return end;
            }
        }
    }

    /// Does the most urgent thing, or waits until there is one.
    async fn turn(&mut self) -> Result<(), End> {
        if let Some(ahead) = self.ahead.take() {
            return self.finish(ahead).await;
        }
        self.take_requests()?;
        self.tell_strays().await?;
        let now = clock::mono();
        self.task.active = now;
        if self.timed.first_key_value().is_some_and(|(at, _)| *at <= now) && !self.holds(now) {
            return self.serve_timed(now).await;
        }
        if let Some((requests, reply)) = self.parts.pop_front() {
            return self.serve_parts(requests, reply).await;
        }
        if self.facts_wanted {
            return self.read_facts().await.map(|_| ());
        }
        if self.task.keys.has_changed().unwrap_or(false) {
            let list = self.task.keys.borrow_and_update().clone();
            self.task.sweeper.sync(&list);
        }
        if self.task.patterns.has_changed().unwrap_or(false) {
            let patterns = self.task.patterns.borrow_and_update().to_vec();
            self.task.scan.look_for(patterns);
        }
        if self.sweep.is_none() && (self.next_sweep <= now || self.is_feed_another(now)) {
            self.begin_sweep(now);
        }
        if self.task.sweeper.has_untyped() {
            return self.type_keys().await;
        }
        if self.owes {
            return self.serve_others(now).await;
        }
        if self.sweep.as_ref().is_some_and(|s| s.due() <= now) || self.is_answered() {
            return self.sweep_step().await;
        }
        if self.task.beside.is_due() {
            return self.read_beside().await;
        }
        if self.scan_due().is_some_and(|due| due <= now) {
            return self.scan().await;
        }
        if self.rare_due().is_some_and(|due| due <= now) {
            return self.read_rare(now).await;
        }
        self.wait(now).await
    }

    async fn serve_timed(&mut self, now: Mono) -> Result<(), End> {
        let later = self.timed.split_off(&now.plus(TOGETHER));
        let mut keys: Vec<KeyId> =
            std::mem::replace(&mut self.timed, later).into_values().flatten().collect();
        self.timed_keys = self.timed_keys.saturating_sub(keys.len());
        keys.sort_unstable();
        keys.dedup();
        let NodeTask { sweeper, abilities, .. } = &mut *self.task;
        let reads = sweeper.read_keys(&mut self.conn, abilities, &keys).await?;
        self.tell(reads).await?;
        if std::mem::take(&mut self.changed) {
            self.news().await?;
        }
        Ok(())
    }

    async fn serve_parts(
        &mut self,
        requests: Vec<PartRequest>,
        reply: oneshot::Sender<Result<PartsReply, PartsFailed>>,
    ) -> Result<(), End> {
        let NodeTask { parts, abilities, .. } = &mut *self.task;
        let read = parts.read(&mut self.conn, abilities, &requests).await;
        let _ = reply.send(read.as_ref().cloned().map_err(|f| PartsFailed::from(f.clone())));
        read?;
        Ok(())
    }

    fn scan_due(&self) -> Option<Mono> {
        let scans = self.task.scans.load(Ordering::Relaxed);
        self.task.scan.due().filter(|_| scans)
    }

    async fn scan(&mut self) -> Result<(), End> {
        let (keys, last) = match self.task.scan.step(&mut self.conn).await? {
            Page::Keys(keys) => (keys, false),
            Page::Last(keys) => (keys, true),
            Page::Refused => {
                self.task.abilities.refuse("scan");
                self.task.scan.pause(RETRY_REFUSED);
                warn!(store = %self.task.context.store.name, node = %self.task.node.addr,
                    "SCAN is refused, so no pattern finds any key; grant +scan to the ACL user");
                return Ok(());
            }
        };
        self.task.abilities.set("scan", Ability::Works);
        if last || !keys.is_empty() {
            self.task.report(Report::Found(self.task.node.line, keys, last)).await?;
        }
        Ok(())
    }

    async fn tell(&mut self, mut reads: Vec<BatchRead>) -> Result<(), End> {
        self.tell_all(&mut reads).await
    }

    async fn tell_all(&mut self, reads: &mut Vec<BatchRead>) -> Result<(), End> {
        if !reads.is_empty() {
            self.ask_anew();
        }
        for read in reads.drain(..) {
            self.task.send(Observation::Batch(read)).await?;
        }
        Ok(())
    }

    async fn tell_strays(&mut self) -> Result<(), End> {
        let strays = self.task.sweeper.take_strays();
        if strays.is_empty() {
            return Ok(());
        }
        let addr = self.task.node.addr.clone();
        self.task.report(Report::Strays(addr, strays)).await
    }

    async fn news(&self) -> Result<(), End> {
        let store = self.task.node.store;
        self.task.send(Observation::Changed { store }).await
    }

    /// Sleeps until something is due or asked for.
    async fn wait(&mut self, now: Mono) -> Result<(), End> {
        let sweep = self.sweep.as_ref().map_or(self.next_sweep, Sweep::due);
        let timed = self.timed.keys().next().copied();
        let due = [Some(sweep), timed, self.scan_due(), self.rare_due()];
        let due = due.into_iter().flatten().min();
        let pause = due.map_or(Duration::ZERO, |due| due.since(now));
        let NodeTask { requests, keys, proofs, .. } = &mut *self.task;
        let request = tokio::select! {
            request = requests.recv() => Some(request.ok_or(End::Stop)?),
            changed = keys.changed() => {
                changed.map_err(|_| End::Stop)?;
                // `turn` looks at what changed.
                keys.mark_changed();
                None
            }
            // Its sender lives as long as the task.
            _ = proofs.changed() => None,
            () = tokio::time::sleep(pause) => None,
        };
        if let Some(request) = request {
            self.accept(request);
        }
        Ok(())
    }
}
