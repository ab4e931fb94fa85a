//! Room for so many connections. When it is full, who comes takes the place of one that was never let in, else of the one that
//! has waited longest for a request, so that idle ones, and those that never finish a request, keep nobody out. One that is being answered keeps its
//! place.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use hyper::body::{Frame, SizeHint};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Who was asked to leave may have got a request just then; after this somebody else is asked.
const ASK_AGAIN: Duration = Duration::from_millis(20);
/// The room.
#[derive(Clone)]
pub struct Room(Arc<Inner>);

struct Inner {
    places: Arc<Semaphore>,
    waiting: Mutex<Waiting>,
}

/// Whether a request of it was ever let in, and its turn.
type At = (bool, u64);

/// Connections that wait for a request: those that were never let in first, and then the longest first.
#[derive(Default)]
struct Waiting {
    next: u64,
    row: BTreeMap<At, Arc<Notify>>,
}

/// A connection's place.
pub struct Place {
    room: Room,
    leave: Arc<Notify>,
    state: Mutex<State>,
    _permit: OwnedSemaphorePermit,
}

/// What a connection does.
#[derive(Default)]
struct State {
    /// Requests that are being answered; HTTP/2 has several.
    open: usize,
    /// Where it stands in the row, while there are none.
    at: Option<At>,
    /// A request of it was let in.
    let_in: bool,
}

/// A request is being answered.
struct Busy(Arc<Place>);

impl Room {
    /// For so many.
    pub fn new(places: usize) -> Self {
        let places = Arc::new(Semaphore::new(places));
        Self(Arc::new(Inner { places, waiting: Mutex::default() }))
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place, as soon as there is one.
    pub async fn place(&self) -> Arc<Place> {
        loop {
            let free = self.0.places.clone();
            let permit = match free.clone().try_acquire_owned() {
                Ok(permit) => Some(permit),
                Err(_) => {
                    let longest = self.waiting().row.pop_first();
                    longest.inspect(|(_, leave)| leave.notify_one());
                    timeout(ASK_AGAIN, free.acquire_owned()).await.ok().and_then(Result::ok)
                }
            };
            if let Some(permit) = permit {
                let (leave, state) = (Arc::default(), Mutex::default());
                let place = Place { room: self.clone(), leave, state, _permit: permit };
                place.wait(&mut place.state());
                return Arc::new(place);
            }
        }
    }
}

impl Place {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It waits for a request from now on.
    fn wait(&self, state: &mut State) {
        let mut waiting = self.room.waiting();
        let at = (state.let_in, waiting.next);
        waiting.next += 1;
        waiting.row.insert(at, self.leave.clone());
        state.at = Some(at);
    }

    fn busy(self: &Arc<Self>) -> Busy {
        let mut state = self.state();
        state.open += 1;
        state.let_in = true;
        if let Some(at) = state.at.take() {
            self.room.waiting().row.remove(&at);
        }
        Busy(self.clone())
    }

    /// The same routes, and this place is kept while one of them answers.
    pub fn around(self: &Arc<Self>, routes: Router) -> Router {
        let place = self.clone();
        Router::new().fallback_service(routes).layer(from_fn(
            move |request: Request, next: Next| {
                let busy = place.busy();
                async move {
                    next.run(request).await.map(|body| Body::new(Answering { body, _busy: busy }))
                }
            },
        ))
    }

    /// Until somebody else needs the place and no request is being answered.
    pub async fn is_needed(&self) {
        loop {
            self.leave.notified().await;
            if self.state().open == 0 {
                return;
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(at) = self.state().at.take() {
            self.room.waiting().row.remove(&at);
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.open -= 1;
        if state.open == 0 {
            self.0.wait(&mut state);
        }
    }
}

/// The body of an answer, which keeps its connection busy until it is sent.
struct Answering {
    body: Body,
    _busy: Busy,
}

impl HttpBody for Answering {
    type Data = <Body as HttpBody>::Data;
    type Error = <Body as HttpBody>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
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

    const SOON: Duration = Duration::from_secs(10);

    async fn leaves(place: &Place) -> bool {
        timeout(Duration::from_millis(1), place.is_needed()).await.is_ok()
    }

    #[tokio::test]
    async fn who_waits_longest_gives_way_and_who_is_answered_does_not() {
        let room = Room::new(3);
        let first = room.place().await;
        let second = room.place().await;
        let third = room.place().await;
        let answered = first.busy();
        let coming = tokio::spawn({
            let room = room.clone();
            async move { room.place().await }
        });
        timeout(SOON, second.is_needed()).await.unwrap();
        assert!(!leaves(&first).await, "it is busy");
        drop(second);
        let fourth = timeout(SOON, coming).await.unwrap().unwrap();
        assert!(!leaves(&fourth).await);
        // A request moves a connection to the end of the row, behind all that were never let in.
        drop(third.busy());
        drop(answered);
        let coming = tokio::spawn({
            let room = room.clone();
            async move { room.place().await }
        });
        timeout(SOON, fourth.is_needed()).await.unwrap();
        drop(fourth);
        timeout(SOON, coming).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn who_gets_a_request_while_asked_to_leave_stays_and_another_goes() {
        let room = Room::new(2);
        let first = room.place().await;
        let second = room.place().await;
        let coming = tokio::spawn({
            let room = room.clone();
            async move { room.place().await }
        });
        let busy = loop {
            tokio::task::yield_now().await;
            if !room.waiting().row.contains_key(&(false, 0)) {
                break first.busy();
            }
        };
        assert!(!leaves(&first).await);
        timeout(SOON, second.is_needed()).await.unwrap();
        drop(second);
        drop(timeout(SOON, coming).await.unwrap().unwrap());
        drop(busy);
        assert_eq!(room.waiting().row.len(), 1);
        drop(first);
        assert!(room.waiting().row.is_empty());
    }
}
