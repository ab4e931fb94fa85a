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
use super::redis::registry::celery::{EventFeed, Heard};
use crate::clock;
use crate::config::{LiveList, Preset};
use crate::observe::node::FailReason;
use crate::observe::poll::PollDone;
use crate::observe::source::{ListMember, ListRead, SourceFailed};
use crate::observe::{Observation, Span};

/// After the first of several failures, and until the first success, a list is tried again this soon.
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
        let reader = Reader::new(&list.preset, store);
        tokio::select! {
            _ = stopped => {}
            () = run(&list, reader, &out) => {}
        }
    });
    ListHandle { stop, task }
}

/// How a list is read: its registry, or what its workers publish.
enum Reader {
    Registry(ListReader),
    Events(EventFeed),
}

/// What came of a read.
struct Read {
    span: Span,
    members: Result<Vec<ListMember>, SourceFailed>,
    /// When it may be complete, if it is not only because it is too early.
    ripe_in: Option<Duration>,
}

impl Reader {
    fn new(preset: &Preset, store: StoreHandle) -> Self {
        match preset {
            Preset::Celery { channel } => Self::Events(EventFeed::new(store, channel.as_deref())),
            _ => Self::Registry(ListReader::new(store)),
        }
    }

    /// What there is to do between two reads. Ends when the next one should come soon.
    async fn between(&mut self) {
        match self {
            Self::Registry(_) => std::future::pending().await,
            Self::Events(feed) => feed.listen().await,
        }
    }

    async fn read(&mut self, preset: &Preset) -> Read {
        match self {
            Self::Registry(registry) => {
                let sent = clock::mono();
                let members = registry.read(preset).await;
                Read { span: Span { sent, done: clock::mono() }, members, ripe_in: None }
            }
            Self::Events(feed) => match feed.read().await {
                (span, Ok(Heard::Members(members))) => {
                    Read { span, members: Ok(members), ripe_in: None }
                }
                (span, Ok(Heard::Unripe(left))) => {
                    let seconds = left.as_secs_f64();
                    let detail = format!("not listening for long enough yet, {seconds:.1} s to go");
                    let failed = SourceFailed { reason: FailReason::NotReady, detail };
                    Read { span, members: Err(failed), ripe_in: Some(left) }
                }
                (span, Err(failed)) => Read { span, members: Err(failed), ripe_in: None },
            },
        }
    }
}

async fn run(list: &LiveList, mut reader: Reader, out: &Out) {
    let mut ticks = interval(list.refresh.max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // What fails for the first time is tried again soon; a store is not connected yet when its lists begin.
    let mut is_patient = false;
    let mut is_new = true;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = reader.between() => {}
        }
        let Read { span, members, ripe_in } = reader.read(&list.preset).await;
        let failure = members.as_ref().err().map(|f| f.reason).filter(|_| ripe_in.is_none());
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
        is_new &= failure.is_some();
        if let Some(left) = ripe_in {
            ticks.reset_after(left);
        } else if failure.is_some() && (is_new || !is_patient) {
            ticks.reset_after(RETRY.min(list.refresh));
        }
        is_patient = failure.is_some();
    }
}
