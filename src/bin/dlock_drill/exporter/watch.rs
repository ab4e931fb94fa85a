//! Watches one lock: asks for its document and the metrics again and again, a few times in each of the exporter's polls, and
//! keeps what is new of it, bounded. A failure to ask is kept too: what happened meanwhile was not seen.

use std::collections::VecDeque;
use std::time::Duration;

use dlock_exporter::clock;
use dlock_exporter::observe::Mono;

use super::{Exporter, LockDocument, Metrics, Trouble};

/// Looks that are kept; at two looks a second, half an hour.
const MOST: usize = 4096;
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

/// The looks so far.
#[derive(Debug)]
pub struct Watch<'a> {
    exporter: &'a Exporter,
    store: String,
    lock: String,
    poll: Duration,
    looks: VecDeque<Look>,
    /// Since when no answer comes, and why.
    failing: Option<(Mono, Trouble)>,
}

impl<'a> Watch<'a> {
    /// Takes the first look: whoever asks for what is not there learns it at once.
    pub async fn begin(exporter: &'a Exporter, store: &str, lock: &str) -> Result<Self, Trouble> {
        exporter.ready().await?;
        let poll = exporter.poll_interval().await?;
        let mut watch = Self {
            exporter,
            store: store.to_owned(),
            lock: lock.to_owned(),
            poll,
            looks: VecDeque::new(),
            failing: None,
        };
        let first = watch.ask().await?;
        watch.keep(first);
        Ok(watch)
    }

    /// The exporter's poll interval.
    pub fn poll(&self) -> Duration {
        self.poll
    }

    /// How long to wait between two looks.
    pub fn pause(&self) -> Duration {
        (self.poll / IN_A_POLL).clamp(SHORTEST, LONGEST)
    }

    /// What was seen, oldest first.
    pub fn looks(&self) -> &VecDeque<Look> {
        &self.looks
    }

    /// Since when no answer comes, and why.
    pub fn failing(&self) -> Option<&(Mono, Trouble)> {
        self.failing.as_ref()
    }

    /// Waits for the next look; returns it if it shows another snapshot than the one before.
    pub async fn next(&mut self) -> Option<&Look> {
        tokio::time::sleep(self.pause()).await;
        let asked = clock::mono();
        match self.ask().await {
            Ok(look) => {
                self.failing = None;
                self.keep(look).then(|| self.looks.back()).flatten()
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

    fn keep(&mut self, look: Look) -> bool {
        let is_new = self.looks.back().is_none_or(|last| {
            (last.document.generation, last.document.taken)
                != (look.document.generation, look.document.taken)
        });
        if is_new {
            if self.looks.len() == MOST {
                self.looks.pop_front();
            }
            self.looks.push_back(look);
        }
        is_new
    }
}
