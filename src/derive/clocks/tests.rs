//! Invented hosts whose true offsets are known: states, bounds and skew must agree with the truth, whatever the paths,
//! the drift and the errors are within what is stated.

mod skews;
mod states;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::walls::Walls;
use super::{Clocks, status::Judged};
use crate::config::{ChronyAddr, Clock, NodeClock};
use crate::derive::host_clock::HostSteps;
use crate::derive::store::Store;
use crate::derive::{Effects, Rules};
use crate::observe::clock::{ClockFailed, Tracking};
use crate::observe::node::FailReason;
use crate::observe::{ClockRead, HostClock, Mono, NodeRef, Role, ServerTime, Span, StoreId};

/// True time minus the observer's clock.
pub const EPOCH: f64 = 1.7e9;
pub const ADDR: &str = "10.0.0.5:6379";

/// This host, a lock server, and what was read of both.
pub struct World {
    pub rules: Rules,
    pub stores: BTreeMap<StoreId, Store>,
    pub host: HostSteps,
    pub clocks: Clocks,
    pub told: Vec<(&'static str, Arc<str>)>,
}

pub fn synchronized() -> Tracking {
    Tracking {
        ref_id: 0x0A00_0001,
        source: None,
        stratum: 3,
        leap: 0,
        ref_time: EPOCH + 990.0,
        correction: 0.000_2,
        last_offset: 0.0,
        rms_offset: 0.0,
        frequency_ppm: 4.0,
        residual_ppm: 0.0,
        skew_ppm: 0.1,
        root_delay: 0.002,
        root_dispersion: 0.001,
        update_interval: 64.0,
    }
}

pub fn span(at: f64, width: f64) -> Span {
    Span { sent: Mono::from_secs_f64(at), done: Mono::from_secs_f64(at + width) }
}

impl World {
    pub fn new() -> Self {
        let clock = |name: &str| Clock {
            name: name.into(),
            chrony: ChronyAddr::Udp { host: "192.0.2.1".into(), port: 323 },
        };
        let rules = Rules {
            clocks: Arc::new(vec![clock("local"), clock("server"), clock("other")]),
            local_clock: Some("local".into()),
            node_clocks: BTreeMap::from([(
                "main".into(),
                vec![NodeClock { addr: ADDR.into(), clock: "server".into() }],
            )]),
            ..Rules::default()
        };
        let store = Store::new(StoreId(1), "main".into());
        Self {
            rules,
            stores: BTreeMap::from([(StoreId(1), store)]),
            host: HostSteps::default(),
            clocks: Clocks::default(),
            told: vec![],
        }
    }

    pub fn walls(&self, at: f64) -> Walls<'_> {
        let now = Mono::from_secs_f64(at);
        Walls { rules: &self.rules, stores: &self.stores, host: &self.host, now }
    }

    /// This host's wall clock is `ahead` of true time.
    pub fn read_host(&mut self, at: f64, ahead: f64) {
        let read = HostClock { span: span(at, 0.0), wall: EPOCH + at + ahead };
        self.step(|w, fx| w.host.read(&read, fx));
    }

    /// The server's is; its clock is read `share` of the way between sending and receiving.
    pub fn read_time(&mut self, at: f64, rtt: f64, share: f64, ahead: f64) {
        let time = ServerTime(((EPOCH + at + rtt * share + ahead) * 1e6) as i64);
        let node = NodeRef { store: StoreId(1), line: Default::default(), addr: ADDR.into() };
        self.step(|w, fx| {
            let batch = crate::observe::BatchRead {
                node,
                connection: 1,
                span: span(at, rtt),
                time,
                role: Role::Master,
                offset: None,
                reads: vec![],
            };
            let mut workers = crate::derive::workers::Workers::new(
                Arc::default(),
                10,
                Duration::from_secs(2),
                Duration::from_secs(60),
                Mono(0),
            );
            if let Some(store) = w.stores.get_mut(&StoreId(1)) {
                store.batch(&batch, w.rules.stalls(), &mut workers, fx);
            }
        });
    }

    pub fn sweep_ended(&mut self) {
        for node in self.stores.values_mut().flat_map(|s| s.nodes.values_mut()) {
            node.clock.step_is_theirs();
            node.clock.sweep_ended();
        }
    }

    pub fn report(&mut self, name: &str, at: f64, tracking: Tracking) {
        self.answer(name, at, Ok(tracking));
    }

    pub fn fail(&mut self, name: &str, at: f64) {
        let failed = ClockFailed { reason: FailReason::Timeout, detail: "no answer".into() };
        self.answer(name, at, Err(failed));
    }

    fn answer(&mut self, name: &str, at: f64, seen: Result<Tracking, ClockFailed>) {
        let read = ClockRead { clock: name.into(), span: span(at, 0.0), seen };
        let mut clocks = std::mem::take(&mut self.clocks);
        let mut fx = Effects::default();
        clocks.read(&read, &self.walls(at), &mut fx);
        self.clocks = clocks;
        self.told.extend(fx.notices.into_iter().map(|n| (n.what, n.subject)));
    }

    fn step(&mut self, change: impl FnOnce(&mut Self, &mut Effects)) {
        let mut fx = Effects::default();
        change(self, &mut fx);
        self.told.extend(fx.notices.into_iter().map(|n| (n.what, n.subject)));
    }

    pub fn judge(&self, name: &str, at: f64) -> Option<Judged> {
        self.clocks.judge(name, &self.walls(at))
    }

    pub fn skew(&self, at: f64) -> Option<super::skew::Skew> {
        let node = self.stores[&StoreId(1)].nodes.get(ADDR)?;
        super::skew::skew(&self.clocks, &self.walls(at), "main", node)
    }

    pub fn was_told(&self, what: &str) -> usize {
        self.told.iter().filter(|(w, _)| *w == what).count()
    }
}
