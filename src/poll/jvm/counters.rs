//! What the counters of a JVM mean, by their names. A number that is not there is absent, and one that no JVM of that
//! age can have makes the whole read worthless: whoever writes such numbers means nothing by the others.

use std::sync::Arc;
use std::time::Duration;

use super::hsperfdata::{Counters, Value};
use crate::observe::jvm::{Collector, Jvm};
use crate::observe::label;

/// How the names begin that are looked for, among some hundred that are not.
const WANTED: [&[u8]; 4] =
    [b"sun.gc.collector.", b"sun.rt.safepoint", b"sun.os.hrt.", b"java.property.java.vm."];
/// Collectors are numbered 0 to 2; more than these are nobody's.
const MAX_COLLECTORS: u8 = 8;
/// What a counter may be ahead of our own reckoning of the JVM's age.
const SLACK: Duration = Duration::from_secs(2);
/// Up to this release the time of a safepoint holds the time to reach it.
const LAST_INCLUDING_SYNC: u32 = 12;

/// The counters of a JVM that is at most so old; else what is wrong with them.
pub fn read(counters: &Counters<'_>, age: Duration) -> Result<Jvm, String> {
    let limit = age.saturating_add(SLACK);
    let all = counters.entries.iter();
    let named: Vec<_> = all.filter(|(n, _)| WANTED.iter().any(|w| n.starts_with(w))).collect();
    let value = |name: &str| named.iter().find(|(n, _)| *n == name.as_bytes()).map(|(_, v)| *v);
    let long = |name: &str| match value(name) {
        Some(Value::Long(n)) => Some(n),
        _ => None,
    };
    let text = |name: &str| match value(name) {
        Some(Value::Text(t)) => Some(t),
        _ => None,
    };
    let Some(frequency) = long("sun.os.hrt.frequency").and_then(|f| u64::try_from(f).ok()) else {
        return Err(
            "the counter sun.os.hrt.frequency is missing, without which times mean nothing".into(),
        );
    };
    let count = |name: &str| match long(name) {
        None => Ok(None),
        // Each took at least a microsecond of the JVM's life.
        Some(n) => match u64::try_from(n).ok().filter(|n| u128::from(*n) <= limit.as_micros()) {
            Some(n) => Ok(Some(n)),
            None => Err(beyond(name)),
        },
    };
    let time = |name: &str| match long(name) {
        None => Ok(None),
        Some(n) => match ticks(n, frequency).filter(|t| *t <= limit) {
            Some(t) => Ok(Some(t)),
            None => Err(beyond(name)),
        },
    };
    let mut collectors = Vec::new();
    for number in 0..MAX_COLLECTORS {
        let of = |what: &str| format!("sun.gc.collector.{number}.{what}");
        let fields = (
            text(&of("name")),
            count(&of("invocations"))?,
            time(&of("time"))?,
            time(&of("lastEntryTime"))?,
            time(&of("lastExitTime"))?,
        );
        if let (Some(name), Some(invocations), Some(time), Some(last_entry), Some(last_exit)) =
            fields
        {
            let name = label::text(name).into();
            collectors.push(Collector { name, number, invocations, time, last_entry, last_exit });
        }
    }
    let version = text("java.property.java.vm.version").map(label::text).unwrap_or_default();
    Ok(Jvm {
        ticks: time("sun.os.hrt.ticks")?,
        collectors,
        safepoints: count("sun.rt.safepoints")?,
        safepoint_time: time("sun.rt.safepointTime")?,
        sync_time: time("sun.rt.safepointSyncTime")?,
        version: Arc::from(version),
        sync_is_included: text("java.property.java.vm.specification.version")
            .and_then(release)
            .is_some_and(|r| r <= LAST_INCLUDING_SYNC),
    })
}

/// Without the number and the JVM's age: both may move with every read, and only what is wrong is news.
fn beyond(name: &str) -> String {
    format!("{name} is below zero or more than fits in the JVM's age")
}

/// Ticks as time; `None` for what is no time.
fn ticks(ticks: i64, frequency: u64) -> Option<Duration> {
    let ticks = u128::try_from(ticks).ok()?;
    let nanos = ticks.checked_mul(1_000_000_000)?.checked_div(u128::from(frequency))?;
    Some(Duration::from_nanos(u64::try_from(nanos).ok()?))
}

/// `1.8` is release 8, `17` is 17.
fn release(version: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(version).ok()?;
    let text = text.strip_prefix("1.").unwrap_or(text);
    text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
