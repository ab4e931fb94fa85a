//! A body of shared bytes that is handed out in pieces and keeps its place in a queue until the last piece is taken, so
//! that slow readers are counted as what they are.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

use crate::expose::Pieces;

/// Large enough to be few, small enough that the connection's own buffer holds a fraction of a big answer.
const PIECE: usize = 64 * 1024;

struct Counted {
    all: Pieces,
    /// Which of them comes next.
    next: usize,
    /// What is left of the one before.
    rest: Bytes,
    /// Bytes left of all.
    left: u64,
    _place: OwnedSemaphorePermit,
}

/// A body of these that gives `place` back when it has been sent or dropped.
pub fn counted(all: impl Into<Pieces>, place: OwnedSemaphorePermit) -> Body {
    let all = all.into();
    let left = all.len() as u64;
    Body::new(Counted { all, next: 0, rest: Bytes::new(), left, _place: place })
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        while self.rest.is_empty() {
            let Some(next) = self.all.get(self.next).cloned() else { return Poll::Ready(None) };
            self.rest = next;
            self.next += 1;
        }
        let piece = self.rest.len().min(PIECE);
        self.left = self.left.saturating_sub(piece as u64);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
