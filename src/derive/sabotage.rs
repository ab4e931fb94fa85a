//! A broken exporter on purpose, for the tests of `dlock_drill`: the signals that `DLOCK_SABOTAGE` names (`holder_stale,contested`)
//! are never up, and with `cgroup_pressure` no waiting in a cgroup is counted. Only with the feature of the same name, which no
//! release has.

use std::sync::LazyLock;

use super::words::Signal;

#[cfg(not(debug_assertions))]
compile_error!(
    "the feature `sabotage` is for tests; a release without its signals would watch over nobody"
);

static OFF: LazyLock<String> =
    LazyLock::new(|| std::env::var("DLOCK_SABOTAGE").unwrap_or_default());

/// Whether this signal is turned off.
pub fn is_off(signal: Signal) -> bool {
    is_named(signal.as_str())
}

/// Whether the waiting in cgroups is not counted.
pub fn is_pressure_off() -> bool {
    is_named("cgroup_pressure")
}

fn is_named(wanted: &str) -> bool {
    OFF.split(',').any(|name| name == wanted)
}
