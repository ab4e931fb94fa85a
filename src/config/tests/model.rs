//! What a right configuration comes to.

use super::*;

#[test]
fn every_key_of_the_full_file_arrives() {
    let config = load_file(format!("{FIXTURES}/good/full.yml")).unwrap();
    assert_eq!(config.poll_interval, Duration::from_millis(500));
    assert_eq!(config.sweep_interval, Duration::from_secs(60));
    assert_eq!((config.retain, config.max_workers), (Duration::from_secs(7200), 50));
    let store = &config.stores["main"];
    assert_eq!(
        store.url,
        RedisUrl {
            addr: RedisAddr::Tcp { host: "redis.example".into(), port: 6380 },
            tls: true,
            db: 2
        }
    );
    assert_eq!(store.replicas, ["10.0.0.2:6379", "[::1]:6379"]);
    assert_eq!(store.username.as_deref(), Some("dlock"));
    assert_eq!(store.password, Password::File(format!("{FIXTURES}/files/secret").into()));
    assert_eq!(store.tls.server_name.as_deref(), Some("redis.internal"));
    assert!(store.tls.ca_file.is_some() && store.tls.cert_file.is_some());
    assert!(store.tls.key_file.is_some());
    assert_eq!(store.connect_timeout, Duration::from_secs(2));
    assert_eq!(store.response_timeout, Duration::from_millis(300));
    let sock = &config.stores["sock-1"];
    assert_eq!(sock.url.addr, RedisAddr::Unix("/run/redis/redis.sock".into()));
    assert_eq!((sock.url.db, sock.password.clone()), (4, Password::None));
}

#[test]
fn locks_arrive_with_their_rules_and_defaults() {
    let config = load_file(format!("{FIXTURES}/good/full.yml")).unwrap();
    let [one, many, plain] = config.stores["main"].locks.as_slice() else { panic!("three locks") };
    assert_eq!(one.keys, LockKeys::One { name: "orders".into(), key: b"lock:orders".to_vec() });
    let rules = &one.rules;
    assert_eq!(rules.format.as_deref(), Some("redisson"));
    assert_eq!(rules.lease, Some(Duration::from_secs(30)));
    assert_eq!(rules.max_hold, Some(Duration::from_secs(600)));
    assert_eq!((rules.token, rules.renewed), (Some(TokenKind::Reusable), Some(true)));
    assert!(rules.ends_by_expiry == Some(true) && rules.always_held && rules.holder.is_some());
    assert_eq!(rules.series, SeriesTier::Core);
    let LockKeys::Matching { name, pattern, capture: Some(capture), max_locks: 20 } = &many.keys
    else {
        panic!("{many:?}")
    };
    assert_eq!((name.0.as_str(), pattern.as_slice()), ("job-{1}-{kind}", b"lock:job:*" as &[u8]));
    assert!(capture.0.is_match(b"lock:job:1:x"));
    assert_eq!(many.rules.series, SeriesTier::Flagged);
    assert_eq!([one, many, plain].map(|l| l.rules.pooled), [false, true, false]);
    let LockKeys::Matching { name, capture: None, max_locks: 1000, .. } = &plain.keys else {
        panic!("{plain:?}")
    };
    assert_eq!(name.0, "{0}");
    assert_eq!(plain.rules.series, SeriesTier::Core);
    let expected = LockRules { series: SeriesTier::Full, by_key: true, ..LockRules::default() };
    let minimal = load_file(format!("{FIXTURES}/good/minimal.yml")).unwrap();
    assert_eq!(*minimal.stores["main"].locks[0].rules, expected);
}

#[test]
fn worker_groups_arrive_in_the_order_of_their_names() {
    let config = load_file(format!("{FIXTURES}/good/full.yml")).unwrap();
    let [a, b, c, d, e, f] = config.workers.as_slice() else { panic!("six groups") };
    assert!(a.serves("orders-12") && a.serves("o"));
    assert!(!a.serves("orders-12x") && !a.serves("xo"));
    assert_eq!((a.series, b.series), (SeriesTier::Core, SeriesTier::Full));
    assert!(b.serves("b-2") && !b.serves("b-3"));
    let process = |group: &WorkerGroup| group.process.clone().unwrap();
    assert_eq!(process(a), ProcessSource::PidFile("/run/{worker}.pid".into()));
    assert_eq!(process(b), ProcessSource::FromHolder);
    assert_eq!(process(c), ProcessSource::SystemdUnit("c.service".into()));
    assert_eq!(process(d), ProcessSource::Command("java .*-Dname={worker}( |$)".into()));
    assert_eq!(process(e), ProcessSource::Cgroup("/system.slice/{worker}.service".into()));
    let beat = |group: &WorkerGroup| group.heartbeat.clone().unwrap().source;
    let redis = |store: &str, key: &str, part, json: Option<&str>| Source::Redis {
        store: store.into(),
        key: key.into(),
        part,
        json: json.map(str::to_owned),
    };
    let field = RedisPart::Field("{worker}".into());
    assert_eq!(beat(a), redis("main", "beats", field, Some("/at")));
    assert_eq!(a.heartbeat.as_ref().unwrap().frozen_after, Some(Duration::from_secs(10)));
    assert_eq!(beat(b), redis("main", "beats", RedisPart::Member("{worker}".into()), None));
    assert_eq!(beat(c), redis("sock-1", "session:c", RedisPart::Exists, None));
    assert_eq!(beat(d), Source::File { path: "/run/{worker}.beat".into(), content: true });
    let Source::Http { url, part, tls, basic_auth: Some((user, _)), .. } = beat(e) else {
        panic!("{e:?}")
    };
    assert_eq!(url, "https://{worker}.example:8443/health");
    assert_eq!(part, HttpPart::Json("/beat/at".into()));
    assert!(tls.ca_file.is_some() && user == "probe");
    let Source::Http { part, bearer_token_file: Some(_), .. } = beat(f) else { panic!("{f:?}") };
    assert_eq!(part, HttpPart::Metric("beat{job=\"f\"}".into()));
}

/// An alternation that matches a part first must still serve the whole name.
#[test]
fn a_match_is_of_the_whole_name() {
    let text = "
stores: {main: {url: redis://h, locks: [{name: x, key: x, holder: '(?P<worker>.+)'}]}}
workers: {g: {match: 'a|ab', process: {pid_file: '/run/{worker}.pid'}}}";
    let config = load_text(text, &[]).unwrap();
    assert!(config.workers[0].serves("ab") && config.workers[0].serves("a"));
    assert!(!config.workers[0].serves("abc") && !config.workers[0].serves("ab\n"));
}

#[test]
fn urls_are_read() {
    let url = |text: &str| {
        let config = load_text(&format!("stores: {{main: {{url: '{text}'}}}}"), &[]).unwrap();
        config.stores["main"].url.clone()
    };
    let tcp = |host: &str, port| RedisAddr::Tcp { host: host.into(), port };
    for (text, addr, tls, db) in [
        ("redis://h", tcp("h", 6379), false, 0),
        ("REDIS://h/", tcp("h", 6379), false, 0),
        ("valkey://h:1/9", tcp("h", 1), false, 9),
        ("rediss://10.0.0.1:2", tcp("10.0.0.1", 2), true, 0),
        ("valkeys://[::1]:3/1", tcp("::1", 3), true, 1),
        ("redis://[fe80::1%eth0]", tcp("fe80::1%eth0", 6379), false, 0),
        ("redis+unix:///a@b.sock", RedisAddr::Unix("/a@b.sock".into()), false, 0),
        ("redis+unix:///a?db=3", RedisAddr::Unix("/a".into()), false, 3),
    ] {
        assert_eq!(url(text), RedisUrl { addr, tls, db }, "{text}");
    }
}

#[test]
fn clocks_stalls_and_machines_arrive() {
    let config = load_file(format!("{FIXTURES}/good/clocks.yml")).unwrap();
    assert_eq!(config.stall_poll, Duration::from_millis(200));
    assert_eq!(config.stall_window, Duration::from_secs(86_400));
    let udp = |host: &str| ChronyAddr::Udp { host: host.into(), port: 323 };
    let clock = |name: &str, chrony| Clock { name: name.into(), chrony };
    let here = ChronyAddr::Unix("/run/chrony/chronyd.sock".into());
    assert_eq!(
        *config.clocks,
        [clock("here", here), clock("lockserver", udp("10.0.0.5")), clock("spare", udp("fd00::6"))]
    );
    assert_eq!(config.local_clock.as_deref(), Some("here"));
    let node = |addr: &str, clock: &str| NodeClock { addr: addr.into(), clock: clock.into() };
    assert_eq!(
        config.stores["main"].clocks,
        [node("10.0.0.5:6379", "lockserver"), node("[fd00::6]:6379", "spare")]
    );
    let modes: Vec<JvmMode> = config.workers.iter().map(|group| group.jvm).collect();
    assert_eq!(modes, [JvmMode::Auto, JvmMode::Always, JvmMode::Never]);

    let minimal = load_file(format!("{FIXTURES}/good/minimal.yml")).unwrap();
    assert_eq!(minimal.stall_poll, Duration::from_millis(500));
    assert_eq!(minimal.stall_window, Duration::from_secs(3600));
    assert!(minimal.clocks.is_empty() && minimal.local_clock.is_none());
}

/// A clock is this host's only where that is said, or where nothing else can be meant.
#[test]
fn the_clock_of_this_host_is_found_by_its_address() {
    let local = |clocks: &str| {
        let config = load_text(&format!("clocks: {{{clocks}}}"), &[]).unwrap();
        config.local_clock.as_deref().map(str::to_owned)
    };
    let found = |name: &str| Some(name.to_owned());
    for here in ["udp://127.0.0.1", "udp://127.3.2.1:9", "udp://[::1]", "udp://LocalHost"] {
        let clocks = format!("a: {{chrony: '{here}'}}, b: {{chrony: 'udp://10.0.0.1'}}");
        assert_eq!(local(&clocks), found("a"), "{here}");
    }
    assert_eq!(local("a: {chrony: 'udp://10.0.0.1'}"), None);
    let two = "a: {chrony: 'udp://127.0.0.1'}, b: {chrony: 'unix:///run/chrony/chronyd.sock'}";
    assert_eq!(local(two), None);
    let text = format!("clocks: {{{two}}}\nlocal_clock: b");
    assert_eq!(load_text(&text, &[]).unwrap().local_clock.as_deref(), Some("b"));
    let remote = "clocks: {a: {chrony: 'udp://10.0.0.1'}}\nlocal_clock: a";
    assert_eq!(load_text(remote, &[]).unwrap().local_clock.as_deref(), Some("a"));
}

/// What could not be read may be what is referred to.
#[test]
fn a_clock_is_not_missed_where_the_clocks_cannot_be_read() {
    let text = "stores: {main: {url: redis://h, clocks: [{addr: 'h:1', clock: a}]}}\nlocal_clock: a\nclocsk: {a: {chrony: 'udp://h'}}";
    let said = text_of(load_text(text, &[]));
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("did you mean `clocks`?"), "{said}");
    let env = [("DLOCK__CLOCKS__LOCAL__CHRONY", "udp://127.0.0.1"), ("DLOCK__STALL_POLL", "1s")];
    let config = load_flags(None, &[], &env).unwrap();
    assert_eq!(config.local_clock.as_deref(), Some("local"));
    assert_eq!(config.stall_poll, Duration::from_secs(1));
}

#[test]
fn tls_of_sentinels_and_of_their_servers_is_told_apart() {
    let config = load_file(format!("{FIXTURES}/good/sentinel.yml")).unwrap();
    // To the servers, and to the sentinels.
    let spoken = |name: &str| {
        let store = &config.stores[name];
        (store.url.tls, store.of_sentinels().unwrap().url.tls)
    };
    assert_eq!(spoken("secure"), (true, true));
    assert_eq!(spoken("servers"), (true, false));
    assert_eq!(spoken("sentinels"), (false, true));
    let secure = &config.stores["secure"];
    let sentinels = secure.sentinels().unwrap();
    assert_eq!((sentinels.master.as_str(), secure.url.db), ("mymaster", 2));
    let port = |url: &RedisUrl| match &url.addr {
        RedisAddr::Tcp { port, .. } => *port,
        RedisAddr::Unix(_) => 0,
    };
    assert_eq!((port(&secure.url), port(&secure.further_urls[0])), (26379, 5000));
    let theirs = secure.of_sentinels().unwrap();
    assert_eq!((theirs.username.as_deref(), theirs.url.db), (Some("watch"), 0));
    assert!(matches!(theirs.password, Password::File(_)) && theirs.tls.ca_file.is_some());
    assert_eq!((&secure.username, &secure.password), (&None, &Password::None));
    // Without files of their own, those of the servers.
    let shared = "stores: {main: {url: rediss://h, topology: sentinel, sentinel: {master: m}, tls: {server_name: x}}}";
    let store = &load_text(shared, &[]).unwrap().stores["main"];
    assert_eq!(store.of_sentinels().unwrap().tls.server_name.as_deref(), Some("x"));
}
