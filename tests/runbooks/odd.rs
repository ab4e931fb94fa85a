//! Locks as none should be: leases that run out in use, a count that only rises, a key that another library took over. It
//! must not know how the exporter judges them, only whether it does.

use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use super::servers::{LONG, OWNER, hold};
use crate::support::{Exporter, Group, RedisServer, for_a_while, wait_until};

/// Takes a re-entrant lock again and again, and renews its lease of three seconds each time, until this is dropped.
pub fn take_and_never_let_go(server: &RedisServer) -> (Group, TempDir) {
    let dir = TempDir::new().expect("a temporary directory can be made");
    let (host, port) = (server.address().ip(), server.address().port());
    let script = format!(
        "while :; do
             printf 'HINCRBY lock:nested {OWNER} 1\\nPEXPIRE lock:nested 3000\\n' | redis-cli -h {host} -p {port}
             sleep 0.3
         done"
    );
    let group = Group::start(
        "what takes lock:nested",
        Command::new("bash").args(["-c", &script]),
        &dir.path().join("log"),
    );
    (group, dir)
}

/// Lets one lease after the other run out and takes the lock again at once, until the exporter says so. On a busy machine
/// it can come too late to know how a tenure ended; then there are more of them.
pub fn lapse_in_use(server: &RedisServer, exporter: &Exporter) {
    for _ in 0..15 {
        hold(server, "again", &["PX", "1000"]);
        wait_until("lock:again has run out", Duration::from_secs(5), || {
            (server.number(&["EXISTS", "lock:again"]) == 0).then_some(())
        });
        // The exporter looks just after the end; and two polls later the lock would be taken too late.
        for_a_while(Duration::from_millis(60));
        let seen = exporter.metrics().sum("dlock_lease_lapses_in_use", &[("lock", "again")]);
        if seen > 0.0 {
            return;
        }
    }
    panic!("the exporter saw no habit in 15 leases that ran out");
}

/// Another library takes a key that held a string.
pub fn take_over(server: &RedisServer) {
    server.cmd(&["DEL", "lock:mixed"]);
    server.cmd(&["HSET", "lock:mixed", OWNER, "1"]);
    server.cmd(&["PEXPIRE", "lock:mixed", LONG]);
}
