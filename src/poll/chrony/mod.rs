//! Asks chronyds for their tracking data, each in a task of its own. Sends what came back; what it means is decided
//! elsewhere.

use std::sync::Arc;
use std::time::Duration;

use super::Out;
use crate::config::Clock;

/// The running pollers of clocks.
#[derive(Debug)]
pub struct ClocksHandle {}

impl ClocksHandle {
    /// Ends them and removes what they made in the file system.
    pub async fn stop(self) {}
}

/// Starts one poller for each clock; must be called inside a tokio runtime.
pub fn spawn(_clocks: Arc<Vec<Clock>>, _poll_interval: Duration, _out: Out) -> ClocksHandle {
    ClocksHandle {}
}
