//! Redisson's hashes.

use super::*;
use crate::observe::ServerTime;
use crate::observe::lock::{Companion, CompanionPart, Endless, Mode, Shape, Sharing, Tells};

#[test]
fn redisson_owners_and_their_counts() {
    let id = format!("{OTHER}:47");
    let d = hash("myLock", &[(&id, "2")], &auto());
    assert_eq!((d.shape, d.format, d.tokens), (Shape::OwnerHash, "redisson", TokenKind::Reusable));
    assert_eq!((d.default_lease, d.always_renews), (Some(Duration::from_secs(30)), None));
    assert_eq!((d.holders.len(), d.holders[0].count, d.sharing), (1, 2, Sharing::Exclusive));
    assert_eq!(d.holders[0].owner.thread.as_deref(), Some("47"));
    let transaction = format!("{id}:9f86d081884c7d659a2feaa0c55ad015");
    assert_eq!(hash("myLock", &[(&transaction, "1")], &auto()).format, "redisson");
    for other in [
        &[(id.as_str(), "2"), ("owner", "x")][..],
        &[(&id, "x")],
        &[(&id, "0")],
        &[(&id, "-1")],
        &[("a:1", "1")],
        &[(&format!("{id}:x"), "1")],
        &[],
    ] {
        let d = hash("myLock", other, &auto());
        assert_eq!((d.shape, d.format, d.holders.len()), (Shape::Hash, "unknown", 0), "{other:?}");
        assert_eq!(hash("myLock", other, &declared("redisson")).holders.len(), 0);
    }
}

#[test]
fn fair_and_fenced_locks_are_told_by_what_is_beside_them() {
    let id = format!("{OTHER}:47");
    let d = hash("fair", &[(&id, "1")], &auto());
    assert_eq!(beside(&d), ["redisson_lock_token:{fair}", "redisson_lock_timeout:{fair}"]);
    let told: Vec<_> = d.companions.iter().map(|c| (c.part.clone(), c.tells)).collect();
    let expected =
        [(CompanionPart::Text, Tells::FencingToken), (CompanionPart::CountAhead, Tells::Waiters)];
    assert_eq!(told, expected);
    let d = hash("{a}:b", &[(&id, "1")], &auto());
    assert_eq!(beside(&d), ["redisson_lock_token:{a}:b", "redisson_lock_timeout:{a}:b"]);
    for key in [
        "redisson_lock_queue:{fair}",
        "redisson_lock_timeout:{fair}",
        "redisson_lock_token:{fair}",
        "redisson_unlock_latch:{fair}:9f86d081884c7d659a2feaa0c55ad015",
        "{rw}:fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162:1:rwlock_timeout:1",
    ] {
        assert!(is_companion(key.as_bytes()), "{key}");
    }
    for key in ["redisson_lock", "redisson", "rwlock_timeout:1", "a:rwlock_timeout:x", "fair"] {
        assert!(!is_companion(key.as_bytes()), "{key}");
    }
}

#[test]
fn readers_hold_until_their_own_keys_end() {
    let (a, b) = (format!("{OTHER}:1"), format!("{UUID}:2"));
    let d = hash("rw", &[("mode", "read"), (&a, "1"), (&b, "2")], &auto());
    assert_eq!(
        (d.format, d.shape, d.sharing),
        ("redisson-rwlock", Shape::OwnerHash, Sharing::ReadWrite)
    );
    assert_eq!(tokens(&d), [b.clone(), a.clone()]);
    assert!(d.holders.iter().all(|h| h.mode == Mode::Read));
    let key = |who: &str, n: u64| format!("{{rw}}:{who}:rwlock_timeout:{n}");
    assert_eq!(beside(&d), [key(&b, 2), key(&a, 1), key(&b, 1)]);
    let told: Vec<_> = d.companions.iter().map(|c| (c.part.clone(), c.tells)).collect();
    assert_eq!(told[1], (CompanionPart::Expiry, Tells::HolderExpiry(1)));
    let tagged = hash("{x}rw", &[("mode", "read"), (&a, "1")], &auto());
    assert_eq!(beside(&tagged), [format!("{{x}}rw:{a}:rwlock_timeout:1")]);
}

#[test]
fn a_stranger_among_readers_costs_only_itself() {
    let (a, b) = (format!("{OTHER}:1"), format!("{UUID}:2"));
    let d = hash("rw", &[("mode", "read"), (&a, "1"), (&b, "2"), ("weird", "1")], &auto());
    assert_eq!((d.format, d.strangers, d.holders.len()), ("redisson-rwlock", 1, 2));
    assert_eq!(beside(&d).len(), 3, "of each hold of the two");
    let exclusive = hash("l", &[(&a, "1"), ("weird", "1")], &auto());
    assert_eq!((exclusive.strangers, exclusive.holders.len()), (0, 0), "only one may hold it");
}

#[test]
fn a_writer_that_reads_is_one_holder() {
    let (me, write) = (format!("{OTHER}:47"), format!("{OTHER}:47:write"));
    let d = hash("rw", &[("mode", "write"), (&me, "1"), (&write, "2")], &auto());
    assert_eq!(
        (tokens(&d), d.holders[0].mode, d.holders[0].count),
        (vec![me.clone()], Mode::Write, 2)
    );
    assert!(d.companions.is_empty());
    let reads = hash("rw", &[("mode", "read"), (&me, "1")], &auto());
    assert_eq!(reads.holders[0].owner.token, d.holders[0].owner.token, "and stays the same owner");
    let foreign = format!("{UUID}:2");
    let d = hash("rw", &[("mode", "write"), (&write, "1"), (&foreign, "1")], &auto());
    assert_eq!(d.holders.iter().map(|h| h.mode).collect::<Vec<_>>(), [Mode::Read, Mode::Write]);
    for other in
        [&[("mode", "read")][..], &[("mode", "x"), (&me, "1")], &[("mode", "read"), ("a", "1")]]
    {
        assert_eq!(hash("rw", other, &auto()).format, "unknown", "{other:?}");
    }
}

#[test]
fn of_many_readers_and_many_holds_a_bounded_number_is_read() {
    let readers = |count: usize, holds: &str| {
        let fields: Vec<_> = (0..count).map(|i| format!("{OTHER}:{i}")).collect();
        let mut all: Vec<(&str, &str)> = fields.iter().map(|f| (f.as_str(), holds)).collect();
        all.push(("mode", "read"));
        hash("rw", &all, &auto())
    };
    let of = |d: &Decoded, i: u16| {
        let own = d.companions.iter().filter(|c| c.tells == Tells::HolderExpiry(i));
        let number =
            |c: &Companion| String::from_utf8_lossy(&c.key).rsplit(':').next().map(str::to_owned);
        own.filter_map(number).collect::<Vec<_>>()
    };
    let d = readers(60, "1");
    assert_eq!((d.holders.len(), d.companions.len()), (60, 60));
    let d = readers(100, "1");
    assert_eq!((d.holders.len(), d.companions.len()), (100, 64));
    let d = readers(1, "20");
    assert_eq!(of(&d, 0), ["20", "1", "2", "3", "4", "5", "6", "7", "8"]);
    let d = readers(64, "18446744073709551615");
    assert_eq!((d.companions.len(), of(&d, 63).len()), (MAX_COMPANIONS, 2), "each has its turn");
}

#[test]
fn a_multi_lock_is_a_group_of_values() {
    let (a, b) = (format!("{OTHER}:1"), format!("{UUID}:2"));
    let fields = [
        ("v1".to_owned(), a.clone()),
        (format!("v1:{a}:expire_time"), "1795969586629".to_owned()),
        (format!("v1:{a}:lock_count"), "2".to_owned()),
        ("v2".to_owned(), b.clone()),
        (format!("v2:{b}:expire_time"), "1795969580000".to_owned()),
        ("v3".to_owned(), a.clone()),
        (format!("v3:{a}:expire_time"), "1795969590000".to_owned()),
    ];
    let all: Vec<(&str, &str)> = fields.iter().map(|(f, v)| (f.as_str(), v.as_str())).collect();
    let d = hash("multi", &all, &auto());
    assert_eq!(
        (d.format, d.sharing, d.endless),
        ("redisson-multilock", Sharing::Permits(None), Endless::Carried)
    );
    assert_eq!(tokens(&d), [b, a]);
    assert_eq!(
        (d.holders[1].count, d.holders[1].until),
        (2, Some(ServerTime::from_ms(1_795_969_590_000)))
    );
    assert_eq!(hash("multi", &all[..1], &auto()).format, "unknown", "without its expiry");
    assert_eq!(hash("multi", &all[1..], &auto()).format, "unknown", "an expiry of nobody");
    // One value for ever makes it for ever, wherever it stands; what is no time makes it nobody's.
    for (of, text) in [(1, "922337203685477000"), (6, "inf"), (6, "1e300")] {
        let mut odd = all.clone();
        odd[of].1 = text;
        assert_eq!(hash("multi", &odd, &auto()).holders[1].until, None, "{text}");
    }
    let mut odd = all.clone();
    odd[1].1 = "nan";
    assert_eq!(hash("multi", &odd, &auto()).format, "unknown");
}
