//! What the exporter says: its metrics, scraped a few times in each of its polls, for everybody who waits for something. It must
//! not judge.

use std::sync::Arc;
use std::time::Duration;

use dlock_exporter::clock::mono;
use dlock_exporter::observe::Mono;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::exporter::{Access, Exporter, Metrics, Trouble};
use crate::failure::Failure;

/// An exporter that is scraped all the time.
pub struct Observed {
    url: String,
    access: Access,
    poll: Duration,
    seen: watch::Receiver<Seen>,
    scraper: AbortHandle,
}

/// The last scrape that succeeded.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// When it was asked for.
    pub at: Mono,
    /// What it said.
    pub metrics: Arc<Metrics>,
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.scraper.abort();
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        Failure::new(trouble.to_string())
    }
}

impl Observed {
    /// Waits until it is ready, for `limit` at most, takes the first scrape, and goes on.
    pub async fn begin(url: &str, access: Access, limit: Duration) -> Result<Self, Failure> {
        let exporter = Exporter::new(url, access.clone())?;
        let begun = mono();
        while let Err(trouble) = exporter.ready().await {
            if !trouble.may_pass() || mono().since(begun) > limit {
                return Err(trouble.into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let poll = exporter.poll_interval().await?;
        let first = Seen { at: mono(), metrics: Arc::new(exporter.metrics().await?) };
        let pause = (poll / 4).clamp(Duration::from_millis(50), Duration::from_millis(500));
        let (sender, seen) = watch::channel(first);
        let scraper = tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let at = mono();
                if let Ok(metrics) = exporter.metrics().await {
                    sender.send_replace(Seen { at, metrics: Arc::new(metrics) });
                }
            }
        });
        Ok(Self { url: url.into(), access, poll, seen, scraper: scraper.abort_handle() })
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How it is asked.
    pub fn access(&self) -> Access {
        self.access.clone()
    }

    /// Its poll interval.
    pub fn poll(&self) -> Duration {
        self.poll
    }

    /// The last scrape.
    pub fn now(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// A scrape that was asked for after `then`, within `limit`.
    pub async fn after(&self, then: Mono, limit: Duration) -> Option<Seen> {
        let mut seen = self.seen.clone();
        let wait = seen.wait_for(|s| s.at > then);
        let found = tokio::time::timeout(limit, wait).await.ok()?.ok()?;
        Some(found.clone())
    }
}
