//! Makes the metrics of a snapshot before they are asked for, where a scrape is to be expected while it is the last one: on
//! threads of HTTP, so that neither the state nor a poller waits for it. What nobody will ask for is not made.

use std::time::Duration;

use tokio::task::spawn_blocking;

use super::snapshots::Published;
use crate::clock;
use crate::observe::Mono;

/// Snapshots are not made more often.
const LEAST: Duration = Duration::from_millis(100);

/// Runs until it is dropped.
pub async fn run(published: Published) {
    let mut last = Mono::default();
    loop {
        published.anew.notified().await;
        let snapshot = published.snapshot.load_full();
        // It will be the last one for about as long as the one before it was.
        let taken = snapshot.view().taken;
        let shown = taken.since(last).clamp(LEAST, snapshot.own().poll_interval.max(LEAST));
        last = taken;
        let (asks, now) = (&published.asks, clock::mono());
        let (plain, gzip) = (asks.plain.expects(now, shown), asks.gzip.expects(now, shown));
        if plain || gzip {
            // One at a time: the next snapshot waits, or is left out if there is a newer one by then.
            let made = spawn_blocking(move || {
                let _ = snapshot.text();
                if gzip {
                    let _ = snapshot.gzip();
                }
            });
            // A panic in there is logged where it happens, and a scrape makes them by itself.
            let _ = made.await;
        }
    }
}
