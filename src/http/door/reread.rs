//! Looks whether the files of the web configuration are other ones: when somebody comes, once a second at most, so that an
//! idle exporter reads nothing. A file system that hangs holds up one thread, and nobody for longer than a moment.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use super::take::Why;
use super::{Door, State};
use crate::clock;
use crate::config::web;
use crate::observe::Mono;

/// What was read is good for this long.
const FRESH: Duration = Duration::from_secs(1);
/// How long whoever comes first waits for a look.
const MOMENT: Duration = Duration::from_millis(200);
/// How long a reload waits for it.
const RELOAD: Duration = Duration::from_secs(5);

/// When the last look ended; locked while there is one.
pub type Looks = Mutex<Mono>;

impl Door {
    /// What the door does now.
    pub(in crate::http) async fn state(self: &Arc<Self>) -> Arc<State> {
        if self.path.is_some()
            && let Ok(last) = self.looks.clone().try_lock_owned()
            && clock::mono().since(*last) >= FRESH
        {
            // One that takes longer is finished all the same.
            let _ = timeout(MOMENT, self.look(last, Why::Look)).await;
        }
        self.state.load_full()
    }

    /// Reads the files anew and puts them in force; on any mistake the old ones stay.
    pub async fn reload(self: &Arc<Self>) -> Result<(), String> {
        let Some(path) = &self.path else { return Ok(()) };
        let look = async {
            let last = self.looks.clone().lock_owned().await;
            self.look(last, Why::Reload).await
        };
        match timeout(RELOAD, look).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) | Err(_) => Err(format!(
                "{}: could not be read within {} s; is its file system hung?",
                path.display(),
                RELOAD.as_secs()
            )),
        }
    }

    fn look(
        self: &Arc<Self>,
        mut last: tokio::sync::OwnedMutexGuard<Mono>,
        why: Why,
    ) -> JoinHandle<Result<(), String>> {
        let door = self.clone();
        spawn_blocking(move || {
            let outcome = match &door.path {
                Some(path) => door.take(web::load(path), why, clock::mono()),
                None => Ok(()),
            };
            *last = clock::mono();
            outcome
        })
    }
}
