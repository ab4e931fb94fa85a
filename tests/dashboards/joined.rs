//! The overview where one exporter sees the lock and another its holder, and a third the same lock once more: what one
//! exporter that sees everything would show, and once.

use std::time::Duration;

use tempfile::TempDir;

use super::board::{self, text};
use crate::support::{ExporterSetup, PrometheusSetup, RedisServer, Series, WorkerSetup};

const SOON: Duration = Duration::from_secs(20);

fn query(title: &str) -> String {
    let boards = board::all();
    let overview = boards.iter().find(|b| b.name == "overview").expect("there is an overview");
    let panel = overview.panels().find(|p| p.title() == title);
    let target = panel.and_then(|p| p.targets().next());
    text(target.expect("a panel with a query").0, "/expr").to_owned()
}

#[test]
fn a_holder_that_another_exporter_sees_lost_is_on_the_overview_once() {
    let server = RedisServer::start();
    let worker = WorkerSetup::new(&server, "orders-1", "lock:orders");
    let mut worker = worker.lease(2.0, 0.4).separate_renewer().start();
    let locks = format!(
        "poll_interval: 200ms
stores:
  main:
    url: {}
    username: dlock
    locks:
      - {{ name: orders, key: 'lock:orders', holder: '^(?P<worker>[^:]+)' }}
",
        server.url()
    );
    // Not by its command line, which its renewer has too.
    let dir = TempDir::new().unwrap();
    let pid_file = dir.path().join("pid");
    std::fs::write(&pid_file, worker.pid().to_string()).unwrap();
    let holders = format!(
        "poll_interval: 200ms
workers:
  orders: {{ names: [orders-1], process: {{ pid_file: '{}' }} }}
",
        pid_file.display()
    );
    let near = [(); 2].map(|()| ExporterSetup::file(&locks).password().start());
    let far = ExporterSetup::file(&holders).start();
    let targets = [near[0].address(), near[1].address(), far.address()];
    let mut prometheus = PrometheusSetup::new(&targets).start();

    let lost = query("Locks whose holder is lost");
    let flagged = query("Flagged locks");
    prometheus
        .wait_for("count(dlock_lock_holder_info) == 2 and on () dlock_worker_alive == 1", SOON);
    let value = |found: &[Series]| found.iter().map(|s| s.value).collect::<Vec<_>>();
    assert_eq!(value(&prometheus.query(&lost)), [0.0], "all is well");
    assert_eq!(prometheus.query(&flagged), []);

    // Its renewer goes on.
    worker.kill();
    prometheus.wait_until("the lock is flagged", SOON, |p| {
        (value(&p.query(&lost)) == [1.0] && !p.query(&flagged).is_empty()).then_some(())
    });
    let rows = prometheus.query(&flagged);
    let row = |label: &str| rows[0].labels[label].as_str();
    assert_eq!(rows.len(), 1, "{rows:#?}");
    let told = ["store", "lock", "worker", "signal", "severity"].map(row);
    assert_eq!(told, ["main", "orders", "orders-1", "holder_lost_elsewhere", "critical"]);
    assert!((0.0..15.0).contains(&rows[0].value), "lost for {}", rows[0].value);
}
