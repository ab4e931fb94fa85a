//! Killed while it writes, at any instant: each document is there whole or not at all, and what was unfinished is taken away
//! by the next start.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use super::{SOON, at, config, documents};
use crate::support::{ExporterSetup, RedisServer, long, wait_until};

/// Locks whose signals rise at the first polls of each run.
const LOCKS: usize = 150;

#[test]
fn a_kill_leaves_a_whole_document_or_none() {
    let server = RedisServer::start();
    for i in 0..LOCKS {
        super::unexpected(&server, &format!("l{i:03}"));
    }
    let dir = TempDir::new().expect("a temporary directory");
    let yaml = config(&server, &at(dir.path(), ", keep: 10000"));
    let (kills, mut interrupted, mut seed) = (if long() { 100 } else { 10 }, 0, 1u64);
    for kill in 0..kills {
        let before = documents(dir.path()).len();
        let exporter = ExporterSetup::file(&yaml).password().spawn();
        let is_writing = || (documents(dir.path()).len() > before).then_some(());
        wait_until("it begins to write", SOON, is_writing);
        // A generator of our own: each run of the test kills at other instants than the run before it only by chance.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros((seed >> 33) % 60_000));
        exporter.signal(Signal::KILL);
        drop(exporter);
        let all = documents(dir.path());
        interrupted += usize::from(all.len() < before + LOCKS);
        for path in &all[before..] {
            let text = std::fs::read_to_string(path).expect("a document");
            let document: Value = serde_json::from_str(&text)
                .unwrap_or_else(|e| panic!("kill {kill}: {} is not whole: {e}", path.display()));
            assert_eq!(document["signal"], "holder_unexpected");
            assert!(text.ends_with("}\n") && document["lock"]["lock"].is_string());
        }
    }
    assert!(interrupted > 0, "no kill came while it wrote");
    let exporter = ExporterSetup::file(&yaml).password().start();
    wait_until("what is unfinished is taken away", SOON, || {
        let left = std::fs::read_dir(dir.path()).expect("it is there");
        let names = left.map(|e| e.expect("an entry").file_name().into_string().expect("ASCII"));
        names.filter(|n| n.ends_with(".tmp")).count().eq(&0).then_some(())
    });
    drop(exporter);
}
