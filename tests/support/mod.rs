//! What live tests stand on: real servers, workers and the exporter as child processes that end with the test, and
//! waiting that has a condition and a deadline. It must not judge: what is right is said by the tests.
// A stock of means for tests that come and go.
#![allow(dead_code)]

mod alertmanager;
mod canary;
mod cgroup;
mod children;
mod chronyd;
mod cluster;
mod driver;
mod endpoint;
mod exporter;
mod fleet;
mod gate;
mod haunted;
mod http;
pub mod manifests;
mod metrics;
mod name_server;
mod ntp_source;
mod partition;
mod preload;
mod prometheus;
mod proxy;
mod redis_server;
mod sampling;
mod scripted_commands;
mod scripted_redis;
mod sentinel;
mod shares;
pub mod shipped;
mod small_host;
mod steady;
mod stepped_clock;
mod uml;
mod webhook;
mod worker;

#[cfg(test)]
mod tests;

pub use alertmanager::{Alertmanager, KeptAlert, amtool, promtool};
pub use canary::{Aviary, Canary};
pub use cgroup::Cgroup;
pub use children::{Group, first_child};
pub use chronyd::{Chronyd, ChronydSetup, free_udp_port, has_ipv6};
pub use cluster::Cluster;
pub use driver::{Client, Driver, redis_py_token};
pub use endpoint::{Endpoint, Reply};
pub use exporter::{Exporter, ExporterSetup, copy_program};
pub use fleet::{Fleet, cpu_of_threads};
pub use gate::{Gate, Way};
pub use haunted::{Ghost, Haunted};
pub use http::{Answer, parse, request};
pub use metrics::{Metrics, Sample, promtool_accepts};
pub use name_server::{NameServer, Says};
pub use ntp_source::NtpSource;
pub use partition::{Partition, Place};
pub use prometheus::{Prometheus, PrometheusSetup, Series};
pub use proxy::Proxy;
pub use redis_server::{Flavor, PASSWORD, RedisServer, RedisSetup, acl_line_of_the_readme};
pub use sampling::{Latencies, Sampler, Stopwatch};
pub use scripted_redis::{Content, Script, ScriptedRedis, Spoil};
pub use sentinel::Sentinel;
pub use shares::{Shares, beside, take_share, whole_machine};
pub use small_host::{SmallHost, SmallHostSetup};
pub use steady::Steady;
pub use stepped_clock::SteppedClock;
pub use uml::Inside;
pub use webhook::{Notification, NotifiedAlert, Webhook};
pub use worker::{Worker, WorkerSetup};

use std::io::Write;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use dlock_exporter::clock;

/// What a loaded machine with two processors may add to any measured delay.
pub const SLACK: Duration = Duration::from_millis(800);

/// The signals that are up or ever rose, in words; `None` if there are none. Panics if no lock is judged at all, since
/// silence of a blind exporter proves nothing.
pub fn raised(m: &Metrics) -> Option<String> {
    raised_besides(m, "")
}

/// The same of all signals but that one.
pub fn raised_besides(m: &Metrics, signal: &str) -> Option<String> {
    let rises = m.all("dlock_signal_rises_total", &[]);
    assert!(!rises.is_empty(), "no lock is judged:\n{}", m.lines("dlock_"));
    let flagged = m.all("dlock_locks_flagged", &[]);
    let up = flagged.into_iter().chain(rises);
    let up = up.filter(|s| s.value > 0.0 && !s.labels.iter().any(|(_, v)| v == signal));
    let up: Vec<_> = up.collect();
    (!up.is_empty()).then(|| format!("flagged or rose: {up:?}"))
}

/// Tells that something cannot be tested on this machine. Past the capture of output, so that `tests/run` can repeat it.
pub fn not_tested(why: &str) {
    let _ = writeln!(std::io::stderr(), "not tested: {why}");
}

/// Whether the longer forms of the tests were asked for.
pub fn long() -> bool {
    std::env::var("DLOCK_TEST_LONG").is_ok_and(|v| v == "1")
}

/// A TCP port of the loopback that was free a moment ago.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
    listener.local_addr().expect("a bound listener has an address").port()
}

/// A file of this repository.
pub fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Waits until `condition` gives a value and returns it with the time that took; panics after `deadline`.
pub fn wait_until<T>(
    what: &str,
    deadline: Duration,
    mut condition: impl FnMut() -> Option<T>,
) -> (T, Duration) {
    let begun = clock::mono();
    loop {
        if let Some(value) = condition() {
            return (value, clock::mono().since(begun));
        }
        let waited = clock::mono().since(begun);
        assert!(waited < deadline, "not within {deadline:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Lets time pass in which the world does something on its own, such as a pause of a given length.
pub fn for_a_while(length: Duration) {
    std::thread::sleep(length);
}
