//! Reads lists of live workers, each by itself at its own pace. Sends facts only; whether a holder is missing from one is
//! decided elsewhere.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::Out;
use super::redis::StoreHandle;
use super::redis::registry::ListReader;
use crate::clock;
use crate::config::LiveList;
use crate::observe::poll::PollDone;
use crate::observe::source::ListRead;
use crate::observe::{Observation, Span};

/// After a failure, and until the first success, a list is tried again this soon.
const RETRY: Duration = Duration::from_secs(1);

/// Steers the reading of one list. It ends when this is dropped.
#[derive(Debug)]
pub struct ListHandle {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl ListHandle {
    /// Ends the reading.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.task.await;
    }
}

/// Starts reading a list in its store; must be called inside a tokio runtime.
pub fn spawn(list: LiveList, store: StoreHandle, out: Out) -> ListHandle {
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(async move {
        tokio::select! {
            _ = stopped => {}
            () = run(&list, ListReader::new(store), &out) => {}
        }
    });
    ListHandle { stop, task }
}

async fn run(list: &LiveList, mut reader: ListReader, out: &Out) {
    let mut ticks = interval(list.refresh.max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_first = true;
    loop {
        ticks.tick().await;
        let sent = clock::mono();
        let members = reader.read(&list.preset).await;
        let span = Span { sent, done: clock::mono() };
        let failure = members.as_ref().err().map(|f| f.reason);
        let read = ListRead { list: Arc::clone(&list.name), span, members };
        let done = PollDone {
            poller: "list",
            target: Arc::clone(&list.name),
            interval: list.refresh,
            span,
            busy: span.width(),
            failure,
        };
        for fact in [Observation::List(Box::new(read)), Observation::Poll(done)] {
            if out.send(fact).await.is_err() {
                return;
            }
        }
        // A store is not connected yet when its lists begin.
        if is_first && failure.is_some() {
            ticks.reset_after(RETRY.min(list.refresh));
        }
        is_first &= failure.is_some();
    }
}
