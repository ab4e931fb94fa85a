//! Sorted sets: Symfony, Medallion's and Redisson's semaphores.

use super::*;
use crate::observe::ServerTime;
use crate::observe::lock::{Endless, Mode, Shape, Sharing};

const END: f64 = 1_795_969_586_629.0;

#[test]
fn symfony_writes_with_a_mark() {
    let token = BASE64_32.as_bytes();
    let d = zset("job", &[(b"__write__", END), (token, END)], &auto());
    assert_eq!((d.format, d.shape, d.sharing), ("symfony", Shape::Zset, Sharing::ReadWrite));
    assert_eq!((d.endless, d.tokens), (Endless::Carried, TokenKind::Reusable));
    assert_eq!(d.default_lease, Some(Duration::from_secs(300)));
    assert_eq!((tokens(&d), d.holders[0].mode), (vec![BASE64_32.to_owned()], Mode::Write));
    assert_eq!(d.holders[0].until, Some(ServerTime::from_ms(1_795_969_586_629)));
    let other = BASE64_32.replace('q', "r");
    let d = zset("job", &[(token, END), (other.as_bytes(), END - 1000.5)], &auto());
    assert_eq!((d.format, d.holders.len(), d.holders[0].mode), ("symfony", 2, Mode::Read));
    assert_eq!(d.holders[1].until, Some(ServerTime(1_795_969_585_628_500)));
    for members in [
        &[(&b"__write__"[..], END)][..],
        &[(token, END), (b"x", END), (b"y", END)],
        &[(BASE64_18.as_bytes(), END)],
        &[],
    ] {
        let d = zset("job", members, &auto());
        assert_eq!((d.format, d.shape, d.holders.len()), ("unknown", Shape::Zset, 0));
        assert_eq!(zset("job", members, &declared("symfony")).holders.len(), 0);
    }
    assert!(is_companion(b"symfony_check_support_time"));
}

#[test]
fn medallions_permits_end_one_by_one() {
    let token = b"h1_4711_9f86d081884c7d659a2feaa0c55ad015";
    let d = zset("sem", &[(token, END)], &auto());
    assert_eq!((d.format, d.sharing), ("medallion-semaphore", Sharing::Permits(None)));
    assert_eq!((d.tokens, d.always_renews), (TokenKind::PerAcquire, Some(0.3)));
    assert_eq!((d.holders[0].mode, who(&d)), (Mode::Permit, (Some("h1"), Some("h1"), Some(4711))));
    assert_eq!(d.holders[0].until, Some(ServerTime::from_ms(1_795_969_586_629)));
}

#[test]
fn redissons_permits_are_raw_bytes() {
    let members: [(&[u8], f64); 2] =
        [(b"\xff123456789abcdef", END), (b"\x00123456789abcdef", 922_337_203_685_477.0)];
    let d = zset("{sem}:timeout", &members, &auto());
    assert_eq!((d.format, d.sharing), ("redisson-semaphore", Sharing::Permits(None)));
    assert_eq!((d.tokens, d.endless), (TokenKind::PerAcquire, Endless::Carried));
    let until: Vec<_> = d.holders.iter().map(|h| h.until).collect();
    assert_eq!(until, [None, Some(ServerTime::from_ms(1_795_969_586_629))], "the first one never");
    assert_eq!(zset("{sem}:other", &members, &auto()).format, "unknown");
    assert_eq!(zset("{sem}:timeout", &[(b"short", END)], &auto()).format, "unknown");
}

#[test]
fn scores_of_any_kind() {
    let token = BASE64_32.as_bytes();
    for (score, until) in [
        (f64::INFINITY, None),
        (f64::NAN, None),
        (f64::NEG_INFINITY, Some(ServerTime(i64::MIN))),
        (-1.0, Some(ServerTime(-1000))),
    ] {
        assert_eq!(zset("job", &[(token, score)], &auto()).holders[0].until, until, "{score}");
    }
}

#[test]
fn a_stranger_among_the_members_costs_only_itself() {
    let uuid = b"0b9a7d1e-6c1f-4b7e-9a31-5f2d8c3b1a90";
    let d = zset("semaphore:render", &[(uuid, END), (b"weird", END)], &auto());
    assert_eq!((d.format, d.strangers, d.misfit), ("redis-semaphore-permits", 1, false));
    assert_eq!(tokens(&d), [String::from_utf8_lossy(uuid)]);
    let declared = declared("redis-semaphore-permits");
    let d = zset("any", &[(uuid, END), (b"weird", END)], &declared);
    assert_eq!((d.holders.len(), d.strangers, d.misfit), (1, 1, true));
    let d = zset("semaphore:render", &[(uuid, END), (b"w1", END), (b"w2", END)], &auto());
    assert_eq!((d.format, d.strangers), ("unknown", 0), "most of it is something else");

    // A mark is no holder and no stranger.
    let token = BASE64_32.as_bytes();
    let d = zset("job", &[(b"__write__", END), (token, END), (b"weird", END)], &auto());
    assert_eq!((d.format, d.strangers, d.holders[0].mode), ("symfony", 1, Mode::Write));
    let d = zset("job", &[(token, END), (b"x", END)], &auto());
    assert_eq!((d.format, d.strangers, d.holders.len()), ("symfony", 1, 1));
}
