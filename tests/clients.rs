//! Who is connected to the lock's server: counted by library, told by process where that may be seen, and whether the process
//! that renews is the one that works.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::{
    Exporter, ExporterSetup, Metrics, Partition, RedisServer, RedisSetup, Worker, WorkerSetup,
    not_tested, wait_until,
};

const SOON: Duration = Duration::from_secs(40);
const LOCK: [(&str, &str); 1] = [("lock", "orders")];

fn config(server: &RedisServer) -> String {
    config_at(&server.url())
}

fn config_at(url: &str) -> String {
    format!(
        "poll_interval: 200ms
stores:
  main:
    url: {url}
    username: dlock
    locks:
      - {{ name: orders, key: 'lock:orders', series: full,
          holder: '^(?P<worker>[^:]+):(?P<host>[^:]*):(?P<pid>\\d+)' }}
workers:
  orders: {{ names: [orders-1], series: full, process: {{ pid_from_holder: true }} }}
"
    )
}

fn worker(server: &RedisServer) -> WorkerSetup {
    WorkerSetup::new(server, "orders-1", "lock:orders").lease(4.0, 1.0).beat_every(0.0)
}

fn connections(m: &Metrics) -> Option<f64> {
    m.value("dlock_worker_store_connections", &[("worker", "orders-1")])
}

fn reconnects(m: &Metrics) -> Option<f64> {
    m.value("dlock_worker_store_reconnects_total", &[("worker", "orders-1")])
}

fn separate(m: &Metrics) -> Option<f64> {
    m.value("dlock_lock_renewer_separate", &LOCK)
}

/// The document of the lock, with who is connected.
fn document(exporter: &Exporter) -> Value {
    let answer = exporter.get("/api/v1/locks/main/orders");
    serde_json::from_str(&answer.body).unwrap()
}

fn clients(document: &Value) -> Vec<Value> {
    document["clients"].as_array().cloned().unwrap_or_default()
}

/// What the check of that name in `release_safe` found.
fn no_other_renewer(document: &Value) -> Option<Value> {
    let checks = document["lock"]["release_safe"]["reasons"].as_array()?;
    let check = checks.iter().find(|c| c["check"] == "no_other_renewer")?;
    Some(check["passed"].clone())
}

/// Waits until such a client is shown, and gives it.
fn client(exporter: &Exporter, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
    let (found, _) =
        wait_until(what, SOON, || clients(&document(exporter)).into_iter().find(&is_it));
    found
}

#[test]
fn a_worker_that_renews_and_one_that_another_process_renews_for() {
    let server = RedisServer::start();
    let mut own = worker(&server).start();
    let mut exporter = Exporter::start(&config(&server));
    exporter.wait_for("its own renewals: dlock_", SOON, |m| {
        separate(m) == Some(0.0) && connections(m) == Some(1.0)
    });
    let m = exporter.metrics();
    assert!(m.sum("dlock_store_clients", &[]) >= 2.0, "{}", m.lines("dlock_store_clients"));
    assert_eq!(reconnects(&m), Some(0.0));
    // Whether it can renew is known where the list came after the last renewal.
    let told = client(&exporter, "the worker's connection", |c| {
        c["pid"] == own.pid() && c["can_renew"] == true
    });
    assert_eq!(told["worker"], "orders-1", "{told}");
    assert_eq!((&told["origin"], &told["liveness"]), (&"here".into(), &"alive".into()), "{told}");
    assert_eq!(told["comm"], "dlock_drill", "{told}");
    assert_eq!(
        (&told["last_command"], &told["can_renew"]),
        (&"eval".into(), &true.into()),
        "{told}"
    );

    server.cmd(&["CLIENT", "KILL", "ADDR", told["addr"].as_str().unwrap()]);
    exporter.wait_for("another connection: dlock_worker_store", SOON, |m| {
        reconnects(m) == Some(1.0) && connections(m) == Some(1.0)
    });
    own.stop();

    let mut separated = worker(&server).separate_renewer().start();
    exporter.wait_for("another's renewals: dlock_lock_", SOON, |m| separate(m) == Some(1.0));
    let told = document(&exporter);
    let other = &told["renewer"]["renewals"][0];
    assert_eq!(
        (&told["renewer"]["separate"], &other["worker"]),
        (&true.into(), &"excluded".into())
    );
    let renewer = other["others"].as_array().unwrap().iter().find(|o| o["fit"] != "excluded");
    let renewer = renewer.unwrap_or_else(|| panic!("{told}"));
    let its = client(&exporter, "the renewer's connection", |c| c["pid"] == renewer["pid"]);
    assert!(its["worker"].is_null() && its["pid"] != separated.pid(), "{its}");
    // It stands still, and is seen all the same.
    separated.pause();
    exporter.wait_for("renewed for a stopped worker: dlock_", SOON, |m| {
        separate(m) == Some(1.0) && m.is("dlock_renewal_after_lost_liveness", &LOCK, 1.0)
    });
    separated.resume();
    separated.stop();
    exporter.wait_for("a free lock: dlock_lock_", SOON, |m| separate(m).is_none());
}

#[test]
fn clients_through_a_unix_socket() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("redis.sock");
    let server = RedisSetup::default().unix_socket(&socket).start();
    let mut own = worker(&server).through(&socket).start();
    // Another one on the same socket, which has nothing to do.
    let other = WorkerSetup::new(&server, "other", "lock:other").lease(600.0, 0.0).beat_every(0.0);
    let other = other.through(&socket).start();
    let mut exporter = Exporter::start(&config_at(&format!("redis+unix://{}", socket.display())));
    exporter.wait_for("its own renewals: dlock_", SOON, |m| {
        separate(m) == Some(0.0) && connections(m) == Some(1.0)
    });
    let told = client(&exporter, "the worker's connection", |c| c["pid"] == own.pid());
    assert_eq!((&told["worker"], &told["origin"]), (&"orders-1".into(), &"here".into()), "{told}");
    assert_eq!(told["addr"], format!("{}:0", socket.display()), "{told}");
    let its = client(&exporter, "the other's connection", |c| c["pid"] == other.pid());
    assert!(its["worker"].is_null(), "{its}");
    own.stop();

    let mut separated = worker(&server).through(&socket).separate_renewer().start();
    exporter.wait_for("another's renewals: dlock_lock_", SOON, |m| separate(m) == Some(1.0));
    let told = document(&exporter);
    let others = told["renewer"]["renewals"][0]["others"].as_array().unwrap();
    let renewer = others.iter().find(|o| o["fit"] == "match" && o["pid"] != other.pid());
    let renewer = renewer.unwrap_or_else(|| panic!("{told}"));
    assert_ne!(renewer["pid"], separated.pid(), "{told}");
    client(&exporter, "the renewer's connection", |c| c["pid"] == renewer["pid"]);
    // It lives on when its worker has ended, and as long as it does nobody should take the lock away by hand.
    separated.kill();
    wait_until("the renewer to stand in the way", SOON, || {
        let told = document(&exporter);
        let is_dead = told["lock"]["holders"][0]["liveness"] == "dead";
        (is_dead && no_other_renewer(&told) == Some(Value::Bool(false))).then_some(())
    });
    drop(separated);

    // Over TCP the exporter reaches the same server, and tells those on the socket apart as well.
    drop(exporter);
    let own = worker(&server).through(&socket).start();
    let mut exporter = Exporter::start(&config(&server));
    exporter.wait_for("its own renewals: dlock_", SOON, |m| {
        separate(m) == Some(0.0) && connections(m) == Some(1.0)
    });
    client(&exporter, "the worker's connection", |c| c["pid"] == own.pid());
}

#[test]
fn clients_in_other_network_namespaces() {
    let net = match Partition::new() {
        Ok(net) => net,
        Err(why) => return not_tested(&format!("other network namespaces: {why}")),
    };
    let server = RedisSetup::default().at(&net.here).start();
    let words = net.there.words();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args([
        env!("CARGO_BIN_EXE_dlock_drill"),
        "worker",
        "--redis",
        &server.address().to_string(),
        "--name",
        "orders-1",
        "--lock",
        "lock:orders",
        "--lease",
        "4",
        "--renew-every",
        "1",
        "--beat-every",
        "0",
    ]);
    let own = Worker::command("orders-1", &mut command);
    let mut exporter = Exporter::start(&config(&server));
    exporter.wait_for("its own renewals: dlock_", SOON, |m| {
        separate(m) == Some(0.0) && connections(m) == Some(1.0)
    });
    client(&exporter, "the worker's connection", |c| c["pid"] == own.pid());
}

#[test]
fn what_may_not_be_seen_is_hidden_and_not_elsewhere() {
    let may = Command::new("setpriv").args(["--reuid", "65534", "true"]).output();
    if !may.is_ok_and(|done| done.status.success()) {
        return not_tested("this machine does not let us become nobody");
    }
    let server = RedisServer::start();
    let _own = worker(&server).start();
    let nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let setup = ExporterSetup::file(&config(&server)).password();
    let mut exporter = setup.wrapped(&nobody).start();
    exporter.wait_for("its process: dlock_", SOON, |m| {
        m.is("dlock_holder_liveness", &[("lock", "orders"), ("state", "alive")], 1.0)
    });
    let told = client(&exporter, "a hidden process", |c| {
        c["origin"] == "hidden" && c["last_command"] == "eval"
    });
    assert!(told["pid"].is_null() && told["comm"].is_null() && told["worker"].is_null(), "{told}");
    let m = exporter.metrics();
    assert_eq!((connections(&m), separate(&m)), (None, None));
    assert_eq!(document(&exporter)["renewer"], Value::Null);
}

#[test]
fn a_server_that_does_not_list_its_clients() {
    let server = RedisSetup::default().grant("-client|list").start();
    let _own = worker(&server).start();
    let mut exporter = Exporter::start(&config(&server));
    let denied = [("command", "client|list")];
    exporter.wait_for("the refusal: dlock_store_permission", SOON, |m| {
        m.is("dlock_store_permission_denied", &denied, 1.0)
    });
    let m = exporter.metrics();
    assert_eq!(m.lines("dlock_store_clients"), "");
    assert_eq!((connections(&m), separate(&m)), (None, None));
    assert!(document(&exporter)["clients"].is_null());
    server.cmd(&["ACL", "SETUSER", "dlock", "+client|list"]);
    exporter.request("POST", "/-/reload");
    exporter.wait_for("its clients: dlock_store_clients", SOON, |m| {
        m.is("dlock_store_permission_denied", &denied, 0.0)
            && m.sum("dlock_store_clients", &[]) >= 2.0
    });
}
