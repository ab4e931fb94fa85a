//! Cases from the field, told as what the key and the holder did over time, each with the signals that must rise and no
//! other. Values are the bytes that the libraries write, read by their formats.

use std::sync::Arc;
use std::time::Duration;

use super::sim::Sim;
use crate::config::{LiveList, LockRules, Preset};
use crate::derive::Signal;
use crate::format::{Raw, decode};
use crate::observe::lock::Tells;
use crate::observe::source::{ListMember, ListRead};
use crate::observe::worker::ProcessSeen;
use crate::observe::{Observation, ServerTime};

/// When the tokens of the cases were made, whose servers have invented times.
const TOKENS_MADE: ServerTime = ServerTime(1_795_958_100_000_000);

pub const GONE: ProcessSeen = ProcessSeen::Gone { named_here: false };
/// Random UUIDs.
pub const UUID: &str = "0e7cd1f1-6b3c-4a41-9d4a-0c9a7d2a9f10";
pub const OTHER: &str = "fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162";

/// One case.
pub struct Case {
    /// What happens.
    pub name: &'static str,
    /// Time between polls.
    pub poll_ms: u64,
    /// What the config says of the lock.
    pub rules: fn() -> LockRules,
    /// What happens, in full.
    pub run: fn(&mut Sim),
    /// What must rise; in the order of their danger.
    pub raises: &'static [Signal],
}

/// Runs each, and says which one failed.
pub fn run_all(cases: &[Case]) {
    for case in cases {
        let mut s = Sim::new(case.poll_ms, None, (case.rules)());
        s.advance(1_300);
        (case.run)(&mut s);
        let rose: Vec<Signal> = Signal::ALL.iter().copied().filter(|r| s.rises(*r) > 0).collect();
        assert_eq!(rose, case.raises, "{}: {:#?}", case.name, s.lock().transitions);
    }
}

/// A lock that is configured by its key and in nothing else.
pub fn plain() -> LockRules {
    LockRules { by_key: true, ..LockRules::default() }
}

/// A lock of a pattern.
pub fn matched() -> LockRules {
    LockRules::default()
}

impl Sim {
    /// A string, for so many milliseconds from now; for ever if none.
    pub fn string(&mut self, key: &str, value: impl AsRef<[u8]>, lease_ms: impl Into<Option<i64>>) {
        let bytes = value.as_ref();
        self.put(key, Raw::String { bytes, full_len: bytes.len() }, lease_ms.into());
    }

    /// A hash.
    pub fn hash(&mut self, key: &str, fields: &[(&str, &str)], lease_ms: impl Into<Option<i64>>) {
        let fields: Vec<(&[u8], &[u8])> =
            fields.iter().map(|(f, v)| (f.as_bytes(), v.as_bytes())).collect();
        self.put(key, Raw::Hash(&fields), lease_ms.into());
    }

    /// A sorted set.
    pub fn zset(&mut self, key: &str, members: &[(&[u8], f64)], lease_ms: impl Into<Option<i64>>) {
        self.put(key, Raw::Zset(members), lease_ms.into());
    }

    /// A set.
    pub fn set(&mut self, key: &str, members: &[&str], lease_ms: impl Into<Option<i64>>) {
        let members: Vec<&[u8]> = members.iter().map(|m| m.as_bytes()).collect();
        self.put(key, Raw::Set(&members), lease_ms.into());
    }

    /// Any value.
    pub fn put(&mut self, key: &str, raw: Raw<'_>, lease_ms: Option<i64>) {
        let value = decode(key.as_bytes(), raw, self.rules(), TOKENS_MADE);
        let until = lease_ms.map(|l| self.server_ms() + l);
        // As the poller does: the same bytes are the same value.
        match &mut self.shows {
            Some((known, e)) if **known == value => *e = until,
            _ => self.show(value, until),
        }
    }

    /// `PEXPIRE`.
    pub fn expire_in(&mut self, lease_ms: i64) {
        self.expire();
        let until = self.server_ms() + lease_ms;
        if let Some((_, e)) = &mut self.shows {
            *e = Some(until);
        }
    }

    /// `PERSIST`.
    pub fn persist(&mut self) {
        if let Some((_, e)) = &mut self.shows {
            *e = None;
        }
    }

    /// Renews so often for so long.
    pub fn renew_each(&mut self, period_ms: u64, lease_ms: i64, times: usize) {
        for _ in 0..times {
            self.advance(period_ms);
            self.expire_in(lease_ms);
        }
    }

    /// The one list of live workers is that of Sidekiq, read each ten seconds.
    pub fn has_sidekiq(&mut self) {
        let list = LiveList {
            name: "jobs".into(),
            store: "main".into(),
            preset: Preset::Sidekiq,
            refresh: Duration::from_secs(10),
        };
        let mut rules = self.state.rules.clone();
        rules.live_workers = Arc::new(vec![list]);
        self.state.reconfigure(rules, self.now());
    }

    /// For so many seconds its list names these processes and jobs.
    pub fn listed_for(&mut self, seconds: u64, names: &[&str]) {
        for _ in 0..seconds / 10 {
            self.advance(9_500);
            let member =
                |name: &&str| ListMember { name: (*name).into(), is_job: false, beat: None };
            let members = Ok(names.iter().map(member).collect());
            let (list, span) = ("jobs".into(), self.span());
            self.step(Observation::List(Box::new(ListRead { list, span, members })));
            self.advance(500);
        }
    }

    /// What of the keys beside the value its format wants to be read.
    pub fn wants_beside(&self) -> Vec<Tells> {
        let value = self.shows.as_ref().map(|(v, _)| v.clone());
        value.map(|v| v.companions.iter().map(|c| c.tells).collect()).unwrap_or_default()
    }
}
