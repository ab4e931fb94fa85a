//! The picture of one run: what the exporter tells of its lock meanwhile, look by look. Without it a rehearsal is as good, so what goes
//! wrong here only costs the picture.

use std::sync::{Arc, Mutex, PoisonError};

use dlock_exporter::clock::mono;
use tokio::task::AbortHandle;

use crate::exporter::watch::Watch;
use crate::exporter::{Exporter, Trouble};
use crate::observed::Observed;
use crate::prove::drawing;
use crate::prove::history::History;
use crate::report::Picture;

/// A lock that is watched until this is dropped or developed.
pub struct Film {
    history: Arc<Mutex<Option<History>>>,
    watcher: AbortHandle,
}

impl Drop for Film {
    fn drop(&mut self) {
        self.watcher.abort();
    }
}

impl Film {
    /// From now on.
    pub fn begin(observed: &Observed, store: &str, lock: &str) -> Self {
        let history = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&history);
        let (url, access) = (observed.url().to_owned(), observed.access());
        let (store, lock) = (store.to_owned(), lock.to_owned());
        let watching = tokio::spawn(async move {
            if let Ok(exporter) = Exporter::new(&url, access) {
                let _ = watch(&exporter, &store, &lock, &kept).await;
            }
        });
        Self { history, watcher: watching.abort_handle() }
    }

    /// The picture, if anything was seen.
    pub fn develop(self) -> Option<Picture> {
        let history = self.history.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(drawing::picture(&history))
    }
}

async fn watch(
    exporter: &Exporter,
    store: &str,
    lock: &str,
    kept: &Mutex<Option<History>>,
) -> Result<(), Trouble> {
    let began = mono();
    let (mut watch, first) = Watch::begin(exporter, store, lock).await?;
    let mut history = History::new(watch.poll().as_secs_f64());
    history.add(first.at.secs_since(began).max(0.0), first.document, &first.metrics);
    kept.lock().unwrap_or_else(PoisonError::into_inner).replace(history);
    loop {
        tokio::time::sleep(watch.pause()).await;
        if let Some(look) = watch.next().await
            && let Some(history) = kept.lock().unwrap_or_else(PoisonError::into_inner).as_mut()
        {
            history.add(look.at.secs_since(began).max(0.0), look.document, &look.metrics);
        }
    }
}
