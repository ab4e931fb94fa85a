//! The means of the tests, tested: a wrong parser or a server that is not what it seems makes every test worthless.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use super::http::parse;
use super::*;

const TEXT: &str = concat!(
    "# HELP dlock_lock_held x\n# TYPE dlock_lock_held gauge\n",
    "dlock_lock_held{store=\"main\",lock=\"a,b}\\\"\\\\\\n\"} 1\n",
    "dlock_lock_held{store=\"main\",lock=\"c\"} 0\n",
    "up 1.5e3\ninf{} +Inf\n",
);

#[test]
fn expositions_are_read_with_all_their_escapes() {
    let m = Metrics::parse(TEXT).unwrap();
    assert_eq!(m.value("dlock_lock_held", &[("lock", "a,b}\"\\\n")]), Some(1.0));
    assert_eq!(m.value("dlock_lock_held", &[("lock", "c"), ("store", "main")]), Some(0.0));
    assert_eq!(m.value("dlock_lock_held", &[("lock", "d")]), None);
    assert_eq!(m.value("up", &[]), Some(1500.0));
    assert_eq!(m.value("inf", &[]), Some(f64::INFINITY));
    assert_eq!(m.sum("dlock_lock_held", &[("store", "main")]), 1.0);
    assert_eq!(m.all("dlock_lock_held", &[])[1].label("lock"), "c");
}

#[test]
#[should_panic(expected = "ambiguous")]
fn a_value_that_is_not_one_sample_is_refused() {
    Metrics::parse(TEXT).unwrap().value("dlock_lock_held", &[("store", "main")]);
}

#[test]
fn a_line_that_is_no_sample_is_an_error() {
    for line in ["a{b=\"c} 1", "a{b=c} 1", "a", "a{} x", "a{b=\"\\q\"} 1"] {
        assert!(Metrics::parse(line).is_err(), "{line}");
    }
}

#[test]
fn answers_are_read_whole_or_not_at_all() {
    let plain = parse(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: b\r\n\r\nhi").unwrap();
    assert_eq!((plain.status, plain.body.as_str(), plain.header("x-a")), (200, "hi", Some("b")));
    let chunks =
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n1;x=y\r\n!\r\n0\r\n\r\n";
    assert_eq!(parse(chunks).unwrap().body, "hi!");
    assert!(parse(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi").is_none());
    assert!(parse(&chunks[..chunks.len() - 9]).is_none());
    assert!(parse(b"HTTP/1.1 200 OK\r\n").is_none());
}

/// A server that answers each connection with the next of the texts, for ever with the last.
fn scripted(texts: &'static [&'static str]) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (n, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let body = texts[n.min(texts.len() - 1)];
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            let _ =
                stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
        }
    });
    address
}

#[test]
fn a_sampler_notices_what_was_there_for_one_scrape_only() {
    let address = scripted(&["a 0\n", "a 0\n", "a 1\n", "a 0\n"]);
    let sampler = Sampler::start(address, |m| m.is("a", &[], 1.0).then(|| "a was 1".into()));
    for_a_while(Duration::from_millis(600));
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sampler.finish()));
    assert!(caught.is_err());

    let address = scripted(&["a 0\n"]);
    let sampler = Sampler::start(address, |m| m.is("a", &[], 1.0).then(|| "a was 1".into()));
    for_a_while(Duration::from_millis(300));
    assert!(sampler.finish() > 1);
}

#[test]
fn latencies_are_ranked() {
    let watch = Latencies::measure(scripted(&["a 0\n"]));
    for_a_while(Duration::from_millis(300));
    let seen = watch.finish();
    assert!(seen.count() > 2 && seen.failed().is_empty(), "{seen:?}");
    assert!(seen.quantile(0.5) <= seen.quantile(1.0));
}

#[test]
fn a_server_can_be_paused_killed_and_restarted() {
    let mut server = RedisServer::start();
    server.cmd(&["SET", "lock:a", "x", "PX", "60000"]);
    assert_eq!(server.text(&["GET", "lock:a"]), "x");
    server.pause();
    assert!(server.try_cmd(&["PING"]).is_err());
    server.resume();
    wait_until("it answers again", Duration::from_secs(5), || server.try_cmd(&["PING"]).ok());
    server.restart();
    assert_eq!(server.number(&["EXISTS", "lock:a"]), 0);
    server.kill();
    assert!(server.try_cmd(&["PING"]).is_err());
}

#[test]
fn a_replica_follows_its_primary() {
    let primary = RedisServer::start();
    let replica = RedisSetup::default().replica_of(&primary).start();
    primary.cmd(&["SET", "lock:a", "x"]);
    wait_until("the replica has the key", Duration::from_secs(10), || {
        (replica.number(&["EXISTS", "lock:a"]) == 1).then_some(())
    });
}

#[test]
fn the_user_of_the_readme_reads_and_cannot_write() {
    let server = RedisServer::start();
    server.cmd(&["SET", "lock:a", "x"]);
    let try_as = |words: &[&str]| {
        let client = redis::Client::open(format!("redis://dlock:watch-only@{}", server.address()));
        let mut connection = client.unwrap().get_connection().unwrap();
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(word);
        }
        command.query::<redis::Value>(&mut connection)
    };
    assert!(try_as(&["MGET", "lock:a"]).is_ok());
    assert!(try_as(&["PEXPIRETIME", "lock:a"]).is_ok());
    for refused in [
        &["SET", "lock:a", "y"][..],
        &["DEL", "lock:a"],
        &["PEXPIRE", "lock:a", "1"],
        &["EVAL", "return 1", "0"],
        &["CONFIG", "SET", "maxmemory", "1"],
        &["CLIENT", "KILL", "TYPE", "normal"],
        &["FLUSHALL"],
        &["GET", "secret:a"],
        &["KEYS", "*"],
    ] {
        let error = try_as(refused).expect_err(&format!("{refused:?} must be refused")).to_string();
        assert!(error.to_uppercase().contains("PERM"), "{refused:?}: {error}");
    }
}

#[test]
fn the_sample_worker_holds_renews_beats_and_releases() {
    let server = RedisServer::start();
    let mut worker = WorkerSetup::new(&server, "orders-1", "lock:orders")
        .lease(1.0, 0.2)
        .separate_renewer()
        .beat_every(0.1)
        .start();
    let held = || (server.number(&["EXISTS", "lock:orders", "hb:orders-1"]) == 2).then_some(());
    wait_until("the lock is held, and it beats", Duration::from_secs(10), held);
    let pid = format!(":{}:", worker.pid());
    assert!(server.text(&["GET", "lock:orders"]).contains(&pid));
    worker.pause();
    let (beat, token) =
        (server.text(&["GET", "hb:orders-1"]), server.text(&["GET", "lock:orders"]));
    for_a_while(Duration::from_millis(2500));
    assert_eq!(server.text(&["GET", "lock:orders"]), token, "its renewer goes on");
    assert_eq!(server.text(&["GET", "hb:orders-1"]), beat, "its beat stands still");
    worker.resume();
    wait_until("it beats again", Duration::from_secs(5), || {
        (server.text(&["GET", "hb:orders-1"]) != beat).then_some(())
    });
    assert!(worker.stop().success());
    assert_eq!(server.number(&["EXISTS", "lock:orders"]), 0, "a stopped worker releases");
}

#[test]
fn a_counter_that_falls_is_seen_and_so_is_one_that_comes_back_lower() {
    let text = |a: &str| {
        format!(
            "# TYPE a_total counter\n{a}# TYPE g gauge\ng {}\n",
            if a.is_empty() { 1 } else { 9 }
        )
    };
    let wrong = |values: &[&str]| {
        let mut scrapes = super::steady::Scrapes::default();
        values.iter().for_each(|a| {
            scrapes.compare(&text(a));
        });
        scrapes.wrong().to_vec()
    };
    let (one, two) = ("a_total{x=\"1\"} 1\n", "a_total{x=\"1\"} 2\n");
    assert_eq!(wrong(&[one, two, two, "", two]), [""; 0]);
    assert_eq!(wrong(&[two, one]), ["a_total x=\"1\" fell from 2 to 1"]);
    assert_eq!(wrong(&[two, "", one]).len(), 1);
    assert_eq!(wrong(&[two, "a_total{x=\"2\"} 1\n"]), [""; 0], "another series");

    let kept = |restarts: u64, evicted: u64| {
        let name = "dlock_store_evicted_keys_total";
        format!(
            "# TYPE {name} counter\n{name}{{store=\"s\",addr=\"x\"}} {evicted}\ndlock_store_restarts_total{{store=\"s\",addr=\"x\"}} {restarts}\n"
        )
    };
    let mut scrapes = super::steady::Scrapes::default();
    for (restarts, evicted, wrong) in [(0, 9, 0), (1, 0, 0), (1, 5, 0), (1, 4, 1)] {
        scrapes.compare(&kept(restarts, evicted));
        assert_eq!(scrapes.wrong().len(), wrong, "a server's own counter begins anew with it only");
    }
}
