//! Two owners of one lock at once, each in its own way: an overwrite, a late finisher that restores its old token, a resource
//! that accepts an old fencing token, a worker that goes on claiming; and one that comes back after its lease, which is a hint
//! and no proof. All on one server and one exporter: each kind is counted for its own lock, and for no other.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::support::{
    Endpoint, Exporter, Metrics, RedisServer, Reply, Worker, WorkerSetup, wait_until,
};

const SOON: Duration = Duration::from_secs(30);
/// Longer than the test.
const LONG: &str = "600000";
const LOCKS: [&str; 6] = ["wrote", "late", "old", "says", "woke", "calm"];

fn config(server: &RedisServer, db: &Endpoint) -> String {
    let mut yaml = format!(
        "poll_interval: 300ms
stores:
  main:
    url: {}
    username: dlock
    locks:
",
        server.url()
    );
    for name in LOCKS {
        yaml += &format!(
            "      - name: {name}
        key: 'lock:{name}'
        token: per_acquire
        holder: '^(?P<worker>[^:]+):(?P<host>[^:]+):(?P<pid>\\d+):'
"
        );
        if name == "old" {
            yaml += &format!(
                "        fencing: {{ accepted: [{{ name: db, http: {{ url: '{}', json: /last }} }}] }}\n",
                db.url("/state")
            );
        }
    }
    yaml + "workers:
  claiming:
    names: [says-1]
    heartbeat: { redis: { store: main, key: 'hb:{worker}', json: /beat } }
    claim: { redis: { store: main, key: 'hb:{worker}', json: /locks } }
  real:
    match: '.+'
    process: { pid_from_holder: true }
"
}

fn accepted(token: u64) -> Reply {
    Reply::Answer(200, format!("{{\"last\": {token}}}"))
}

/// A worker that takes the lock once it is free and renews it.
fn worker(server: &RedisServer, name: &str, lock: &str) -> Worker {
    let setup = WorkerSetup::new(server, name, &format!("lock:{lock}"));
    setup.lease(3.0, 0.5).beat_every(0.0).start()
}

/// What a worker writes that only claims.
fn claim(server: &RedisServer, beat: u32, claims: bool) {
    let locks = if claims { r#"[{"store": "main", "lock": "says"}]"# } else { "[]" };
    server.cmd(&["SET", "hb:says-1", &format!("{{\"beat\": {beat}, \"locks\": {locks}}}")]);
}

fn is_held_by(m: &Metrics, lock: &str, worker: &str) -> bool {
    m.is("dlock_lock_holder_info", &[("lock", lock), ("worker", worker)], 1.0)
}

/// Holds the lock for as long as two polls need to see it.
fn until_seen(exporter: &mut Exporter, lock: &str, worker: &str) {
    for _ in 0..2 {
        let polls = exporter.metrics().sum("dlock_exporter_polls_total", &[("poller", "redis")]);
        exporter.wait_for("dlock_lock_holder_info dlock_exporter_polls", SOON, |m| {
            is_held_by(m, lock, worker)
                && m.sum("dlock_exporter_polls_total", &[("poller", "redis")]) > polls + 1.0
        });
    }
}

/// The kinds that were counted, by lock.
fn counted(m: &Metrics) -> BTreeMap<String, Vec<(String, f64)>> {
    let mut by_lock = BTreeMap::<_, Vec<_>>::new();
    for s in m.all("dlock_contention_events_total", &[]).iter().filter(|s| s.value > 0.0) {
        let kind = (s.label("kind").to_owned(), s.value);
        by_lock.entry(s.label("lock").to_owned()).or_default().push(kind);
    }
    by_lock
}

fn is_up(m: &Metrics, lock: &str, up: f64) -> bool {
    m.is("dlock_contested", &[("lock", lock)], up)
}

/// The proofs of a lock in the API.
fn proofs(exporter: &Exporter, lock: &str) -> serde_json::Value {
    let answer = exporter.get(&format!("/api/v1/locks/main/{lock}"));
    let all: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
    all["lock"]["contention"].clone()
}

#[test]
fn each_kind_of_proof_rises_in_its_own_story_and_in_no_other() {
    let server = RedisServer::start();
    server.cmd(&["ACL", "SETUSER", "dlock", "&__keyspace@0__:lock:*", "+psubscribe", "%R~hb:*"]);
    server.cmd(&["CONFIG", "SET", "notify-keyspace-events", "Kg$xe"]);
    let db = Endpoint::start(accepted(33));
    let mut exporter = Exporter::start(&config(&server, &db));
    exporter.wait_for("dlock_contention_events_total 0", SOON, |m| {
        m.is("dlock_contention_events_total", &[("lock", "calm"), ("kind", "overwrite")], 0.0)
    });
    // Each lock has a first owner; all of them are workers that renew.
    let _calm = worker(&server, "calm-1", "calm");
    let _wrote = worker(&server, "wrote-1", "wrote");
    let mut late = worker(&server, "late-1", "late");
    let _old = worker(&server, "old-1", "old");
    let woke = worker(&server, "woke-1", "woke");
    let mine = format!("says-1:host:{}:x", std::process::id());
    server.cmd(&["SET", "lock:says", &mine, "PX", LONG]);
    claim(&server, 1, true);
    for (lock, first) in LOCKS.iter().map(|l| (*l, format!("{l}-1"))) {
        until_seen(&mut exporter, lock, &first);
    }
    let m = exporter.metrics();
    for (lock, kind) in [
        ("wrote", "overwrite"),
        ("late", "token_returned"),
        ("old", "fencing"),
        ("says", "claim"),
        ("woke", "resumed"),
    ] {
        let labels = [("lock", lock), ("kind", kind)];
        assert!(m.is("dlock_contention_events_total", &labels, 0.0), "{lock}: it is judged");
    }
    assert!(
        m.all("dlock_contention_events_total", &[("lock", "calm"), ("kind", "fencing")]).is_empty()
    );

    let old_token = server.text(&["GET", "lock:late"]);
    assert!(late.stop().success());
    claim(&server, 2, true);
    server.cmd(&["DEL", "lock:says"]);
    let (_late, _says) = (worker(&server, "late-2", "late"), worker(&server, "says-2", "says"));
    until_seen(&mut exporter, "late", "late-2");
    until_seen(&mut exporter, "says", "says-2");
    // One stands still until its lease is over; on a busy machine that may be seen too late to be called so, and is tried again.
    let ends = |m: &Metrics, evidence: &[(&str, &str)]| {
        m.sum("dlock_lease_ends_total", &[&[("lock", "woke")], evidence].concat())
    };
    loop {
        let before = ends(&exporter.metrics(), &[]);
        woke.pause();
        exporter.wait_for("dlock_lock_held 0 dlock_lease_ends_total", SOON, |m| {
            m.is("dlock_lock_held", &[("lock", "woke")], 0.0) && ends(m, &[]) > before
        });
        if ends(&exporter.metrics(), &[("evidence", "lapsed")]) > 0.0 {
            break;
        }
        woke.resume();
        until_seen(&mut exporter, "woke", "woke-1");
    }
    let _woke = worker(&server, "woke-2", "woke");
    until_seen(&mut exporter, "woke", "woke-2");
    assert_eq!(counted(&exporter.metrics()), BTreeMap::new(), "nothing is proven yet");

    // Somebody does not ask whether it is free.
    server.cmd(&["SET", "lock:wrote", "wrote-9:host:9:y", "PX", LONG]);
    // A late finisher puts everything back as it was.
    let restore = "redis.call('DEL', KEYS[1]) redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])";
    server.cmd(&["EVAL", restore, "1", "lock:late", &old_token, LONG]);
    // It comes back, and tries to go on.
    woke.resume();
    exporter.wait_for("dlock_contention_events_total", SOON, |m| {
        ["wrote", "late", "woke"].iter().all(|lock| counted(m).contains_key(*lock))
    });
    // The resource takes an old token after a newer one.
    for token in [34, 33] {
        db.set(accepted(token));
        exporter.wait_for("dlock_fencing_token_accepted", SOON, |m| {
            m.is("dlock_fencing_token_accepted", &[("lock", "old")], token as f64)
        });
    }
    // And one goes on writing that it holds what another has.
    let mut beat = 2;
    wait_until("what it claims is proven", SOON, || {
        beat += 1;
        claim(&server, beat, true);
        let m = exporter.metrics();
        (is_up(&m, "says", 1.0) && is_up(&m, "old", 1.0)).then_some(())
    });

    let m = exporter.metrics();
    let one = |kind: &str| vec![(kind.to_owned(), 1.0)];
    let expected = [
        ("wrote", one("overwrite")),
        ("late", one("token_returned")),
        ("old", one("fencing")),
        ("says", one("claim")),
        ("woke", one("resumed")),
    ];
    let expected: BTreeMap<_, _> = expected.map(|(lock, kinds)| (lock.to_owned(), kinds)).into();
    assert_eq!(counted(&m), expected);
    for lock in LOCKS {
        let up = f64::from(!["woke", "calm"].contains(&lock));
        assert!(is_up(&m, lock, up), "{lock}");
        let rises = [("lock", lock), ("signal", "contested")];
        assert!(m.is("dlock_signal_rises_total", &rises, up), "{lock}");
    }
    // What each rests on, and no token.
    let of = |lock: &str| proofs(&exporter, lock)[0].clone();
    for (lock, owners) in [
        ("wrote", ["wrote-1", "wrote-9"]),
        ("late", ["late-1", "late-2"]),
        ("says", ["says-1", "says-2"]),
        ("woke", ["woke-1", "woke-2"]),
    ] {
        let proof = of(lock);
        let named = [0, 1].map(|i| proof["owners"][i]["worker"].clone());
        assert_eq!(named, owners, "{proof}");
        assert!(proof["owners"][1]["fingerprint"].is_string(), "{proof}");
        assert_eq!(proof["proof"], lock != "woke", "{proof}");
    }
    assert_eq!(of("wrote")["evidence"], "overwritten");
    assert_eq!(of("woke")["was"], "stopped");
    let fell = of("old");
    assert_eq!((&fell["resource"], &fell["token_before"]), (&"db".into(), &34.into()));
    assert_eq!((&fell["token_now"], &fell["owners"][0]["worker"]), (&33.into(), &"old-1".into()));
    let said = exporter.get("/api/v1/locks").body + &exporter.log();
    assert!(!said.contains(&old_token), "a token is shown");
    assert!(said.contains("token_returned: the token of late-1"), "the timeline tells");

    // It learns of it, and that is over; what were events is shown for as long as the leases might have been.
    claim(&server, beat + 1, false);
    exporter.wait_for("dlock_contested 0", SOON, |m| is_up(m, "says", 0.0));
    assert_eq!(counted(&exporter.metrics()), expected);
}
