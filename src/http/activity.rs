//! What the requests of one connection are at. HTTP/1 has one at a time, and its socket says when a client takes nothing;
//! with HTTP/2 a client can hold back single answers while the socket is idle.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::sync::Notify;

use crate::clock;
use crate::observe::Mono;

/// The requests of one connection.
pub struct Activity {
    requests: Mutex<Requests>,
    begun: Notify,
}

struct Requests {
    open: usize,
    /// When the last of them ended.
    idle_since: Mono,
    /// When something of each answer was taken last.
    taken: BTreeMap<u64, Mono>,
    next: u64,
}

impl Activity {
    /// None yet.
    pub fn new() -> Arc<Self> {
        let requests =
            Requests { open: 0, idle_since: clock::mono(), taken: BTreeMap::new(), next: 0 };
        Arc::new(Self { requests: Mutex::new(requests), begun: Notify::new() })
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request, until what this gives is dropped.
    pub fn begin(self: &Arc<Self>) -> Open {
        let mut requests = self.requests();
        requests.open += 1;
        requests.next += 1;
        self.begun.notify_one();
        Open { activity: self.clone(), id: requests.next }
    }

    /// Until there was a request. Before that a client would take the end of its connection for a failure.
    pub async fn has_begun(&self) {
        while self.requests().next == 0 {
            self.begun.notified().await;
        }
    }

    /// Whether some answer was not taken on for so long.
    pub fn is_stalled(&self, patience: Duration, now: Mono) -> bool {
        self.requests().taken.values().any(|taken| now.since(*taken) > patience)
    }

    /// How long there has been no request.
    pub fn idle(&self, now: Mono) -> Duration {
        let requests = self.requests();
        if requests.open > 0 { Duration::ZERO } else { now.since(requests.idle_since) }
    }
}

/// A request that is not over.
pub struct Open {
    activity: Arc<Activity>,
    id: u64,
}

impl Open {
    /// Its answer; from now on it has to be taken.
    pub fn answer(self, body: Body) -> Body {
        self.touch();
        Body::new(Watched { body, open: self })
    }

    fn touch(&self) {
        self.activity.requests().taken.insert(self.id, clock::mono());
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut requests = self.activity.requests();
        requests.taken.remove(&self.id);
        requests.open = requests.open.saturating_sub(1);
        requests.idle_since = clock::mono();
    }
}

struct Watched {
    body: Body,
    open: Open,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.open.touch();
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_not_taken_is_seen_and_work_is_none() {
        let activity = Activity::new();
        let later = |secs| clock::mono().plus(Duration::from_secs(secs));
        let patience = Duration::from_secs(30);
        assert!(activity.idle(later(91)) > Duration::from_secs(90));
        let open = activity.begin();
        // It is worked on: nobody is at fault for how long that takes.
        assert!(!activity.is_stalled(patience, later(100)));
        assert_eq!(activity.idle(later(100)), Duration::ZERO);
        let body = open.answer(Body::from("x"));
        assert!(!activity.is_stalled(patience, later(20)));
        assert!(activity.is_stalled(patience, later(31)));
        drop(body);
        assert!(!activity.is_stalled(patience, later(31)));
        assert!(activity.idle(later(91)) > Duration::from_secs(90));
    }
}
