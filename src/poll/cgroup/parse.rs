//! The numbers in the kernel's cgroup files, from any bytes. Key value files are read by key and unknown keys do not
//! matter. A number that no kernel would write is malformed, not passed on.

use std::time::Duration;

use crate::observe::cgroup::{Pressure, Waiting};

/// From here on a v1 limit is the kernel's way to write "none": the largest count of pages of up to 1 MiB, in bytes.
const NO_LIMIT: u64 = 0x7fff_ffff_fff0_0000;
/// Times beyond this (3000 years) are no times.
const MAX_MICROS: u64 = 100_000_000_000_000_000;
/// The kernel takes periods of 1 ms to 1 s; room for kernels to come.
const MAX_PERIOD_MICROS: u64 = 1_000_000_000;

/// Not what the kernel's manual says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

type Parsed<T> = Result<T, Malformed>;

fn words(text: &[u8]) -> Parsed<&str> {
    std::str::from_utf8(text).map_err(|_| Malformed)
}

fn digits(word: &str) -> Parsed<u64> {
    let fits = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let number = if fits { word.parse().ok() } else { None };
    number.filter(|n| i64::try_from(*n).is_ok()).ok_or(Malformed)
}

/// A file of one number.
pub fn number(text: &[u8]) -> Parsed<u64> {
    digits(words(text)?.trim_end())
}

/// The number of a key in a file of `key value` lines; `None` if it has no such key.
pub fn value(text: &[u8], key: &str) -> Parsed<Option<u64>> {
    let found = text.split(|b| *b == b'\n').find_map(|line| {
        let rest = line.strip_prefix(key.as_bytes())?;
        rest.strip_prefix(b" ")
    });
    found.map(number).transpose()
}

/// Microseconds as time.
pub fn micros(n: u64) -> Parsed<Duration> {
    if n > MAX_MICROS { Err(Malformed) } else { Ok(Duration::from_micros(n)) }
}

/// A limit of bytes: a number, `max`, or a number so large that it means none.
pub fn limit(text: &[u8]) -> Parsed<Option<u64>> {
    if text.trim_ascii_end() == b"max" {
        return Ok(None);
    }
    number(text).map(below_none)
}

/// Such a number by itself.
pub fn below_none(bytes: u64) -> Option<u64> {
    Some(bytes).filter(|n| *n < NO_LIMIT)
}

/// The period of `cpu.max` (`QUOTA PERIOD` in microseconds); `None` if the quota is `max`.
pub fn quota_period(text: &[u8]) -> Parsed<Option<Duration>> {
    let mut fields = words(text)?.split_ascii_whitespace();
    let (quota, period) = (fields.next().ok_or(Malformed)?, fields.next().ok_or(Malformed)?);
    let period = self::period(period.as_bytes())?;
    if quota == "max" {
        return Ok(None);
    }
    digits(quota)?;
    Ok(Some(period))
}

/// A file of a quota's period in microseconds.
pub fn period(text: &[u8]) -> Parsed<Duration> {
    match number(text)? {
        n @ 1..=MAX_PERIOD_MICROS => Ok(Duration::from_micros(n)),
        _ => Err(Malformed),
    }
}

/// Whether `cpu.cfs_quota_us` sets a quota; -1 is none.
pub fn is_quota(text: &[u8]) -> Parsed<bool> {
    if text.trim_ascii_end() == b"-1" {
        return Ok(false);
    }
    number(text).map(|_| true)
}

/// Whether a state file says frozen: `freezer.state`, or `frozen` in `cgroup.events`. `None` if it says neither.
pub fn frozen(text: &[u8]) -> Parsed<Option<bool>> {
    match text.trim_ascii_end() {
        b"FROZEN" => return Ok(Some(true)),
        // FREEZING is not yet proof: some of its tasks still run.
        b"THAWED" | b"FREEZING" => return Ok(Some(false)),
        _ => {}
    }
    match value(text, "frozen")? {
        None => Ok(None),
        Some(n @ 0..=1) => Ok(Some(n == 1)),
        Some(_) => Err(Malformed),
    }
}

/// A pressure file. Kernels before 5.13 write no `full` line for CPUs.
pub fn pressure(text: &[u8]) -> Parsed<Pressure> {
    let text = words(text)?;
    let line = |kind: &str| text.lines().find_map(|l| l.strip_prefix(kind)?.strip_prefix(' '));
    let some = waiting(line("some").ok_or(Malformed)?)?;
    Ok(Pressure { some, full: line("full").map(waiting).transpose()? })
}

/// `avg10=0.00 avg60=0.93 avg300=0.84 total=4477588`: percent and microseconds.
fn waiting(fields: &str) -> Parsed<Waiting> {
    let field = |key: &str| {
        let found = fields.split_ascii_whitespace().find_map(|f| f.strip_prefix(key));
        found.ok_or(Malformed)
    };
    let percent: f64 = field("avg10=")?.parse().map_err(|_| Malformed)?;
    // The kernel rounds a little beyond 100.
    if !(0.0..=101.0).contains(&percent) {
        return Err(Malformed);
    }
    let total = micros(digits(field("total=")?)?)?;
    Ok(Waiting { share: (percent / 100.0).min(1.0), total })
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
