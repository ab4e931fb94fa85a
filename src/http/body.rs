//! A body of shared bytes that is handed out in pieces and keeps its place in a queue until the last piece is taken, so
//! that slow readers are counted as what they are.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

/// Large enough to be few, small enough that the connection's own buffer holds a fraction of a big answer.
const PIECE: usize = 64 * 1024;

struct Counted {
    rest: Bytes,
    _place: OwnedSemaphorePermit,
}

/// A body of `bytes` that gives `place` back when it has been sent or dropped.
pub fn counted(bytes: Bytes, place: OwnedSemaphorePermit) -> Body {
    Body::new(Counted { rest: bytes, _place: place })
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let piece = self.rest.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
