//! One blocking call at a time that outlives whoever waits for it. Names are resolved and sockets made in calls that
//! may hang and cannot be cancelled; a poll that runs out of time leaves the call to the next one instead of adding
//! another.

use std::time::Duration;

use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

/// The call under way, if there is one.
#[derive(Debug)]
pub struct Blocking<T>(Option<JoinHandle<T>>);

impl<T> Default for Blocking<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// It still runs.
    Slow,
    /// It broke off.
    Broken,
}

impl<T: Send + 'static> Blocking<T> {
    /// The result of the call under way, or of a new one.
    pub async fn run(
        &mut self,
        limit: Duration,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unfinished> {
        let running = self.0.get_or_insert_with(|| spawn_blocking(call));
        let Ok(done) = timeout(limit, running).await else { return Err(Unfinished::Slow) };
        self.0 = None;
        done.map_err(|_| Unfinished::Broken)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_call_that_hangs_stays_the_only_one() {
        let calls = Arc::new(AtomicUsize::new(0));
        let (release, gate) = mpsc::channel::<()>();
        let gate = Arc::new(std::sync::Mutex::new(gate));
        let call = || {
            let (calls, gate) = (Arc::clone(&calls), Arc::clone(&gate));
            move || {
                let _ = gate.lock().unwrap().recv();
                calls.fetch_add(1, Ordering::SeqCst) + 1
            }
        };
        let mut blocking = Blocking::default();
        let short = Duration::from_millis(5);
        for _ in 0..3 {
            assert_eq!(blocking.run(short, call()).await, Err(Unfinished::Slow));
        }
        release.send(()).unwrap();
        let long = Duration::from_secs(20);
        assert_eq!(blocking.run(long, call()).await, Ok(1));
        release.send(()).unwrap();
        assert_eq!(blocking.run(long, call()).await, Ok(2));
        assert_eq!(blocking.run(long, || panic!("on purpose")).await, Err(Unfinished::Broken));
    }
}
