//! What a server sends to who listens: the same in whatever pieces it comes, and as redis-rs reads it; and what Celery's
//! workers publish. No message costs more memory than it has bytes.

use std::time::Duration;

use redis::Value;

use crate::poll::redis::codec::Scanner;
use crate::poll::redis::registry::celery::event;
use crate::poll::redis::subscription::Message;
use crate::poll::redis::subscription::frames::{Frames, MAX_TEXT, Part};
use crate::poll::redis::told::{Told, told};

/// How the events of keys are called.
const SPACE: &[u8] = b"__keyspace@0__:";

/// Any bytes from a server that tells of events.
pub fn feed(bytes: &[u8]) {
    let (whole, is_whole) = cut(&[bytes]);
    let step = bytes.len().div_ceil(16).max(1);
    let pieces: Vec<&[u8]> = bytes.chunks(step).collect();
    assert_eq!(cut(&pieces), (whole.clone(), is_whole), "it does not matter in which pieces");
    assert!(size(&whole) <= bytes.len(), "no more than came");
    if let Some(first) = whole.first()
        && let Ok(Some(end)) = Scanner::at(0).advance(bytes)
        && let Ok(value) = redis::parse_redis_value(bytes.get(..end).unwrap_or_default())
        && let Some(parts) = parts(&value)
    {
        assert_eq!(*first, parts, "{value:?}");
    }
    for frame in whole {
        let came = size(std::slice::from_ref(&frame));
        match told(frame, SPACE) {
            Ok(Some(Told::Changed(keys))) => {
                assert!(keys.iter().map(Vec::len).sum::<usize>() <= came);
            }
            Ok(Some(Told::Event(key, _))) => assert!(key.len() + SPACE.len() <= came),
            Ok(_) => {}
            Err(e) => assert!(!e.detail.chars().any(char::is_control), "{e:?}"),
        }
    }
    celery(bytes);
}

/// The frames in these pieces, and whether there was nothing wrong with them.
fn cut(pieces: &[&[u8]]) -> (Vec<Vec<Part>>, bool) {
    let (mut frames, mut found) = (Frames::default(), Vec::new());
    for piece in pieces {
        frames.room().extend_from_slice(piece);
        loop {
            match frames.next() {
                Ok(Some(frame)) => found.push(frame),
                Ok(None) => break,
                Err(_) => return (found, false),
            }
        }
    }
    (found, true)
}

fn size(frames: &[Vec<Part>]) -> usize {
    let of = |part: &Part| match part {
        Part::Text(t) | Part::Error(t) => t.len(),
        Part::TooLong | Part::Other => 0,
    };
    frames.iter().flatten().map(of).sum()
}

/// A flat array as its parts; `None` if it is anything else.
fn parts(value: &Value) -> Option<Vec<Part>> {
    let text = |t: &[u8]| match t.len() {
        ..=MAX_TEXT => Part::Text(t.to_vec()),
        _ => Part::TooLong,
    };
    let Value::Array(all) = value else { return None };
    let one = |v: &Value| match v {
        Value::BulkString(t) => Some(text(t)),
        Value::SimpleString(t) => Some(text(t.as_bytes())),
        Value::Okay => Some(text(b"OK")),
        Value::Nil | Value::Int(_) => Some(Part::Other),
        _ => None,
    };
    all.iter().map(one).collect()
}

/// A message on a channel of Celery's.
fn celery(payload: &[u8]) {
    let channel = b"/0.celeryev/worker.offline".to_vec();
    let message = Message { channel, payload: Some(payload.to_vec()) };
    let Some(event) = event::read(&message) else { return };
    assert!(!event.name.is_empty() && event.name.len() <= 255 && event.leaves);
    assert!(!event.every.is_zero() && event.every <= Duration::from_secs(300), "{event:?}");
}
