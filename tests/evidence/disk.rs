//! A disk that is full, read-only, or whose directory is gone: the document is lost and counted, told once in the log, and
//! nothing else suffers; it works again by itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::{SOON, at, config, documents, failures, unexpected, writes};
use crate::support::{Exporter, ExporterSetup, RedisServer, not_tested};

/// A small file system of its own.
struct Disk(TempDir);

impl Disk {
    /// `None`, and told, where none may be mounted.
    fn mount() -> Option<Self> {
        let disk = Self(TempDir::new().expect("a temporary directory"));
        if run(&["mount", "-t", "tmpfs", "-o", "size=256k,mode=0755", "tmpfs"], disk.path()) {
            return Some(disk);
        }
        not_tested("no file system may be mounted");
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn kept(&self) -> PathBuf {
        self.path().join("kept")
    }

    fn remount(&self, how: &str) {
        assert!(run(&["mount", "-o", how], self.path()), "remount {how}");
    }

    /// Fills it to the last byte.
    fn fill(&self) -> PathBuf {
        let junk = self.path().join("junk");
        let written = std::fs::write(&junk, vec![0; 1 << 20]);
        assert!(written.is_err(), "it takes a megabyte");
        junk
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        run(&["umount", "-l"], self.path());
    }
}

fn run(words: &[&str], path: &Path) -> bool {
    let mut command = Command::new(words[0]);
    let status = command.args(&words[1..]).arg(path).stderr(std::process::Stdio::null()).status();
    status.is_ok_and(|s| s.success())
}

/// A rise whose document is lost for this reason, and for no other; the scrape goes on.
fn lost(server: &RedisServer, exporter: &mut Exporter, lock: &str, reason: &str) {
    let before = exporter.metrics();
    let (written, failed) = (writes(&before), failures(&before, reason));
    unexpected(server, lock);
    exporter.wait_for(&format!("{reason}: dlock_exporter_evidence"), SOON, |m| {
        failures(m, reason) == failed + 1.0
    });
    let m = exporter.metrics();
    assert_eq!(writes(&m), written, "{reason}");
    assert!(m.is("dlock_lock_held", &[("lock", lock)], 1.0), "{}", m.lines("dlock_lock_held"));
    assert!(m.is("dlock_store_up", &[], 1.0));
    let log = exporter.log();
    let told = log.lines().filter(|l| l.contains("could not be kept") && l.contains(reason));
    assert_eq!(told.count(), 1, "{reason} is told once: {log}");
}

/// A rise whose document is written.
fn kept(server: &RedisServer, exporter: &mut Exporter, lock: &str) {
    let before = writes(&exporter.metrics());
    unexpected(server, lock);
    exporter.wait_for(&format!("{lock} is written: dlock_exporter_evidence"), SOON, |m| {
        writes(m) == before + 1.0
    });
}

#[test]
fn a_disk_that_takes_nothing_costs_the_document_and_nothing_else() {
    let Some(disk) = Disk::mount() else { return };
    let server = RedisServer::start();
    let dir = disk.kept();
    std::fs::create_dir(&dir).expect("a directory");
    let yaml = config(&server, &at(&dir, ""));
    let mut exporter = Exporter::start(&yaml);
    kept(&server, &mut exporter, "first");

    let junk = disk.fill();
    lost(&server, &mut exporter, "full", "full");
    let left = std::fs::read_dir(&dir).expect("it is there").count();
    assert_eq!(left, documents(&dir).len(), "nothing half is left");
    std::fs::remove_file(junk).expect("ours");
    kept(&server, &mut exporter, "second");

    disk.remount("remount,ro");
    lost(&server, &mut exporter, "read-only", "denied");
    let other = ExporterSetup::file(&yaml).password().spawn();
    let mut other = other;
    assert!(!other.wait(SOON).success(), "it does not start with a directory that it cannot use");
    assert!(other.log().contains("evidence.dir"), "{}", other.log());
    disk.remount("remount,rw");
    kept(&server, &mut exporter, "third");

    std::fs::remove_dir_all(&dir).expect("ours");
    lost(&server, &mut exporter, "gone", "missing");
    std::fs::create_dir(&dir).expect("a directory");
    kept(&server, &mut exporter, "fourth");
    assert_eq!(documents(&dir).len(), 1);
}
