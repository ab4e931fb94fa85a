//! Servers that cannot be had here, by script: Redis 7.2, 7.4 and 8.0, Valkey 8, and services that refuse or renamed
//! commands. What is refused turns off what rests on it, is shown, is not asked for again before its time, and comes back
//! without a break once it is granted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{
    Content, Exporter, ExporterSetup, Metrics, PASSWORD, Script, ScriptedRedis, Spoil, wait_until,
};

const SOON: Duration = Duration::from_secs(10);

/// Commands that begin with these words are answered by that error.
type Refusals = &'static [(&'static str, &'static str)];

/// What a server is, what it refuses, and the commands that have to show as refused.
struct Case {
    store: &'static str,
    flavor: &'static str,
    version: &'static str,
    refuses: Refusals,
    denied: &'static [&'static str],
}

const UNKNOWN: &str = "ERR unknown command 'X', with args beginning with: 'y' ";
const NOPERM: &str = "NOPERM User dlock has no permissions to run the 'x' command";
const NOPERM_OF_6: &str =
    "NOPERM this user has no permissions to run the 'x' command or its subcommand";
const NOT_AVAILABLE: &str = "ERR command is not available in this service";

const CASES: [Case; 8] = [
    plain("redis72", "redis", "7.2.5"),
    plain("redis74", "redis", "7.4.1"),
    plain("redis80", "redis", "8.0.2"),
    plain("valkey8", "valkey", "8.0.1"),
    Case {
        store: "renamed",
        flavor: "redis",
        version: "7.2.4",
        refuses: &[
            ("CLIENT", UNKNOWN),
            ("CONFIG", UNKNOWN),
            ("HELLO", UNKNOWN),
            ("PEXPIRETIME", UNKNOWN),
            ("ROLE", UNKNOWN),
            ("SLOWLOG", UNKNOWN),
        ],
        denied: &[
            "client|no-touch",
            "client|setname",
            "config|get",
            "hello",
            "pexpiretime",
            "role",
            "slowlog|get",
        ],
    },
    Case {
        store: "forbidden",
        flavor: "valkey",
        version: "8.1.0",
        refuses: &[
            ("CLIENT NO-TOUCH", NOPERM),
            ("CONFIG", NOPERM),
            ("PEXPIRETIME", NOPERM),
            ("ROLE", NOPERM),
            ("SCAN", NOPERM),
        ],
        denied: &["client|no-touch", "config|get", "pexpiretime", "role", "scan"],
    },
    Case {
        store: "mute",
        flavor: "redis",
        version: "6.2.14",
        refuses: &[
            ("CONFIG", NOPERM_OF_6),
            ("HELLO", NOPERM_OF_6),
            ("INFO", NOPERM_OF_6),
            ("PEXPIRETIME", UNKNOWN),
        ],
        // Without a version nobody knows whether PEXPIRETIME should be there.
        denied: &["config|get", "hello", "info"],
    },
    Case {
        store: "proxy",
        flavor: "redis",
        version: "7.0.15",
        refuses: &[
            ("CONFIG", NOT_AVAILABLE),
            // More than one section.
            ("INFO server replication", "ERR syntax error"),
            ("SCAN", UNKNOWN),
        ],
        denied: &["config|get", "scan"],
    },
];

const fn plain(store: &'static str, flavor: &'static str, version: &'static str) -> Case {
    Case { store, flavor, version, refuses: &[], denied: &[] }
}

/// What was asked of a server, by what it refuses, besides `connects`; and whether it refuses it still.
#[derive(Default)]
struct Book {
    asked: Mutex<BTreeMap<&'static str, usize>>,
    is_open: AtomicBool,
}

impl Book {
    fn count(&self, what: &'static str) {
        *self.asked.lock().unwrap().entry(what).or_default() += 1;
    }

    fn asked(&self, what: &str) -> usize {
        self.asked.lock().unwrap().get(what).copied().unwrap_or(0)
    }
}

struct Served {
    case: &'static Case,
    book: Arc<Book>,
    server: ScriptedRedis,
}

impl Served {
    fn start(case: &'static Case) -> Self {
        let book = Arc::<Book>::default();
        let (kept, refuses) = (Arc::clone(&book), case.refuses);
        let spoiler = move |words: &[Vec<u8>]| {
            let line = String::from_utf8_lossy(&words.join(&b' ')).into_owned();
            if line.starts_with("AUTH ") || line.starts_with("HELLO 3 AUTH") {
                kept.count("logins");
            }
            let (what, error) = refuses.iter().find(|(what, _)| line.starts_with(what))?;
            kept.count(what);
            let refuses = !kept.is_open.load(Ordering::Relaxed);
            refuses.then(|| Spoil::Say(format!("-{error}\r\n").into_bytes()))
        };
        let ends = ((dlock_exporter::clock::wall_secs() + 600.0) * 1e3) as i64;
        let script = Script {
            flavor: case.flavor,
            version: case.version,
            spoiler: Some(Box::new(spoiler)),
            ..Script::default()
        };
        let script = script.key("lock:orders", Content::text("orders-1:x"), Some(ends)).key(
            "lock:job:7",
            Content::text("job-1:y"),
            Some(ends),
        );
        Self { case, book, server: ScriptedRedis::start(script) }
    }

    fn config(&self) -> String {
        format!(
            "  {}:\n    url: {}\n    username: dlock\n    events: off\n    locks:
      - {{ name: orders, key: 'lock:orders', holder: '^(?P<worker>[^:]+):' }}
      - {{ name: 'job-{{1}}', match: 'lock:job:*', capture: '^lock:job:(.+)$' }}\n",
            self.case.store,
            self.server.url()
        )
    }

    fn value(&self, m: &Metrics, name: &str, lock: &str) -> Option<f64> {
        m.value(name, &[("store", self.case.store), ("lock", lock)])
    }

    /// The lock that is named in the config is read in full, and the other one if it can be found.
    fn is_read(&self, m: &Metrics) -> bool {
        let at = [("store", self.case.store), ("lock", "orders"), ("worker", "orders-1")];
        let finds = !self.is_refused("SCAN");
        m.is("dlock_lock_holder_info", &at, 1.0)
            && self.value(m, "dlock_lock_held", "orders") == Some(1.0)
            && self.value(m, "dlock_lease_remaining_seconds", "orders") > Some(500.0)
            && self.value(m, "dlock_lease_expiry_timestamp_seconds", "orders").is_some()
            && self.value(m, "dlock_lock_held", "job-7") == finds.then_some(1.0)
    }

    fn is_refused(&self, what: &str) -> bool {
        let refuses = !self.book.is_open.load(Ordering::Relaxed);
        refuses && self.case.refuses.iter().any(|(command, _)| *command == what)
    }

    fn denied(&self, m: &Metrics) -> Vec<String> {
        let all = m.all("dlock_store_permission_denied", &[("store", self.case.store)]);
        let denied = all.iter().filter(|s| s.value == 1.0).map(|s| s.label("command").to_owned());
        let mut denied: Vec<String> = denied.collect();
        denied.sort();
        denied
    }

    /// Which refused command was not asked for so often, those at connects once.
    fn wrongly_asked(&self, times: usize) -> Option<String> {
        let wrong = self.case.refuses.iter().find_map(|(what, _)| {
            let wanted = match *what {
                "HELLO" => 1,
                // Its version, and so that it has the other one, is known from the first answer on.
                "PEXPIRETIME" if self.case.store == "mute" => 1,
                // A name at the connect, and NO-TOUCH.
                "CLIENT" => 1 + times,
                // The text and its counters, in one breath.
                "INFO" => 2 * times,
                // It stays as it is for as long as the connection.
                "INFO server replication" => 1,
                _ => times,
            };
            let asked = self.book.asked(what);
            (asked != wanted).then(|| format!("{what}: {asked} times, not {wanted}"))
        });
        wrong.map(|wrong| format!("{}: {wrong}", self.case.store))
    }
}

/// Waits until each store was polled some more times.
fn polls(exporter: &mut Exporter) {
    let done = |m: &Metrics| {
        let all = m.all("dlock_exporter_polls_total", &[]);
        all.iter().map(|s| s.value).fold(f64::INFINITY, f64::min)
    };
    let before = done(&exporter.metrics());
    exporter.wait_for("dlock_exporter_polls_total", SOON, |m| done(m) >= before + 6.0);
}

fn reload(exporter: &Exporter) {
    let answer = exporter.request("POST", "/-/reload");
    assert_eq!(answer.status, 200, "{}", answer.body);
}

#[test]
fn what_a_server_refuses_is_shown_and_left_alone_until_it_is_granted() {
    let served: Vec<Served> = CASES.iter().map(Served::start).collect();
    let stores: String = served.iter().map(Served::config).collect();
    let file = format!("poll_interval: 200ms\nstores:\n{stores}");
    let setup = served.iter().fold(ExporterSetup::file(&file), |setup, s| {
        setup.env(&format!("DLOCK__STORES__{}__PASSWORD", s.case.store.to_uppercase()), PASSWORD)
    });
    let mut exporter = setup.start();
    for s in &served {
        let what = format!("{}: dlock_store_permission_denied", s.case.store);
        exporter.wait_for(&what, SOON, |m| s.is_read(m) && s.denied(m) == s.case.denied);
        let m = exporter.metrics();
        let info = m.all("dlock_store_info", &[("store", s.case.store)]);
        let said = info.first().map(|i| (i.label("flavor"), i.label("version")));
        let knows = if s.case.store == "mute" { "" } else { s.case.version };
        assert_eq!(said, Some((s.case.flavor, knows)), "{}", s.case.store);
    }
    let asked = |times| served.iter().find_map(|s| s.wrongly_asked(times));
    polls(&mut exporter);
    assert_eq!(asked(1), None, "{}", exporter.log());

    reload(&exporter);
    wait_until("all is tried again", SOON, || asked(2).is_none().then_some(()));
    polls(&mut exporter);
    assert_eq!(asked(2), None);
    let m = exporter.metrics();
    served.iter().for_each(|s| assert_eq!(s.denied(&m), s.case.denied, "{}", s.case.store));

    served.iter().for_each(|s| s.book.is_open.store(true, Ordering::Relaxed));
    reload(&exporter);
    for s in &served {
        exporter.wait_for("dlock_store_permission_denied 0 dlock_store_min", SOON, |m| {
            let at_connects = |c: &&str| ["client|setname", "hello"].contains(c);
            let left: Vec<&str> = s.case.denied.iter().copied().filter(at_connects).collect();
            let of_store = [("store", s.case.store)];
            s.denied(m) == left
                && s.is_read(m)
                && m.is("dlock_store_min_replicas_to_write", &of_store, 1.0)
        });
    }
    polls(&mut exporter);
    let m = exporter.metrics();
    for s in &served {
        // By HELLO, and where that is refused by AUTH: over the one connection that it had from the start.
        let has_no_hello = s.case.denied.contains(&"hello");
        assert_eq!(s.book.asked("logins"), 1 + usize::from(has_no_hello), "{}", s.case.store);
        // Another command for the expiry is no write of it.
        for counter in ["dlock_lease_renewals_total", "dlock_lock_acquisitions_total"] {
            assert_eq!(s.value(&m, counter, "orders"), Some(0.0), "{} {counter}", s.case.store);
        }
    }
    assert_eq!(m.sum("dlock_exporter_poll_failures_total", &[]), 0.0, "{}", exporter.log());
}
