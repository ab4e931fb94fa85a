//! A heartbeat source that is silent, told from one that says nothing: an endpoint that answers badly is the worker's
//! doing, one that cannot be asked is not, and what never told anything is no loss.

use std::collections::BTreeMap;
use std::time::Duration;

use tempfile::TempDir;

use crate::heartbeats::{ALIVE, FROZEN, FROZEN_AFTER, Kinds, POLL, SOON, all, config, hold, said};
use crate::support::{
    Driver, Endpoint, Exporter, Metrics, RedisServer, Reply, SLACK, for_a_while, free_port,
};

/// Why a worker's heartbeat cannot be judged.
fn blind<'a>(m: &'a Metrics, kind: &str) -> Vec<&'a str> {
    let worker = format!("{kind}-1");
    let lost = m.all("dlock_worker_coverage_lost", &[("worker", &worker)]);
    lost.iter().map(|s| s.label("reason")).collect()
}

/// Why an endpoint's heartbeat cannot be judged: it refuses us, or it gives no beat.
fn why(kind: &str) -> &'static str {
    if ["unauthorized", "forbidden"].contains(&kind) { "permission" } else { "unreachable" }
}

#[test]
fn an_endpoint_that_answers_badly_is_silent_and_one_that_cannot_be_asked_says_nothing() {
    use Reply::{Answer, Bytes, Close, Silence};
    let server = RedisServer::start();
    let silences: [(&'static str, Option<Reply>); 5] = [
        ("error", Some(Answer(500, "{\"n\": 1}".into()))),
        ("moved", Some(Answer(302, String::new()))),
        ("silent", Some(Silence)),
        ("closing", Some(Close)),
        ("refusing", None),
    ];
    let nothings: [(&'static str, Option<Reply>); 6] = [
        ("unauthorized", Some(Answer(401, String::new()))),
        ("forbidden", Some(Answer(403, String::new()))),
        ("elsewhere", Some(Answer(404, String::new()))),
        ("nothere", Some(Answer(200, "{\"m\": 1}".into()))),
        ("nojson", Some(Answer(200, "no JSON".into()))),
        ("nohttp", Some(Bytes("+PONG\r\n+PONG\r\n"))),
    ];
    let both = || silences.iter().chain(&nothings);
    let mut endpoints: BTreeMap<&str, Endpoint> = both()
        .map(|(kind, _)| (*kind, Endpoint::start(Answer(200, "{\"n\": 0}".into()))))
        .collect();
    let kinds: Kinds = endpoints
        .iter()
        .map(|(kind, e)| (*kind, format!("http: {{ url: '{}', json: /n }}", e.url("/beat"))))
        .collect();
    hold(&server, &kinds);
    let mut exporter = Exporter::start(&config(&server, &kinds));
    let names: Vec<&str> = kinds.keys().copied().collect();
    let mut n = 0;
    let mut beat = |endpoints: &BTreeMap<&str, Endpoint>, only: &[&str]| {
        n += 1;
        for (kind, endpoint) in endpoints.iter().filter(|(k, _)| only.contains(k)) {
            let _ = kind;
            endpoint.set(Answer(200, format!("{{\"n\": {n}}}")));
        }
        for_a_while(Duration::from_millis(150));
    };
    for _ in 0..25 {
        beat(&endpoints, &names);
    }
    all(&mut exporter, &names, ALIVE, SOON);

    for (kind, reply) in both() {
        match reply {
            Some(reply) => endpoints[kind].set(reply.clone()),
            None => drop(endpoints.remove(kind)),
        }
    }
    let silent = silences.each_ref().map(|(kind, _)| *kind);
    // An endpoint that says nothing takes its whole second of each exchange.
    let worst = FROZEN_AFTER + POLL * 2 + Duration::from_secs(2);
    let after = all(&mut exporter, &silent, FROZEN, worst + SLACK * 4);
    assert!(after <= worst + SLACK, "frozen after {after:?}, worst case {worst:?}");
    let mute = nothings.each_ref().map(|(kind, _)| *kind);
    exporter.wait_for("nothing said: dlock_worker_coverage_lost", SOON, move |m| {
        mute.iter().all(|kind| blind(m, kind) == [why(kind)])
    });
    for_a_while(FROZEN_AFTER + POLL * 3);
    let m = exporter.metrics();
    for (kind, _) in &nothings {
        let signal = [("lock", *kind), ("signal", "holder_stale")];
        assert_eq!(m.value("dlock_signal_rises_total", &signal), Some(0.0), "{kind}");
        assert!(blind(&m, kind) == [why(kind)], "{kind}: {:?}", blind(&m, kind));
        assert_eq!(said(&m, kind), "unknown stale None alive None", "{kind}");
    }

    // What was not a loss heals without a trace; what was, by beating again.
    let healing: Vec<&str> = names.iter().copied().filter(|kind| *kind != "refusing").collect();
    for _ in 0..20 {
        beat(&endpoints, &healing);
    }
    let m = exporter.metrics();
    for kind in &healing {
        let known = said(&m, kind);
        assert!(known == ALIVE || known == FROZEN, "{kind}: {known}");
    }
    for (kind, _) in &nothings {
        let signal = [("lock", *kind), ("signal", "holder_stale")];
        assert_eq!(m.value("dlock_signal_rises_total", &signal), Some(0.0), "{kind}");
    }
}

#[test]
fn a_source_that_never_told_anything_is_no_loss() {
    let server = RedisServer::start();
    let dir = TempDir::new().unwrap();
    let plain = Endpoint::start(Reply::Answer(200, "{}".into()));
    let tls = plain.url("/").replace("http://", "https://");
    let refused = format!("http://127.0.0.1:{}/", free_port());
    let redis = |more: &str| format!("redis: {{ store: main, {more} }}");
    let http = |url: &str| format!("http: {{ url: '{url}' }}");
    // With the reason that must be given for each.
    let sources = [
        ("absent", redis("key: 'hb:absent'"), "no_history"),
        ("constant", redis("key: 'hb:constant'"), "no_history"),
        ("wrongtype", redis("key: 'hb:list'"), "unreachable"),
        ("nofield", redis("key: 'hb:hash', field: none"), "no_history"),
        ("denied", redis("key: 'secret:beat'"), "permission"),
        ("nofile", format!("file: '{}/none'", dir.path().display()), "no_history"),
        ("directory", format!("file: '{}', content: true", dir.path().display()), "unreachable"),
        ("tls", http(&tls), "unreachable"),
        ("refused", http(&refused), "no_history"),
        ("unresolved", http("http://worker.invalid/"), "unreachable"),
        ("slow", redis("key: 'hb:slow'"), "unsupported"),
    ];
    server.cmd(&["SET", "hb:constant", "always the same"]);
    server.cmd(&["RPUSH", "hb:list", "1"]);
    server.cmd(&["HSET", "hb:hash", "other", "1"]);
    server.cmd(&["SET", "secret:beat", "1"]);
    // Beats every 1,0 s, and 1,2 s is called frozen: that cannot be judged.
    let _slow = Driver::start(&server, 0, |c| {
        for n in 0.. {
            c.cmd(&["SET", "hb:slow", &n.to_string()]);
            if !c.wait(Duration::from_millis(1000)) {
                break;
            }
        }
    });
    let kinds: Kinds = sources.iter().map(|(kind, yaml, _)| (*kind, yaml.clone())).collect();
    hold(&server, &kinds);
    let mut exporter = Exporter::start(&config(&server, &kinds));
    let expected = sources.each_ref().map(|(kind, _, reason)| (*kind, *reason));
    exporter.wait_for("dlock_worker_coverage_lost of each", SOON, move |m| {
        expected.iter().all(|(kind, reason)| blind(m, kind) == [*reason])
    });
    for_a_while(FROZEN_AFTER + POLL * 3);
    let m = exporter.metrics();
    for (kind, reason) in expected {
        assert_eq!(blind(&m, kind), [reason], "{kind}");
        let lock = [("lock", kind), ("aspect", "heartbeat"), ("reason", reason)];
        assert!(m.is("dlock_coverage_lost", &lock, 1.0), "{kind}");
        assert!(said(&m, kind).starts_with("unknown stale None"), "{kind}: {}", said(&m, kind));
    }
    let rises = [("signal", "holder_stale")];
    assert_eq!(m.sum("dlock_signal_rises_total", &rises), 0.0);
}
