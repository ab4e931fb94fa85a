//! CPU quotas at work on a process: of its cgroup and of every one above it, since a quota above shows only there.
//! Cgroups without a quota are read too: one that lost its quota keeps what it counted, and a total must not fall.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::file::{self, Fault};
use super::locate::{Homes, Levels, Place};
use super::{parse, reason};
use crate::observe::cgroup::Throttling;
use crate::observe::stall::HostUnknown;

/// One cgroup's own; `None` without the controller.
type Own = Result<Option<Throttling>, Fault>;

/// The quotas of cgroups, which those below them share.
pub type Quotas = HashMap<PathBuf, Own>;

const NOTHING: Throttling = Throttling { periods: 0, throttled: Duration::ZERO, period: None };

/// Reads it where the process is.
pub fn read(homes: &Homes, quotas: &mut Quotas) -> Result<Throttling, Fault> {
    let (home, own): (_, fn(&Path) -> Own) = match &homes.cpu {
        Some(home) => (Some(home), v1),
        None => (homes.v2.as_ref(), v2),
    };
    let Some(home) = home else {
        let what = "the kernel has no cpu controller for it";
        return Err(Fault::new(HostUnknown::Unsupported, what));
    };
    match &home.place {
        Place::In(levels) => sum(levels, quotas, own),
        // The root can have no quota, so that nothing throttled the process.
        Place::Root => Ok(NOTHING),
        place => Err(reason::elsewhere(place, &home.path)),
    }
}

fn sum(levels: &Levels, quotas: &mut Quotas, own: fn(&Path) -> Own) -> Result<Throttling, Fault> {
    let mut sum = NOTHING;
    for dir in levels.up() {
        let one = quotas.entry(dir.to_owned()).or_insert_with(|| own(dir)).clone()?;
        // Where the controller is off there is no quota either.
        let one = one.unwrap_or(NOTHING);
        sum.periods = sum.periods.saturating_add(one.periods);
        sum.throttled = sum.throttled.saturating_add(one.throttled);
        sum.period = sum.period.max(one.period);
    }
    if !levels.is_whole && sum.period.is_none() {
        return Err(reason::above(levels));
    }
    Ok(sum)
}

fn v2(dir: &Path) -> Own {
    let Some((periods, throttled)) = counted(dir, "throttled_usec", 1)? else { return Ok(None) };
    let period = match file::find(dir, "cpu.max")? {
        Some(text) => file::parsed(dir, "cpu.max", parse::quota_period(&text))?,
        None => None,
    };
    Ok(Some(Throttling { periods, throttled, period }))
}

fn v1(dir: &Path) -> Own {
    let Some((periods, throttled)) = counted(dir, "throttled_time", 1000)? else { return Ok(None) };
    let quota = file::find(dir, "cpu.cfs_quota_us")?;
    let quota = quota.map(|text| file::parsed(dir, "cpu.cfs_quota_us", parse::is_quota(&text)));
    let period = match quota.transpose()? {
        Some(true) => {
            let missing = "it has a CPU quota without a period";
            Some(file::read(dir, "cpu.cfs_period_us", missing, parse::period)?)
        }
        _ => None,
    };
    Ok(Some(Throttling { periods, throttled, period }))
}

/// Throttled periods and time from `cpu.stat`, whose time has so many units to the microsecond.
fn counted(dir: &Path, key: &str, units: u64) -> Result<Option<(u64, Duration)>, Fault> {
    let name = "cpu.stat";
    let Some(text) = file::find(dir, name)? else { return Ok(None) };
    let value = |key: &str| file::parsed(dir, name, parse::value(&text, key));
    let (Some(periods), Some(time)) = (value("nr_throttled")?, value(key)?) else {
        return Ok(None);
    };
    let throttled = file::parsed(dir, name, parse::micros(time / units))?;
    Ok(Some((periods, throttled)))
}
