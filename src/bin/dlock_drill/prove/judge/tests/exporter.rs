//! The exporter that watches an invented lock: reads at its polls and around the ends of leases, tenures with the bounds of these
//! reads, ends called as an exporter without keyspace events calls them.

use std::collections::BTreeMap;

use super::sim::{SERVER, World};
use crate::exporter::document::{
    Counts, Effects, Fencing, Holder, Lease, Lock, LockDocument, Previous, Recent, Tenure,
};

/// The exporter's memory of one run.
#[derive(Default)]
pub struct Exporter {
    pub tenures: Vec<Tenure>,
    last_read: Option<f64>,
    written: f64,
    renewals: u64,
    after_loss: u64,
    floor: u64,
    fell: u64,
}

impl Exporter {
    pub fn read(&mut self, world: &World, at: f64) {
        let now = SERVER + at;
        let key = world.key(at);
        let open = self.tenures.last_mut().filter(|t| t.gone_timestamp.is_none());
        let is_same =
            |t: &Tenure| key.as_ref().is_some_and(|k| t.fingerprint.as_deref() == Some(k.token));
        match open {
            Some(t) if is_same(t) => {
                let end = key.as_ref().map(|k| SERVER + k.end);
                if end.zip(t.expiry_timestamp).is_some_and(|(now, then)| now > then + 0.02) {
                    self.renewals += 1;
                    self.written = at;
                    let worker = t.worker.clone().unwrap_or_default();
                    // Proven only where both looks show the loss.
                    let earlier = self.last_read.unwrap_or(at);
                    self.after_loss += u64::from(world.how(&worker, earlier) != "alive");
                }
                (t.last_timestamp, t.expiry_timestamp) = (Some(now), end);
            }
            other => {
                if let Some(t) = other {
                    let (last, end) = (t.last_timestamp.unwrap(), t.expiry_timestamp.unwrap());
                    let acquired = key.as_ref().map(|k| SERVER + k.end - world.lease);
                    t.gone_timestamp = Some(now);
                    let evidence = match key {
                        _ if end - last <= 0.05
                            && now >= end
                            && acquired.is_none_or(|a| a >= end) =>
                        {
                            "lapsed"
                        }
                        None if now < end => "released",
                        _ => "unknown",
                    };
                    t.evidence = Some(evidence.to_owned());
                }
                if let Some(k) = key {
                    self.written = at;
                    self.tenures.push(Tenure {
                        worker: Some(k.worker.to_owned()),
                        fingerprint: Some(k.token.to_owned()),
                        after_timestamp: self.last_read.map(|r| SERVER + r),
                        first_timestamp: Some(now),
                        last_timestamp: Some(now),
                        expiry_timestamp: Some(SERVER + k.end),
                        ..Tenure::default()
                    });
                }
            }
        }
        self.last_read = Some(at);
    }

    pub fn document(&mut self, world: &World, at: f64, generation: u64) -> LockDocument {
        let open = self.tenures.last().filter(|t| t.gone_timestamp.is_none()).cloned();
        let how = open.as_ref().and_then(|t| t.worker.as_deref()).map(|w| world.how(w, at));
        let is_stale = how.is_some_and(|h| h != "alive") && {
            let worker = open.as_ref().and_then(|t| t.worker.clone()).unwrap_or_default();
            world.how(&worker, at - world.poll) != "alive"
        };
        let signals = [
            ("holder_stale", Some(is_stale)),
            ("contested", Some(false)),
            ("renewal_overdue", Some(open.is_some() && at - self.written > world.lease * 0.67)),
        ];
        let counted =
            |all: &[(f64, u64)]| all.iter().filter(|(t, _)| *t <= at).map(|(_, n)| *n).next_back();
        let accepted = counted(&world.accepted);
        let last = accepted.unwrap_or(0);
        self.fell += u64::from(last < self.floor);
        self.floor = last;
        let fencing = Fencing {
            issued: counted(&world.issued),
            accepted: BTreeMap::from([("db".to_owned(), accepted)]),
            regressions: BTreeMap::from([("db".to_owned(), self.fell)]),
            rejections: BTreeMap::from([(
                "db".to_owned(),
                world.refused.iter().filter(|t| **t <= at).count() as u64,
            )]),
        };
        let mut requests: Vec<u32> =
            world.effects.iter().filter(|(t, _)| *t <= at).map(|(_, r)| *r).collect();
        let total = requests.len() as u64;
        requests.sort_unstable();
        requests.dedup();
        let effects = Effects {
            resource: "db".to_owned(),
            total,
            duplicates: Some(total - requests.len() as u64),
        };
        let lock = Lock {
            store: "main".into(),
            lock: "orders".into(),
            fresh: true,
            state: if open.is_some() { "held" } else { "free" }.into(),
            signals: signals.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect(),
            holders: open.iter().map(|t| holder(t, how)).collect(),
            lease: Lease {
                length_seconds: Some(world.lease),
                length_source: Some(world.length_source.into()),
                expiry_timestamp: open.as_ref().and_then(|t| t.expiry_timestamp),
                renewal_age_seconds: open.is_some().then_some(at - self.written),
                renewal_period_seconds: world.period,
                ..Lease::default()
            },
            previous: Some(Previous::default()),
            fencing: world.has_fencing.then_some(fencing),
            effects: if world.has_effects { vec![effects] } else { Vec::new() },
            counts: Counts {
                renewals: self.renewals,
                renewals_after_lost_liveness: self.after_loss,
                ..Counts::default()
            },
            ..Lock::default()
        };
        let recent = Recent {
            tenures: Some(self.tenures.iter().rev().take(17).rev().cloned().collect()),
            read_timestamp: self.last_read.map(|r| SERVER + r),
            ..Recent::default()
        };
        LockDocument { generation, taken: 1000.0 + at, lock, recent }
    }
}

fn holder(tenure: &Tenure, how: Option<&str>) -> Holder {
    Holder {
        worker: tenure.worker.clone(),
        fingerprint: tenure.fingerprint.clone().unwrap_or_default(),
        liveness: how.unwrap_or("unknown").to_owned(),
        ..Holder::default()
    }
}
