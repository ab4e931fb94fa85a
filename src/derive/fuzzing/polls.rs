//! The reads that the exporter makes of the invented world, in the order in which its pollers make them.

use std::time::Duration;

use super::server::span;
use super::world::World;
use crate::derive::{LivenessSource, Wanted};
use crate::observe::lock::{BatchRead, KeyRead};
use crate::observe::node::{FailReason, NodeFailed, SweepDone};
use crate::observe::worker::{HeartbeatRead, ProcessRead};
use crate::observe::{KeyId, Mono, Observation, ServerTime};

impl World {
    /// Makes a read that a verdict asked for.
    pub(super) fn wanted_read(&mut self, wanted: Wanted) {
        match wanted {
            Wanted::Key { key, .. } => self.read_keys(Some(key)),
            Wanted::Facts { .. } => self.facts(),
            Wanted::Look { worker, what, .. } => {
                let Some(at) = self.workers.iter().position(|w| w.name == worker) else { return };
                match what {
                    LivenessSource::Heartbeat => self.read_beat(at),
                    LivenessSource::Process => self.read_process(at),
                    LivenessSource::List => {}
                }
            }
        }
    }

    /// Makes all reads of a poll.
    pub(super) fn poll(&mut self) {
        for at in 0..self.workers.len() {
            self.read_process(at);
            self.read_beat(at);
        }
        self.read_keys(None);
        self.facts();
        for at in 0..self.servers.len() {
            if !self.servers[at].is_away {
                let (node, busy) = (self.servers[at].node(), Duration::from_millis(1));
                let span = span(self.ms, self.slow_ms);
                self.step(Observation::SweepDone(SweepDone { node, span, busy }));
            }
        }
    }

    fn read_process(&mut self, at: usize) {
        if !self.setting.processes {
            return;
        }
        let w = &self.workers[at];
        self.step(Observation::Process(ProcessRead {
            worker: w.name.clone(),
            token_pid: None,
            span: span(self.ms, 1),
            seen: w.process(),
            detail: String::new(),
        }));
    }

    fn read_beat(&mut self, at: usize) {
        if !self.setting.beats {
            return;
        }
        let w = &self.workers[at];
        let (worker, beat) = (w.name.clone(), w.beat());
        let span = span(self.ms, self.slow_ms);
        self.step(Observation::Heartbeat(HeartbeatRead { worker, span, beat }));
    }

    /// All keys of all servers, or one of them of the primary.
    fn read_keys(&mut self, one: Option<KeyId>) {
        let ms = self.ms;
        for at in 0..self.servers.len() {
            let server = &self.servers[at];
            if one.is_some() && server.is_replica {
                continue;
            }
            if server.is_away {
                let node = server.node();
                let (at, reason) = (Mono(ms * 1_000_000), FailReason::Timeout);
                let detail = "timeout".to_owned();
                self.step(Observation::NodeFailed(NodeFailed { node, at, reason, detail }));
                continue;
            }
            let asked = self.locks.iter().filter(|l| one.is_none_or(|id| id == l.id));
            let reads =
                asked.map(|l| KeyRead { key: l.id, found: server.found(l.id, l.kind) }).collect();
            let batch = BatchRead {
                node: server.node(),
                connection: server.connection,
                span: span(ms, self.slow_ms),
                time: ServerTime::from_ms(server.now(ms)),
                role: server.role(),
                offset: Some(server.written),
                reads,
            };
            self.step(Observation::Batch(batch));
        }
    }

    /// Reads what all servers say of themselves.
    pub(super) fn facts(&mut self) {
        let (ms, primary) = (self.ms, self.primary().addr.clone());
        for at in 0..self.servers.len() {
            let server = &self.servers[at];
            if !server.is_away {
                let after = span(ms + self.slow_ms, 1);
                let facts = server.facts(ms, after, &primary);
                self.step(Observation::Node(Box::new(facts)));
            }
        }
    }
}
