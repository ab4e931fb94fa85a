//! Whatever comes and goes: series and memory stay bounded, counts complete, totals never fall.

use proptest::prelude::*;

use super::*;
use crate::derive::groups::Totals;
use crate::expose::{SelfFacts, render};

/// Series that one lock of the core tier has at most.
const PER_LOCK: usize = 60;
/// Series that the group has, whatever its locks do.
const OF_GROUP: usize = 60;

#[derive(Clone, Debug)]
enum Event {
    Appear { n: u8, lease_ms: Option<i64> },
    Release(u8),
    Forget(u8),
    Reload,
    Polls(u8),
}

fn event() -> impl Strategy<Value = Event> {
    let lease = prop_oneof![Just(None), (1_000i64..40_000).prop_map(Some)];
    prop_oneof![
        4 => (any::<u8>(), lease).prop_map(|(n, lease_ms)| Event::Appear { n, lease_ms }),
        2 => any::<u8>().prop_map(Event::Release),
        1 => any::<u8>().prop_map(Event::Forget),
        1 => Just(Event::Reload),
        3 => (1u8..6).prop_map(Event::Polls),
    ]
}

fn apply(f: &mut Fleet, event: Event) {
    match event {
        Event::Appear { n, lease_ms } => {
            let name = format!("job-{}", n % 40);
            if !f.keys.contains_key(&name) {
                f.appear(&name, lease_ms);
            }
        }
        Event::Release(n) | Event::Forget(n) => {
            let Some(name) = f.keys.keys().nth(usize::from(n) % 40).cloned() else { return };
            f.release(&name);
            if matches!(event, Event::Forget(_)) {
                f.forget(&name);
            }
        }
        Event::Reload => {
            let at = f.sim.now();
            f.sim.step(Observation::StoreStarted { store: STORE, name: "main".into(), at });
            let keys = f.keys.clone();
            for (name, (_, held)) in keys {
                let id = KeyId(f.next);
                f.next += 1;
                f.keys.insert(name.clone(), (id, held));
                f.announce(&name, id);
            }
        }
        Event::Polls(n) => f.polls(n.into()),
    }
}

fn numbers(totals: &Totals) -> Vec<u64> {
    let Totals { acquisitions, renewals, late_renewals, renewals_after_loss, .. } = totals;
    let mut all = vec![*acquisitions, *renewals, *late_renewals, *renewals_after_loss];
    all.extend(totals.ends);
    all.extend(totals.expired_under);
    all.extend(totals.rises);
    all
}

/// Lines of the exposition that are about the group, and about single locks of it.
fn series(f: &Fleet) -> (usize, usize) {
    let now = Instant { mono: f.sim.now(), wall: 1.7e9 };
    let view = View::of(&f.sim.state, now, 1);
    let text = render(&view, &SelfFacts::new(Duration::from_secs(1), 1.7e9));
    let text = String::from_utf8(text.to_vec()).unwrap();
    let count = |what: &str| text.lines().filter(|l| l.contains(what)).count();
    (count("group=\"jobs\""), count("lock=\"job-"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_churn_is_bounded_and_counted(
        events in proptest::collection::vec(event(), 1..60),
        top in 0usize..5,
    ) {
        let mut f = Fleet::new(top);
        let mut before = vec![];
        for event in events {
            apply(&mut f, event);
            let store = &f.sim.state.stores[&STORE];
            let now = numbers(&store.totals().remove("jobs").unwrap_or_default());
            prop_assert!(before.iter().zip(&now).all(|(b, n)| n >= b), "a total fell");
            before = now;
            prop_assert!(store.locks.len() <= f.keys.len() + 1);
        }
        f.poll();
        let (group, locks) = series(&f);
        prop_assert!(group <= OF_GROUP, "{} series of the group", group);
        prop_assert!(locks <= top * PER_LOCK, "{} series of {} locks", locks, top);
        let view = f.view();
        let shown = f.shown();
        prop_assert!(shown.len() <= top);
        prop_assert_eq!(f.shown(), shown, "the same view, the same choice");
        let members = || view.locks.iter().filter(|l| l.group.is_some());
        let places: Vec<usize> = {
            let mut places: Vec<usize> = members().filter_map(|l| l.look).collect();
            places.sort_unstable();
            places
        };
        prop_assert_eq!(places.len() as u64, view.groups[0].looks);
        prop_assert!(places.iter().enumerate().all(|(i, p)| i == *p));
        for (signal, n) in &view.groups[0].flagged {
            let up = members().filter(|l| l.signals.contains(&(*signal, Some(true)))).count();
            prop_assert_eq!(up as u64, *n);
            let of_store = view.flagged.iter().find(|(s, _)| s == signal).map_or(0, |(_, n)| *n);
            prop_assert!(of_store >= *n);
        }
    }
}

#[test]
fn ten_thousand_locks_in_a_minute_leave_nothing_behind() {
    const EACH: u64 = 170;
    let mut f = Fleet::new(20);
    let mut most = 0;
    for second in 0..60u64 {
        for n in 0..EACH {
            // Every one has a holder of its own name.
            f.appear(&format!("job-{second}-{n}"), Some(30_000));
        }
        f.poll();
        (0..EACH).for_each(|n| f.release(&format!("job-{second}-{n}")));
        if let Some(before) = second.checked_sub(4) {
            (0..EACH).for_each(|n| f.forget(&format!("job-{before}-{n}")));
        }
        most = most.max(f.sim.state.stores[&STORE].locks.len() as u64);
    }
    assert!(most <= 5 * EACH + 1, "{most} at once");
    assert_eq!(f.group().counts.acquisitions, 60 * EACH);
    let workers = &f.sim.state.workers;
    assert!(workers.by_name.len() <= 100, "max_workers: {}", workers.by_name.len());
    assert!(workers.dropped_in(STORE) <= most, "{}", workers.dropped_in(STORE));
    let (group, locks) = series(&f);
    assert!(group <= OF_GROUP && locks == 0, "{group} {locks}");
}
