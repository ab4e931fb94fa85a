//! redlock for Node, redis-semaphore, BullMQ.

use super::*;
use crate::observe::lock::{CompanionPart, Endless, Mode, Sharing, Tells};

#[test]
fn hexadecimal_is_node_redlock_or_a_digest() {
    let token = "9f86d081884c7d659a2feaa0c55ad015";
    let d = string("job", token, &auto());
    assert_eq!((d.format, d.tokens), ("string", TokenKind::Reusable));
    assert_eq!(d.also_fits, ["node-redlock"]);
    let d = string("job", token, &declared("node-redlock"));
    assert_eq!((d.format, d.tokens, d.holders.len()), ("node-redlock", TokenKind::PerAcquire, 1));
    for other in ["9f86d081884c7d659a2feaa0c55ad01", "9F86D081884C7D659A2FEAA0C55AD015", "w1"] {
        assert!(string("job", other, &declared("node-redlock")).holders.is_empty(), "{other}");
    }
}

#[test]
fn a_redis_semaphore_mutex_may_name_its_worker() {
    let d = string("mutex:job", UUID, &auto());
    assert_eq!((d.format, d.tokens), ("redis-semaphore", TokenKind::Reusable));
    // Many write a bare UUID, and a prefix identifies nobody.
    assert_eq!(d.also_fits, ["redlock", "spring-integration"]);
    assert_eq!((d.default_lease, d.always_renews, who(&d)), (None, None, (None, None, None)));
    let d = string("mutex:job", format!("{UUID}-web-1"), &auto());
    assert_eq!((d.format, who(&d).0), ("redis-semaphore", Some("web-1")));
    assert_eq!((d.default_lease, d.also_fits.len()), (Some(Duration::from_secs(10)), 0));
    let d = string("job", UUID, &declared("redis-semaphore"));
    assert_eq!((d.default_lease, d.also_fits.len()), (Some(Duration::from_secs(10)), 0));
    assert_eq!(named("mutex:job", "worker"), "string");
    assert_eq!(named("job", format!("{UUID}-web-1")), "string");
}

#[test]
fn a_redis_semaphores_permits_say_when_they_were_refreshed() {
    let (a, b) = (format!("{UUID}-web-1_0"), format!("{OTHER}_1"));
    let members = [(a.as_bytes(), 1_795_969_586_000.0), (b.as_bytes(), 1_795_969_580_000.0)];
    let d = zset("semaphore:s", &members, &auto());
    assert_eq!((d.format, d.sharing), ("redis-semaphore-permits", Sharing::Permits(None)));
    assert_eq!((d.endless, d.holders[0].mode), (Endless::Carried, Mode::Permit));
    assert_eq!(tokens(&d), [a.clone(), b.clone()]);
    let refreshed: Vec<_> = d.holders.iter().map(|h| h.refreshed_ms).collect();
    assert_eq!(refreshed, [Some(1_795_969_586_000), Some(1_795_969_580_000)]);
    assert!(d.holders.iter().all(|h| h.until.is_none()), "how long it holds is not in the value");
    assert_eq!(d.holders[0].owner.worker.as_deref(), Some("web-1"));
    assert_eq!(zset("waiting:s", &members, &auto()).format, "unknown");
    assert!(zset("semaphore:s", &[(b"w1", 1.0)], &auto()).holders.is_empty());
}

#[test]
fn a_bullmq_job_lock_has_its_worker_and_the_stalled_beside_it() {
    let token = format!("{UUID}:3");
    let d = string("bull:paint:17:lock", &token, &auto());
    assert_eq!((d.format, d.tokens), ("bullmq", TokenKind::PerAcquire));
    assert_eq!((d.default_lease, d.always_renews), (Some(Duration::from_secs(30)), Some(0.5)));
    assert_eq!(beside(&d), ["bull:paint:17", "bull:paint:stalled"]);
    let told: Vec<_> = d.companions.iter().map(|c| (c.part.clone(), c.tells)).collect();
    let expected = [
        (CompanionPart::Field(b"pb"[..].into()), Tells::Worker),
        (CompanionPart::Contains(b"17"[..].into()), Tells::Stalled),
    ];
    assert_eq!(told, expected);
    for (key, job, queue) in [
        ("{bull}:paint:17:lock", "{bull}:paint:17", "{bull}:paint:stalled"),
        ("bull:q:repeat:ab12:1795:lock", "bull:q:repeat:ab12:1795", "bull:q:stalled"),
        ("bull:repeat:7:lock", "bull:repeat:7", "bull:repeat:stalled"),
        ("app:bull:q:7:lock", "app:bull:q:7", "app:bull:q:stalled"),
    ] {
        assert_eq!(beside(&string(key, &token, &auto())), [job, queue], "{key}");
    }
    for key in ["job", "job:lock", ":lock", "bull:paint:17"] {
        assert_eq!(named(key, &token), "string", "{key}");
    }
    assert_eq!(named("bull:paint:17:lock", "worker"), "string");
}

#[test]
fn the_other_keys_of_a_queue_are_no_locks() {
    for key in ["bull:paint:active", "bull:paint:stalled", "bull:paint:meta", "{bull}:q:wait"] {
        assert!(is_companion(key.as_bytes()), "{key}");
    }
    for key in ["bull:paint:17:lock", "bull:active", "bulls:paint:active", "bull:paint:mine"] {
        assert!(!is_companion(key.as_bytes()), "{key}");
    }
}
