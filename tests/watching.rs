//! How a lock is watched must not look like what is wrong with it: a slow line, another database, a monitor that starts
//! late.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::controls::{Rhythm, SOON, Write, config, keep, ms, raises_nothing, token};
use crate::support::{Driver, Exporter, ExporterSetup, Proxy, RedisServer, SLACK, for_a_while};

#[test]
fn a_slow_line_to_the_server_is_no_missed_renewal() {
    let server = RedisServer::start();
    let line = Proxy::start(server.address());
    let miss = Arc::new(AtomicBool::new(false));
    let rhythm = Rhythm { name: "steady", lease: 3000, gaps: &[1000], write: Write::Expire };
    let never = Arc::clone(&miss);
    let _driver = Driver::start(&server, 0, move |c| keep(c, rhythm, &never));
    let mut exporter = Exporter::start(&config(&format!("redis://{}", line.address()), "300ms"));
    exporter.wait_for("dlock_renewal_overdue judged", SOON, |m| {
        m.is("dlock_renewal_overdue", &[("lock", "steady")], 0.0)
    });
    raises_nothing(&mut exporter, |exporter| {
        // Two polls and more go missing, again and again, at every phase of the renewals.
        for pause in [700, 1100, 900, 1300, 750, 2100] {
            line.delay(ms(pause));
            for_a_while(ms(pause + 150));
            line.delay(Duration::ZERO);
            for_a_while(ms(1050));
        }
        exporter.wait_for("dlock_renewal_overdue judged again", SOON, |m| {
            m.is("dlock_renewal_overdue", &[("lock", "steady")], 0.0)
        });
    });
    miss.store(true, Ordering::Relaxed);
    exporter.wait_for("dlock_renewal_overdue 1", SOON, |m| {
        m.is("dlock_renewal_overdue", &[("lock", "steady")], 1.0)
    });
}

#[test]
fn the_same_key_in_two_databases_is_two_locks() {
    let server = RedisServer::start();
    let yaml = config(&format!("{}/0", server.url()), "100ms");
    let second = yaml
        .lines()
        .skip_while(|l| !l.starts_with("  main:"))
        .take_while(|l| !l.starts_with("workers"))
        .collect::<Vec<_>>()
        .join("\n")
        .replace("  main:", "  other:")
        .replace("/0\n", "/1\n");
    let yaml = yaml.replace("workers:\n", &format!("{second}\nworkers:\n"));
    let setup = ExporterSetup::file(&yaml).password();
    let mut exporter = setup.env("DLOCK__STORES__OTHER__PASSWORD", "watch-only").start();
    let miss = Arc::new(AtomicBool::new(false));
    let held = Rhythm { name: "job", lease: 2000, gaps: &[500], write: Write::Expire };
    let never = Arc::clone(&miss);
    let _zero = Driver::start(&server, 0, move |c| keep(c, held, &never));
    let _one = Driver::start(&server, 1, |c| {
        for n in 0.. {
            c.cmd(&["SET", "lock:job", &token("other", n), "NX", "PX", "60000"]);
            c.wait(ms(600));
            c.cmd(&["DEL", "lock:job"]);
            if !c.wait(ms(300)) {
                break;
            }
        }
    });
    let job = |store| [("store", store), ("lock", "job")];
    raises_nothing(&mut exporter, |exporter| {
        exporter.wait_for("dlock_lease_renewals_total dlock_lock_acquisitions_total", SOON, |m| {
            m.sum("dlock_lease_renewals_total", &job("main")) >= 8.0
                && m.sum("dlock_lock_acquisitions_total", &job("other")) >= 3.0
        });
    });
    let m = exporter.metrics();
    assert_eq!(m.sum("dlock_lease_renewals_total", &job("other")), 0.0);
    assert_eq!(
        m.sum("dlock_lock_previous_holder_info", &[("worker", "job-1"), ("store", "other")]),
        0.0
    );
}

#[test]
fn a_monitor_that_starts_late_claims_only_what_it_saw() {
    let server = RedisServer::start();
    let miss = Arc::new(AtomicBool::new(false));
    let held = Rhythm { name: "job", lease: 1500, gaps: &[400], write: Write::Expire };
    let _driver = Driver::start(&server, 0, move |c| {
        c.cmd(&["SET", "lock:still", &token("still", 0), "PX", "600000"]);
        keep(c, held, &miss);
    });
    for_a_while(Duration::from_secs(2));
    for _ in 0..2 {
        let mut exporter = Exporter::start(&config(&server.url(), "100ms"));
        raises_nothing(&mut exporter, |exporter| {
            exporter.wait_for("dlock_lock_held dlock_lease_renewals_total", SOON, |m| {
                m.is("dlock_lock_held", &[("lock", "still")], 1.0)
                    && m.sum("dlock_lease_renewals_total", &[("lock", "job")]) >= 3.0
                    && m.is("dlock_holder_stale", &[("lock", "still")], 0.0)
            });
        });
        let m = exporter.metrics();
        let still = [("lock", "still")];
        assert_eq!(m.sum("dlock_lock_acquisitions_total", &still), 0.0, "nobody saw it acquired");
        let age = m.value("dlock_lock_held_seconds", &still);
        assert!(age.is_some_and(|a| a < SOON.as_secs_f64() + SLACK.as_secs_f64()), "{age:?}");
        assert!(exporter.get("/api/v1/locks/main/still").body.contains("found_held"));
        assert!(exporter.stop().success());
    }
}
