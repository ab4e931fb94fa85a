//! Laravel's cache locks: 16 random letters and digits, under keys with two prefixes. Locks of the framework's own jobs
//! are known by what their keys contain; the owner of those may be wrapped by PHP's serialiser or compressed.

use std::time::Duration;

use crate::observe::Decoded;
use crate::observe::lock::{Endless, Shape};

use super::holder::{Named, holding};
use super::value::{contains, looks_random, shape_of};
use super::{Fit, Format, PLAIN, Sight};

/// `Cache::lock`.
pub static CACHE: Format = Format {
    name: "laravel",
    libraries: "Laravel `Cache::lock`",
    key: "`<redis prefix><cache prefix><name>`",
    value: "16 random letters and digits",
    renewal: "by hand: `refresh()`",
    decode: decode_cache,
    ..PLAIN
};

/// `WithoutOverlapping`.
pub static OVERLAP: Format = Format {
    name: "laravel-overlap",
    libraries: "Laravel `WithoutOverlapping`",
    key: "`…laravel-queue-overlap:<job>:<key>`",
    endless: Endless::Usual,
    renewal: "none",
    decode: |sight| decode_own(&OVERLAP, sight, b"laravel-queue-overlap:"),
    ..CACHE
};

/// `ShouldBeUnique`: held from the dispatch of a job to its end.
pub static UNIQUE: Format = Format {
    name: "laravel-unique",
    libraries: "Laravel `ShouldBeUnique`",
    key: "`…laravel_unique_job:<job>:<id>`",
    endless: Endless::Usual,
    ends_by_expiry: true,
    renewal: "none",
    decode: |sight| decode_own(&UNIQUE, sight, b"laravel_unique_job:"),
    ..CACHE
};

/// The scheduler's `withoutOverlapping` and `onOneServer`.
pub static SCHEDULE: Format = Format {
    name: "laravel-schedule",
    libraries: "Laravel scheduler",
    key: "`…framework/schedule-<sha1>`",
    default_lease: Some(Duration::from_secs(1440 * 60)),
    ends_by_expiry: true,
    renewal: "none",
    decode: |sight| decode_own(&SCHEDULE, sight, b"framework/schedule-"),
    ..CACHE
};

/// Any key may have a cache in it, so the value has to speak as well.
fn decode_cache(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let token = sight.whole()?;
    let is_cache =
        || [&b"-cache-"[..], b"_cache_", b"_cache:"].iter().any(|m| contains(sight.key, m));
    if sight.is_declared || (is_plain(token) && looks_random(token) && is_cache()) {
        held(&CACHE, Fit::Likely, token, sight)
    } else {
        None
    }
}

/// A key of the framework's own speaks for itself.
fn decode_own(format: &Format, sight: &Sight<'_>, mark: &[u8]) -> Option<(Fit, Decoded)> {
    let token = sight.whole()?;
    if !sight.is_declared && !contains(sight.key, mark) {
        return None;
    }
    held(format, if is_plain(token) { Fit::Certain } else { Fit::Likely }, token, sight)
}

fn is_plain(token: &[u8]) -> bool {
    token.len() == 16 && token.iter().all(u8::is_ascii_alphanumeric)
}

fn held(format: &Format, fit: Fit, token: &[u8], sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let shape = shape_of(token, token.len());
    if !matches!(shape, Shape::Text | Shape::Binary) {
        return None;
    }
    let mut decoded = format.decoded(shape);
    decoded.holders.push(holding(token, Named::default(), sight.rules));
    Some((fit, decoded))
}
