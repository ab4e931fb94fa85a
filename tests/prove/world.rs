//! What all cases of `prove` share: the lock server, the exporter that watches a lock for each, a resource that checks fencing
//! tokens and one that does not.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use super::{CASES, LEASE, drill};
use crate::support::{Exporter, ExporterSetup, Group, RedisServer, RedisSetup, wait_until};

/// How a token names its worker.
const HOLDER: &str = r"^(?P<worker>[^:]+):(?P<host>[^:]+):(?P<pid>\d+):";

/// One server, one exporter, two resources.
pub struct World {
    pub dir: TempDir,
    pub server: RedisServer,
    pub exporter: Exporter,
    pub checking: (Group, u16),
    pub unchecked: (Group, u16),
}

impl World {
    /// Watches the locks of all cases.
    pub fn start() -> Self {
        let dir = TempDir::new().expect("a temporary directory can be made");
        let server = RedisSetup::default().grant("%R~fence:*").start();
        let resource = |name: &str, flags: &[&str]| {
            let mut command = drill(&["resource", "--listen", "127.0.0.1:0"]);
            listening(name, command.args(flags), &dir.path().join(format!("{name}.log")))
        };
        let (checking, unchecked) =
            (resource("checking", &[]), resource("unchecked", &["--unchecked"]));
        let locks: String = CASES.iter().map(|case| lock(case, checking.1, unchecked.1)).collect();
        let yaml = format!(
            "poll_interval: 500ms\nstores:\n  main:\n    url: {}\n    username: dlock\n    locks:\n{locks}\
             workers:\n  drill:\n    match: '[a-z]+-[a-z]+-[ab]'\n    process: {{ pid_file: '{}/{{worker}}.pid' }}\n    \
             heartbeat: {{ redis: {{ store: main, key: 'hb:{{worker}}' }} }}\n",
            server.url(),
            dir.path().display()
        );
        let exporter = ExporterSetup::file(&yaml).password().start();
        Self { dir, server, exporter, checking, unchecked }
    }
}

/// Starts a part that says where it listens; a port that is chosen before may be another's by then.
pub fn listening(name: &str, command: &mut Command, log: &Path) -> (Group, u16) {
    let group = Group::start(name, command, log);
    let port = wait_until(&format!("{name} listens"), Duration::from_secs(30), || {
        let log = group.log();
        let (_, address) = log.lines().find_map(|l| l.split_once("listens on "))?;
        address.rsplit_once(':')?.1.trim().parse().ok()
    });
    (group, port.0)
}

/// Whether a wrong system's resource checks no tokens.
pub fn is_unchecked(how: &str) -> bool {
    matches!(how, "unchecked" | "repeated")
}

fn lock((criterion, how, ..): &(&str, &str, i32, &str), checking: u16, unchecked: u16) -> String {
    let (name, port) =
        (format!("{criterion}-{how}"), if is_unchecked(how) { unchecked } else { checking });
    let http = |pointer| {
        format!("http: {{ url: 'http://127.0.0.1:{port}/locks/{name}', json: /{pointer} }}")
    };
    format!(
        "      - name: {name}
        key: 'lock:{name}'
        lease: {LEASE}s
        token: per_acquire
        holder: '{HOLDER}'
        fencing:
          issued: {{ redis: {{ key: 'fence:{name}' }} }}
          accepted: [{{ name: db, {} }}]
          rejected: [{{ name: db, {} }}]
        effects: [{{ name: db, total: {{ {} }}, distinct: {{ {} }} }}]
",
        http("last_token"),
        http("rejected"),
        http("effects"),
        http("requests")
    )
}
