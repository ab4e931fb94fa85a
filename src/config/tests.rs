//! Loads the files of tests/fixtures/config and compares what is said with what is beside them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;

mod env;
mod example;
mod fuzz;
mod model;
mod reference;
mod sources;

const FIXTURES: &str = "tests/fixtures/config";

/// Loads a file without an environment. Tests run in the package's root, so that the paths in messages are the same
/// everywhere.
fn load_file(path: impl Into<PathBuf>) -> Result<Config, Mistakes> {
    load(&Input { file: Some(path.into()), ..Input::default() })
}

/// Loads a text as a file, with these variables in the environment.
fn load_text(text: &str, env: &[(&str, &str)]) -> Result<Config, Mistakes> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    load(&Input { file: Some(file.path().into()), env, ..Input::default() })
}

/// Starts without a file.
fn load_flags(
    url: Option<&str>,
    patterns: &[&str],
    env: &[(&str, &str)],
) -> Result<Config, Mistakes> {
    load(&Input {
        file: None,
        redis_url: url.map(str::to_owned),
        lock_patterns: patterns.iter().map(|p| (*p).to_owned()).collect(),
        env: env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        ..Input::default()
    })
}

fn text_of(result: Result<Config, Mistakes>) -> String {
    match result {
        Ok(_) => panic!("it loaded"),
        Err(mistakes) => mistakes.to_string(),
    }
}

fn fixtures(kind: &str) -> Vec<PathBuf> {
    let dir = Path::new(FIXTURES).join(kind);
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "yml"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

#[test]
fn good_files_load() {
    for path in fixtures("good") {
        if let Err(mistakes) = load_file(&path) {
            panic!("{}:\n{mistakes}", path.display());
        }
    }
}

#[test]
fn bad_files_say_what_is_wrong() {
    for (path, mistakes) in told("bad") {
        assert_eq!(mistakes.count(), 1, "{}:\n{mistakes}", path.display());
    }
}

/// What is wrong with an entry as a whole does not hide what is wrong inside it, nor the other way round.
#[test]
fn an_entry_with_several_mistakes_tells_them_all() {
    for (path, mistakes) in told("several") {
        assert!(mistakes.count() > 5, "{}:\n{mistakes}", path.display());
    }
}

/// Loads the files of a kind and compares what is said with what is beside them. `UPDATE=1 cargo test` writes the
/// expected texts anew; read the difference before committing it.
fn told(kind: &str) -> Vec<(PathBuf, Mistakes)> {
    let update = std::env::var_os("UPDATE").is_some();
    let mut wrong = Vec::new();
    let mut all = Vec::new();
    for path in fixtures(kind) {
        let Err(mistakes) = load_file(&path) else {
            wrong.push(format!("{} loaded", path.display()));
            continue;
        };
        let said = format!("{mistakes}\n");
        let beside = path.with_extension("expected");
        if update {
            std::fs::write(&beside, &said).unwrap();
        }
        let expected = std::fs::read_to_string(&beside).unwrap_or_default();
        if said != expected {
            wrong.push(format!("{}\n  expected {expected}  said     {said}", path.display()));
        }
        if said.contains("hunter2") || said.contains("ter2") || said.contains("0123") {
            wrong.push(format!("{} tells the password", path.display()));
        }
        all.push((path, mistakes));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    all
}

#[test]
fn all_ten_mistakes_are_told_at_once() {
    let mistakes = load_file(format!("{FIXTURES}/ten_mistakes.yml")).unwrap_err();
    let keys: Vec<&str> = mistakes.iter().map(|m| m.key.as_str()).collect();
    for key in [
        "poll_interval",
        "sweep_interval",
        "stores.main.password",
        "stores.main.tls",
        "stores.main.locks[0].leese",
        "stores.main.locks[1].name",
        "stores.main.locks[2].match",
        "workers.orders.match",
        "workers.orders.process.pid_file",
        "workers.orders.heartbeat.redis.store",
    ] {
        assert!(keys.contains(&key), "{key} is not told in\n{mistakes}");
    }
    assert_eq!(mistakes.count(), 10, "{mistakes}");
    assert!(!mistakes.to_string().contains("hunter2"));
    assert_eq!(mistakes.to_string().lines().count(), 10);
}

#[test]
fn a_missing_or_unreadable_file_is_named() {
    let said = text_of(load_file("/no/such/dlock.yml"));
    assert!(said.starts_with("/no/such/dlock.yml: cannot be read: No such file"), "{said}");
    let said = text_of(load_file("/dev/zero"));
    assert!(said.starts_with("/dev/zero: larger than 1 MiB"), "{said}");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("latin1.yml");
    std::fs::write(&path, b"stores: \xe4").unwrap();
    assert!(text_of(load_file(path)).contains("not UTF-8"));
}

#[test]
fn a_start_without_a_file_is_a_configuration_too() {
    let config = load_flags(
        Some("redis://h:1234/5"),
        &["lock:*", "job:*"],
        &[("DLOCK__STORES__MAIN__PASSWORD", "hunter2"), ("DLOCK__POLL_INTERVAL", "5s")],
    )
    .unwrap();
    assert_eq!(config.poll_interval, Duration::from_secs(5));
    let store = &config.stores["main"];
    assert_eq!(store.url.addr, RedisAddr::Tcp { host: "h".into(), port: 1234 });
    assert_eq!(store.url.db, 5);
    assert_eq!(store.password, Password::Value(crate::secret::Secret::new("hunter2")));
    assert!(!format!("{config:?}").contains("hunter2"));
    let patterns: Vec<_> = store
        .locks
        .iter()
        .map(|lock| match &lock.keys {
            LockKeys::Matching { name, pattern, capture: None, max_locks: 1000 } => {
                assert_eq!((name.0.as_str(), lock.rules.series), ("{0}", SeriesTier::Core));
                pattern.as_slice()
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(patterns, [b"lock:*", b"job:*" as &[u8]]);
}

#[test]
fn a_share_is_one_of_those_that_there_are() {
    let loaded = |shard, total_shards| {
        load(&Input {
            redis_url: Some("redis://h".into()),
            lock_patterns: vec!["x".into()],
            shard,
            total_shards,
            ..Input::default()
        })
    };
    assert_eq!(loaded(None, None).unwrap().shard, Shard::default());
    assert_eq!(loaded(Some(2), Some(3)).unwrap().shard, Shard::new(2, 3).unwrap());
    let said = |shard, total| text_of(loaded(shard, total));
    assert_eq!(
        said(Some(3), Some(3)),
        "--shard: 3 is not below --total-shards, which is 3; shares are counted from 0"
    );
    assert!(said(Some(0), None).contains("add --total-shards"), "{}", said(Some(0), None));
    assert!(said(None, Some(3)).contains("add --shard"), "{}", said(None, Some(3)));
    assert!(said(Some(0), Some(0)).starts_with("--total-shards: there must be one"));
}

#[test]
fn flags_that_do_not_go_together_are_told() {
    let said = |url, patterns: &[&str]| text_of(load_flags(url, patterns, &[]));
    assert_eq!(
        said(Some("redis://h"), &[]),
        "--redis.url: names a server but no locks; add --lock.pattern, such as --lock.pattern 'lock:*'"
    );
    assert!(said(None, &["x"]).starts_with("--lock.pattern: names locks but no server; "));
    assert!(said(None, &[]).starts_with("--config.file: there is no configuration; "));
    let said = said(Some("redis://u:hunter2@h"), &["x"]);
    assert!(said.starts_with("--redis.url: contains a password"), "{said}");
    assert!(said.contains("DLOCK__STORES__MAIN__PASSWORD") && !said.contains("hunter2"), "{said}");
    let both = load(&Input {
        file: Some("deploy/dlock.example.yml".into()),
        redis_url: Some("redis://u:hunter2@h".into()),
        lock_patterns: vec!["x".into()],
        ..Input::default()
    });
    let said = text_of(both);
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(
        said.lines().all(|l| l.contains("cannot be used together with --config.file")),
        "{said}"
    );
    assert!(!said.contains("hunter2"));
}

#[test]
fn a_fifo_is_read_and_not_waited_for_without_end() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("dlock.yml");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let text = "stores: { main: { url: 'redis://127.0.0.1:1', locks: [{ match: 'lock:*' }] } }";
    let path = fifo.clone();
    let writer = std::thread::spawn(move || std::fs::write(path, text).unwrap());
    let config = load_file(&fifo).unwrap();
    writer.join().unwrap();
    assert!(config.stores.contains_key("main"));
    let mistakes = load_file(&fifo).unwrap_err().to_string();
    assert!(mistakes.contains("nobody writes") && mistakes.contains("dlock.yml"), "{mistakes}");
}
