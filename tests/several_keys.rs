//! A lock over several keys of one server, live: the commands that rueidislock sends, by a holder that renews, loses keys and
//! lets go, and what a rival leaves behind.

use std::time::Duration;

use crate::support::{
    Driver, Exporter, Metrics, RedisServer, RedisSetup, acl_line_of_the_readme, raised,
};

const SOON: Duration = Duration::from_secs(15);
const LEASE: Duration = Duration::from_secs(2);

fn server() -> RedisServer {
    let line = acl_line_of_the_readme().replace("ACL SETUSER", "user");
    let line = line.replace("%R~lock:* %R~hb:*", "%R~rueidislock:*");
    RedisSetup::default().acl(&line.replace("PASSWORD", "watch-only")).start()
}

fn key(i: usize) -> String {
    format!("rueidislock:{i}:job")
}

/// The end of a lease that begins now, by the clock of the client, as rueidislock has it.
fn deadline() -> String {
    let end = dlock_exporter::clock::wall_secs() + LEASE.as_secs_f64();
    format!("{:.0}", end * 1e3)
}

/// Takes all keys by one token, renews at half of the lease what is still its own, and in the end lets go of it.
fn holder(server: &RedisServer, token: [u8; 24]) -> Driver {
    Driver::start(server, 0, move |c| {
        for i in 0..3 {
            let (key, until) = (key(i), deadline());
            let words: [&[u8]; 6] =
                [b"SET", key.as_bytes(), &token, b"NX", b"PXAT", until.as_bytes()];
            c.cmd(&words);
        }
        while c.wait(LEASE / 2) {
            for i in 0..3 {
                // In a script that compares the token first.
                if c.cmd(&["GET", &key(i)]) == redis::Value::BulkString(token.to_vec()) {
                    c.cmd(&["PEXPIREAT", &key(i), &deadline()]);
                }
            }
        }
        for i in 0..3 {
            if c.cmd(&["GET", &key(i)]) == redis::Value::BulkString(token.to_vec()) {
                c.cmd(&["DEL", &key(i)]);
            }
        }
    })
}

fn votes(m: &Metrics) -> Option<f64> {
    assert_eq!(m.all("dlock_lock_info", &[]).len(), 1, "it is one lock");
    m.value("dlock_quorum_votes", &[("lock", "job")])
}

fn held(m: &Metrics) -> Option<f64> {
    m.value("dlock_lock_held", &[("lock", "job")])
}

fn count(m: &Metrics, family: &str) -> f64 {
    m.sum(family, &[("lock", "job")])
}

#[test]
fn a_lock_of_rueidislock_is_one_lock_held_by_more_than_half_of_its_keys() {
    let server = server();
    let mut exporter = Exporter::start(&format!(
        "poll_interval: 100ms
stores:
  main:
    url: {}
    username: dlock
    locks: [{{ name: job, keys: ['rueidislock:0:job', 'rueidislock:1:job', 'rueidislock:2:job'] }}]
",
        server.url()
    ));
    let families = "dlock_lock_ dlock_quorum dlock_lease_";
    exporter.wait_for(families, SOON, |m| held(m) == Some(0.0) && votes(m) == Some(0.0));
    let first = holder(&server, [0xa7; 24]);
    exporter.wait_for(families, SOON, |m| {
        held(m) == Some(1.0)
            && votes(m) == Some(3.0)
            && m.is("dlock_quorum_needed", &[("lock", "job")], 2.0)
            && count(m, "dlock_lease_renewals_total") >= 2.0
    });
    let m = exporter.metrics();
    let info = &m.all("dlock_lock_info", &[])[0];
    assert_eq!(info.label("format"), "rueidislock");
    assert!(info.label("key").contains(&key(2)), "{}", info.label("key"));

    // One key is lost, and a rival gets it: too little for him, and no harm to the holder.
    server.cmd(&["DEL", &key(1)]);
    server.cmd(&["SET", &key(1), &"r".repeat(24), "PX", "60000"]);
    exporter.wait_for(families, SOON, |m| votes(m) == Some(2.0));
    let renewals = count(&exporter.metrics(), "dlock_lease_renewals_total");
    exporter.wait_for(families, SOON, |m| {
        held(m) == Some(1.0) && count(m, "dlock_lease_renewals_total") > renewals
    });
    let m = exporter.metrics();
    assert_eq!(count(&m, "dlock_lock_acquisitions_total"), 1.0);
    assert_eq!(raised(&m), None);

    // The holder lets go; what the rival left behind is no lock.
    first.stop();
    exporter.wait_for(families, SOON, |m| {
        let ended = [("lock", "job"), ("evidence", "released")];
        held(m) == Some(0.0) && votes(m) == Some(1.0) && m.is("dlock_lease_ends_total", &ended, 1.0)
    });
    assert!(exporter.get("/").body.contains("1 of 3 keys, 2 needed"), "free, and not quite");

    // Another one comes, and gets the two keys that are free.
    let second = holder(&server, [0x19; 24]);
    exporter.wait_for(families, SOON, |m| {
        held(m) == Some(1.0)
            && votes(m) == Some(2.0)
            && count(m, "dlock_lock_acquisitions_total") == 2.0
    });
    assert_eq!(raised(&exporter.metrics()), None);
    let page = exporter.get("/api/v1/locks/main/job").body;
    assert!(page.contains("keys_lost"), "{page}");
    second.stop();
}
