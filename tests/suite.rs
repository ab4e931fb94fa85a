//! Every live test, one module per behaviour, in one binary. The tests start real servers, real workers and the real
//! exporter. They must not know how the exporter works inside: they see its flags, its config, its HTTP and its signals.
// Clippy grants tests these only inside `#[test]` functions; here the code between them is test code too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod cgroups;
mod promql;
mod support;

mod alert_rules;
mod browser;
mod chains;
mod clients;
mod clock_bounds;
mod clock_failures;
mod clock_step;
mod clocks;
mod cluster;
mod companions;
mod contention;
mod controls;
mod daemon;
mod dashboards;
mod deploy_containers;
mod deploy_kubernetes;
mod deploy_sandbox;
mod deploy_systemd;
mod documents;
mod drill;
mod drill_machines;
mod events;
mod evicted;
mod evidence;
mod failover;
mod false_alarms;
mod fencing;
mod field_cases;
mod finds_nothing;
mod golden;
mod groups;
mod heartbeats;
mod hidden;
mod hostile;
mod hostile_locks;
mod hostile_servers;

mod inhibition;
mod jvm;
mod layering;
mod libraries;
mod live_workers;
mod managed;
mod named_by_host;
mod outage;
mod partition;
mod pipeline;
mod processes;
mod prove;
mod quiet_start;
mod quorum;
mod refused_keys;
mod replicas;
mod rotation;
mod runbooks;
mod sentinel;
mod servers;
mod several_keys;
mod shards;
mod silence;
mod slowlog;
mod split;
mod stale_holder;
mod stall_cost;
mod stalls;
mod tls;
mod uml;
mod unchanged;
mod watching;
