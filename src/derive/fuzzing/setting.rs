//! What does not change while an invented world lasts: what there is to see of it, which locks are watched, and the config.

use std::sync::Arc;
use std::time::Duration;

use super::server::Kind;
use super::worker::Worker;
use crate::config::{
    Heartbeat, JvmMode, LockRules, ProcessSource, SeriesTier, Source, WorkerGroup,
};
use crate::derive::Rules;
use crate::observe::KeyId;

/// What does not change while a world lasts.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Nothing happens that a signal tells of.
    pub is_healthy: bool,
    /// Time between two polls.
    pub poll_ms: u64,
    /// Workers have heartbeats.
    pub beats: bool,
    /// Workers' processes are seen.
    pub processes: bool,
    /// The configured `frozen_after`.
    pub frozen_after: Option<Duration>,
    /// There is a replica.
    pub replica: bool,
}

/// A watched lock.
#[derive(Clone, Debug)]
pub struct Watched {
    /// Its key.
    pub id: KeyId,
    /// What it is.
    pub kind: Kind,
    /// The lease that is taken of it.
    pub lease_ms: i64,
    /// The config's word on it.
    pub rules: Arc<LockRules>,
}

/// One lock of each kind. In a healthy world nothing is expected of them that chance may not give.
pub fn locks(is_healthy: bool) -> Vec<Watched> {
    let secs = |s| Some(Duration::from_secs(s));
    let plain = LockRules { series: SeriesTier::Full, by_key: true, ..LockRules::default() };
    // What is learned of holds would call a long one after many short ones what it is.
    let max_hold = if is_healthy { secs(1_000_000) } else { secs(60) };
    let expected = vec!["ant".into(), "bee".into()];
    let exclusive = LockRules { lease: secs(10), max_hold, workers: expected, ..plain.clone() };
    let always = LockRules { lease: secs(4), max_hold, always_held: !is_healthy, ..plain.clone() };
    let learned = LockRules { max_hold, ..plain };
    let all = [
        (Kind::Exclusive, 10_000, exclusive),
        (Kind::Reentrant, 6_000, learned.clone()),
        (Kind::Permits, 8_000, learned),
        (Kind::Exclusive, 4_000, always),
    ];
    let watched = |(n, (kind, lease_ms, rules)): (usize, (Kind, i64, LockRules))| Watched {
        id: KeyId(n as u64),
        kind,
        lease_ms,
        rules: Arc::new(rules),
    };
    all.into_iter().enumerate().map(watched).collect()
}

/// The config.
pub fn rules(setting: Setting, workers: &[Worker]) -> Rules {
    let key = "hb:{worker}".to_owned();
    let part = crate::config::RedisPart::Text;
    let source = Source::Redis { store: "main".into(), key, part, json: None };
    let heartbeat = Heartbeat { source, frozen_after: setting.frozen_after };
    let group = WorkerGroup {
        name: "all".into(),
        names: workers.iter().map(|w| w.name.clone()).collect(),
        matches: None,
        series: SeriesTier::Full,
        process: setting.processes.then(|| ProcessSource::PidFile("/run/{worker}.pid".into())),
        heartbeat: setting.beats.then_some(heartbeat),
        claim: None,
        jvm: JvmMode::Auto,
    };
    Rules {
        poll_interval: Duration::from_millis(setting.poll_ms),
        max_workers: 100,
        groups: Arc::new(vec![group]),
        ..Rules::default()
    }
}
