//! A wall clock that is stepped under one private server, by a library preloaded before the C library; every other
//! process keeps the machine's. It needs no rights, and a C compiler for the library. It must not touch the clock of the
//! machine.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Command;

use tempfile::TempDir;

use super::wait::{at, private_dir};
use crate::failure::Failure;

const SHIM: &str = include_str!("clock_shim.c");

/// A clock that is as the machine's until it is stepped.
pub struct SteppedClock {
    dir: TempDir,
    file: File,
    slot: u8,
    micros: i64,
}

impl SteppedClock {
    /// One that is right; an error says why this machine cannot have one.
    pub fn make() -> Result<Self, Failure> {
        let dir = private_dir()?;
        let source = dir.path().join("clock_shim.c");
        std::fs::write(&source, SHIM).map_err(|e| at(&source, e))?;
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O2", "-o"]).arg(dir.path().join("clock.so"));
        let done = compiler.arg(&source).output();
        let done = done.map_err(|e| {
            let hint = "install a C compiler, on Debian gcc and libc6-dev";
            Failure::new(format!("cc does not run ({e}); {hint}"))
        })?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            let first = said.lines().next().unwrap_or_default();
            return Err(Failure::new(format!(
                "cc cannot make the library that steps a clock: {first}; on Debian install libc6-dev"
            )));
        }
        let path = dir.path().join("clock");
        let file = File::options().create_new(true).write(true).open(&path);
        let file = file.map_err(|e| at(&path, e))?;
        file.write_all_at(&[0; 16 * 9], 0).map_err(|e| at(&path, e))?;
        Ok(Self { dir, file, slot: 0, micros: 0 })
    }

    /// What a process has to have in its environment to go by it.
    pub fn environment(&self) -> [(String, String); 2] {
        let file = |name: &str| self.dir.path().join(name).display().to_string();
        [("LD_PRELOAD".into(), file("clock.so")), ("DLOCK_TEST_CLOCK".into(), file("clock"))]
    }

    /// Steps it by so many seconds.
    pub fn step(&mut self, seconds: f64) -> Result<(), Failure> {
        self.micros += (seconds * 1e6).round() as i64;
        self.slot = (self.slot + 1) % 8;
        let bytes = [self.micros.to_ne_bytes(), 0_i64.to_ne_bytes()].concat();
        let place = 16 * (1 + u64::from(self.slot));
        let written = self.file.write_all_at(&bytes, place);
        // The index last, so that no half of a number is ever used.
        let written = written.and_then(|()| self.file.write_all_at(&[self.slot], 0));
        written.map_err(|e| at(self.dir.path(), e))
    }
}
