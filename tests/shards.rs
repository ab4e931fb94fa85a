//! Several exporters that share the locks of one store, live: each lock is watched by one of them and each group by all,
//! and where one machine is outgrown, by a Prometheus that keeps every series and another one that has what is common.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::{
    Exporter, ExporterSetup, Metrics, PrometheusSetup, RedisServer, promtool_accepts, repository,
    wait_until,
};

const SOON: Duration = Duration::from_secs(30);
const SHARDS: usize = 3;
/// Locks found by a pattern, and as many again of a group.
const LOCKS: usize = 60;

fn config(server: &RedisServer) -> String {
    format!(
        "poll_interval: 500ms
stores:
  main:
    url: {}
    username: dlock
    locks:
      - {{ name: nightly, key: 'lock:nightly' }}
      - {{ match: 'lock:job:*', name: 'job-{{1}}', capture: '^lock:job:(.+)$', group: true, max_locks: 1000 }}
      - {{ match: 'lock:*', max_locks: 1000, series: core }}
",
        server.url()
    )
}

fn fill(server: &RedisServer) {
    for n in 0..LOCKS {
        for kind in ["order", "job"] {
            let key = format!("lock:{kind}:{n}");
            server.cmd(&["SET", &key, &format!("w:{n}"), "PX", "600000"]);
        }
    }
    server.cmd(&["SET", "lock:nightly", "w:nightly", "PX", "600000"]);
}

fn start(server: &RedisServer, shard: usize) -> Exporter {
    let (shard, total) = (shard.to_string(), SHARDS.to_string());
    ExporterSetup::file(&config(server))
        .arguments(&["--shard", &shard, "--total-shards", &total])
        .password()
        .start()
}

/// Locks with series of their own, but for those of the group.
fn single(m: &Metrics) -> Vec<String> {
    let all = m.all("dlock_lock_held", &[]).into_iter().map(|s| s.label("lock").to_owned());
    all.filter(|name| !name.starts_with("job-")).collect()
}

fn held(all: &[Metrics], name: &str, group: &[(&str, &str)]) -> f64 {
    let labels: Vec<_> = group.iter().copied().chain([("state", "held")]).collect();
    all.iter().map(|m| m.value(name, &labels).unwrap_or(0.0)).sum()
}

#[test]
fn each_lock_is_watched_by_one_and_none_is_missed() {
    let server = RedisServer::start();
    fill(&server);
    let exporters: Vec<Exporter> = (0..SHARDS).map(|shard| start(&server, shard)).collect();
    let (all, _) = wait_until("all locks are watched", SOON, || {
        let all: Vec<Metrics> = exporters.iter().map(Exporter::metrics).collect();
        (held(&all, "dlock_locks", &[]) == (2 * LOCKS + 1) as f64).then_some(all)
    });
    let group = [("group", "job-*")];
    assert_eq!(
        held(&all, "dlock_group_locks", &group),
        LOCKS as f64,
        "each has a part of the group"
    );
    let watched: Vec<String> = all.iter().flat_map(single).collect();
    let names: BTreeSet<&String> = watched.iter().collect();
    assert_eq!((watched.len(), names.len()), (LOCKS + 1, LOCKS + 1), "{watched:?}");
    for (shard, m) in all.iter().enumerate() {
        let labels = [("shard", &*shard.to_string()), ("total", "3")];
        assert_eq!(m.value("dlock_exporter_shard_info", &labels), Some(1.0));
        assert!(single(m).len() > LOCKS / SHARDS / 3, "shares are about alike");
        // What is no lock, every one has; and what another one watches was not dropped.
        assert_eq!(m.sum("dlock_store_up", &[]), 1.0);
        assert_eq!(m.sum("dlock_locks_dropped", &[]), 0.0);
    }
    promtool_accepts(&exporters[0].get("/metrics").body);

    // A lock that comes belongs to one of them as well, and only that one says what is wrong with it.
    server.cmd(&["SET", "lock:order:late", "w:late", "PX", "600000"]);
    server.cmd(&["PERSIST", "lock:nightly"]);
    let is_up = |m: &Metrics| m.all("dlock_lease_without_ttl", &[("lock", "nightly")]).len();
    wait_until("the late one is watched, and what is wrong is told", SOON, || {
        let all: Vec<Metrics> = exporters.iter().map(Exporter::metrics).collect();
        let late = all.iter().filter(|m| single(m).iter().any(|l| l.ends_with("late"))).count();
        let told: f64 = all.iter().map(|m| m.sum("dlock_lease_without_ttl", &[])).sum();
        let shown: usize = all.iter().map(is_up).sum();
        (late == 1 && told == 1.0 && shown == 1).then_some(())
    });
}

/// What the second Prometheus gets of the first one: what is common to the locks, and who watches which share.
const COMMON: &str = r#"{__name__=~"dlock:.+|dlock_(exporter|store|group|locks)_?.*|ALERTS"}"#;

#[test]
fn where_one_machine_is_outgrown_prometheus_puts_the_shares_together() {
    let server = RedisServer::start();
    fill(&server);
    let mut exporters: Vec<Exporter> = (0..SHARDS).map(|shard| start(&server, shard)).collect();
    let addresses: Vec<_> = exporters.iter().map(Exporter::address).collect();
    // The alert waits for five minutes, as long as a rollout may take.
    let watching = std::fs::read_to_string(repository("alerts/watching.yml")).unwrap();
    assert!(watching.contains("for: 5m"));
    let watching = watching.replace("for: 5m", "for: 5s");
    let near = PrometheusSetup::new(&addresses)
        .rules(&repository("alerts/recording.yml"))
        .rules(&repository("alerts/locks.yml"))
        .start();
    let far = PrometheusSetup::new(&[])
        .rule_text("watching.yml", watching)
        .config(format!(
            "global: {{ scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }}
rule_files: ['rules/*.yml']
scrape_configs:
  - job_name: shares
    honor_labels: true
    honor_timestamps: false
    metrics_path: /federate
    params: {{ 'match[]': ['{}'] }}
    static_configs: [{{ targets: ['{}'] }}]
",
            COMMON.replace('\'', "''"),
            near.address()
        ))
        .start();
    let value = |query: &str| far.query(query).first().map(|s| s.value);
    wait_until("the sum of all shares is known far away", SOON, || {
        let all = value("sum(dlock_locks{state=\"held\"})") == Some((2 * LOCKS + 1) as f64);
        let shares = value("count(dlock_exporter_shard_info)") == Some(SHARDS as f64);
        (all && shares).then_some(())
    });
    assert!(far.query("dlock_lock_held").is_empty(), "single locks stay near");
    assert_eq!(near.query("dlock_lock_held").len(), LOCKS + 1);

    let missing = || {
        let alerts = far.alerts();
        alerts.iter().any(|a| a.name == "DlockShardMissing" && a.state == "firing")
    };
    assert!(!missing());
    exporters[1].stop();
    wait_until("the lost share is told", Duration::from_secs(60), || missing().then_some(()));
}
