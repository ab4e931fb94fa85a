//! Another exporter as a child process: where its program is, what a scrape of it takes, and the processor time of any
//! process. It knows no exporter.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dlock_exporter::clock;
use tempfile::TempDir;

use super::support::{Group, free_port, repository, request, wait_until};

/// Of a second: what every program is told, whatever the kernel's own.
const TICKS: f64 = 100.0;

/// A program that `tests/bench/compare` installed, or that is on the path.
pub fn find(program: &str) -> Option<PathBuf> {
    let own = repository("target/peers/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(own).chain(std::env::split_paths(&path));
    all.map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// One that runs.
pub struct Peer {
    group: Group,
    address: SocketAddr,
    _dir: TempDir,
}

impl Peer {
    /// Starts it with these words and `listen` followed by an address, and waits until it answers.
    pub fn start(program: &Path, words: &[String], listen: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let mut command = Command::new(program);
        command.args(words).arg(format!("{listen}{address}"));
        let mut group = Group::start("a peer", &mut command, &dir.path().join("log"));
        wait_until("it listens", Duration::from_secs(20), || {
            assert!(group.ended().is_none(), "{program:?} ended: {}", group.log_tail());
            std::net::TcpStream::connect(address).ok()
        });
        Self { group, address, _dir: dir }
    }

    /// From the request to the last byte, in seconds, and the answer.
    pub fn scrape(&self) -> (f64, String) {
        scrape(self.address)
    }

    /// Its processor time until now, in seconds.
    pub fn cpu(&self) -> f64 {
        cpu(self.group.pid())
    }
}

/// The same of any exporter.
pub fn scrape(address: SocketAddr) -> (f64, String) {
    let begun = clock::mono();
    let answer = request(address, "GET", "/metrics", Duration::from_secs(60)).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    (clock::mono().since(begun).as_secs_f64(), answer.body)
}

/// Processor time of a process with that of its threads that have ended, in seconds; the kernel tells it in hundredths.
pub fn cpu(pid: i32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    ticks as f64 / TICKS
}

/// Its version, which `tests/bench/compare` noted beside it: not all programs know their own.
pub fn version(program: &Path) -> String {
    let noted = std::fs::read_to_string(program.with_extension("version")).unwrap_or_default();
    noted.trim().to_owned()
}
