//! Durations and instants for a reader.

use std::time::{Duration, SystemTime};

/// Seconds: two digits that matter are enough.
pub fn seconds(s: f64) -> String {
    let magnitude = s.abs();
    if !s.is_finite() {
        "?".to_owned()
    } else if magnitude < 10.0 {
        format!("{s:.1} s")
    } else if magnitude < 120.0 {
        format!("{s:.0} s")
    } else if magnitude < 7200.0 {
        format!("{:.0} min", s / 60.0)
    } else if magnitude < 172_800.0 {
        format!("{:.1} h", s / 3600.0)
    } else {
        format!("{:.0} d", s / 86_400.0)
    }
}

/// Seconds that may be very few, such as an offset or a stall: in the unit that shows them.
pub fn small(s: f64) -> String {
    let magnitude = s.abs();
    if magnitude >= 120.0 || !s.is_finite() {
        seconds(s)
    } else if magnitude >= 0.9995 {
        format!("{s:.1} s")
    } else if magnitude >= 0.09995 {
        format!("{:.0} ms", s * 1e3)
    } else if magnitude >= 0.0009995 {
        format!("{:.1} ms", s * 1e3)
    } else if magnitude >= 0.5e-6 {
        format!("{:.0} µs", s * 1e6)
    } else {
        "0 s".to_owned()
    }
}

/// Seconds since the epoch as `2026-09-21 14:13:20 UTC`; `None` for what is no time between 1970 and 9999.
pub fn utc(since_epoch: f64) -> Option<String> {
    let since_epoch = Duration::try_from_secs_f64(since_epoch).ok()?;
    // The last second that four digits of a year can show; the formatter fails beyond it.
    if since_epoch.as_secs() > 253_402_300_799 {
        return None;
    }
    let at = SystemTime::UNIX_EPOCH.checked_add(since_epoch)?;
    let text = humantime::format_rfc3339_seconds(at).to_string();
    let (day, time) = text.trim_end_matches('Z').split_once('T')?;
    Some(format!("{day} {time} UTC"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_read_well() {
        let cases = [
            (0.04, "0.0 s"),
            (9.94, "9.9 s"),
            (61.2, "61 s"),
            (600.0, "10 min"),
            (9000.0, "2.5 h"),
            (864_000.0, "10 d"),
            (f64::NAN, "?"),
            (-3.0, "-3.0 s"),
        ];
        for (s, text) in cases {
            assert_eq!(seconds(s), text);
        }
    }

    #[test]
    fn small_ones_keep_their_digits() {
        let cases = [
            (0.0, "0 s"),
            (-0.000_012, "-12 µs"),
            (0.000_999_6, "1.0 ms"),
            (0.003, "3.0 ms"),
            (0.25, "250 ms"),
            (0.999_6, "1.0 s"),
            (21.04, "21.0 s"),
            (600.0, "10 min"),
            (f64::INFINITY, "?"),
        ];
        for (s, text) in cases {
            assert_eq!(small(s), text);
        }
    }

    #[test]
    fn instants_are_in_utc_or_not_told() {
        assert_eq!(utc(1_790_000_000.25).as_deref(), Some("2026-09-21 14:13:20 UTC"));
        assert_eq!(utc(253_402_300_799.0).as_deref(), Some("9999-12-31 23:59:59 UTC"));
        for odd in [-1.0, 253_402_300_800.0, 1e300, f64::NAN, f64::INFINITY] {
            assert_eq!(utc(odd), None, "{odd}");
        }
    }

    proptest! {
        #[test]
        fn no_number_is_too_odd(s: f64) {
            let _ = (seconds(s), small(s), utc(s));
        }
    }
}
