//! A wall clock that the test steps and stops under a server or an exporter, by a library preloaded before the C
//! library. No other process sees it, and monotonic clocks stay as they are.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock};

use tempfile::TempDir;

use super::preload::library;
use dlock_exporter::clock;

/// A clock that is as the machine's until it is stepped.
pub struct SteppedClock {
    dir: TempDir,
    file: File,
    slot: AtomicU8,
    micros: Mutex<i64>,
}

impl SteppedClock {
    /// One that is right.
    pub fn start() -> Self {
        let dir = TempDir::new().expect("a temporary directory can be made");
        let path = dir.path().join("clock");
        let file = File::options().create_new(true).write(true).open(path).expect("the file opens");
        file.write_all_at(&[0; 16 * 9], 0).expect("the file can be written");
        Self { dir, file, slot: AtomicU8::new(0), micros: Mutex::new(0) }
    }

    /// What a process has to have in its environment to go by it.
    pub fn environment(&self) -> [(String, String); 2] {
        let clock = self.dir.path().join("clock");
        [
            ("LD_PRELOAD".into(), shim().display().to_string()),
            ("DLOCK_TEST_CLOCK".into(), clock.display().to_string()),
        ]
    }

    /// Steps it by so many seconds, and lets it run on if it stood still.
    pub fn step(&self, seconds: f64) {
        let mut micros = self.micros.lock().expect("no thread panics with it");
        *micros += (seconds * 1e6).round() as i64;
        self.set(*micros, 0);
    }

    /// How far it is ahead of the machine's, in seconds.
    pub fn ahead(&self) -> f64 {
        *self.micros.lock().expect("no thread panics with it") as f64 / 1e6
    }

    /// It stands still from now on.
    pub fn stop(&self) {
        let ahead = self.ahead();
        self.set(0, ((clock::wall_secs() + ahead) * 1e6) as i64);
    }

    fn set(&self, add: i64, stand: i64) {
        let slot = (self.slot.load(Ordering::Relaxed) + 1) % 8;
        let bytes = [add.to_ne_bytes(), stand.to_ne_bytes()].concat();
        let at = 16 * (1 + u64::from(slot));
        self.file.write_all_at(&bytes, at).expect("the slot can be written");
        self.file.write_all_at(&[slot], 0).expect("the index can be written");
        self.slot.store(slot, Ordering::Relaxed);
    }
}

/// The library, compiled once for all tests of this process.
fn shim() -> &'static Path {
    static MADE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = MADE.get_or_init(|| library("src/bin/dlock_drill/servers/clock_shim.c"));
    path
}
