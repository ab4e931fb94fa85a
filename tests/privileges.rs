//! What each capability is for, one by one: the exporter as nobody with none, with each alone, and with those that need each
//! other, on the same workers of another user. The table of deploy/README.md is what these exporters see; what one of them
//! does not see it says, and calls nobody dead for it.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::jvm::Jvm;
use crate::support::{
    Exporter, ExporterSetup, Metrics, RedisServer, WorkerSetup, for_a_while, long, not_tested,
    repository, wait_until,
};

const SOON: Duration = Duration::from_secs(40);
const POLL: Duration = Duration::from_millis(400);
/// Columns of the table. Of the others nothing is left, not even what could be gained later.
const COLUMNS: [&[&str]; 5] = [
    &[],
    &["net_admin"],
    &["sys_ptrace"],
    &["dac_read_search"],
    &["sys_ptrace", "dac_read_search"],
];

fn config(server: &RedisServer, pid_file: &str) -> String {
    format!(
        "poll_interval: 400ms
stores:
  main:
    url: {}
    username: dlock
    clients: on
    locks:
      - {{ name: orders, key: 'lock:orders', series: full,
          holder: '^(?P<worker>[^:]+):(?P<host>[^:]*):(?P<pid>\\d+)' }}
workers:
  orders: {{ names: [orders-1], series: full, process: {{ pid_from_holder: true }} }}
  jvm: {{ names: [jvm-1], series: full, process: {{ pid_file: '{pid_file}' }} }}
",
        server.url()
    )
}

/// The words that make who runs what follows nobody, with these capabilities.
fn nobody(capabilities: &[&str]) -> Vec<String> {
    let set: String = capabilities.iter().map(|c| format!(",+{c}")).collect();
    let words =
        ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"];
    let sets = ["inh-caps", "ambient-caps", "bounding-set"].map(|s| format!("--{s}=-all{set}"));
    words.into_iter().map(str::to_owned).chain(sets).collect()
}

/// In a mount namespace whose /proc hides what is not one's own.
fn hiding(words: Vec<String>) -> Vec<String> {
    let script = "mount -t proc -o hidepid=invisible proc /proc && exec \"$@\"";
    let unshare = ["unshare", "--mount", "sh", "-c", script, "-"].map(str::to_owned);
    unshare.into_iter().chain(words).collect()
}

fn start(yaml: &str, words: &[String]) -> Exporter {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    ExporterSetup::file(yaml).password().wrapped(&words).spawn()
}

fn is_state(m: &Metrics, state: &str) -> bool {
    m.is("dlock_holder_liveness", &[("lock", "orders"), ("state", state)], 1.0)
}

fn lost(m: &Metrics, worker: &str, aspect: &str, reason: &str) -> bool {
    let labels = [("worker", worker), ("aspect", aspect), ("reason", reason)];
    m.is("dlock_worker_coverage_lost", &labels, 1.0)
}

/// Whether it is seen, or not seen and told so; `None` while neither shows.
type Look = fn(&Exporter, &Metrics) -> Option<bool>;

fn either(yes: bool, no: bool) -> Option<bool> {
    assert!(!(yes && no), "it is seen, and said to be lost");
    (yes || no).then_some(yes)
}

/// What the table's rows are about, whether /proc hides in them, how it is told, and how that looks.
const ROWS: [(&str, bool, &str, Look); 5] = [
    ("processes of other users, their cgroups and threads", false, "", |_, m| {
        either(is_state(m, "alive"), lost(m, "orders-1", "process", "hidden"))
    }),
    (
        "the same where `/proc` is mounted with `hidepid`",
        true,
        "`dlock_worker_coverage_lost{aspect=\"process\",reason=\"hidden\"}`, liveness `unknown`",
        |_, m| {
            let hidden = lost(m, "orders-1", "process", "hidden") && is_state(m, "unknown");
            either(is_state(m, "alive"), hidden)
        },
    ),
    (
        "many processes' stalls at little cost (taskstats)",
        false,
        "a line `way=procfs` in the log; with many threads `aspect=\"stall_resolution\"`",
        |exporter, _| {
            let log = exporter.log();
            either(log.contains("way=taskstats"), log.contains("way=procfs"))
        },
    ),
    (
        "pauses of JVMs of other users",
        false,
        "`dlock_worker_coverage_lost{aspect=\"jvm\",reason=\"permission\"}`",
        |_, m| {
            let seen = !m.all("dlock_worker_jvm_gc_collections_total", &[]).is_empty();
            either(seen, lost(m, "jvm-1", "jvm", "permission"))
        },
    ),
    (
        "which process of another user a connection to Redis is of",
        false,
        "`origin` `hidden` in the API; `dlock_worker_store_connections` is absent",
        |exporter, m| {
            let labels = [("worker", "orders-1")];
            let count = m.value("dlock_worker_store_connections", &labels);
            let document = exporter.get("/api/v1/locks/main/orders").body;
            let document: Value = serde_json::from_str(&document).ok()?;
            let hidden = document["clients"].as_array()?.iter().any(|c| c["origin"] == "hidden");
            either(count == Some(1.0), count.is_none() && hidden)
        },
    ),
];

#[test]
fn each_capability_shows_what_the_table_says_and_without_it_nobody_is_dead() {
    let may =
        Command::new("unshare").args(["--mount", "setpriv", "--reuid", "65534", "true"]).output();
    if !may.is_ok_and(|done| done.status.success()) {
        return not_tested("this machine does not let us become nobody, in a mount namespace");
    }
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    let dir = tempfile::Builder::new().permissions(mode).tempdir().unwrap();
    let pid_file = dir.path().join("pid");
    let Some(_jvm) = Jvm::start(&[], &pid_file) else { return };
    let server = RedisServer::start();
    let worker = WorkerSetup::new(&server, "orders-1", "lock:orders").lease(4.0, 1.0);
    let _worker = worker.beat_every(0.0).start();
    let yaml = config(&server, &pid_file.display().to_string());
    let start = |hides: bool| {
        let of = |column: usize| {
            // The others add nothing here that those do not show.
            let is_wanted = !hides || long() || [0, 2].contains(&column);
            let words = nobody(COLUMNS[column]);
            let words = if hides { hiding(words) } else { words };
            is_wanted.then(|| start(&yaml, &words))
        };
        [0, 1, 2, 3, 4].map(of)
    };
    let (plain, hiding) = (start(false), start(true));
    for exporter in plain.iter().chain(&hiding).flatten() {
        wait_until("each exporter is ready", SOON, || {
            exporter.try_get("/-/ready").filter(|answer| answer.status == 200)
        });
    }

    let readme = std::fs::read_to_string(repository("deploy/README.md")).unwrap();
    let mut wrong = Vec::new();
    for (what, hides, told, look) in ROWS {
        let row = readme.lines().find(|line| line.starts_with(&format!("| {what} |")));
        let row = row.unwrap_or_else(|| panic!("deploy/README.md has no row of {what}"));
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.get(6), Some(&told), "{what}: how it is told");
        let exporters = if hides { &hiding } else { &plain };
        for (column, exporter) in exporters.iter().enumerate() {
            let Some(exporter) = exporter else { continue };
            let (seen, _) = wait_until(&format!("{what}: seen, or told to be lost"), SOON, || {
                // Each look takes a scrape, and there is no hurry.
                for_a_while(POLL / 4);
                look(exporter, &exporter.metrics())
            });
            let cell = if seen { "yes" } else { "-" };
            if cells[column + 1] != cell {
                wrong.push(format!("{what}, with {:?}: {cell}", COLUMNS[column]));
            }
        }
    }
    assert!(wrong.is_empty(), "deploy/README.md says otherwise:\n{}", wrong.join("\n"));
    for exporter in plain.iter().chain(&hiding).flatten() {
        let m = exporter.metrics();
        assert!(!is_state(&m, "dead") && !is_state(&m, "replaced"), "{}", m.lines("dlock_holder"));
        assert_eq!(m.sum("dlock_signal_rises_total", &[]), 0.0, "{}", m.lines("dlock_signal"));
        assert!(m.is("dlock_lock_held", &[("lock", "orders")], 1.0), "what needs nothing goes on");
    }
}
