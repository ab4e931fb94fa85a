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
        let first = watch.ask().await?;
        watch.is_new(&first);
        Ok((watch, first))
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
                self.is_new(&look).then_some(look)
            }
            Err(trouble) => {
                self.failing.get_or_insert((asked, trouble));
                None
            }
        }
    }

    async fn ask(&self) -> Result<Look, Trouble> {
        let at = clock::mono();
        let document = self.exporter.lock(&self.store, &self.lock).await?;
        let metrics = self.exporter.metrics().await?;
        Ok(Look { at, document, metrics })
    }

    fn is_new(&mut self, look: &Look) -> bool {
        let now = Some((look.document.generation, look.document.taken));
        std::mem::replace(&mut self.last, now) != now
    }
}
