//! A private Redis Sentinel on a free port. Its default user has a password, and the user `dlock` is made by the very line
//! that the README publishes.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use super::redis_server::{Flavor, PASSWORD};
use super::{Group, RedisServer, free_port, repository, wait_until};

/// The password of the default user of every test sentinel.
const OWN: &str = "sentinels-only";

/// A running sentinel, or one that was killed.
pub struct Sentinel {
    flavor: Flavor,
    port: u16,
    dir: TempDir,
    group: Option<Group>,
}

impl Sentinel {
    /// Watches a primary by the name `locks`; so many have to agree that it is down, which it is after half a second.
    pub fn watch(primary: &RedisServer, quorum: usize) -> Self {
        Self::watch_at(primary.address().port(), quorum, &[])
    }

    /// The same by a server of this version.
    pub fn of(flavor: Flavor, primary: &RedisServer, quorum: usize) -> Self {
        Self::start(flavor, primary.address().port(), quorum, &[])
    }

    /// The same by the primary's port, with these lines in its configuration.
    pub fn watch_at(server: u16, quorum: usize, lines: &[String]) -> Self {
        Self::start(Flavor::Installed, server, quorum, lines)
    }

    fn start(flavor: Flavor, server: u16, quorum: usize, lines: &[String]) -> Self {
        let dir = TempDir::new().expect("a temporary directory can be made");
        let port = free_port();
        let user = acl_line_of_the_readme().replace("PASSWORD", PASSWORD);
        let mut text = format!(
            "port {port}\nbind 127.0.0.1\ndir {}\nrequirepass {OWN}\nsentinel sentinel-pass {OWN}\n{user}\n",
            dir.path().display()
        );
        lines.iter().for_each(|line| text += &format!("{line}\n"));
        let _ = write!(
            text,
            "sentinel monitor locks 127.0.0.1 {server} {quorum}\nsentinel down-after-milliseconds locks 500\n\
             sentinel failover-timeout locks 5000\nsentinel parallel-syncs locks 2\n"
        );
        let file = dir.path().join("sentinel.conf");
        std::fs::write(&file, text).expect("the configuration can be written");
        let mut sentinel = Self { flavor, port, dir, group: None };
        sentinel.restart();
        sentinel
    }

    /// Starts it (again), as it left itself, and waits until it answers.
    pub fn restart(&mut self) {
        self.kill();
        let dir = self.dir.path();
        let mut command = Command::new(self.flavor.program());
        command.arg(dir.join("sentinel.conf")).arg("--sentinel");
        let mut group = Group::start("redis-sentinel", &mut command, &dir.join("log"));
        wait_until("the sentinel answers", Duration::from_secs(10), || {
            assert!(group.ended().is_none(), "the sentinel ended: {}", group.log_tail());
            try_cmd(self.port, &["PING"]).ok()
        });
        self.group = Some(group);
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Sends one command as the default user and gives the reply; panics on an error.
    pub fn cmd(&self, words: &[&str]) -> redis::Value {
        try_cmd(self.port, words).unwrap_or_else(|e| panic!("{words:?} on {}: {e}", self.address()))
    }

    /// The port of the primary that it names.
    pub fn names(&self) -> u16 {
        let reply = self.cmd(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "locks"]);
        let (_, port): (String, String) =
            redis::from_redis_value(reply).expect("host and port of the primary");
        port.parse().expect("a port")
    }

    /// How many of these it knows: `replicas` or `sentinels`.
    pub fn knows(&self, whom: &str) -> usize {
        let reply = self.cmd(&["SENTINEL", whom, "locks"]);
        redis::from_redis_value::<Vec<redis::Value>>(reply).map_or(0, |all| all.len())
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut group) = self.group.take() {
            group.kill();
        }
    }

    /// SIGSTOP.
    pub fn pause(&self) {
        self.group.as_ref().expect("it was not killed").pause();
    }

    /// SIGCONT.
    pub fn resume(&self) {
        self.group.as_ref().expect("it was not killed").resume();
    }
}

fn try_cmd(port: u16, words: &[&str]) -> redis::RedisResult<redis::Value> {
    let limit = Duration::from_secs(2);
    let client = redis::Client::open(format!("redis://:{OWN}@127.0.0.1:{port}"))?;
    let mut connection = client.get_connection_with_timeout(limit)?;
    connection.set_read_timeout(Some(limit))?;
    let mut command = redis::Cmd::new();
    for word in words {
        command.arg(word);
    }
    command.query(&mut connection)
}

/// The line for sentinel.conf as the README prints it.
fn acl_line_of_the_readme() -> String {
    let readme = std::fs::read_to_string(repository("README.md")).expect("README.md can be read");
    let line = readme.lines().find(|l| l.starts_with("user dlock on ")).map(str::to_owned);
    line.expect("README.md has a line that starts with `user dlock on `")
}
