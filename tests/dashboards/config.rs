//! What the exporter of the small world watches. It must not say more than a careful operator would.

use tempfile::TempDir;

use crate::support::{Chronyd, RedisServer};

/// Its configuration; pid files are in that directory.
pub fn of_the_exporter(
    main: &RedisServer,
    cache: &RedisServer,
    quorum: &[RedisServer; 3],
    clocks: [&Chronyd; 2],
    dir: &TempDir,
) -> String {
    let quorum = quorum.each_ref().map(RedisServer::url);
    let evidence = dir.path().display();
    let holder = "holder: '^(?P<worker>[^:]+)'";
    format!(
        "poll_interval: 200ms
evidence: {{ dir: '{evidence}' }}
stall_poll: 100ms
retain: 10m
stores:
  main:
    url: {main}
    username: dlock
    clocks: [{{ addr: '{address}', clock: host }}]
    locks:
      - {{ name: orders, key: 'lock:orders', lease: 3s, renewed: true, {holder} }}
      - {{ name: billing, key: 'lock:billing', lease: 3s, token: per_acquire, workers: [billing-1], {holder} }}
      - {{ name: payments, key: 'lock:payments', lease: 2s, token: per_acquire, {holder} }}
      - {{ name: reports, key: 'lock:reports', lease: 10s, renewed: true, max_hold: 2s, {holder} }}
      - {{ name: busy, key: 'lock:busy', lease: 300ms, {holder} }}
      - {{ name: leader, key: 'lock:leader', lease: 1s, expect: always_held, {holder} }}
      - {{ name: short, key: 'lock:short', lease: 5s, token: per_acquire, {holder} }}
      - {{ name: copied, key: 'lock:copied', renewed: true, {holder} }}
      - {{ name: mislaid, key: 'lock:mislaid' }}
      - {{ name: permits, key: 'lock:permits', limit: 1, {holder} }}
      - name: nightly
        key: 'lock:nightly'
        lease: 1h
        renewed: true
        ends: by_expiry
        fencing:
          issued: {{ redis: {{ key: 'hb:issued' }} }}
          accepted: [{{ name: db, redis: {{ key: 'hb:accepted' }} }}]
          rejected: [{{ name: db, redis: {{ key: 'hb:refused' }} }}]
        effects: [{{ name: mail, total: {{ redis: {{ key: 'hb:mails' }} }}, distinct: {{ redis: {{ key: 'hb:requests' }} }} }}]
      - {{ name: 'job-{{1}}', match: 'lock:job:*', capture: '^lock:job:(.+)$', max_locks: 2, series: full }}
      - {{ name: 'member-{{1}}', match: 'lock:member:*', capture: '^lock:member:(.+)$', group: true, {holder} }}
  cache:
    url: {cache}
    username: dlock
    response_timeout: 300ms
    locks:
      - {{ name: warmup, key: 'lock:warmup', lease: 20s }}
  quorum:
    topology: quorum
    urls: {quorum:?}
    username: dlock
    locks:
      - {{ name: ballot, key: 'lock:ballot', lease: 10m, {holder} }}
workers:
  demo:
    match: '^(orders|billing|payments)-\\d+$'
    process: {{ command: 'dlock_drill worker .*--name {{worker}} ' }}
    heartbeat: {{ redis: {{ store: main, key: 'hb:{{worker}}' }}, frozen_after: 1500ms }}
  busy:
    names: [busy-1]
    process: {{ pid_file: '{dir}/busy.pid' }}
  reports:
    names: [reports-1]
    process: {{ pid_file: '{dir}/jvm.pid' }}
clocks:
  host: {{ chrony: '{host}' }}
  lockserver: {{ chrony: '{silent}' }}
local_clock: host
",
        main = main.url(),
        cache = cache.url(),
        address = main.address(),
        host = clocks[0].url(),
        silent = clocks[1].url(),
        dir = dir.path().display(),
    )
}
