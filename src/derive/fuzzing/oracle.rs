//! What was told of the invented world, kept apart from what `derive` makes of it: reads of keys, looks at workers, and what
//! befell servers. Judges nothing; [`conditions`](super::conditions) are held against it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::conditions;
use super::server::STORE;
use super::setting::Watched;
use crate::derive::{Signal, State};
use crate::observe::node::Role;
use crate::observe::worker::{Beat, ProcessSeen};
use crate::observe::{
    BatchRead, Expiry, Found, KeyId, Mono, NodeFacts, Observation, ServerTime, Span,
};

/// One who held in a read.
#[derive(Clone, Debug)]
pub struct Held {
    /// Its token.
    pub token: Vec<u8>,
    /// Its worker.
    pub worker: Option<Arc<str>>,
    /// Until when; `None` for ever.
    pub until: Option<ServerTime>,
    /// How often.
    pub count: u64,
}

/// One read of one key of a primary.
#[derive(Clone, Debug)]
pub struct Read {
    /// When.
    pub span: Span,
    /// The server's time.
    pub time: ServerTime,
    /// The node.
    pub addr: Arc<str>,
    /// Who held it then.
    pub held: Vec<Held>,
    /// The value was a lock's, or there was none.
    pub is_plain: bool,
}

/// What was told so far.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    /// The configured `frozen_after`, or the least that it is otherwise.
    pub frozen_after: Duration,
    /// Reads of primaries, in the order in which they were told.
    pub reads: BTreeMap<KeyId, Vec<Read>>,
    /// The same of replicas.
    pub replicas: BTreeMap<KeyId, Vec<Read>>,
    /// Looks at processes.
    pub processes: BTreeMap<Arc<str>, Vec<(Span, ProcessSeen)>>,
    /// Good reads of heartbeats.
    pub beats: BTreeMap<Arc<str>, Vec<(Span, u64)>>,
    /// When a server was seen to have lost something, to have another clock, or to be another primary than before.
    pub disturbed: Vec<Mono>,
    /// The end of the last fact.
    pub now: Mono,
    nodes: BTreeMap<Arc<str>, (u64, Standing)>,
    clocks: BTreeMap<Arc<str>, i64>,
    counters: BTreeMap<KeyId, Vec<u64>>,
    /// When each signal was looked at last, and how often it had risen.
    looked: BTreeMap<(KeyId, Signal), (Mono, u64)>,
}

/// Role, run, history, flushes and evictions.
type Standing = (bool, Option<String>, Option<String>, u64, u64);

impl Oracle {
    /// Nothing was told.
    pub fn new(frozen_after: Option<Duration>) -> Self {
        let frozen_after = frozen_after.unwrap_or(Duration::from_secs(10));
        Self { frozen_after, ..Self::default() }
    }

    /// Takes a fact.
    pub fn hear(&mut self, fact: &Observation) {
        let end = match fact {
            Observation::Batch(b) => self.batch(b),
            Observation::Node(f) => self.facts(f),
            Observation::Process(r) => {
                let looks = self.processes.entry(r.worker.clone()).or_default();
                looks.push((r.span, r.seen.clone()));
                r.span.done
            }
            Observation::Heartbeat(r) => {
                if let Beat::Value { mark, .. } = r.beat {
                    self.beats.entry(r.worker.clone()).or_default().push((r.span, mark));
                }
                r.span.done
            }
            Observation::StoreStarted { at, .. } => *at,
            _ => self.now,
        };
        self.now = self.now.max(end);
    }

    fn batch(&mut self, b: &BatchRead) -> Mono {
        let is_primary = b.role == Role::Master;
        self.clock(&b.node.addr, b.time, b.span);
        if is_primary && self.nodes.iter().any(|(a, (_, n))| *a != b.node.addr && n.0) {
            self.disturbed.push(b.span.done);
        }
        for read in &b.reads {
            let (held, is_plain) = match &read.found {
                Found::Present { value, expiry } => {
                    let end = match expiry {
                        Expiry::At(end) => Some(*end),
                        Expiry::Never => None,
                    };
                    let held = |h: &crate::observe::Holding| Held {
                        token: h.owner.token.bytes().to_vec(),
                        worker: h.owner.worker.clone(),
                        until: h.until.or(end),
                        count: h.count,
                    };
                    let mut all: Vec<Held> = value.holders.iter().map(held).collect();
                    let is_plain = !all.is_empty();
                    if !is_plain {
                        // Whatever it is, it is somebody's whom nothing names.
                        all.push(Held { token: vec![], worker: None, until: end, count: 1 });
                    }
                    (all, is_plain)
                }
                _ => (Vec::new(), true),
            };
            let of = if is_primary { &mut self.reads } else { &mut self.replicas };
            of.entry(read.key).or_default().push(Read {
                span: b.span,
                time: b.time,
                addr: b.node.addr.clone(),
                held,
                is_plain,
            });
        }
        b.span.done
    }

    /// A clock that is not where it was is one that was set.
    fn clock(&mut self, addr: &Arc<str>, time: ServerTime, span: Span) {
        let offset = time.0.saturating_sub((span.sent.0 / 1000) as i64);
        let slack = 5_000 + span.width().as_micros() as i64;
        if let Some(before) = self.clocks.insert(addr.clone(), offset)
            && (offset - before).abs() > slack
        {
            self.disturbed.push(span.done);
        }
    }

    fn facts(&mut self, f: &NodeFacts) -> Mono {
        let flushes = f.flushes.map_or(0, |n| n.all);
        let is_primary = f.role == Role::Master;
        let now: Standing =
            (is_primary, f.run_id.clone(), f.replid.clone(), flushes, f.evicted_keys.unwrap_or(0));
        let before = self.nodes.insert(f.node.addr.clone(), (f.connection, now.clone()));
        if before.is_some_and(|(_, before)| before != now) {
            self.disturbed.push(f.span.done);
        }
        f.span.done
    }

    /// A signal is looked at when it rose, and again after a while: all of them at each fact would take too long.
    fn is_due(&mut self, of: (KeyId, Signal), rises: u64) -> bool {
        let is_due = self.looked.get(&of).is_none_or(|(at, before)| {
            *before != rises || self.now.since(*at) >= Duration::from_secs(3)
        });
        if is_due {
            self.looked.insert(of, (self.now, rises));
        }
        is_due
    }

    /// Holds every signal that is up against what was told, and every counter against what it was.
    pub fn judge(&mut self, state: &State, locks: &[Watched]) {
        let Some(store) = state.stores.get(&STORE) else { return };
        for watched in locks {
            let Some(lock) = store.locks.get(&watched.id) else { continue };
            for signal in Signal::ALL {
                let rises = lock.signals.rises(*signal);
                if lock.signals.is_up(*signal)
                    && self.is_due((watched.id, *signal), rises)
                    && let Err(why) = conditions::hold(*signal, watched, self)
                {
                    let reads = self.reads.get(&watched.id).map_or(&[][..], Vec::as_slice);
                    let last = reads.get(reads.len().saturating_sub(6)..);
                    panic!(
                        "{} of lock {}: {why}\n{:#?}\n{last:#?}",
                        signal.as_str(),
                        watched.id.0,
                        lock.timeline
                    );
                }
            }
            let up = |s| lock.signals.is_up(s);
            assert!(!up(Signal::RenewalAfterLostLiveness) || up(Signal::HolderStale));
            let c = &lock.counts;
            let mut now = vec![c.acquisitions, c.renewals, c.late_renewals, c.renewals_after_loss];
            now.extend(c.ends);
            now.extend(c.expired_under);
            now.extend(Signal::ALL.iter().map(|s| lock.signals.rises(*s)));
            now.extend([c.free_seconds, c.waiting_seconds].map(|s| (s * 1e6) as u64));
            if let Some(before) = self.counters.insert(watched.id, now.clone()) {
                assert!(before.iter().zip(&now).all(|(b, n)| b <= n), "{before:?} {now:?}");
            }
        }
    }
}
