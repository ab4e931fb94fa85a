//! The configurations of the two exporters that see the faults. They must not say more than a careful operator would.

use std::collections::BTreeMap;

use super::servers::Servers;
use crate::support::Chronyd;

/// What the exporter that is asked watches.
pub fn of_the_exporter(
    s: &Servers,
    clock: &(Chronyd, Chronyd),
    marks: &BTreeMap<&str, String>,
    pid_file: &str,
) -> String {
    let holder = r"holder: '^(?P<worker>[^:]+):((?P<host>[^:]+):(?P<pid>\d+):)?'";
    let lock = |name: &str, more: &str| {
        format!(
            "      - {{ name: {name}, key: 'lock:{name}', token: per_acquire, {more}{holder} }}\n"
        )
    };
    let locks: String = [
        ("orders", "lease: 6s, "),
        ("payments", "lease: 900s, "),
        ("invoices", "lease: 2s, "),
        ("reports", "lease: 6s, max_hold: 1s, "),
        ("batch", "lease: 2s, "),
        ("leader", "lease: 1s, expect: always_held, "),
        ("forever", ""),
        ("nightly", ""),
        ("mirror", ""),
        ("jvm", "lease: 3600s, "),
        ("cold", "lease: 3600s, "),
        ("far", ""),
        ("spare", ""),
        ("ages", "lease: 6s, "),
        ("again", "lease: 1s, "),
        ("mixed", ""),
        ("stranger", "workers: [another-1], "),
    ]
    .map(|(name, more)| lock(name, more))
    .concat();
    let lost: String = [("split", &s.split), ("jumped", &s.jumped), ("halted", &s.halted)]
        .map(|(name, server)| {
            let user = if name == "split" { ", username: dlock" } else { "" };
            let url = server.url();
            format!(
                "  {name}: {{ url: '{url}'{user}, locks: [{{ name: lost, key: 'lock:lost', lease: 3600s }}] }}\n"
            )
        })
        .concat();
    let [a, b, c] = s.several.each_ref().map(|server| server.url());
    format!(
        "poll_interval: 200ms
stall_poll: 200ms
clocks:
  local: {{ chrony: '{local}' }}
  gone: {{ chrony: '{gone}' }}
local_clock: local
stores:
{lost}  away: {{ url: '{away}', locks: [{{ name: gone, key: 'lock:gone' }}] }}
  several:
    topology: quorum
    urls: ['{a}', '{b}', '{c}']
    locks: [{{ name: several, key: 'lock:several' }}]
  main:
    url: '{main}'
    username: dlock
    replicas: ['{cut_off}']
    locks:
{locks}      - {{ name: hash, key: 'lock:hash' }}
      - {{ name: nested, key: 'lock:nested', lease: 3s }}
      - {{ name: 'job-{{1}}', match: 'lock:job:*', capture: '^lock:job:(.+)$', max_locks: 2 }}
workers:
  nightly: {{ names: [nightly-1], process: {{ command: 'sleep 600 {nightly}$' }} }}
  cold: {{ names: [cold-1], process: {{ command: 'sleep 600 {cold}$' }} }}
  jvm: {{ names: [jvm-1], process: {{ pid_file: '{pid_file}' }} }}
  sample:
    match: '(orders|payments|invoices|reports|batch)-1'
    process: {{ pid_from_holder: true }}
    heartbeat: {{ redis: {{ store: main, key: 'hb:{{worker}}' }}, frozen_after: 3s }}
",
        local = clock.0.url(),
        gone = clock.1.url(),
        away = s.away.url(),
        main = s.main.url(),
        cut_off = s.cut_off.address(),
        nightly = marks["nightly"],
        cold = marks["cold"],
    )
}

/// What the exporter watches that is gone later: the process of one holder, and the server by another name.
pub fn of_the_far_exporter(s: &Servers, marks: &BTreeMap<&str, String>) -> String {
    format!(
        "poll_interval: 200ms
stores:
  far: {{ url: '{}', username: dlock }}
workers:
  far: {{ names: [far-1], process: {{ command: 'sleep 600 {}$' }} }}
",
        s.main.url(),
        marks["far"]
    )
}
