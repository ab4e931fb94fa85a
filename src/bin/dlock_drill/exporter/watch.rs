//! Watches one lock: asks for its document and the metrics again and again, a few times in each of the exporter's polls, and hands
//! on what is new. It keeps the last look only; a failure to ask is told too: what happened meanwhile was not seen.

use std::time::Duration;

use dlock_exporter::clock;
use dlock_exporter::observe::Mono;

use super::{Exporter, LockDocument, Metrics, Trouble};

/// Asked so often within one poll of the exporter.
const IN_A_POLL: u32 = 3;
/// Never more often than this.
const SHORTEST: Duration = Duration::from_millis(100);
/// Never less often.
const LONGEST: Duration = Duration::from_secs(5);

/// One look.
#[derive(Clone, Debug)]
pub struct Look {
    /// When the answer was asked for, on this program's clock.
    pub at: Mono,
    /// The document of the lock.
    pub document: LockDocument,
    /// The metrics, asked for right after it; of the same snapshot or the next.
    pub metrics: Metrics,
}

/// A lock that is watched.
#[derive(Debug)]
pub struct Watch<'a> {
    exporter: &'a Exporter,
    store: String,
    lock: String,
    poll: Duration,
    last: Option<(u64, f64)>,
    /// Since when no answer comes, and why.
    failing: Option<(Mono, Trouble)>,
}

impl<'a> Watch<'a> {
    /// Takes the first look: whoever asks for what is not there learns it at once.
    pub async fn begin(
        exporter: &'a Exporter,
        store: &str,
        lock: &str,
    ) -> Result<(Self, Look), Trouble> {
        exporter.ready().await?;
        let poll = exporter.poll_interval().await?;
        let (store, lock) = (store.to_owned(), lock.to_owned());
        let mut watch = Self { exporter, store, lock, poll, last: None, failing: None };
        match watch.ask().await? {
            Some(first) => Ok((watch, first)),
            None => Err(Trouble::NotReady {
                url: exporter.url().to_owned(),
                why: "no snapshot".to_owned(),
            }),
        }
    }

    /// The exporter's poll interval.
    pub fn poll(&self) -> Duration {
        self.poll
    }

    /// How long to wait between two looks.
    pub fn pause(&self) -> Duration {
        (self.poll / IN_A_POLL).clamp(SHORTEST, LONGEST)
    }

    /// Since when no answer comes, and why.
    pub fn failing(&self) -> Option<&(Mono, Trouble)> {
        self.failing.as_ref()
    }

    /// Asks once; returns the look if it shows another snapshot than the one before.
    pub async fn next(&mut self) -> Option<Look> {
        let asked = clock::mono();
        match self.ask().await {
            Ok(look) => {
                self.failing = None;
                look
            }
            Err(trouble) => {
                self.failing.get_or_insert((asked, trouble));
                None
            }
        }
    }

    /// The metrics are asked for only where the document is a new one.
    async fn ask(&mut self) -> Result<Option<Look>, Trouble> {
        let at = clock::mono();
        let document = self.exporter.lock(&self.store, &self.lock).await?;
        let now = Some((document.generation, document.taken));
        if self.last == now {
            return Ok(None);
        }
        let metrics = self.exporter.metrics().await?;
        self.last = now;
        Ok(Some(Look { at, document, metrics }))
    }
}
