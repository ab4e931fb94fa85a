//! Who renews, by lists of clients made at any time after renewals.

use super::*;
use crate::derive::connections::Window;
use crate::derive::connections::tests::client;

const WORKER: i32 = 10;
const OTHER: i32 = 20;

fn at(seconds: f64) -> Mono {
    Mono::from_secs_f64(seconds)
}

/// A process's connection that was last used then, for this.
#[derive(Clone, Copy)]
struct Used(Option<i32>, f64, &'static str);

/// Renewals every 10 s, each with a list so long after it; `used` says who did what, given when the renewal was.
fn rounds(n: usize, after: f64, churn: bool, used: impl Fn(f64) -> Vec<Used>) -> Renewers {
    let mut renewers = Renewers::default();
    for i in 0..n {
        let renewed = 100.0 + 10.0 * i as f64;
        let listed = Span { sent: at(renewed + after), done: at(renewed + after) };
        let connections: Vec<Connection> = used(renewed)
            .into_iter()
            .map(|Used(pid, when, command)| {
                let idle = (renewed + after - when).max(0.0) as u64;
                let client = client(1, "a:1", "b:1", 90, idle, command);
                let origin = pid.map_or(Origin::Elsewhere, |pid| Origin::Here([pid].into()));
                let (began, used) = (Window::ago(listed, 90), Window::ago(listed, idle));
                Connection { client, origin, began, used }
            })
            .collect();
        let mark =
            RenewalMark { earlier: at(renewed - 0.1), later: at(renewed + 0.1), is_counted: false };
        let own = BTreeSet::from([(WORKER, 7)]);
        renewers.weigh(at(1.0), &own, mark, listed, &connections, churn);
    }
    renewers
}

#[test]
fn a_worker_without_a_connection_is_not_the_one_that_renews() {
    let by = |r: f64| vec![Used(Some(OTHER), r, "pexpire")];
    assert_eq!(rounds(3, 5.0, false, by).separate(), Some(true));
    assert_eq!(rounds(2, 5.0, false, by).separate(), None, "too few");
    assert_eq!(
        rounds(3, 5.0, true, by).separate(),
        Some(true),
        "it fits whatever else comes and goes"
    );
    let busy = |r: f64| vec![Used(Some(OTHER), r + 4.5, "get")];
    assert_eq!(rounds(3, 5.0, false, busy).separate(), Some(true), "nobody else can have");
    assert_eq!(rounds(3, 5.0, true, busy).separate(), None, "the worker may have come and gone");
    let far = |r: f64| vec![Used(None, r, "pexpire")];
    assert_eq!(rounds(3, 5.0, false, far).separate(), None, "nobody that is seen");
    assert_eq!(rounds(3, 5.0, false, |_| Vec::new()).separate(), None);
}

#[test]
fn a_worker_that_is_idle_while_another_renews() {
    let by = |r: f64| vec![Used(Some(WORKER), 50.0, "evalsha"), Used(Some(OTHER), r, "evalsha")];
    assert_eq!(rounds(4, 5.0, false, by).separate(), Some(true));
    // It works with the server all the time, so that it may be the one.
    let busy = |r: f64| vec![Used(Some(WORKER), r + 4.8, "get"), Used(Some(OTHER), r, "evalsha")];
    assert_eq!(rounds(8, 5.0, false, busy).separate(), None);
}

#[test]
fn a_worker_that_renews_itself() {
    let alone = |r: f64| vec![Used(Some(WORKER), r, "set"), Used(Some(OTHER), 50.0, "get")];
    assert_eq!(rounds(3, 5.0, false, alone).separate(), Some(false));
    let beside = |r: f64| {
        vec![
            Used(Some(WORKER), r, "set"),
            Used(Some(OTHER), r + 4.9, "set"),
            Used(None, r + 4.9, "get"),
        ]
    };
    assert_eq!(
        rounds(3, 5.0, true, beside).separate(),
        Some(false),
        "its last writes are the renewals"
    );
    assert_eq!(rounds(3, 1.0, true, beside).separate(), None, "too soon after them to tell");
    let both = |r: f64| vec![Used(Some(WORKER), r, "set"), Used(Some(OTHER), r, "set")];
    assert_eq!(rounds(8, 5.0, false, both).separate(), None);
}

#[test]
fn what_changes_begins_anew() {
    let by = |r: f64| vec![Used(Some(OTHER), r, "pexpire")];
    let mut renewers = rounds(3, 5.0, false, by);
    let mark = RenewalMark { earlier: at(200.0), later: at(201.0), is_counted: false };
    let listed = Span { sent: at(205.0), done: at(205.0) };
    let own = BTreeSet::from([(WORKER, 8)]);
    renewers.weigh(at(1.0), &own, mark, listed, &[], false);
    assert_eq!((renewers.separate(), renewers.weighed.len()), (None, 1), "the process is another");
    renewers.weigh(at(2.0), &own, mark, listed, &[], false);
    assert_eq!(renewers.weighed.len(), 1, "the tenure is another");
    let early = Span { sent: at(200.5), done: at(200.5) };
    renewers.weigh(at(3.0), &own, mark, early, &[], false);
    assert_eq!(renewers.weighed.len(), 0, "a list before the renewal says nothing of it");
}

#[test]
fn two_lists_after_one_renewal_are_one_word() {
    let mark = RenewalMark { earlier: at(99.9), later: at(100.1), is_counted: false };
    let own = BTreeSet::from([(WORKER, 7)]);
    let list = |seconds: f64, idle: u64, command: &str| {
        let listed = Span { sent: at(seconds), done: at(seconds) };
        let client = client(1, "a:1", "b:1", 90, idle, command);
        let (began, used) = (Window::ago(listed, 90), Window::ago(listed, idle));
        (listed, vec![Connection { client, origin: Origin::Here([WORKER].into()), began, used }])
    };
    let mut renewers = Renewers::default();
    for (seconds, idle, command, want) in [
        (101.0, 0, "set", Fit::Match),
        (105.0, 0, "get", Fit::Possible),
        (106.0, 6, "set", Fit::Possible),
        (110.0, 30, "set", Fit::Excluded),
    ] {
        let (listed, connections) = list(seconds, idle, command);
        renewers.weigh(at(1.0), &own, mark, listed, &connections, false);
        assert_eq!((renewers.weighed.len(), renewers.weighed[0].own), (1, want), "{seconds}");
    }
}

#[test]
fn who_renewed_is_kept_in_mind_for_the_tenure() {
    // Another one reads now and then.
    let by = |r: f64| {
        let reader = if r == 110.0 { r + 1.0 } else { 50.0 };
        vec![Used(Some(OTHER), r, "pexpire"), Used(Some(30), reader, "get")]
    };
    let mut known = rounds(3, 5.0, false, by);
    known.remember(|pid| Some(pid as u64 + 1));
    let others = |r: &Renewers, tenure: f64| r.others(at(tenure)).collect::<Vec<_>>();
    known.forget();
    known.remember(|_| None);
    assert_eq!(others(&known, 1.0), [(OTHER, 21)], "nothing can be weighed any more");
    assert!(others(&known, 2.0).is_empty(), "another owner's");
    let own = |r: f64| vec![Used(Some(WORKER), r, "set"), Used(Some(OTHER), 50.0, "get")];
    let mut renewers = rounds(3, 5.0, false, own);
    renewers.remember(|_| Some(7));
    assert!(others(&renewers, 1.0).is_empty());
}

#[test]
fn who_is_ruled_out_by_a_later_renewal_is_no_renewer_and_who_fits_more_is_likelier() {
    // A worker with a lock of its own writes when the first three are made, and not with the last; another one reads all the time.
    let by = |r: f64| {
        let healthy = if r < 130.0 { r } else { 50.0 };
        vec![
            Used(Some(OTHER), r, "pexpire"),
            Used(Some(30), healthy, "pexpire"),
            Used(Some(31), r + 1.0, "get"),
        ]
    };
    let pids = |n: usize| {
        let mut known = rounds(3, 5.0, false, by);
        known.remember(|pid| Some(pid as u64));
        if n > 3 {
            let before = known.others.clone();
            known = rounds(n, 5.0, false, by);
            known.others = before;
            known.remember(|pid| Some(pid as u64));
        }
        let all: Vec<i32> = known.others(at(1.0)).map(|(pid, _)| pid).collect();
        (all, known)
    };
    let (three, _) = pids(3);
    assert_eq!(three, [OTHER, 30, 31]);
    let (four, known) = pids(4);
    assert_eq!(four, [OTHER, 31], "30 did not make the last one");
    assert!(known.matches(OTHER) > known.matches(31));
}
