//! What looks at a worker change: its heartbeat, its processes, its stalls, and the verdicts on the locks it holds.

use std::sync::Arc;

use super::State;
use crate::config::ProcessSource;
use crate::derive::wanted::Effects;
use crate::derive::words::LivenessSource;
use crate::derive::worker::Worker;
use crate::observe::worker::{Beat, HeartbeatRead, ProcessRead, ProcessSeen};
use crate::observe::{CgroupRead, JvmRead, KeyId, Mono, Span, StoreId};

impl State {
    pub(super) fn heartbeat(&mut self, read: &HeartbeatRead, fx: &mut Effects) {
        let Some((_, group, rules)) = self.workers.with_group(&read.worker) else { return };
        if group.heartbeat.is_none() {
            return;
        }
        let Some(worker) = self.workers.by_name.get_mut(&read.worker) else { return };
        let (before, was_lost) = (worker.heartbeat.failure, worker.heartbeat.loss().is_some());
        // What is usual is what was so before this beat.
        let usual = worker.heartbeat.known_beat();
        let is_news = worker.heartbeat.read(read.span, &read.beat, rules);
        let beat = &worker.heartbeat;
        if is_news {
            let detail = format!("no beat for {:.1} s", beat.age().unwrap_or(0.0));
            fx.changed("", read.worker.clone(), "heartbeat_stopped", detail);
        } else if was_lost && beat.loss().is_none() {
            fx.changed("", read.worker.clone(), "heartbeat_returned", "it beats again".to_owned());
        }
        match &read.beat {
            Beat::Failed { reason, detail } if before != Some(*reason) => {
                let detail = format!("{detail} ({})", reason.as_str());
                fx.changed("", read.worker.clone(), "heartbeat_unreadable", detail);
            }
            Beat::Failed { .. } => {}
            _ if before.is_some() => {
                fx.changed(
                    "",
                    read.worker.clone(),
                    "heartbeat_readable",
                    "its heartbeat can be read again".to_owned(),
                );
            }
            _ => {}
        }
        if !matches!(read.beat, Beat::Failed { .. }) {
            self.look(&read.worker, LivenessSource::Heartbeat, read.span, fx);
            let rules = self.rules.stalls();
            self.learn_stall(&read.worker, read.span.done, fx, |worker| {
                let (gap, is_expected) = (worker.heartbeat.gap, worker.is_expected_to_beat());
                worker.host.beat_gap(gap, usual, is_expected, read.span, rules)
            });
        }
    }

    pub(super) fn process(&mut self, read: &ProcessRead, fx: &mut Effects) {
        let Some((worker, group, _)) = self.workers.with_group(&read.worker) else { return };
        let is_wanted = match (&group.process, read.token_pid) {
            (Some(ProcessSource::FromHolder), Some(pid)) => worker.tokens.contains_key(&pid),
            (Some(ProcessSource::FromHolder), None) => worker.tokens.is_empty(),
            (Some(_), None) => true,
            _ => false,
        };
        let Some(worker) = self.workers.by_name.get_mut(&read.worker).filter(|_| is_wanted) else {
            return;
        };
        worker.cpu.read(read);
        let processes = worker.processes.entry(read.token_pid).or_default();
        let was_lost = processes.loss().is_some();
        let before = processes.unknown();
        if processes.read(read) {
            let detail = format!("its process is {}", processes.liveness().as_str());
            fx.changed("", read.worker.clone(), "process_lost", detail);
        } else if was_lost && processes.loss().is_none() {
            let detail = format!("its process is {}", processes.liveness().as_str());
            fx.changed("", read.worker.clone(), "process_returned", detail);
        }
        if let ProcessSeen::Unknown(why) = &read.seen
            && before != Some(*why)
        {
            fx.changed("", read.worker.clone(), "process_unknown", read.detail.clone());
        }
        if !matches!(read.seen, ProcessSeen::Unknown(_)) {
            self.look(&read.worker, LivenessSource::Process, read.span, fx);
        }
    }

    pub(super) fn cgroup(&mut self, read: &CgroupRead, fx: &mut Effects) {
        let rules = self.rules.stalls();
        let Some(worker) = self.workers.by_name.get_mut(&read.worker) else { return };
        worker.host.cgroup(read, rules);
        if worker.host.is_cgroup_news(read) {
            tell_detail(&read.worker, ["cgroup_unreadable", "cgroup_readable"], &read.detail, fx);
        }
    }

    pub(super) fn jvm(&mut self, read: &JvmRead, fx: &mut Effects) {
        let rules = self.rules.stalls();
        self.learn_stall(&read.worker, read.span.done, fx, |w| w.host.jvm(read, rules));
        let Some(worker) = self.workers.by_name.get_mut(&read.worker) else { return };
        if worker.host.is_jvm_news(read) {
            tell_detail(&read.worker, ["jvm_unreadable", "jvm_readable"], &read.detail, fx);
        }
    }

    /// Takes what a read says of a worker's stalls; its locks are judged when the worst is worse than before.
    pub(super) fn learn_stall(
        &mut self,
        worker: &str,
        at: Mono,
        fx: &mut Effects,
        learn: impl FnOnce(&mut Worker) -> bool,
    ) {
        let Some(w) = self.workers.by_name.get_mut(worker) else { return };
        if !learn(w) {
            return;
        }
        let rules = self.rules.stalls();
        let Some(w) = self.workers.by_name.get(worker) else { return };
        for (id, key) in w.holds.keys() {
            let Some(store) = self.stores.get_mut(id) else { continue };
            let rtt = store.locks.get(key).and_then(|l| store.rtt(l.line));
            if let Some(lock) = store.locks.get_mut(key) {
                let workers = &self.workers;
                lock.each_of(worker, at, fx, |lock, fx| {
                    lock.judge_stall(rtt, rules, workers, at, fx);
                });
            }
        }
    }

    /// Judges the locks of a worker after a look at it.
    fn look(&mut self, worker: &str, source: LivenessSource, span: Span, fx: &mut Effects) {
        let Some(w) = self.workers.by_name.get(worker) else { return };
        let holds: Vec<(StoreId, KeyId)> = w.holds.keys().copied().collect();
        for (store, key) in holds {
            if let Some(lock) = self.stores.get_mut(&store).and_then(|s| s.locks.get_mut(&key)) {
                lock.looked(worker, source, span, &self.workers, fx);
            }
        }
    }
}

/// Says what cannot be read any more, in the first word, or that all of it can, in the second.
fn tell_detail(worker: &Arc<str>, what: [&'static str; 2], detail: &str, fx: &mut Effects) {
    let [lost, back] = what;
    if detail.is_empty() {
        fx.changed("", worker.clone(), back, "all of it can be read".to_owned());
    } else {
        fx.changed("", worker.clone(), lost, detail.to_owned());
    }
}
