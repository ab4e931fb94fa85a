//! From a real fault to a notification: real workers, a pair of exporters, Prometheus with the shipped config and rules,
//! Alertmanager with the shipped routes, and a webhook. Everything that Prometheus and Alertmanager wait for is 30 times
//! shorter than shipped (`shipped::faster`): they scrape twice a second, and a minute of `for` is two seconds. The
//! exporters' own delays are what their poll interval makes them.

use std::time::Duration;

use dlock_exporter::clock;
use dlock_exporter::observe::Mono;
use tempfile::TempDir;

use crate::support::{
    Alertmanager, Exporter, Notification, NotifiedAlert, Prometheus, RedisServer, SLACK, Webhook,
    Worker, WorkerSetup, promtool, repository, shipped, whole_machine,
};

const TIMES: u128 = 30;
const SCRAPE: Duration = Duration::from_millis(500);
const FROZEN_AFTER: Duration = Duration::from_secs(3);
const SOON: Duration = Duration::from_secs(60);
const RUNBOOKS: &str = "https://github.com/dlock-exporter/dlock_exporter/blob/main/alerts/runbooks";

#[test]
fn promtool_accepts_the_config_and_the_rules() {
    let dir = TempDir::new().unwrap();
    std::fs::create_dir(dir.path().join("rules")).unwrap();
    std::fs::write(dir.path().join("dlock-workers.json"), "[]").unwrap();
    let config = dir.path().join("prometheus.yml");
    std::fs::copy(repository("deploy/prometheus/prometheus.yml"), &config).unwrap();
    for file in shipped::rule_files() {
        std::fs::copy(&file, dir.path().join("rules").join(file.file_name().unwrap())).unwrap();
        promtool(&["check", "rules", "--lint=all", "--lint-fatal", &file.display().to_string()]);
    }
    let said = promtool(&["check", "config", &config.display().to_string()]);
    let files = shipped::rule_files().len();
    assert!(
        said.contains(&format!("{files} rule files found")) && !said.contains("WARN"),
        "{said}"
    );
}

fn config(server: &RedisServer) -> String {
    let locks: String = ["orders", "payments"]
        .iter()
        .map(|l| format!("      - {{ name: {l}, key: 'lock:{l}', lease: 3s, token: per_acquire, holder: '^(?P<worker>[^:]+):(?P<host>[^:]+):(?P<pid>\\d+):' }}\n"))
        .collect();
    format!(
        "poll_interval: 250ms
stores:
  main:
    url: {}
    username: dlock
    locks:
{locks}workers:
  sample:
    match: '(orders|payments)-\\d+'
    process: {{ pid_from_holder: true }}
    heartbeat: {{ redis: {{ store: main, key: 'hb:{{worker}}' }}, frozen_after: 3s }}
",
        server.url()
    )
}

/// All of it, with two workers that hold their locks and are known to be well.
struct Pipeline {
    prometheus: Prometheus,
    alertmanager: Alertmanager,
    webhook: Webhook,
    server: RedisServer,
    exporters: Vec<Exporter>,
    orders: Worker,
    _payments: Worker,
}

impl Pipeline {
    fn start() -> Self {
        let server = RedisServer::start();
        let exporters: Vec<_> = [0, 1].map(|_| Exporter::start(&config(&server))).into();
        let webhook = Webhook::start();
        let alertmanager = shipped::alertmanager(&webhook, TIMES);
        let both: Vec<_> = exporters.iter().collect();
        let mut prometheus = shipped::prometheus(&both, &alertmanager, TIMES).start();
        let worker = |name: &str, lock: &str| {
            WorkerSetup::new(&server, name, lock).lease(3.0, 0.7).beat_every(0.2)
        };
        let orders = worker("orders-1", "lock:orders").separate_renewer().start();
        let payments = worker("payments-1", "lock:payments").start();
        let well = "count(dlock_lease_renewals_total >= 4 and on (instance, lock) dlock_holder_stale == 0) == 4
            and count(dlock_worker_heartbeats_total >= 8) == 4";
        prometheus.wait_for(well, SOON);
        let (_payments, told) = (payments, webhook.notifications());
        assert!(told.is_empty(), "told while all was well: {told:#?}");
        Self { prometheus, alertmanager, webhook, server, exporters, orders, _payments }
    }

    /// What was sent there since then.
    fn told(&self, path: &str, since: Mono) -> Vec<Notification> {
        let all = self.webhook.notifications();
        all.into_iter().filter(|n| n.path == path && n.at >= since).collect()
    }

    /// Waits until Alertmanager keeps that alert of the lock `orders` and something silences it.
    fn silenced(&mut self, name: &str, severity: &str) {
        let manager = &self.alertmanager;
        self.prometheus.wait_until(&format!("{name} {severity} is silenced"), SOON, |_| {
            let silenced = manager.alerts().into_iter().any(|a| {
                a.label("alertname") == name
                    && a.label("severity") == severity
                    && a.label("lock") == "orders"
                    && a.inhibited_by > 0
            });
            silenced.then_some(())
        });
    }
}

#[test]
fn a_frozen_holder_pages_once_and_a_dead_server_silences_its_locks() {
    let _calm = whole_machine(); // a page that is promised in seconds is no promise on a starved machine
    let mut p = Pipeline::start();
    let begun = clock::mono();
    p.orders.pause();
    one_page(&mut p, begun);
    half_of_the_pair_goes(&mut p, begun);
    p.orders.resume();
    it_is_withdrawn(&mut p, begun);
    p.server.kill();
    the_server_is_down(&mut p, clock::mono());
    let broken = p.prometheus.broken_rules();
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The page comes in time, names what a person needs, and what says less is silenced.
fn one_page(p: &mut Pipeline, begun: Mono) {
    let name = "DlockRenewalAfterLostLiveness";
    let promised = FROZEN_AFTER + SCRAPE * 3; // the alert has no `for`
    let (page, alert) =
        p.webhook.wait_for("the page", promised + SLACK * 4, |a| a.is(name, "firing"));
    let after = page.at.since(begun);
    assert!(after <= promised + SLACK, "the page came after {after:?}, promised {promised:?}");
    assert_eq!((page.receiver.as_str(), page.path.as_str()), ("pager", "/pager"));
    let labels: Vec<_> = alert.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let wanted = [&format!("alertname={name}"), "lock=orders", "severity=critical", "store=main"];
    assert_eq!(labels, wanted);
    assert_eq!(alert.annotation("runbook_url"), format!("{RUNBOOKS}/{name}.md"));
    assert!(!alert.annotation("summary").is_empty());
    let text = alert.annotation("description");
    let says = |words: &str| assert!(text.contains(words), "no {words:?} in: {text}");
    says("main/orders");
    says("orders-1");
    assert!(text.chars().any(|c| c.is_ascii_digit()) && text.contains("lost at least "), "{text}");
    for severity in ["critical", "warning"] {
        p.silenced("DlockHolderStale", severity);
    }
}

/// One exporter of the pair ends: a ticket about it, no second page, and the first one stands.
fn half_of_the_pair_goes(p: &mut Pipeline, begun: Mono) {
    p.exporters.pop().expect("there are two").stop();
    let down = |a: &NotifiedAlert| a.is("DlockExporterDown", "firing");
    let (ticket, _) = p.webhook.wait_for("a ticket for the exporter", SOON, down);
    assert_eq!(ticket.path, "/ticket");
    let pages = p.told("/pager", begun);
    assert_eq!(pages.len(), 1, "{pages:#?}");
    assert_eq!(pages[0].alerts.len(), 1, "{pages:#?}");
}

/// The fault is over: the page is withdrawn, and nothing that it silenced pages in its place.
fn it_is_withdrawn(p: &mut Pipeline, begun: Mono) {
    let over = |a: &NotifiedAlert| a.is("DlockRenewalAfterLostLiveness", "resolved");
    p.webhook.wait_for("the page is withdrawn", SOON * 2, over);
    p.prometheus
        .wait_for("absent(ALERTS{alertname='DlockHolderStale', alertstate='firing'})", SOON);
    let pages = p.told("/pager", begun);
    assert_eq!(pages.len(), 2, "one page and its end: {pages:#?}");
    let tickets = p.told("/ticket", begun);
    let twins: Vec<_> = tickets
        .iter()
        .flat_map(|n| &n.alerts)
        .filter(|a| a.is("DlockHolderStale", "firing"))
        .collect();
    assert!(twins.is_empty(), "{twins:#?}");
}

/// Redis is gone: a page for the server. The warning that its lock's lease is too short for the stall that was seen, which
/// was a ticket before and goes on, is silenced.
fn the_server_is_down(p: &mut Pipeline, begun: Mono) {
    let short = |a: &NotifiedAlert| a.is("DlockLeaseShorterThanStall", "firing");
    let (ticket, alert) = p.webhook.wait_for("a ticket for the stall", SOON, short);
    assert_eq!((ticket.path.as_str(), alert.label("lock")), ("/ticket", "orders"));
    let down = |a: &NotifiedAlert| a.is("DlockStoreDown", "firing");
    let (page, alert) = p.webhook.wait_for("a page for the server", SOON, down);
    assert_eq!((page.path.as_str(), alert.label("severity")), ("/pager", "critical"));
    assert_eq!(alert.label("addr"), p.server.address().to_string());
    p.silenced("DlockLeaseShorterThanStall", "warning");
    let pages = p.told("/pager", begun);
    assert_eq!(pages.len(), 1, "the server, and none of its locks: {pages:#?}");

    p.server.restart();
    // It kept nothing, so locks that were held are lost, and that is a page.
    let lost = |a: &NotifiedAlert| a.is("DlockLocksLost", "firing");
    let (page, alert) = p.webhook.wait_for("a page for the lost locks", SOON, lost);
    assert_eq!((page.path.as_str(), alert.label("evidence")), ("/pager", "failover"));
    let up = |a: &NotifiedAlert| a.is("DlockStoreDown", "resolved");
    p.webhook.wait_for("the server is back", SOON, up);
}
