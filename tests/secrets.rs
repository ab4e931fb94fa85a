//! Passwords, keys and owner tokens are searched for wherever the exporter shows anything: in every line of its log, by
//! every crate and at every level, in metrics, documents, pages, evidence, error messages and its command line. With servers
//! that are honest, with servers that say a password back wherever they can, and with configs that have passwords where none
//! may be.

mod echoes;
mod places;
mod world;

use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use echoes::Echoes;
use places::{all, shown_nowhere};
use world::{LOCKS, OF_REDIS, TOKENS, World, file};

use crate::support::{ExporterSetup, Metrics, PASSWORD};

const SOON: Duration = Duration::from_secs(20);
/// Names the variable by which a test that is started by another one gets the exporter's command line.
const COMMAND_LINE: &str = "DLOCK_TEST_COMMAND_LINE";

/// What a log says that leaves nobody out.
const OTHERS: &str = "a line of another crate";

/// Everything was read, so that it could be told.
fn is_seen(m: &Metrics) -> bool {
    let held =
        |store: &str, lock: &str| m.is("dlock_lock_held", &[("store", store), ("lock", lock)], 1.0);
    let up = |store: &str| m.all("dlock_store_up", &[("store", store)]);
    LOCKS.iter().all(|lock| held("main", lock))
        && held("watched", "text")
        && up("tls").iter().any(|s| s.value == 1.0)
        && m.sum("dlock_exporter_evidence_writes_total", &[]) > 0.0
        && m.sum("dlock_signal_rises_total", &[("lock", "text"), ("signal", "holder_unexpected")])
            > 0.0
}

#[test]
fn no_password_no_key_and_no_token_is_shown_anywhere() {
    let world = World::start();
    let suite = std::env::current_exe().expect("this program has a path");
    // The exporter as it is, and its library in a program that hears every crate at every level.
    let script = format!(
        "export {COMMAND_LINE}=\"$(printf '%s\\n' \"$@\")\"; exec \"$0\" --exact secrets::hears_every_crate --ignored --nocapture"
    );
    let hears = world.setup(1).wrapped(&["/bin/sh", "-c", &script, &suite.display().to_string()]);
    let mut exporters =
        [world.setup(0).arguments(&["--log.level", "trace"]).start(), hears.start()];
    for exporter in &mut exporters {
        exporter.wait_for("everything to be seen: dlock_", SOON, is_seen);
    }
    // Logged however quick they are; the first is refused.
    let slow = |from: &str| world.main.cmd(&["CONFIG", "SET", "slowlog-log-slower-than", from]);
    slow("0");
    world.main.cmd(&["SET", "lock:text", TOKENS[7].1, "NX", "PX", "600000"]);
    world.main.cmd(&["SET", "lock:text", &format!("orders-9:h:1:{}", TOKENS[1].1), "PX", "9000"]);
    slow("-1");
    for exporter in &mut exporters {
        exporter.wait_for(
            "an overwrite: dlock_contention_events_total dlock_store_slow",
            SOON,
            |m| {
                let slow = m.sum("dlock_store_slowlog_lock_entries_total", &[("store", "main")]);
                let over = [("lock", "text"), ("kind", "overwrite")];
                slow > 0.0 && m.sum("dlock_contention_events_total", &over) > 0.0
            },
        );
    }
    LOCKS.iter().for_each(|lock| drop(world.main.cmd(&["DEL", &format!("lock:{lock}")])));
    for (which, exporter) in exporters.iter_mut().enumerate() {
        exporter.wait_for("all are free: dlock_lock_held", SOON, |m| {
            let at = |lock| [("store", "main"), ("lock", lock)];
            LOCKS.iter().all(|lock| m.is("dlock_lock_held", &at(*lock), 0.0))
        });
        exporter.request("POST", "/-/reload");
        let places = all(exporter, Some(&world.evidence(which)));
        assert!(places.len() > 25, "what was looked at: {:?}", names(&places));
        assert!(places.iter().any(|(_, text)| text.contains("holder_unexpected")));
        shown_nowhere(&places, &world.canaries());
    }
    assert!(exporters[1].log().contains(OTHERS), "others are heard at every level");
    for mut exporter in exporters {
        exporter.stop();
        shown_nowhere(&[("log at its end".into(), exporter.log())], &world.canaries());
    }
}

fn names(places: &[(String, String)]) -> Vec<&str> {
    places.iter().map(|(name, _)| name.as_str()).collect()
}

/// The exporter's library, with a log that neither leaves a crate out nor takes a secret out of a line.
#[test]
#[ignore = "the test above starts it in a process of its own"]
fn hears_every_crate() {
    let Ok(line) = std::env::var(COMMAND_LINE) else { return };
    let everything = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE);
    everything.with_writer(std::io::stderr).init();
    tracing::trace!(target: "another_crate", "{OTHERS}");
    let cli = dlock_exporter::cli::Cli::parse_args(line.lines()).expect("the words of a test");
    dlock_exporter::app::run(&cli, || std::env::vars().collect()).expect("it runs");
}

#[test]
fn a_password_that_a_server_says_back_is_shown_nowhere() {
    let echoes = Echoes::start();
    let dir = TempDir::new().expect("a temporary directory");
    let password = file(dir.path(), "pass", PASSWORD);
    let yaml = format!("poll_interval: 300ms\nstores:\n{}", echoes.stores(&password));
    let setup = ExporterSetup::file(&yaml).arguments(&["--log.level", "trace"]);
    let mut exporter = setup.spawn();
    let names: Vec<String> = echoes.names().map(str::to_owned).collect();
    exporter.wait_for("every store was tried: dlock_store_up", SOON, |m| {
        let tried = |name: &String| !m.all("dlock_store_up", &[("store", name)]).is_empty();
        names.iter().all(tried)
    });
    let places = all(&exporter, None);
    shown_nowhere(&places, &[("the password", PASSWORD)]);
    for (place, quotes) in [("log", "<secret>"), ("/", "&lt;secret&gt;")] {
        let (_, text) = places.iter().find(|(name, _)| name == place).expect("it was looked at");
        assert!(text.contains(quotes), "{place} quotes them, without the password");
    }
}

/// What a panic or a careless line could print of what the exporter holds.
#[test]
fn a_config_that_is_printed_says_no_password() {
    let dir = TempDir::new().expect("a temporary directory");
    let yaml = "stores: { main: { url: 'redis://127.0.0.1:1', username: u, locks: [{ name: a, key: a }] } }";
    let path = file(dir.path(), "dlock.yml", yaml);
    let cli = dlock_exporter::cli::Cli::parse_args(["dlock_exporter", "--config.file", &path]);
    let environment = vec![("DLOCK__STORES__MAIN__PASSWORD".to_owned(), OF_REDIS.to_owned())];
    let input = cli.expect("right flags").input(environment);
    let config = dlock_exporter::config::load(&input).expect("no mistakes");
    let printed = format!("{config:?} {config:#?}");
    assert!(printed.contains("<secret>"), "{printed}");
    shown_nowhere(&[("a printed config".to_owned(), printed)], &[("the password", OF_REDIS)]);
}

#[test]
fn a_config_with_passwords_in_it_is_refused_without_quoting_them() {
    let canaries = ["cnry-in-file", "cnry-in-url", "cnry-in-sentinel", "cnry-unknown", "cnry-argv"];
    let dir = TempDir::new().expect("a temporary directory");
    let yaml = "stores:
  main:
    url: redis://dlock:cnry-in-url@127.0.0.1:6379
    password: cnry-in-file
    sentinel: { master: m, password: cnry-in-sentinel }
    pasword: cnry-unknown
    locks: [{ name: a, key: 'lock:a' }]
  other:
    urls: ['redis://:cnry-in-url@127.0.0.1:6379', 'redis://127.0.0.1:6379?password=cnry-in-url']
    locks: [{ name: a, key: 'lock:a', password: cnry-unknown }]
";
    let path = file(dir.path(), "dlock.yml", yaml);
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dlock_exporter"));
        let done = command.args(words).output().expect("it runs");
        assert_eq!(done.status.code(), Some(2), "{done:?}");
        String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned()
    };
    let checked = run(&["--config.file", &path, "--config.check", "--log.level", "trace"]);
    assert!(checked.contains("password_file"), "it says what to do: {checked}");
    let bare = run(&["--redis.url", "redis://:cnry-argv@127.0.0.1:6379"]);
    let places = [("--config.check".to_owned(), checked), ("--redis.url".to_owned(), bare)];
    shown_nowhere(&places, &canaries.map(|c| ("what was written", c)));

    // The same by a reload, whose answer anybody may read who reaches the port.
    let good =
        "stores: { main: { url: 'redis://127.0.0.1:1', locks: [{ name: a, key: 'lock:a' }] } }";
    let exporter = ExporterSetup::file(good).arguments(&["--log.level", "trace"]).start();
    exporter.rewrite(yaml);
    let answer = exporter.request("POST", "/-/reload");
    assert_ne!(answer.status, 200);
    let mut places = all(&exporter, None);
    places.push(("the answer to the reload".to_owned(), answer.body));
    shown_nowhere(&places, &canaries.map(|c| ("what was written", c)));
}
