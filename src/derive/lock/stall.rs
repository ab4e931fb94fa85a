//! Whether the lease outlives the worst stall of its holder. Says nothing of stalls itself, and nothing of a holder that
//! no source shows.

use std::time::Duration;

use super::Lock;
use crate::derive::host::StallRules;
use crate::derive::tenure::Tenure;
use crate::derive::wanted::Effects;
use crate::derive::words::Signal;
use crate::derive::workers::Workers;
use crate::observe::Mono;

/// Clock drift that a lease has to survive, as a share of its length.
const DRIFT: f64 = 200e-6;

impl Lock {
    /// The longest stall that the lease survives, in seconds: L - P - round trip - drift; for a lease that nobody renews,
    /// L - typical hold. `rtt` is the primary's. `None` where what is known of the period may be a multiple of it: of
    /// renewals that come faster than polls, one of several is seen.
    pub fn stall_budget(
        &self,
        tenure: Option<&Tenure>,
        rtt: Option<Duration>,
        poll: Duration,
    ) -> Option<f64> {
        let lease = self.lease_seconds(tenure)?;
        let period = self.period_ahead(tenure);
        let is_rarely_read = lease < 3.0 * poll.as_secs_f64();
        if is_rarely_read && period.is_some_and(|p| p > lease / 2.0) {
            return None;
        }
        let used = period.or_else(|| Some(self.holds.typical()?.min(lease)))?;
        Some((lease - used - rtt?.as_secs_f64() - DRIFT * lease).max(0.0))
    }

    /// Holds the stall budget against the least that the worst stall of the holder was.
    pub(in crate::derive) fn judge_stall(
        &mut self,
        rtt: Option<Duration>,
        rules: StallRules,
        workers: &Workers,
        now: Mono,
        fx: &mut Effects,
    ) {
        let signal = Signal::LeaseShorterThanStall;
        let Some(tenure) = self.tenure() else {
            // The same stall weighs on every tenure of its worker until it leaves the window: it is told once.
            self.signals.rest(signal);
            return;
        };
        let worker = tenure.worker().and_then(|w| workers.by_name.get(w));
        let worst = worker.and_then(|w| w.host.worst_stall(now, rules));
        let both = self.stall_budget(Some(tenure), rtt, rules.poll).zip(worst);
        // What was seen stays true while nothing is sampled; that there was nothing worse does not.
        let value = both.and_then(|(budget, worst)| {
            let is_short = worst.lower.length.as_secs_f64() > budget;
            (is_short || worst.upper.is_some()).then_some(is_short)
        });
        let detail = || {
            both.map_or_else(String::new, |(budget, worst)| {
                let (stall, source) = (worst.lower.length.as_secs_f64(), worst.lower.source);
                format!(
                    "its holder stood still for at least {stall:.3} s ({}), the lease survives {budget:.3} s",
                    source.as_str().replace('_', " ")
                )
            })
        };
        self.signal(signal, value, now, detail, fx);
    }
}
