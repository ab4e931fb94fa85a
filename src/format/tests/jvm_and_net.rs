//! Spring Integration, ShedLock, Quartz, jedis-lock; Medallion's strings.

use super::*;
use crate::observe::ServerTime;
use crate::observe::lock::{Endless, Mode, Shape};

#[test]
fn spring_has_to_be_declared() {
    let d = string("registry:job", UUID, &declared("spring-integration"));
    assert_eq!(
        (d.format, d.tokens, d.holders.len()),
        ("spring-integration", TokenKind::Reusable, 1)
    );
    assert_eq!((d.default_lease, d.always_renews), (Some(Duration::from_secs(60)), None));
    assert!(string("registry:job", "w1", &declared("spring-integration")).holders.is_empty());
}

#[test]
fn shedlock_says_when_and_where() {
    let value = format!("ADDED:2026-11-29T13:14:01.090Z@web-1.example:{UUID}");
    let d = string("job-lock:default:report", &value, &auto());
    assert_eq!((d.format, d.tokens), ("shedlock", TokenKind::PerAcquire));
    assert!(d.ends_by_expiry && d.also_fits.is_empty());
    assert_eq!(who(&d), (Some("web-1.example"), Some("web-1.example"), None));
    assert_eq!(d.holders[0].taken_at, Some(1_795_958_041.09));
    let before_2025 = "ADDED:2024-02-29T23:59:60.000Z@web-1";
    let d = string("locks/report", before_2025, &auto());
    assert_eq!((d.format, who(&d).1), ("shedlock", Some("web-1")));
    assert_eq!(d.holders[0].taken_at, Some(1_709_251_200.0), "the leap second is the next day");
    for other in [
        "ADDED:2026-11-29T13:14:01.090Z",
        "ADDED:2026-13-29T13:14:01.090Z@h",
        "ADDED:2026-11-29T13:14:01Z@h:0123456",
        "ADDED:2026-11-29T13:14:01.090Z@a:b:c",
        "REMOVED:2026-11-29T13:14:01.090Z@h",
    ] {
        assert_eq!(named("job-lock:default:report", other), "string", "{other}");
    }
}

#[test]
fn quartz_locks_its_scheduler_and_its_triggers() {
    let d = string("lock", UUID, &auto());
    assert_eq!((d.format, d.also_fits), ("string", vec!["redlock", "quartz"]));
    let d = string("quartz:trigger_lock:group:name", "host1-1795958041090", &auto());
    assert_eq!((d.format, d.tokens), ("quartz", TokenKind::Reusable));
    assert_eq!(d.also_fits, ["string"]);
    assert_eq!(d.default_lease, Some(Duration::from_secs(600)));
    assert_eq!(who(&d).0, Some("host1-1795958041090"));
    assert!(string("trigger_lock:g:n", "1795958041090", &auto()).holders.is_empty());
    // What is no instance id may be a token, and under such a key of anybody's own it is never a name.
    for (key, token) in [
        ("trigger_lock:g:n", "SuperSecretToken-1"),
        ("app:trigger_lock:g:n", UUID),
        ("trigger_lock:g:n", "86bb5074ebf111f1930402fc00000001"),
        ("trigger_lock:g:n", "a9f86d081884c7d659a1795958041090"),
        ("trigger_lock:g:n", "x7Kq2LmZ9aBcD4eF1795958041090"),
        ("trigger_lock:nightly", "host11795958041090"),
        ("my_trigger_lock:g:n", "host11795958041090"),
    ] {
        let d = string(key, token, &auto());
        assert_ne!(d.format, "quartz", "{key} {token}");
        assert_eq!((who(&d).0, d.default_lease), (None, None), "{key} {token}");
        let d = string(key, token, &declared("quartz"));
        assert!(d.holders.iter().all(|h| token.starts_with("host1") || h.owner.worker.is_none()));
    }
    assert!(string("app:trigger_lock:g:n", UUID, &auto()).also_fits.contains(&"redlock"));
    let d = string("trigger_lock:g:n", "scheduler-1", &declared("quartz"));
    assert_eq!((d.default_lease, who(&d).0), (Some(Duration::from_secs(600)), None));
    let d = string("lock", UUID, &declared("quartz"));
    assert_eq!((d.default_lease, d.holders.len()), (Some(Duration::from_secs(30)), 1));
}

#[test]
fn a_time_is_an_end_and_not_an_owner() {
    let end = Some(ServerTime::from_ms(1_795_969_586_629));
    for rules in [auto(), declared("jedis-lock")] {
        let d = string("JobLock", "1795969586629", &rules);
        assert_eq!((d.format, d.shape, d.holders.len()), ("jedis-lock", Shape::Number, 0));
        assert_eq!((d.expiry_inside, d.endless), (end, Endless::Carried));
    }
    let d = string("counter", "1795969586629", &auto());
    assert_eq!((d.format, d.expiry_inside, d.endless), ("string", None, Endless::Abnormal));
    assert_eq!(string("counter", "1795969586629", &declared("jedis-lock")).expiry_inside, end);
    for other in ["1795969586", "17959695866290", "-795969586629", "w1"] {
        let d = string("JobLock", other, &declared("jedis-lock"));
        assert_eq!((d.expiry_inside, d.holders.len()), (None, 0), "{other}");
    }
}

const MEDALLION: &str = "MY_HOST_4711_9f86d081884c7d659a2feaa0c55ad015";

#[test]
fn medallion_names_host_and_process() {
    let d = string("job", MEDALLION, &auto());
    assert_eq!((d.format, d.tokens), ("medallion", TokenKind::PerAcquire));
    assert_eq!((d.default_lease, d.always_renews), (Some(Duration::from_secs(30)), Some(0.3)));
    assert_eq!(who(&d), (Some("MY_HOST"), Some("MY_HOST"), Some(4711)));
    assert_eq!(d.holders[0].mode, Mode::Exclusive);
    assert_eq!(string("job.writer", MEDALLION, &auto()).holders[0].mode, Mode::Write);
    for other in
        ["_4711_9f86d081884c7d659a2feaa0c55ad015", "h_x_9f86d081884c7d659a2feaa0c55ad015", "h_1_9f"]
    {
        assert_eq!(named("job", other), "string", "{other}");
    }
}

#[test]
fn a_host_stands_for_the_worker_unless_something_else_may_name_one() {
    let by = |rules: &LockRules| {
        let d = string("job", MEDALLION, rules);
        assert_eq!(d.holders[0].owner.host.as_deref(), Some("MY_HOST"));
        d.holders[0].owner.worker.as_deref().map(str::to_owned)
    };
    assert_eq!(by(&auto()).as_deref(), Some("MY_HOST"));
    assert_eq!(by(&declared("medallion")).as_deref(), Some("MY_HOST"));
    assert_eq!(by(&pattern("^(?P<worker>MY)_")).as_deref(), Some("MY"));
    assert_eq!(by(&pattern("^(?P<worker>nobody)_")), None, "a pattern that does not fit is asked");
    assert_eq!(by(&LockRules { has_index: true, ..auto() }), None);
    for host in ["localhost", "LocalHost", "localhost.localdomain", "unknown"] {
        let d = string("job", MEDALLION.replace("MY_HOST", host), &auto());
        assert_eq!(who(&d), (None, Some(host), Some(4711)), "any host may be called so");
    }
}

#[test]
fn a_writer_that_waits_holds_nothing() {
    let d = string("job.writer", format!("{MEDALLION}_WRITERWAITING"), &auto());
    assert_eq!((d.format, d.holders.len(), d.waiters), ("medallion", 0, Some(1)));
}

#[test]
fn medallions_readers_are_a_set() {
    let other = MEDALLION.replace("4711", "4712");
    let d = set("job.readers", &[&other, MEDALLION]);
    assert_eq!((d.format, d.holders.len()), ("medallion-readers", 2));
    let host = Some("MY_HOST");
    assert!(d.holders.iter().all(|h| h.mode == Mode::Read && h.owner.worker.as_deref() == host));
    let d = set("job.readers", &[MEDALLION, "someone"]);
    assert_eq!((d.format, d.holders.len(), d.strangers), ("medallion-readers", 1, 1));
    assert_eq!(set("job.readers", &["a", MEDALLION, "someone"]).format, "unknown");
    assert_eq!(set("job.readers", &[]).format, "unknown");
}
