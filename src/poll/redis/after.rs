//! What a session does once a sweep has read all keys: says so, reads what the node says of itself, and on the primary
//! what lies beside the locks.

use std::sync::atomic::Ordering;

use super::batch::Dialect;
use super::failure::Failure;
use super::messages::{End, Report, Seen};
use super::session::Session;
use super::slowlog::Looking;
use super::task::NodeTask;
use crate::clock;
use crate::observe::node::{FailReason, SweepDone};
use crate::observe::{Mono, Observation, Role, ServerTime, Span};

impl Session<'_> {
    pub(super) async fn end_sweep(&mut self) -> Result<(), End> {
        let Some(sweep) = self.sweep.take() else { return Ok(()) };
        let facts_begun = clock::mono();
        self.is_polled = true;
        let server = match sweep.server {
            Some(server) => Some(server),
            None => self.read_facts().await?,
        };
        let done = clock::mono();
        let span = Span { sent: sweep.begun, done };
        let busy = sweep.busy + done.since(facts_begun);
        let node = self.task.node.clone();
        self.task.send(Observation::SweepDone(SweepDone { node, span, busy })).await?;
        self.task.succeeded(span, busy).await?;
        let is_primary = self.task.scans.load(Ordering::Relaxed);
        let NodeTask { beside, sweeper, context, .. } = &mut *self.task;
        match server.filter(|_| is_primary) {
            Some(server) => beside.begin(sweeper, context, server),
            None => beside.rest(),
        }
        let gone = self.task.sweeper.take_gone();
        if !gone.is_empty() && is_primary {
            self.task.report(Report::Gone(self.task.node.line, gone)).await?;
        }
        self.task.sweeper.tell_refused(&self.task.context.store.name);
        let aside = if is_primary { self.task.sweeper.take_aside() } else { Vec::new() };
        if !aside.is_empty() {
            self.task.report(Report::Aside(aside)).await?;
        }
        Ok(())
    }

    /// Gives the server's time and when it was asked for.
    pub(super) async fn read_facts(&mut self) -> Result<Option<(ServerTime, Mono)>, End> {
        self.facts_wanted = false;
        let facts = self.reader.next(&mut self.conn, &mut self.task.abilities).await?;
        self.task.sweeper.speak(Dialect::of(&self.task.abilities));
        self.task.sweeper.note_facts(&facts);
        self.task.sweeper.note_execs(self.reader.execs);
        if self.task.sweeper.is_shut_out && facts.role == Role::Master {
            let detail =
                "the replica has become the primary, where reads need no right of their own";
            return Err(End::Failed(Failure::new(FailReason::NotReady, detail)));
        }
        let addr = self.task.node.addr.clone();
        self.task.clients.connected = facts.connected_clients;
        let shows_no_lock = self.task.sweeper.slots.shows_none();
        let seen = Seen { shows_no_lock, ..Seen::from(&facts) };
        self.task.report(Report::Facts(addr, seen)).await?;
        let server = facts.time.zip(Some(facts.span.sent));
        self.task.send(Observation::Node(Box::new(facts))).await?;
        Ok(server)
    }

    /// When the node is asked for its clients: not before it was polled, which is when it says how many it has.
    fn clients_due(&self) -> Option<Mono> {
        self.task.clients.due().filter(|_| self.is_polled)
    }

    async fn list_clients(&mut self) -> Result<(), End> {
        let NodeTask { clients, abilities, node, context, .. } = &mut *self.task;
        let read = clients.read(&mut self.conn, abilities, node, &context.store.name).await?;
        self.task.send(Observation::Clients(read)).await
    }

    /// When something is due that is read rarely.
    pub(super) fn rare_due(&self) -> Option<Mono> {
        [self.clients_due(), self.task.slowlog.due()].into_iter().flatten().min()
    }

    pub(super) async fn read_rare(&mut self, now: Mono) -> Result<(), End> {
        match self.clients_due().is_some_and(|due| due <= now) {
            true => self.list_clients().await,
            false => self.read_slowlog().await,
        }
    }

    async fn read_slowlog(&mut self) -> Result<(), End> {
        let hello = &self.reader.hello;
        let keys = self.task.keys.borrow().clone();
        let NodeTask { slowlog, abilities, node, .. } = &mut *self.task;
        let at = Looking { conn: &mut self.conn, hello, keys: &keys, abilities, node };
        match slowlog.look(at).await? {
            Some(read) => self.task.send(Observation::Slowlog(Box::new(read))).await,
            None => Ok(()),
        }
    }

    pub(super) async fn read_beside(&mut self) -> Result<(), End> {
        let NodeTask { beside, sweeper, abilities, context, .. } = &mut *self.task;
        for told in beside.step(&mut self.conn, sweeper, abilities, context).await? {
            self.task.send(told).await?;
        }
        Ok(())
    }
}
