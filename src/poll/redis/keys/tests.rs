use super::*;
use crate::config::{NameTemplate, Pattern, Shard};

fn rules() -> Arc<LockRules> {
    Arc::new(LockRules::default())
}

fn one(name: &str, key: &str) -> LockConfig {
    LockConfig { keys: LockKeys::One { name: name.into(), key: key.into() }, rules: rules() }
}

fn many(name: &str, pattern: &str, capture: Option<&str>, max_locks: usize) -> LockConfig {
    let capture = capture.map(|c| Pattern(regex::bytes::Regex::new(c).unwrap()));
    let name = NameTemplate(name.into());
    let keys = LockKeys::Matching { name, pattern: pattern.into(), capture, max_locks };
    LockConfig { keys, rules: rules() }
}

fn keys(entries: &[LockConfig]) -> Keys {
    Keys::new(StoreId(0), Share::default(), entries, 3).0
}

fn name(told: &Option<Observation>) -> &str {
    match told {
        Some(Observation::KeyWatched(w)) => &w.lock,
        other => panic!("no key watched but {other:?}"),
    }
}

fn dropped(told: impl IntoIterator<Item = Observation>) -> Vec<(&'static str, u64)> {
    match told.into_iter().next() {
        Some(Observation::KeysDropped { counts, .. }) => counts,
        other => panic!("nothing dropped but {other:?}"),
    }
}

#[test]
fn several_keys_of_one_lock_are_watched_under_one_name() {
    let several = |name: &str, all: [&str; 3]| {
        let keys = all.iter().map(|k| k.as_bytes().to_vec()).collect();
        LockConfig { keys: LockKeys::Several { name: name.into(), keys }, rules: rules() }
    };
    let entries =
        [one("a", "x"), several("b", ["k1", "k2", "k3"]), several("c", ["k4", "k5", "x"])];
    let (mut keys, told) = Keys::new(StoreId(4), Share::default(), &entries, 3);
    let watched: Vec<_> = told
        .iter()
        .filter_map(|o| match o {
            Observation::KeyWatched(w) => Some((&*w.lock, &*w.key_text, w.key.0, w.with)),
            _ => None,
        })
        .collect();
    let first = Some(KeyId(1));
    let expected = [
        ("a", "x", 0, None),
        ("b", "k1, k2, k3", 1, None),
        ("b", "k2", 2, first),
        ("b", "k3", 3, first),
    ];
    assert_eq!(watched, expected);
    assert_eq!(dropped(told.into_iter().last()), [("duplicate_name", 3), ("max_locks", 0)]);
    assert!(keys.offer(b"k2").is_none() && keys.forget(KeyId(2)).is_none());
}

#[test]
fn configured_keys_are_there_from_the_start() {
    let (keys, told) = Keys::new(
        StoreId(4),
        Share::default(),
        &[one("a", "lock:a"), one("b", "lock:a"), one("a", "k")],
        3,
    );
    assert_eq!(keys.list().len(), 1);
    assert!(
        matches!(&told[0], Observation::KeyWatched(w) if w.store == StoreId(4) && &*w.key_text == "lock:a")
    );
    assert_eq!(dropped(told.into_iter().nth(1)), [("duplicate_name", 2), ("max_locks", 0)]);
}

#[test]
fn the_first_entry_that_matches_wins_and_names_are_made_from_captures() {
    let entries = [
        one("fixed", "lock:job:0"),
        many("job-{1}", "lock:job:*", Some(r"^lock:job:(\d+)$"), 10),
        many("{what}/{0}{9}", "lock:*", Some(r"^lock:(?P<what>\w+)"), 10),
        many("{0}", "[", None, 10),
    ];
    let mut keys = keys(&entries);
    assert!(keys.offer(b"lock:job:0").is_none(), "configured already");
    assert_eq!(name(&keys.offer(b"lock:job:7")), "job-7");
    assert!(keys.offer(b"lock:job:7").is_none(), "known");
    assert_eq!(name(&keys.offer(b"lock:job:x\n")), "job/lock:job:x\\x0a");
    assert!(keys.offer(b"other").is_none());
    assert!(keys.offer(b"lock:--").is_none(), "the capture does not match");
    assert_eq!(keys.list().len(), 3);
    assert_eq!(keys.patterns().len(), 3);
}

#[test]
fn what_does_not_fit_is_counted_once_a_cycle() {
    let mut keys = keys(&[many("{1}", "l:*", Some("^l:(.)"), 2)]);
    let first = keys.offer(b"l:a");
    assert_eq!(name(&first), "a");
    assert!(keys.offer(b"l:a2").is_none(), "same name");
    assert!(keys.offer(b"l:b").is_some());
    for _ in 0..2 {
        assert!(keys.offer(b"l:c").is_none());
    }
    assert!(keys.offer(&[b"l:".as_slice(), &[b'x'; 5000]].concat()).is_none(), "a key too long");
    // `l:a2` was offered while there was room.
    assert_eq!(dropped(keys.cycle_done(true)), [("duplicate_name", 1), ("max_locks", 2)]);
    assert_eq!(dropped(keys.cycle_done(true)), [("duplicate_name", 0), ("max_locks", 0)]);
    assert!(keys.cycle_done(true).is_empty(), "nothing new to tell");
}

#[test]
fn a_forgotten_key_makes_room_and_comes_back_under_a_new_number() {
    let mut keys = keys(&[many("{0}", "*", None, 1), one("x", "x")]);
    keys.offer(b"a");
    let id = keys.list()[1].id;
    assert!(keys.forget(KeyId(0)).is_none(), "a configured key stays");
    assert!(matches!(keys.forget(id), Some(Observation::KeyForgotten { key, .. }) if key == id));
    assert!(keys.forget(id).is_none());
    assert!(keys.offer(b"a").is_some());
    assert!(keys.list()[1].id > id);
}

#[test]
fn a_second_key_of_one_name_is_a_duplicate_round_after_round() {
    let mut keys = keys(&[many("{1}", "job:*", Some(r"^job:(\d)"), 1)]);
    assert_eq!(name(&keys.offer(b"job:1")), "1");
    assert!(keys.offer(b"job:1b").is_none());
    assert!(keys.offer(b"job:2").is_none());
    assert_eq!(dropped(keys.cycle_done(true)), [("duplicate_name", 1), ("max_locks", 1)]);
    assert!(keys.offer(b"job:1b").is_none());
    assert!(keys.offer(b"job:2").is_none());
    assert!(keys.cycle_done(true).is_empty(), "nothing changed");
}

#[test]
fn what_belongs_to_a_lock_is_no_lock_unless_somebody_names_it() {
    let beside = "redisson_lock_token:{a}";
    let mut keys = keys(&[one("named", beside), many("{0}", "*", None, 1)]);
    assert_eq!(keys.list().len(), 1);
    assert!(keys.offer(b"redisson_lock_queue:{a}").is_none());
    assert_eq!(name(&keys.offer(b"a")), "a");
    assert!(keys.offer(b"redisson_lock_timeout:{a}").is_none());
    assert!(keys.cycle_done(true).is_empty(), "nothing is missed");
}

fn grouped(pattern: &str, max_locks: usize, top: usize) -> LockConfig {
    let group = Some(crate::config::Group { name: "g".into(), top });
    let mut entry = many("{0}", pattern, None, max_locks);
    entry.rules = Arc::new(LockRules { group, ..LockRules::default() });
    entry
}

fn watched(told: Option<Observation>) -> KeyWatched {
    match told {
        Some(Observation::KeyWatched(w)) => w,
        other => panic!("no key watched but {other:?}"),
    }
}

#[test]
fn a_key_is_new_in_the_store_if_a_whole_round_before_did_not_see_it() {
    let mut keys = keys(&[many("{0}", "*", None, 2)]);
    assert!(!watched(keys.offer(b"a")).has_appeared, "the first round");
    keys.cycle_done(true);
    let b = watched(keys.offer(b"b"));
    assert!(b.has_appeared);
    assert!(keys.offer(b"c").is_none(), "full");
    keys.cycle_done(true);
    keys.forget(b.key);
    assert!(!watched(keys.offer(b"c")).has_appeared, "it was left out before");
    keys.forget(keys.list()[0].id);
    assert!(watched(keys.offer(b"d")).has_appeared, "others were left out, this one was not");
}

#[test]
fn of_a_group_what_needs_a_look_stays_until_another_key_needs_the_room() {
    let mut keys = keys(&[grouped("*", 3, 2)]);
    let [a, b, c] = [b"a", b"b", b"c"].map(|key| watched(keys.offer(key)).key);
    [a, b].iter().for_each(|id| keys.keep(*id));
    assert!(keys.forget(c).is_some(), "nobody asked for it");
    assert!((0..3).all(|_| keys.forget(a).is_none()), "as often as was said");
    assert!(keys.forget(a).is_some());
    assert!(keys.forget(b).is_none());
    assert!(keys.offer(b"d").is_some() && keys.offer(b"e").is_some());
    assert!(keys.take_gave_way().is_empty(), "there was room");
    assert!(keys.offer(b"f").is_some());
    let gave_way = keys.take_gave_way();
    assert!(matches!(&gave_way[..], [Observation::KeyForgotten { key, .. }] if *key == b));
    assert!(keys.offer(b"h").is_none(), "nothing that has gone is left");
    assert_eq!(dropped(keys.cycle_done(true)), [("duplicate_name", 0), ("max_locks", 1)]);
}

#[test]
fn numbers_last_for_any_churn() {
    let mut keys = keys(&[grouped("*", 3, 2)]);
    keys.next = u64::from(u32::MAX);
    for n in 0..5u8 {
        let id = watched(keys.offer(&[n])).key;
        assert!(keys.forget(id).is_some());
    }
    assert!(keys.list().is_empty() && keys.by_key.is_empty() && keys.names.is_empty());
}

#[test]
fn what_is_no_lock_takes_no_locks_place_as_far_as_there_are_not_too_many() {
    let mut keys = keys(&[many("{0}", "*", None, 2)]);
    let [a, b] = [b"a", b"b"].map(|key| watched(keys.offer(key)).key);
    assert!(keys.offer(b"c").is_none());
    keys.set_aside(a, Aside::Ownerless);
    keys.set_aside(b, Aside::Refused);
    let [c, d] = [b"c", b"d"].map(|key| watched(keys.offer(key)).key);
    keys.set_aside(c, Aside::Ownerless);
    assert!(keys.offer(b"e").is_none(), "more than two that are no locks take places");
    keys.set_aside(a, Aside::No);
    keys.forget(d);
    assert!(keys.offer(b"e").is_some(), "c takes no place any more, and a has its own");
    assert!(keys.offer(b"f").is_none(), "two locks and two that are none");
    let full = keys.full.take();
    assert!(full.is_empty(), "not before the round is over: {full:?}");
    keys.cycle_done(true);
    let full: Vec<_> = keys.full.take().into_iter().map(|f| (f.pattern, f.max_locks)).collect();
    assert_eq!(full, [("*".into(), 2)]);
    keys.offer(b"g");
    keys.cycle_done(true);
    assert!(keys.full.take().is_empty(), "it was said");
}

#[test]
fn a_refused_key_that_no_scan_meets_any_more_has_gone() {
    let mut keys = keys(&[many("{0}", "*", None, 9)]);
    let [a, b, c] = [b"a", b"b", b"c"].map(|key| watched(keys.offer(key)).key);
    keys.set_aside(a, Aside::Refused);
    keys.set_aside(b, Aside::Refused);
    keys.set_aside(c, Aside::Ownerless);
    keys.cycle_done(true);
    let mut forgotten = Vec::new();
    for _ in 0..4 {
        keys.offer(b"b");
        for told in keys.cycle_done(true) {
            let Observation::KeyForgotten { key, .. } = told else { panic!("{told:?}") };
            forgotten.push(key);
        }
    }
    assert_eq!(forgotten, [a]);
    assert!(keys.offer(b"a").is_some(), "it is back");
}

#[test]
fn each_lock_is_watched_by_one_share_and_missed_by_none() {
    let entries =
        [many("job:{id}", "job:*", Some("^job:(?P<id>.+)$"), 100), one("orders", "lock:orders")];
    let mut watched = Vec::new();
    for index in 0..3 {
        let share = Share::new("main".into(), Shard::new(index, 3).unwrap());
        let (mut keys, told) = Keys::new(StoreId(0), share, &entries, 3);
        watched.extend(told.iter().filter_map(name_of));
        let before = watched.len();
        let offered = (0..90).filter_map(|n| keys.offer(format!("job:{n}").as_bytes()));
        watched.extend(offered.filter_map(|o| name_of(&o)));
        assert!(keys.offer(b"lock:orders").is_none());
        assert!(watched.len() > before + 15, "{index}");
        // What another one watches is not missed.
        assert!(keys.cycle_done(true).is_empty());
    }
    watched.sort();
    let mut expected: Vec<String> = (0..90).map(|n| format!("job:{n}")).collect();
    expected.push("orders".into());
    expected.sort();
    assert_eq!(watched, expected);
}

fn name_of(told: &Observation) -> Option<String> {
    match told {
        Observation::KeyWatched(w) => Some(w.lock.to_string()),
        _ => None,
    }
}
