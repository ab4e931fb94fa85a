//! A driver: the process that holds one ecosystem's locks with the libraries themselves, and the lines between it and the
//! test. It must not know what a lock looks like.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tempfile::TempDir;

use crate::support::{Group, RedisServer};

/// How long a library may take for one lock; the first also loads it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running driver.
pub struct Driver {
    group: Group,
    input: ChildStdin,
    lines: Receiver<String>,
    _dir: TempDir,
}

impl Driver {
    /// Starts `command HOST:PORT`.
    pub fn start(name: &str, mut command: Command, server: &RedisServer) -> Self {
        let dir = TempDir::new().expect("a temporary directory can be made");
        command.arg(server.address().to_string());
        let (group, input, output) = Group::talking(name, &mut command, &dir.path().join("log"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { group, input, lines, _dir: dir }
    }

    /// Takes a lock and gives its owner tokens, as far as the library tells them.
    pub fn acquire(&mut self, case: &str, name: &str, lease_ms: u64) -> Vec<Vec<u8>> {
        let answer = self.ask(&format!("acquire {case} {name} {lease_ms}"));
        let held = answer.strip_prefix(&format!("held {name} "));
        let tokens =
            held.unwrap_or_else(|| panic!("{case}: {answer:?}\n{}", self.group.log_tail()));
        tokens.split(',').filter(|t| *t != "-").map(bytes).collect()
    }

    /// Lets go of a lock.
    pub fn release(&mut self, name: &str) {
        let answer = self.ask(&format!("release {name}"));
        let released = format!("released {name}");
        assert_eq!(answer, released, "{name} is not released:\n{}", self.group.log_tail());
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.group.pid()
    }

    /// SIGSTOP, until it stands.
    pub fn pause(&self) {
        self.group.pause();
    }

    /// SIGCONT.
    pub fn resume(&self) {
        self.group.resume();
    }

    /// Tells it to end, and waits.
    pub fn quit(&mut self) {
        writeln!(self.input, "quit").expect("the driver reads");
        self.group.wait(Duration::from_secs(10));
    }

    fn ask(&mut self, line: &str) -> String {
        let sent = writeln!(self.input, "{line}").and_then(|()| self.input.flush());
        sent.unwrap_or_else(|e| panic!("{line}: {e}\n{}", self.group.log_tail()));
        let answer = self.lines.recv_timeout(PATIENCE);
        answer.unwrap_or_else(|e| panic!("{line}: no answer ({e})\n{}", self.group.log_tail()))
    }
}

/// Bytes of hexadecimal digits.
fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.map(|pair| byte(pair).unwrap_or_else(|| panic!("not hexadecimal: {hex:?}"))).collect()
}
