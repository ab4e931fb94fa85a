//! `rate_limit`: how many requests are taken, all clients together.

use config::ValueKind;

use super::super::cursor::Cursor;
use super::model::RateLimit;

pub(super) fn read(top: &Cursor<'_>) -> Option<RateLimit> {
    let at = top.table("rate_limit")?;
    let interval = match at.get("interval") {
        // The format's way to switch it off.
        Some((_, value)) if value.kind == ValueKind::I64(0) => None,
        Some(_) => at.duration("interval").filter(|interval| !interval.is_zero()),
        None => None,
    };
    let burst = match at.has("burst") {
        true => at.whole("burst"),
        false => None,
    };
    let interval = interval?;
    if !at.has("burst") {
        at.wrong(
            "burst",
            "missing: no request would ever be let in",
            "say how many may come at once, such as `burst: 20`",
        );
    }
    Some(RateLimit { interval, burst: u32::try_from(burst?).ok()? })
}
