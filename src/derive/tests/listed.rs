//! Locks whose holder a list of live workers must name.

use std::sync::Arc;
use std::time::Duration;

use super::sim::{Sim, held_by, holding, rules, running};
use crate::config::{LiveList, LockRules, Preset};
use crate::derive::{BlindReason, Liveness, LivenessSource, Signal};
use crate::observe::Observation;
use crate::observe::lock::{CompanionValue, Decoded, Mode, Shape, Sharing, Tells};
use crate::observe::node::FailReason;
use crate::observe::source::{ListMember, ListRead, SourceFailed};
use crate::view::{Aspect, Instant, View};

const LEASE: i64 = 30_000;

fn listed() -> LockRules {
    LockRules { listed_in: Some("fleet".into()), ..rules() }
}

/// A world with a list that is read each ten seconds.
fn world(rules: LockRules, preset: Preset) -> Sim {
    let mut s = Sim::new(2000, None, rules);
    let list = LiveList {
        name: "fleet".into(),
        store: "main".into(),
        preset,
        refresh: Duration::from_secs(10),
    };
    let rules =
        crate::derive::Rules { live_workers: Arc::new(vec![list]), ..s.state.rules.clone() };
    s.state.reconfigure(rules, s.now());
    s
}

fn read(s: &mut Sim, names: Result<&[&str], FailReason>) {
    let members = match names {
        Ok(names) => Ok(names
            .iter()
            .map(|n| ListMember { name: (*n).into(), is_job: false, beat: None })
            .collect()),
        Err(reason) => Err(SourceFailed { reason, detail: "no".into() }),
    };
    let (list, span) = ("fleet".into(), s.span());
    s.step(Observation::List(Box::new(ListRead { list, span, members })));
}

/// Lets so many seconds pass in which the holder renews and the list names these.
fn pass(s: &mut Sim, token: &str, seconds: u64, names: Result<&[&str], FailReason>) {
    for _ in 0..seconds / 10 {
        s.advance(9_000);
        s.renew(token, LEASE);
        read(s, names);
        s.advance(1_000);
    }
}

fn state(s: &Sim) -> (Option<Liveness>, Option<bool>, Option<bool>) {
    let lock = s.lock();
    let signal = |wanted| lock.signals.iter().find(|(n, _)| *n == wanted).and_then(|(_, v)| *v);
    (lock.liveness, signal(Signal::HolderStale), signal(Signal::RenewalAfterLostLiveness))
}

#[test]
fn a_holder_that_no_list_names_is_stale_and_never_a_renewal_after_a_loss() {
    let mut s = world(listed(), Preset::Rq);
    s.acquire("w1:t", LEASE);
    pass(&mut s, "w1:t", 30, Ok(&["w1", "w2"]));
    assert_eq!(state(&s), (Some(Liveness::Alive), Some(false), Some(false)));
    pass(&mut s, "w1:t", 60, Ok(&["w2"]));
    assert_eq!(state(&s).0, Some(Liveness::Alive), "absent for less than a minute");
    pass(&mut s, "w1:t", 20, Ok(&["w2"]));
    assert_eq!(state(&s), (Some(Liveness::Unlisted), Some(true), Some(false)));
    let lost = s.lock().lost_seconds.unwrap();
    assert!((70.0..82.0).contains(&lost), "{lost}");
    pass(&mut s, "w1:t", 600, Ok(&["w2"]));
    assert_eq!(
        state(&s),
        (Some(Liveness::Unlisted), Some(true), Some(false)),
        "it goes on renewing"
    );
    pass(&mut s, "w1:t", 10, Ok(&["w1"]));
    assert_eq!(state(&s), (Some(Liveness::Alive), Some(false), Some(false)));
}

#[test]
fn a_list_that_fails_or_is_not_named_says_nothing() {
    let mut s = world(listed(), Preset::Rq);
    s.acquire("w1:t", LEASE);
    pass(&mut s, "w1:t", 20, Ok(&["w1"]));
    pass(&mut s, "w1:t", 300, Err(FailReason::Permission));
    assert_eq!(state(&s).0, Some(Liveness::Unknown));
    let lock = s.lock();
    assert!(lock.coverage_lost.contains(&(Aspect::Holder, BlindReason::Permission)), "{lock:?}");
    let view = View::of(&s.state, Instant { mono: s.now(), wall: 0.0 }, 1);
    let list = &view.stores[0].lists[0];
    assert_eq!(
        (&*list.name, list.preset, list.fresh, list.has_named),
        ("fleet", "rq", false, true)
    );
    assert_eq!(list.failure, Some((FailReason::Permission, "no".to_owned())));
    assert!(list.read.is_some_and(|(n, age)| n == 1 && age > 290.0), "{list:?}");
    let mut other = world(rules(), Preset::Rq);
    other.acquire("w1:t", LEASE);
    pass(&mut other, "w1:t", 20, Ok(&["w1"]));
    pass(&mut other, "w1:t", 200, Ok(&["w2"]));
    assert_eq!(state(&other).0, Some(Liveness::Unknown), "the lock does not name the list");
}

#[test]
fn a_live_process_does_not_save_one_that_is_not_listed_and_a_dead_one_is_worse() {
    let mut s = world(listed(), Preset::Rq);
    s.process = Some(running(7, 1));
    s.acquire("w1:t", LEASE);
    pass(&mut s, "w1:t", 20, Ok(&["w1"]));
    pass(&mut s, "w1:t", 100, Ok(&["w2"]));
    assert_eq!(state(&s), (Some(Liveness::Unlisted), Some(true), Some(false)));
    s.process = Some(crate::observe::worker::ProcessSeen::Gone { named_here: false });
    pass(&mut s, "w1:t", 10, Ok(&["w2"]));
    assert_eq!(state(&s).0, Some(Liveness::Dead));
}

/// A job's lock names a job and nobody's name; which of several is missing is told for each.
#[test]
fn a_lock_of_jobs_is_held_against_the_registry_of_its_own_format() {
    let mut s = world(LockRules { holder: None, ..rules() }, Preset::Sidekiq);
    let jobs = |ids: &[&str]| {
        let mut value = Decoded::nobody("sidekiq-unique-jobs", Shape::OwnerHash);
        value.sharing = Sharing::Permits(Some(3));
        value.holders = ids.iter().map(|id| holding(id)).collect();
        value.holders.iter_mut().for_each(|h| h.mode = Mode::Permit);
        value
    };
    let until = s.server_ms() + 10_000_000;
    s.show(jobs(&["a1", "b2"]), Some(until));
    pass(&mut s, "", 20, Ok(&["a1", "b2", "web:1:aa"]));
    assert_eq!(state(&s), (Some(Liveness::Alive), Some(false), Some(false)));
    pass(&mut s, "", 100, Ok(&["a1", "web:1:aa"]));
    assert_eq!(state(&s).0, Some(Liveness::Unlisted));
    assert_eq!(state(&s).1, Some(true));
    s.show(jobs(&["a1"]), Some(until));
    pass(&mut s, "", 10, Ok(&["a1", "web:1:aa"]));
    assert_eq!(state(&s), (Some(Liveness::Alive), Some(false), Some(false)));
    // Another format's locks are not the registry's business.
    let mut s = world(LockRules { holder: None, ..rules() }, Preset::Sidekiq);
    s.show(held_by("a1"), Some(until));
    pass(&mut s, "", 20, Ok(&["a1"]));
    assert_eq!(state(&s).0, Some(Liveness::Unknown));
}

#[test]
fn who_a_list_names_is_a_worker_and_lives_by_it() {
    let mut s = world(listed(), Preset::Rq);
    let source = |s: &Sim, worker: &str| {
        let view = View::of(&s.state, Instant { mono: s.now(), wall: 0.0 }, 1);
        let worker = view.workers.into_iter().find(|w| &*w.name == worker)?;
        worker.sources.into_iter().find(|(source, ..)| *source == LivenessSource::List)
    };
    pass(&mut s, "", 20, Ok(&["w1", "w2"]));
    assert_eq!(source(&s, "w1"), Some((LivenessSource::List, true, None)));
    assert_eq!(source(&s, "w3"), None);
    pass(&mut s, "", 80, Ok(&["w2"]));
    let (_, alive, lost) = source(&s, "w1").unwrap();
    assert!(!alive && lost.is_some_and(|l| l >= 60.0), "{lost:?}");
    pass(&mut s, "", 100, Err(FailReason::Timeout));
    assert_eq!(source(&s, "w2"), None, "not known while the list is not read");
}

/// The id of a job is the token of its lock, and no worker's name, whatever a group's pattern fits.
#[test]
fn a_job_that_a_list_names_is_never_a_worker() {
    let mut s = world(listed(), Preset::Sidekiq);
    let jobs = ["web:1:aa", "0123456789abcdef01234567"];
    let members = jobs.map(|n| ListMember { name: n.into(), is_job: n != jobs[0], beat: None });
    let (list, span) = ("fleet".into(), s.span());
    let read = ListRead { list, span, members: Ok(members.into()) };
    s.step(Observation::List(Box::new(read)));
    let names: Vec<_> = s.state.workers.by_name.keys().map(|n| n.to_string()).collect();
    assert_eq!(names, [jobs[0]]);
}

/// A worker of BullMQ is named beside its lock or not at all: one without a name is not missing from a list of names.
#[test]
fn a_worker_without_a_name_is_not_missing_and_coverage_says_why_it_has_none() {
    let mut s = world(LockRules { holder: None, ..rules() }, Preset::BullMq { queue: "m".into() });
    let locks = s.state.stores.values_mut().flat_map(|s| s.locks.values_mut());
    locks.for_each(|lock| lock.key_text = "bull:m:1:lock".into());
    let until = s.server_ms() + 10_000_000;
    s.show(Decoded { format: "bullmq", ..held_by("u1") }, Some(until));
    let blind = |s: &Sim, reason| s.lock().coverage_lost.contains(&(Aspect::Holder, reason));
    pass(&mut s, "", 120, Ok(&["w2"]));
    assert_eq!(state(&s), (Some(Liveness::Unknown), None, None));
    assert!(blind(&s, BlindReason::OpaqueToken), "{:?}", s.lock());
    s.beside = vec![(Tells::Worker, CompanionValue::Refused)];
    pass(&mut s, "", 20, Ok(&["w2"]));
    assert_eq!(state(&s), (Some(Liveness::Unknown), None, None));
    assert!(blind(&s, BlindReason::Permission) && !blind(&s, BlindReason::OpaqueToken));
    // By its name it is judged.
    s.beside = vec![(Tells::Worker, CompanionValue::Text("w1".into()))];
    pass(&mut s, "", 100, Ok(&["w2"]));
    assert_eq!(state(&s), (Some(Liveness::Unlisted), Some(true), Some(false)));
}
