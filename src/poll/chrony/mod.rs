//! Asks chronyds for their tracking data, each in a task of its own. Sends what came back; what it means is decided
//! elsewhere, and so is what is worth a line in the log.

mod blocking;
pub mod codec;
mod exchange;
mod failure;
mod leftovers;
mod own_socket;
mod udp;
mod unix;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use super::Out;
use crate::clock;
use crate::config::{ChronyAddr, Clock};
use crate::observe::poll::PollDone;
use crate::observe::{ClockRead, Observation, Span};
use udp::Udp;
use unix::Unix;

/// Longest wait for a reply; chronyd answers at once or never.
const PATIENCE: Duration = Duration::from_secs(1);

/// The running pollers of clocks. They end when it is dropped.
#[derive(Debug)]
pub struct ClocksHandle {
    tasks: JoinSet<()>,
}

impl ClocksHandle {
    /// Ends them and removes what they made in the file system.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

/// Starts one poller for each clock; must be called inside a tokio runtime.
pub fn spawn(clocks: Arc<Vec<Clock>>, poll_interval: Duration, out: Out) -> ClocksHandle {
    let mut tasks = JoinSet::new();
    for clock in clocks.iter() {
        let way = match &clock.chrony {
            ChronyAddr::Udp { host, port } => Way::Udp(Udp::new(host, *port)),
            ChronyAddr::Unix(path) => Way::Unix(Unix::new(path.clone())),
        };
        let name = Arc::clone(&clock.name);
        let poller = Poller { name, way, interval: poll_interval, out: out.clone() };
        tasks.spawn(poller.run());
    }
    ClocksHandle { tasks }
}

enum Way {
    Udp(Udp),
    Unix(Unix),
}

struct Poller {
    name: Arc<str>,
    way: Way,
    interval: Duration,
    out: Out,
}

impl Poller {
    async fn run(mut self) {
        let mut ticks = interval(self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if self.poll().await.is_none() {
                return;
            }
        }
    }

    /// Asks once and sends what came back; `None` when nobody wants it any more.
    async fn poll(&mut self) -> Option<()> {
        let limit = PATIENCE.min(self.interval);
        let begun = clock::mono();
        let outcome = match &mut self.way {
            Way::Udp(way) => way.ask(limit).await,
            Way::Unix(way) => way.ask(limit).await,
        };
        let whole = Span { sent: begun, done: clock::mono() };
        let failure = outcome.as_ref().err().map(|failed| failed.reason);
        let (span, seen) = match outcome {
            Ok((span, tracking)) => (span, Ok(tracking)),
            Err(failed) => (whole, Err(failed)),
        };
        let read = ClockRead { clock: Arc::clone(&self.name), span, seen };
        self.out.send(Observation::Clock(Box::new(read))).await.ok()?;
        let done = PollDone {
            poller: "chrony",
            target: Arc::clone(&self.name),
            interval: self.interval,
            span: whole,
            busy: whole.width(),
            failure,
        };
        self.out.send(Observation::Poll(done)).await.ok()
    }
}
