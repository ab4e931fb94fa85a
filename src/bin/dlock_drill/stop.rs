//! Whether a stop signal came. It must be made inside the runtime, before there is anything to clean up.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;

/// SIGTERM and SIGINT. They are only noted, so that no exchange with the server is cut in half.
pub struct Stop {
    term: Signal,
    int: Signal,
    asked: bool,
}

impl Stop {
    /// Listens from now on.
    pub fn new() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind)
                .map_err(|e| Failure::new(format!("no handler for signals can be set: {e}")))
        };
        Ok(Self {
            term: listen(SignalKind::terminate())?,
            int: listen(SignalKind::interrupt())?,
            asked: false,
        })
    }

    /// Ends when a stop signal came.
    pub async fn wait(&mut self) {
        if !self.asked {
            tokio::select! {
                _ = self.term.recv() => {}
                _ = self.int.recv() => {}
            }
            self.asked = true;
        }
    }

    /// Sleeps that long; true as soon as a stop signal came.
    pub async fn within(&mut self, length: Duration) -> bool {
        tokio::time::timeout(length, self.wait()).await.is_ok()
    }
}
