//! A broken exporter on purpose, for the tests of `dlock_drill`: the signals that `DLOCK_SABOTAGE` names (`holder_stale,contested`)
//! are never up. Only with the feature of the same name, which no release has.

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
    OFF.split(',').any(|name| name == signal.as_str())
}
