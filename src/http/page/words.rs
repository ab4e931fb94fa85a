//! Verdicts, durations and reasons in words for people.

use crate::view::{Aspect, BlindReason, Signal};

/// What a signal says.
pub fn signal(signal: Signal) -> &'static str {
    match signal {
        Signal::RenewalAfterLostLiveness => "still renewed although its holder lost liveness",
        Signal::HolderStale => "its holder lost liveness and still owns it",
        Signal::RenewalOverdue => "a renewal that should have come did not",
        Signal::LeaseWithoutTtl => "has no expiry: nothing frees it",
        Signal::ReplicaDiverged => "a replica shows something else",
        Signal::HeldTooLong => "held longer than it should be",
        Signal::Unheld => "nobody holds it although somebody should",
    }
}

/// What cannot be judged, and why.
pub fn coverage(aspect: Aspect, reason: BlindReason) -> String {
    format!("{}: {}", aspect.as_str(), why(reason))
}

fn why(reason: BlindReason) -> &'static str {
    match reason {
        BlindReason::NotConfigured => "nothing is configured that could tell",
        BlindReason::Permission => "permission refused",
        BlindReason::Unsupported => "not supported there",
        BlindReason::Hidden => "hidden from this exporter",
        BlindReason::Unreachable => "source does not answer",
        BlindReason::ForeignHost => "on another host",
        BlindReason::OpaqueToken => "the token names nobody",
        BlindReason::ReusableToken => "the token is the same for every acquire",
        BlindReason::NoHistory => "not seen for long enough",
    }
}

/// Seconds for a reader: two digits that matter are enough.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
