//! What scrapes cause on the server: nothing, since a scrape reads what the last poll has left. It must not poll meanwhile,
//! or its own commands would hide them.

use std::time::Duration;

use super::support::{ExporterSetup, RedisServer, wait_until};

/// Commands on the server that thirty scrapes cause; the interval is so long that no poll comes between.
pub fn commands(server: &RedisServer, keys: &[String]) -> u64 {
    let exporter = ExporterSetup::file(&format!(
        "poll_interval: 1h\nstores:\n  main:\n    url: {}\n    username: dlock\n    events: 'off'\n    locks:\n      - {{name: first, key: '{}'}}\n",
        server.url(),
        keys[0]
    ))
    .password()
    .start();
    let is_held = || exporter.metrics().value("dlock_locks", &[("state", "held")]) == Some(1.0);
    wait_until("the lock is seen held", Duration::from_secs(60), || is_held().then_some(()));
    let processed = || -> u64 {
        let info = server.text(&["INFO", "stats"]);
        let line = info.lines().find_map(|l| l.strip_prefix("total_commands_processed:")).unwrap();
        line.trim().parse().unwrap()
    };
    // What it does once after its first poll may still be under way.
    std::thread::sleep(Duration::from_millis(300));
    let before = processed();
    for _ in 0..30 {
        exporter.get("/metrics");
    }
    // The question counts itself.
    processed() - before - 1
}
