//! The world that an ecosystem's locks live in: a server, the process that holds them, the exporter, and ways to look at what
//! it says. It must not judge: what is right is said in `run`.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use dlock_exporter::clock;
use serde_json::Value;
use tempfile::TempDir;

use super::case::{Case, NamedBy};
use super::driver::Driver;
use crate::support::{Exporter, Metrics, RedisServer, RedisSetup, acl_line_of_the_readme};

/// How long anything may take to show.
pub const SOON: Duration = Duration::from_secs(15);
/// The worker that the driver is, wherever something names it.
pub const WORKER: &str = "driver";
const OWNERS: &str = "lock:owners";

/// A server whose exporter user may read every key, and an owner index.
pub fn server() -> RedisServer {
    let line = acl_line_of_the_readme().replace("ACL SETUSER", "user");
    let line = line.replace("%R~lock:* %R~hb:*", "%R~*").replace("PASSWORD", "watch-only");
    RedisSetup::default().acl(&(line + " +client|list")).start()
}

/// A server, the process that holds its locks, and the exporter that watches both.
pub struct World<'a> {
    server: RedisServer,
    pub driver: Driver,
    pub exporter: Exporter,
    pub cases: &'a [Case],
    /// All owner tokens that were told.
    pub tokens: BTreeSet<Vec<u8>>,
    _dir: TempDir,
}

impl<'a> World<'a> {
    /// Starts all, with this at the end of the config.
    pub fn start(ecosystem: &str, command: Command, cases: &'a [Case], more: &str) -> Self {
        let server = server();
        let driver = Driver::start(ecosystem, command, &server);
        let dir = TempDir::new().expect("a temporary directory can be made");
        let pid_file = dir.path().join("pid");
        std::fs::write(&pid_file, driver.pid().to_string()).expect("the pid can be written");
        let entries = cases.iter().filter_map(Case::entry).map(|e| format!("\n      - {e}"));
        let exporter = Exporter::start(&format!(
            "poll_interval: 200ms
stores:
  main:
    url: {}
    username: dlock
    owner_index: {{ key: '{OWNERS}' }}
    locks:{}
      - {{ match: '*', series: full }}
workers:
  driver:
    names: [{WORKER}]
    process: {{ pid_file: '{}' }}
{more}",
            server.url(),
            entries.collect::<String>(),
            pid_file.display(),
        ));
        Self { server, driver, exporter, cases, tokens: BTreeSet::new(), _dir: dir }
    }

    /// Takes the locks that are wanted, and names their owners in the index where nothing else does.
    pub fn acquire(&mut self, wanted: impl Fn(&Case) -> bool) {
        for case in self.cases.iter().filter(|c| wanted(c)) {
            let tokens = self.driver.acquire(case.case, case.name, case.lease_ms);
            if case.named_by == NamedBy::Index {
                assert!(
                    !tokens.is_empty(),
                    "{}: an opaque token is needed for the index",
                    case.case
                );
                for token in &tokens {
                    self.index(token);
                }
            }
            self.tokens.extend(tokens);
        }
    }

    /// What an application does that keeps an index of its tokens.
    fn index(&self, token: &[u8]) {
        let mut command = redis::cmd("HSET");
        let client = redis::Client::open(self.server.url()).expect("a test server's URL is good");
        let mut connection = client.get_connection().expect("a test server accepts connections");
        command.arg(OWNERS).arg(token).arg(WORKER);
        command.exec(&mut connection).expect("the index is a hash");
    }

    /// What the API says of it.
    pub fn api_of(&self, case: &Case) -> Value {
        let name: String = case.key.bytes().map(|b| format!("%{b:02x}")).collect();
        let answer = self.exporter.get(&format!("/api/v1/locks/main/{name}"));
        serde_json::from_str(&answer.body).expect("the API answers with JSON")
    }

    /// Waits until nothing is wrong with any lock, and tells all that is if that takes too long.
    pub fn wait(&mut self, what: &str, judge: impl Fn(&Case, &Metrics, &Value) -> Wrong) {
        let deadline = clock::mono().plus(SOON);
        loop {
            let m = self.exporter.metrics();
            let api: Value = serde_json::from_str(&self.exporter.get("/api/v1/locks").body)
                .expect("the API answers with JSON");
            let locks = api["locks"].as_array().cloned().unwrap_or_default();
            let mut all = String::new();
            for case in self.cases {
                let lock = locks.iter().find(|l| l["lock"] == case.key).unwrap_or(&Value::Null);
                for text in judge(case, &m, lock).0 {
                    all += &format!("{} ({}): {text}\n", case.case, case.key);
                }
            }
            if all.is_empty() {
                return;
            }
            if deadline.since(clock::mono()) == Duration::ZERO {
                let lines = m.lines("dlock_lease_ends_total") + &m.lines("dlock_lock_");
                panic!("not within {SOON:?}: {what}\n{all}\n{lines}\n{}", self.exporter.log());
            }
            std::thread::sleep(Duration::from_millis(40));
        }
    }
}

/// What is not as it should be.
#[derive(Default)]
pub struct Wrong(Vec<String>);

impl Wrong {
    /// Something has to be.
    pub fn unless(&mut self, is_right: bool, what: &str) {
        if !is_right {
            self.0.push(what.to_owned());
        }
    }

    /// Two values have to be the same.
    pub fn same<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, is: T, wanted: T) {
        if is != wanted {
            self.0.push(format!("{what}: {is:?}, not {wanted:?}"));
        }
    }
}

/// The labels of its series.
pub fn of(case: &Case) -> [(&'static str, &'static str); 2] {
    [("store", "main"), ("lock", case.key)]
}

/// The same, and one more.
pub fn with(case: &Case, more: (&'static str, &'static str)) -> [(&'static str, &'static str); 3] {
    [("store", "main"), ("lock", case.key), more]
}
