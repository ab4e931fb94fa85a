//! Which locks of a group have series of their own: the worst, and the same ones from poll to poll.

use super::*;

#[test]
fn only_locks_that_need_a_look_have_series_and_no_more_than_the_config_says() {
    let mut f = Fleet::new(3);
    for n in 0..40 {
        f.appear(&format!("calm-{n}"), Some(60_000));
    }
    f.polls(2);
    assert_eq!(f.shown(), [""; 0]);
    for n in 0..7 {
        f.appear(&format!("endless-{n}"), None);
    }
    f.polls(3);
    assert_eq!(f.shown(), ["endless-0", "endless-1", "endless-2"]);
    let group = f.group();
    assert_eq!((group.held, group.looks, up(&group, Signal::LeaseWithoutTtl)), (47, 7, 7));
    let flagged = f.view().flagged;
    assert!(flagged.contains(&(Signal::LeaseWithoutTtl, 7)), "complete: {flagged:?}");
    assert!(group.remaining_min_seconds.is_some_and(|s| s > 50.0 && s < 60.0), "{group:?}");
    assert!(group.held_max_seconds.is_some_and(|s| s > 3.9 && s < 5.1), "{group:?}");
}

#[test]
fn a_worse_lock_takes_the_place_of_the_least_bad_one_and_no_other_moves() {
    let mut f = Fleet::new(3);
    for name in ["a", "b", "c", "d"] {
        f.appear(name, Some(600_000));
        f.poll();
    }
    f.polls(12);
    // Held for too long, the first since when it is up.
    assert_eq!(f.shown(), ["a", "b", "c"]);
    f.appear("worse", None);
    f.polls(3);
    assert_eq!(f.shown(), ["worse", "a", "b"]);
    f.polls(20);
    assert_eq!(f.shown(), ["worse", "a", "b"], "as long as nothing changes");
}

#[test]
fn a_signal_that_comes_and_goes_with_each_poll_moves_nothing() {
    let mut f = Fleet::new(2);
    for name in ["a", "flaps", "c"] {
        f.appear(name, None);
        f.poll();
    }
    f.polls(3);
    assert_eq!(f.shown(), ["a", "flaps"]);
    for n in 0..40 {
        // The expiry is set and taken away again, by turns.
        let until = (n % 4 == 0).then(|| f.sim.server_ms() + 600_000);
        f.keys.get_mut("flaps").unwrap().1.as_mut().unwrap().until_ms = until;
        f.poll();
        // After ten seconds it is held for too long as well.
        assert_eq!(f.shown(), ["a", "flaps"], "poll {n}");
    }
}

#[test]
fn what_is_over_gives_way_to_what_is_not_and_stays_where_there_is_room() {
    let mut f = Fleet::new(2);
    f.appear("over", None);
    f.polls(3);
    f.release("over");
    f.polls(40);
    assert_eq!(f.shown(), ["over"], "for whoever comes to look");
    let lock = f.view().locks.into_iter().find(|l| &*l.name == "over").unwrap();
    assert_eq!((lock.held, lock.fresh, lock.tier), (Some(false), true, Some(SeriesTier::Core)));
    for name in ["now-1", "now-2"] {
        f.appear(name, None);
        f.polls(3);
    }
    assert_eq!(f.shown(), ["now-1", "now-2"]);
    assert_eq!(f.group().looks, 3);
}

#[test]
fn a_key_that_needs_a_look_is_asked_to_stay_watched_now_and_then() {
    let mut f = Fleet::new(2);
    f.appear("calm", Some(600_000));
    f.appear("endless", None);
    let mut asked = Vec::new();
    for _ in 0..8 {
        f.poll();
        asked.append(&mut f.sim.kept);
    }
    assert_eq!(asked, [(STORE, f.keys["endless"].0)], "once, as long as it is no news");
    f.polls(60);
    let mut again = std::mem::take(&mut f.sim.kept);
    again.retain(|(_, key)| *key == f.keys["endless"].0);
    assert!((1..=2).contains(&again.len()), "{again:?}");
}
