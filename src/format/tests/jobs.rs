//! Laravel, sidekiq-unique-jobs, Sidekiq Enterprise.

use super::*;
use crate::observe::lock::{Endless, Shape, Sharing};

const OWNER: &str = "x7Kq2LmZ9aBcD4eF";
const JOB: &str = "0a1b2c3d4e5f60718293a4b5";
const DIGEST: &str = "da39a3ee5e6b4b0d3255bfef95601890afd80709";

#[test]
fn laravel_is_known_by_its_keys() {
    let d = string("app-database-app-cache-laravel-queue-overlap:App\\Jobs\\A:7", OWNER, &auto());
    assert_eq!((d.format, d.endless, d.ends_by_expiry), ("laravel-overlap", Endless::Usual, false));
    let d = string("x-cache-laravel_unique_job:App\\Jobs\\A:7", OWNER, &auto());
    assert_eq!((d.format, d.endless, d.ends_by_expiry), ("laravel-unique", Endless::Usual, true));
    let d = string(&format!("x-cache-framework/schedule-{DIGEST}"), OWNER, &auto());
    assert_eq!((d.format, d.ends_by_expiry), ("laravel-schedule", true));
    assert_eq!(
        (d.endless, d.default_lease),
        (Endless::Abnormal, Some(Duration::from_secs(86_400)))
    );
    for key in ["app-database-app-cache-foo", "app_database_app_cache_:foo", "l_cache:foo"] {
        let d = string(key, OWNER, &auto());
        assert_eq!(
            (d.format, d.tokens, d.endless),
            ("laravel", TokenKind::Reusable, Endless::Abnormal)
        );
    }
    assert_eq!(named("foo", OWNER), "string");
    assert_eq!(named("app-cache-foo", "sixteenlettersss"), "string");
    assert_eq!(named("app-cache-foo", "a cached page"), "string");
}

#[test]
fn php_may_wrap_the_owner() {
    let key = "laravel_unique_job:App\\Jobs\\A:7";
    let d = string(key, format!("s:16:\"{OWNER}\";"), &auto());
    assert_eq!((d.format, d.shape, d.holders.len()), ("laravel-unique", Shape::Text, 1));
    let d = string(key, b"\x28\xb5\x2f\xfd\x04\x00\x81", &auto());
    assert_eq!((d.format, d.shape, d.holders.len()), ("laravel-unique", Shape::Binary, 1));
    for other in ["1", "", "{}"] {
        assert!(string(key, other, &auto()).holders.is_empty(), "{other}");
    }
}

#[test]
fn sidekiq_unique_jobs_8_has_times_and_9_has_documents() {
    let key = "uniquejobs:d41d8cd98f00b204e9800998ecf8427e:LOCKED";
    let d = hash(key, &[(JOB, "1795958041.09")], &auto());
    assert_eq!((d.format, d.shape), ("sidekiq-unique-jobs", Shape::OwnerHash));
    assert_eq!(
        (d.endless, d.ends_by_expiry, d.sharing),
        (Endless::Usual, false, Sharing::Exclusive)
    );
    assert_eq!((d.tokens, d.holders[0].taken_at), (TokenKind::Reusable, Some(1_795_958_041.09)));
    let document = r#"{"worker":"W","queue":"default","limit":2,"time":1795958041.5,"at":null}"#;
    let d = hash(key, &[(JOB, document)], &auto());
    assert_eq!((d.format, d.sharing), ("sidekiq-unique-jobs", Sharing::Permits(Some(2))));
    assert_eq!(d.holders[0].taken_at, Some(1_795_958_041.5));
    let second = JOB.replace('0', "1");
    let d =
        hash(&key.replace(":LOCKED", ":RUN:LOCKED"), &[(JOB, "1.5"), (&second, "2.5")], &auto());
    assert_eq!((d.holders.len(), d.sharing), (2, Sharing::Permits(None)));
    for (key, fields) in [
        ("jobs", [(JOB, "1795958041.09")]),
        (key, [("0a1b2c3d4e5f", "1795969586.6")]),
        (key, [(JOB, "yesterday")]),
        (key, [(JOB, "{")]),
    ] {
        let d = hash(key, &fields, &auto());
        assert_eq!((d.format, d.holders.len()), ("unknown", 0), "{fields:?}");
    }
}

#[test]
fn what_sidekiq_unique_jobs_keeps_beside_is_no_lock() {
    for key in [
        "uniquejobs:1:QUEUED",
        "uniquejobs:digests",
        "uniquejobs:1",
        "uniquejobs:1:INFO",
        "app:uniquejobs:1",
        "app:uniquejobs:1:RUN",
        "app:uniquejobs:1:QUEUED",
    ] {
        assert!(is_companion(key.as_bytes()), "{key}");
    }
    assert!(!is_companion(b"uniquejobs:1:LOCKED") && !is_companion(b"uniquejobs:1:RUN:LOCKED"));
    assert!(!is_companion(b"app:uniquejobs:1:LOCKED") && !is_companion(b"myuniquejobs:1"));
}

#[test]
fn sidekiq_enterprise() {
    let d = string(&format!("unique:{DIGEST}"), JOB, &auto());
    assert_eq!(
        (d.format, d.ends_by_expiry, tokens(&d)),
        ("sidekiq-enterprise", true, vec![JOB.to_owned()])
    );
    assert_eq!(named("unique:x", JOB), "string");
    assert!(string(&format!("unique:{DIGEST}"), "1".repeat(24), &auto()).holders.is_empty());
}
