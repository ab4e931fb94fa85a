//! Which locks may be released by hand.

use super::*;
use crate::view::{FencingView, View, Votes};

/// A lock whose release is safe by all that can be judged, and its store.
fn safe() -> (StoreView, LockView) {
    let mut view = View::example();
    let store = view.stores.swap_remove(0);
    let mut lock = store.locks.iter().find(|l| &*l.name == "orders").unwrap().clone();
    lock.holders.truncate(1);
    let holder = &mut lock.holders[0];
    holder.liveness = Liveness::Dead;
    (holder.lost_seconds, holder.renewal_age_seconds) = (Some(40.0), Some(43.0));
    (lock.votes, lock.limit, lock.holders_beyond) = (None, None, 0);
    lock.signals = Signal::ALL.iter().map(|s| (*s, Some(*s == Signal::HolderStale))).collect();
    (lock.blind, lock.left_to_expire, lock.renewal_period_seconds) = (Vec::new(), false, Some(5.0));
    lock.told.fencing = Some(FencingView {
        issued: Some(7),
        accepted: vec![("db".into(), Some(7))],
        regressions: vec![("db".into(), 0)],
        ..FencingView::default()
    });
    let store = StoreView { primaries: Some(1), sentinels_disagree: None, ..store };
    (store, lock)
}

fn failed(release: &Release, passed: Option<bool>) -> Vec<&'static str> {
    release.checks.iter().filter(|c| c.passed == passed).map(|c| c.what).collect()
}

/// What the change makes of it, and the check that says so.
fn changed(
    change: impl FnOnce(&mut StoreView, &mut LockView),
) -> (Option<bool>, Vec<&'static str>) {
    let (mut store, mut lock) = safe();
    change(&mut store, &mut lock);
    let release = release(&store, &lock);
    let safe = release.safe;
    assert_ne!(safe, Some(true), "{release:?}");
    (safe, failed(&release, safe))
}

#[test]
fn a_lock_of_a_dead_holder_that_nothing_renews_can_be_released() {
    let (store, lock) = safe();
    let found = release(&store, &lock);
    assert_eq!(found.safe, Some(true), "{found:?}");
    assert_eq!(found.fingerprint.as_deref(), Some("0123456789ab"));
    assert_eq!(failed(&found, Some(true)).len(), found.checks.len());
}

fn renewer(lock: &mut LockView, lives: Option<bool>) {
    lock.other_renewer = Some(OtherRenewer { pids: vec![30], lives });
}

#[test]
fn a_renewer_that_has_ended_renews_no_more() {
    let (store, mut lock) = safe();
    renewer(&mut lock, Some(false));
    let found = release(&store, &lock);
    assert_eq!(found.safe, Some(true), "{found:?}");
    let told = found.checks.iter().find(|c| c.what == "no_other_renewer").unwrap();
    assert!(told.found.contains("process 30"), "{told:?}");
}

#[test]
fn of_several_that_fit_nobody_is_the_one() {
    let (store, mut lock) = safe();
    lock.other_renewer = Some(OtherRenewer { pids: vec![30, 2, 3, 4, 5, 6], lives: Some(true) });
    let found = release(&store, &lock);
    assert_eq!(found.safe, Some(false), "{found:?}");
    let told = found.checks.iter().find(|c| c.what == "no_other_renewer").unwrap();
    let wanted = "one of the processes 30, 2, 3, 4, 5 and 1 more (the likeliest first) renewed it for its holder, and all of them live";
    assert_eq!(told.found, wanted);
}

#[test]
fn every_check_that_fails_makes_it_unsafe() {
    let is = |check: &'static str| (Some(false), vec![check]);
    for liveness in [Liveness::Alive, Liveness::Stopped, Liveness::Frozen] {
        let found = changed(|_, l| l.holders[0].liveness = liveness);
        assert_eq!(found, is("holder_ended"), "{liveness:?}");
    }
    assert_eq!(changed(|_, l| l.held = Some(false)), is("held"));
    assert_eq!(changed(|_, l| l.holders.push(l.holders[0].clone())).0, Some(false));
    assert_eq!(changed(|_, l| l.limit = Some(3)).0, Some(false));
    assert_eq!(changed(|_, l| l.holders[0].lost_seconds = Some(14.0)), is("ended_long_ago"));
    assert_eq!(changed(|_, l| l.holders[0].renewal_age_seconds = Some(39.0)), is("not_renewed"));
    let renewed = |l: &mut LockView| {
        l.signals[Signal::RenewalAfterLostLiveness as usize].1 = Some(true);
    };
    assert_eq!(changed(|_, l| renewed(l)), is("not_renewed"));
    assert_eq!(changed(|_, l| renewer(l, Some(true))), is("no_other_renewer"));
    assert_eq!(changed(|_, l| l.left_to_expire = true), is("not_left_to_expire"));
    assert_eq!(changed(|s, _| s.primaries = Some(2)), is("one_history"));
    assert_eq!(changed(|s, _| s.sentinels_disagree = Some(true)), is("one_history"));
    let up = |l: &mut LockView, s: Signal| l.signals[s as usize].1 = Some(true);
    assert_eq!(changed(|_, l| up(l, Signal::Contested)), is("one_history"));
    assert_eq!(changed(|_, l| up(l, Signal::ReplicaDiverged)), is("one_history"));
    let fell = |l: &mut LockView| l.told.fencing.as_mut().unwrap().regressions[0].1 = 1;
    assert_eq!(changed(|_, l| fell(l)), is("fenced"));
}

#[test]
fn what_cannot_be_judged_is_never_safe() {
    let is = |check: &'static str| (None, vec![check]);
    for liveness in [Liveness::Unknown, Liveness::Unlisted, Liveness::Replaced] {
        let found = changed(|_, l| l.holders[0].liveness = liveness);
        assert_eq!(found, is("holder_ended"), "{liveness:?}");
    }
    assert_eq!(changed(|s, _| s.fresh = false), is("held"));
    assert_eq!(changed(|_, l| l.fresh = false), is("held"));
    assert_eq!(changed(|_, l| l.held = None), is("held"));
    assert_eq!(changed(|_, l| l.holders[0].lost_seconds = None).0, None);
    assert_eq!(changed(|_, l| l.votes = Some(Votes { most: 2, needed: 2, of: 3 })).0, None);
    let no_period = (None, vec!["not_renewed", "no_other_renewer"]);
    assert_eq!(changed(|_, l| l.renewal_period_seconds = None), no_period);
    assert_eq!(changed(|_, l| renewer(l, None)), is("no_other_renewer"));
    let reused = (Aspect::Token, BlindReason::ReusableToken);
    assert_eq!(changed(|_, l| l.blind.push(reused)), is("own_token"));
    assert_eq!(changed(|s, _| s.primaries = None), is("one_history"));
    let unjudged = |l: &mut LockView| l.signals[Signal::Contested as usize].1 = None;
    assert_eq!(changed(|_, l| unjudged(l)), is("one_history"));
    assert_eq!(changed(|_, l| l.told.fencing = None), is("fenced"));
    let unread = |l: &mut LockView| l.told.fencing.as_mut().unwrap().accepted[0].1 = None;
    assert_eq!(changed(|_, l| unread(l)), is("fenced"));
}
