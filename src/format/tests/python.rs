//! redis-py and what is made with it, python-redis-lock, pottery, aioredlock.

use super::*;
use crate::observe::lock::Endless;

/// Made by redis-py on a host whose address is 02:fc:00:00:00:01.
const UUID1: &str = "86bb5074ebf111f1930402fc00000001";

#[test]
fn a_redis_py_token_has_its_time_and_its_host_inside() {
    let d = string("job", UUID1, &auto());
    assert_eq!((d.format, d.tokens), ("redis-py", TokenKind::PerAcquire));
    assert_eq!(who(&d), (None, Some("02:fc:00:00:00:01"), None));
    let taken_at = d.holders[0].taken_at.unwrap();
    assert!((taken_at - 1_795_955_800.526).abs() < 0.001, "{taken_at}");
    assert_eq!((d.default_lease, d.always_renews, d.endless), (None, None, Endless::Abnormal));
    assert_eq!(d.also_fits, ["node-redlock"]);
    assert_eq!(named(":1:job", UUID1), "redis-py", "django-redis");
}

/// node-redlock draws 32 hexadecimal digits at random, and 1 in 64 of them look like a UUID of version 1.
#[test]
fn a_time_at_which_no_lock_of_now_was_taken_is_a_random_number() {
    let at = |now_s: i64| {
        let raw = Raw::String { bytes: UUID1.as_bytes(), full_len: UUID1.len() };
        decode(b"job", raw, &auto(), ServerTime(now_s * 1_000_000))
    };
    let made = 1_795_955_801;
    for now in [made - 60, made, made + 399 * 86_400] {
        assert_eq!((at(now).format, at(now).tokens), ("redis-py", TokenKind::PerAcquire), "{now}");
    }
    for now in [0, made - 15 * 31_556_952, made - 62, made + 401 * 86_400, made * 2] {
        let d = at(now);
        assert_eq!((d.format, d.tokens), ("string", TokenKind::Reusable), "{now}");
        assert_eq!(d.also_fits, ["redis-py", "node-redlock"]);
        assert_eq!((who(&d), d.holders[0].taken_at), ((None, None, None), None));
    }
}

#[test]
fn a_node_that_was_drawn_at_random_is_no_host() {
    let d = string("job", "86bb5074ebf111f1930403fc00000001", &auto());
    assert_eq!((d.format, who(&d)), ("redis-py", (None, None, None)));
}

#[test]
fn a_uuid1_of_no_time_at_which_locks_are_taken_is_none() {
    for token in [
        // 1582, 2009, 2076; random hexadecimal; version 4; another variant; upper case.
        "0000000000001000a00000000000000f",
        "000000008d6811dea93002fc00000001",
        "0000000000001220a93002fc00000001",
        "9f86d081884c7d659a2feaa0c55ad015",
        "86bb5074ebf141f1930402fc00000001",
        "86bb5074ebf111f1d30402fc00000001",
        "86BB5074EBF111F1930402FC00000001",
    ] {
        let d = string("job", token, &auto());
        assert_eq!((d.format, d.tokens), ("string", TokenKind::Reusable), "{token}");
        assert_eq!(d.holders[0].taken_at, None);
    }
    let d = string("job", "0000000000001000a00000000000000f", &declared("redis-py"));
    assert_eq!((d.holders.len(), d.holders[0].taken_at), (1, None));
    assert!(string("job", "worker-7", &declared("redis-py")).holders.is_empty());
}

#[test]
fn redbeat_is_known_by_its_key() {
    let d = string("redbeat::lock", UUID1, &auto());
    assert_eq!((d.format, d.tokens), ("redbeat", TokenKind::PerAcquire));
    assert_eq!(d.default_lease, Some(Duration::from_secs(1500)));
    assert!(d.also_fits.is_empty() && d.holders[0].taken_at.is_some());
    assert_eq!(named("redbeat::lock", "worker-7"), "string");
    assert!(is_companion(b"redbeat::schedule") && is_companion(b"redbeat::statics"));
    assert!(!is_companion(b"redbeat::lock"));
}

/// The token is made with the Lock object, so it comes back when the object is used again.
#[test]
fn python_redis_lock_needs_its_key() {
    let d = string("lock:job", BASE64_18, &auto());
    assert_eq!((d.format, d.tokens), ("python-redis-lock", TokenKind::Reusable));
    assert!(d.also_fits.is_empty(), "but `string`, which every string fits");
    assert_eq!(named("app:lock:job", BASE64_18), "python-redis-lock", "a client's own prefix");
    assert_eq!(named("job", BASE64_18), "string");
    assert_eq!(named("lock:job", "507f1f77bcf86cd799439011"), "string", "another library's id");
    assert_eq!(named("lock:job", "ordersWorkerInstance0001"), "string");
    assert_eq!(string("lock:job", "me", &declared("python-redis-lock")).holders.len(), 1, "id=");
    assert!(string("lock:job", "17", &declared("python-redis-lock")).holders.is_empty());
    assert!(is_companion(b"lock-signal:job") && !is_companion(b"lock:job"));
}

#[test]
fn a_bare_uuid_may_be_anybodys() {
    let d = string("job", UUID, &auto());
    assert_eq!((d.format, d.tokens), ("string", TokenKind::Reusable));
    assert_eq!(d.also_fits, ["redlock"]);
    let d = string("job:1", UUID, &auto());
    assert_eq!((d.format, d.also_fits), ("string", vec!["redlock", "spring-integration"]));
    let d = string("job", UUID, &declared("redlock"));
    assert_eq!((d.format, d.tokens), ("redlock", TokenKind::PerAcquire));
    assert!(string("job", UUID.to_uppercase(), &declared("redlock")).holders.is_empty());
}

/// pottery, RedLock.net and a Rust crate: what only one of them does is not taken for granted.
#[test]
fn three_libraries_write_the_same_under_redlock() {
    let d = string("redlock:job", UUID, &auto());
    assert_eq!((d.format, d.tokens), ("redlock", TokenKind::Reusable));
    assert_eq!(d.also_fits, ["redlock-net", "redis-lock-rs", "spring-integration"]);
    assert_eq!((d.default_lease, d.always_renews, d.holders.len()), (None, None, 1));
    let d = string("redlock:job", UUID, &declared("redlock-net"));
    assert_eq!((d.tokens, d.always_renews), (TokenKind::PerAcquire, Some(0.5)));
    let d = string("redlock:job", UUID, &declared("redis-lock-rs"));
    assert_eq!(d.default_lease, Some(Duration::from_millis(10)));
}
