//! What several scenarios expect alike.

use std::time::Duration;

use super::{Actor, Stage, Within};

impl Stage {
    /// By when a lease that nobody renews any more is over and was seen to be.
    pub fn lapsed(&self) -> Within {
        Within::polls(2.0).and_seconds(self.lease())
    }

    /// A renewal that does not come is overdue when half of the rest of the lease has gone.
    pub async fn expect_overdue(&mut self) {
        let (lease, every) = (self.lease(), self.renew_every());
        // The period as the exporter sees it may be a poll longer than it is.
        let within = Within::polls(2.0).and_seconds(every + (lease - every) / 2.0);
        self.expect("dlock_renewal_overdue 1", within, |l| l.is_up("renewal_overdue")).await;
    }

    /// The end of a lease that nobody renewed is told. A read that came late gives `unknown` and not a guess.
    pub async fn expect_lapse(&mut self) {
        let within = self.lapsed().and_seconds(0.2);
        self.expect("the end is told as lapsed, or unknown where a read was late", within, |l| {
            l.ends("lapsed") + l.ends("unknown") == 1.0
        })
        .await;
    }

    /// The lease ends under a holder in this state, and a waiting successor has the lock then.
    pub async fn lapse_to(&mut self, next: &Actor, state: &'static str) {
        let within = self.lapsed().and_seconds(0.2);
        let name = next.name().to_owned();
        self.expect("the successor is shown", within, move |l| l.is_held_by(&name)).await;
        self.expect_lapse().await;
        let what = format!("a lease that lapsed counts as expired under a holder who is {state}");
        if self.look().ends("lapsed") == 0.0 {
            let why = "the end was not told as lapsed: the reads around it were late, or the exporter finds none; rehearse again";
            return self.not_judged(&what, why);
        }
        self.expect(&what, within, move |l| {
            // One whose heartbeat stopped long ago is frozen.
            let seen = l.expired_under(state)
                + if state == "alive" { l.expired_under("frozen") } else { 0.0 };
            seen == l.ends("lapsed")
        })
        .await;
    }

    /// Waits until the resource has an effect of this worker, who has just taken the lock: from then on it knows a higher token
    /// than that of the holder before the fault.
    pub async fn wait_for_effects(&mut self, next: &Actor) {
        let lock = self.lock().to_owned();
        for _ in 0..500 {
            if self.world().resource.counts(&lock).highest_token > self.base_token {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.mark(&format!("{} has had effects", next.name()));
    }

    /// The old holder's effects are refused, as many as the exporter shows.
    pub async fn expect_rejections(&mut self) {
        let within = Within::polls(3.0).and_seconds(2.0);
        self.expect("dlock_fencing_rejections_total: the old token is refused", within, |l| {
            l.counted_all("dlock_fencing_rejections_total") >= 1.0
        })
        .await;
    }

    /// For some polls, and long enough for a worker that was cut off to notice, nobody else has the lock.
    pub async fn stays_with(&mut self, next: &Actor) {
        let length = self.world().poll.as_secs_f64() * 3.0 + self.renew_every() + 2.0;
        tokio::time::sleep(Duration::from_secs_f64(length)).await;
        self.mark("that is long enough for whoever was away");
        let name = next.name().to_owned();
        self.expect("the lock is still the successor's", Within::polls(2.0), move |l| {
            l.is_held_by(&name)
        })
        .await;
    }
}
