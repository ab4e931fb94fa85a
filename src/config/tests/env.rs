//! The environment over the file.

use super::*;

const FILE: &str = "
stores:
  Main-1:
    url: redis://h
    locks:
      - {name: a, key: ka, lease: 10s}
      - {name: b, key: kb, lease: 20s, max_hold: 1m}
  other:
    url: redis://i
";

fn leases(config: &Config) -> Vec<Option<u64>> {
    let locks = &config.stores["Main-1"].locks;
    locks.iter().map(|l| l.rules.lease.map(|d| d.as_secs())).collect()
}

fn said(env: &[(&str, &str)]) -> String {
    text_of(load_text(FILE, env))
}

#[test]
fn one_element_of_a_list_is_changed_and_the_rest_stays() {
    let config = load_text(FILE, &[("DLOCK__STORES__MAIN_1__LOCKS__1__LEASE", "45s")]).unwrap();
    assert_eq!(leases(&config), [Some(10), Some(45)]);
    let second = &config.stores["Main-1"].locks[1];
    assert_eq!(second.keys, LockKeys::One { name: "b".into(), key: b"kb".to_vec() });
    assert_eq!(second.rules.max_hold, Some(Duration::from_secs(60)));
    assert_eq!(config.stores.len(), 2);
}

#[test]
fn names_are_compared_without_case() {
    for name in [
        "DLOCK__STORES__MAIN_1__LOCKS__0__LEASE",
        "DLOCK__stores__Main-1__locks__0__lease",
        "dlock__Stores__main_1__Locks__00__Lease",
    ] {
        let config = load_text(FILE, &[(name, "3s")]).unwrap_or_else(|m| panic!("{name}: {m}"));
        assert_eq!(leases(&config), [Some(3), Some(20)], "{name}");
    }
}

#[test]
fn numbers_and_switches_are_text_in_the_environment() {
    let env = [
        ("DLOCK__MAX_WORKERS", "7"),
        ("DLOCK__STORES__MAIN_1__LOCKS__0__RENEWED", "False"),
        ("DLOCK__STORES__OTHER__PASSWORD", "0123"),
        ("DLOCK__STORES__OTHER__USERNAME", "007"),
        ("DLOCK__STORES__OTHER__REPLICAS__0", "r:1"),
        ("DLOCK_REVISION", "not ours"),
    ];
    let config = load_text(FILE, &env).unwrap();
    assert_eq!(config.max_workers, 7);
    assert_eq!(config.stores["Main-1"].locks[0].rules.renewed, Some(false));
    let other = &config.stores["other"];
    assert_eq!(other.password, Password::Value(crate::secret::Secret::new("0123")));
    assert_eq!(other.username.as_deref(), Some("007"));
    assert_eq!(other.replicas, ["r:1"]);
}

#[test]
fn an_element_can_be_added_at_the_end() {
    let env = [
        ("DLOCK__STORES__MAIN_1__LOCKS__2__NAME", "c"),
        ("DLOCK__STORES__MAIN_1__LOCKS__2__KEY", "kc"),
    ];
    let config = load_text(FILE, &env).unwrap();
    assert_eq!(leases(&config), [Some(10), Some(20), None]);
}

/// One mistake for one variable, and none about elements that nobody wrote.
#[test]
fn an_element_beyond_the_end_is_charged_to_its_variable() {
    assert_eq!(
        said(&[("DLOCK__STORES__MAIN_1__LOCKS__5__LEASE", "45s")]),
        "DLOCK__STORES__MAIN_1__LOCKS__5__LEASE: `stores.Main-1.locks` has 2 elements, and none at position 5; \
         positions 0 to 2 can be set"
    );
    let one = "stores: {main: {url: redis://h, locks: [{name: a, key: a}]}}";
    assert_eq!(
        text_of(load_text(one, &[("DLOCK__STORES__MAIN__LOCKS__5__LEASE", "45s")])),
        "DLOCK__STORES__MAIN__LOCKS__5__LEASE: `stores.main.locks` has 1 element, and none at position 5; positions 0 \
         to 1 can be set"
    );
    let none = said(&[("DLOCK__STORES__OTHER__REPLICAS__99999999", "r:1")]);
    assert!(
        none.contains("has no elements, and none at position 99999999; position 0 can"),
        "{none}"
    );
    // What the environment adds itself counts, wherever its name sorts.
    let names: Vec<_> = (2..12)
        .flat_map(|i| ["NAME", "KEY"].map(|k| format!("DLOCK__STORES__MAIN_1__LOCKS__{i}__{k}")))
        .collect();
    let values: Vec<_> = (0..names.len()).map(|i| format!("v{i}")).collect();
    let mut env: Vec<_> =
        names.iter().map(String::as_str).zip(values.iter().map(String::as_str)).collect();
    assert_eq!(load_text(FILE, &env).unwrap().stores["Main-1"].locks.len(), 12);
    env.push(("DLOCK__STORES__MAIN_1__LOCKS__13__KEY", "k"));
    let gap = said(&env);
    assert!(gap.contains("LOCKS__13__KEY: ") && gap.contains("has 12 elements"), "{gap}");
    assert_eq!(gap.lines().count(), 1, "{gap}");
}

#[test]
fn the_environment_alone_is_enough() {
    let env = [
        ("DLOCK__STORES__MAIN__URL", "redis://h"),
        ("DLOCK__STORES__MAIN__LOCKS__0__MATCH", "lock:*"),
    ];
    let config = load_flags(None, &[], &env).unwrap();
    assert_eq!(config.stores["main"].locks.len(), 1);
}

#[test]
fn names_with_two_underscores_are_found() {
    let text = "stores: {a: {url: redis://h}, a__b: {url: redis://i}}";
    let config = load_text(text, &[("DLOCK__STORES__A__B__URL", "redis://j")]).unwrap();
    let host = |name: &str| match &config.stores[name].url.addr {
        RedisAddr::Tcp { host, .. } => host.clone(),
        RedisAddr::Unix(_) => String::new(),
    };
    assert_eq!((host("a").as_str(), host("a__b").as_str()), ("h", "j"));
}

#[test]
fn mistakes_name_the_variable() {
    for (name, value, expected) in [
        (
            "DLOCK__STORES__MAIN_1__LOCKS__0__LEASE",
            "30",
            "DLOCK__STORES__MAIN_1__LOCKS__0__LEASE: stores.Main-1.locks[0].lease: `30` has no unit; write `30s` if \
             seconds are meant",
        ),
        (
            "DLOCK__STORES__MAIN_1__LOCKS__0__LEESE",
            "hunter2",
            "DLOCK__STORES__MAIN_1__LOCKS__0__LEESE: no key `leese` in `stores.Main-1.locks[0]`; did you mean \
             DLOCK__STORES__MAIN_1__LOCKS__0__LEASE?",
        ),
        (
            "DLOCK__STORE__MAIN__PASSWORD",
            "hunter2",
            "DLOCK__STORE__MAIN__PASSWORD: no key `store` in the top level; did you mean DLOCK__STORES?",
        ),
        (
            "DLOCK__STORES__MIAN_1__PASSWORD",
            "hunter2",
            "DLOCK__STORES__MIAN_1__PASSWORD: no entry `mian_1` in `stores`; did you mean DLOCK__STORES__MAIN_1__...?",
        ),
        (
            "DLOCK__STORES__ELSEWHERE__URL",
            "redis://h",
            "DLOCK__STORES__ELSEWHERE__URL: no entry `elsewhere` in `stores`; there are: Main-1, other",
        ),
        (
            "DLOCK__SWEEP_INTERVAL",
            "2d",
            "DLOCK__SWEEP_INTERVAL: sweep_interval: `2d` is out of range; it must be from 50ms to 1d",
        ),
        (
            "DLOCK__STORES__OTHER__EVENTS",
            "redis://h",
            "DLOCK__STORES__OTHER__EVENTS: stores.other.events: `redis://h` is unknown; it is one of: auto, tracking, \
             notifications, off",
        ),
        (
            "DLOCK__STORES__OTHER__URLS",
            "redis://h",
            "DLOCK__STORES__OTHER__URLS: `stores.other.urls` is a list, and `` is no position in it; positions count from 0, such as DLOCK__STORES__OTHER__URLS__0",
        ),
        (
            "DLOCK__STORES__OTHER__LOCKS__FIRST__KEY",
            "x",
            "DLOCK__STORES__OTHER__LOCKS__FIRST__KEY: `stores.other.locks` is a list, and `first` is no position in \
             it; positions count from 0, such as DLOCK__STORES__OTHER__LOCKS__0",
        ),
        (
            "DLOCK__STORES__OTHER__URL__HOST",
            "x",
            "DLOCK__STORES__OTHER__URL__HOST: `stores.other.url` has no keys below it; the variable is \
             DLOCK__STORES__OTHER__URL",
        ),
        (
            "DLOCK__STORES__OTHER",
            "redis://h",
            "DLOCK__STORES__OTHER: `stores.other` is a table; set its keys one by one, such as \
             DLOCK__STORES__OTHER__URL",
        ),
        (
            "DLOCK__STORES__OTHER__URL",
            "redis://:hunter2@h",
            "DLOCK__STORES__OTHER__URL: stores.other.url: contains a password, and URLs end up in process lists and \
             logs; take the part before `@` out; use `username`, and `password_file` or \
             DLOCK__STORES__OTHER__PASSWORD in the environment",
        ),
    ] {
        assert_eq!(said(&[(name, value)]), expected);
    }
}

#[test]
fn a_name_with_one_underscore_is_told_and_those_of_others_are_let_be() {
    let why = "is not read: `DLOCK` must be followed by two underscores";
    let parts =
        "write `__` after DLOCK and between the parts of the path, as in DLOCK__STORES__MAIN__URL";
    for (name, fix) in [
        ("DLOCK_STORES__OTHER__PASSWORD", "write DLOCK__STORES__OTHER__PASSWORD"),
        ("DLOCK_POLL_INTERVAL", "write DLOCK__POLL_INTERVAL"),
        ("dlock_retain", "write DLOCK__retain"),
        ("DLOCK_SWEEP_INTERVAL", "write DLOCK__SWEEP_INTERVAL"),
        ("DLOCK_LOCKS__0__LEASE", "write DLOCK__LOCKS__0__LEASE"),
        ("DLOCK_STORES_OTHER_PASSWORD", parts),
        ("DLOCK_STORE_OTHER_PASSWORD", parts),
    ] {
        let told = said(&[(name, "hunter2")]);
        assert_eq!(told, format!("{name}: {why}; {fix}"));
        assert_eq!(text_of(load_flags(None, &[], &[(name, "hunter2")])), told);
    }
    for name in [
        "DLOCK_EXPORTER",
        "DLOCK_EXPORTER__STORES",
        "DLOCK_TEST_LONG",
        "DLOCK_DRILL_STORES__X",
        "DLOCK_HOME",
        "DLOCK_",
        "DLOCK_SERVICE_HOST",
        "DLOCK_PORT",
        "DLOCK_WORKERS_SERVICE_HOST",
        "DLOCK_WORKERS_SERVICE_PORT_HTTP",
        "DLOCK_WORKERS_PORT",
        "DLOCK_STORES_PORT_80_TCP_ADDR",
        "DLOCKER_STORES__X",
    ] {
        assert!(load_text(FILE, &[(name, "x")]).is_ok(), "{name}");
        assert!(text_of(load_flags(None, &[], &[(name, "x")])).starts_with("--config.file"));
    }
}

#[test]
fn names_that_fit_twice_are_told() {
    let twice = said(&[("DLOCK__RETAIN", "1h"), ("DLOCK__Retain", "2h")]);
    assert!(twice.contains("sets the same key as DLOCK__RETAIN"), "{twice}");
    let text = "stores: {a-b: {url: redis://h}, a_b: {url: redis://i}}";
    let both = text_of(load_text(text, &[("DLOCK__STORES__A_B__USERNAME", "u")]));
    assert!(both.contains("fits both `stores.a-b` and `stores.a_b`"), "{both}");
}

#[test]
fn a_password_in_the_file_is_refused_even_when_overridden() {
    let text = "stores: {main: {url: redis://h, password: hunter2}}";
    let said = text_of(load_text(text, &[("DLOCK__STORES__MAIN__PASSWORD", "hunter3")]));
    assert!(
        said.contains("stores.main.password: a password is taken from the environment only"),
        "{said}"
    );
    assert!(!said.contains("hunter"), "{said}");
}

#[test]
fn a_password_beside_a_password_file_is_told() {
    let text =
        format!("stores: {{main: {{url: redis://h, password_file: {FIXTURES}/files/secret}}}}");
    let said = text_of(load_text(&text, &[("DLOCK__STORES__MAIN__PASSWORD", "hunter2")]));
    assert!(said.contains("is set beside `password_file`") && !said.contains("hunter2"), "{said}");
    let empty = text_of(load_text(FILE, &[("DLOCK__STORES__OTHER__PASSWORD", "")]));
    assert!(
        empty.contains("DLOCK__STORES__OTHER__PASSWORD: stores.other.password: is empty"),
        "{empty}"
    );
}

/// What an override replaces must not hide what is wrong above it.
#[test]
fn an_override_below_a_wrong_type_leaves_the_mistake() {
    let said = text_of(load_text("stores: 5", &[("DLOCK__STORES__MAIN__URL", "redis://h")]));
    assert!(said.contains("stores: must be a table by name, not a number"), "{said}");
}
