//! Replies of a Redis server: the own framing against itself, read in pieces and whole, and against redis-rs, which
//! parses the same bytes wherever speed does not matter.

use redis::Value;

use crate::config::LockRules;
use crate::observe::ServerTime;
use crate::poll::redis::batch::Form;
use crate::poll::redis::codec::{Item, Scanner, Walk};
use crate::poll::redis::collection;
use crate::poll::redis::slowlog::entry;

/// Any bytes from a server.
pub fn resp(bytes: &[u8]) {
    let whole = Scanner::at(0).advance(bytes);
    let mut scanner = Scanner::at(0);
    let mut in_pieces = Ok(None);
    // Few pieces, so that a long input costs no more than a few looks at it.
    let step = bytes.len().div_ceil(16).max(1);
    for end in (step..bytes.len()).step_by(step).chain([bytes.len()]) {
        in_pieces = scanner.advance(bytes.get(..end).unwrap_or(bytes));
        if in_pieces != Ok(None) {
            break;
        }
    }
    assert_eq!(in_pieces, whole, "it does not matter in which pieces a reply comes");
    let Ok(Some(end)) = whole else { return };
    assert!(0 < end && end <= bytes.len());
    let frame = bytes.get(..end).unwrap_or_default();
    assert_eq!(Scanner::at(0).advance(frame), Ok(Some(end)), "a frame is complete by itself");
    let cut = frame.get(..end - 1).unwrap_or_default();
    assert_eq!(Scanner::at(0).advance(cut), Ok(None), "and not without its last byte");
    let mut walk = Walk::new(frame);
    // What redis-rs is laxer about, such as a blank behind a number, ends the walk.
    let mut is_read = true;
    while is_read && walk.rest() > 0 {
        is_read = walk.next().is_some();
    }
    let mut raw = Walk::new(frame);
    assert_eq!(raw.raw(), Some(frame));
    assert_eq!(raw.rest(), 0);
    collections(frame);
    slow_log(frame);
    if is_read
        && let Ok(value) = redis::parse_redis_value(frame)
        && is_plain(&value)
    {
        assert!(agrees(&mut Walk::new(frame), &value, |_| true), "{value:?} of {frame:?}");
    }
}

/// A frame as the reply that holds a whole value: opened as a whole or not at all, and decoded to no more than is in it.
fn collections(frame: &[u8]) {
    for form in Form::ALL {
        let len = collection::len(form, frame);
        let Some(opened) = collection::open(form, frame) else { continue };
        let count = len.unwrap_or(0);
        // Formats are never asked about more.
        if count > 64 {
            continue;
        }
        let decoded = opened.decode(b"lock", &LockRules::default(), ServerTime(0));
        assert!(decoded.holders.len() <= count, "{} of {count}", decoded.holders.len());
        assert!(decoded.holders.iter().all(|h| h.owner.token.bytes().len() <= frame.len()));
    }
}

/// A frame as a slow log: no more is told than is in it, and what is shown of an argument is one or a part of one.
fn slow_log(frame: &[u8]) {
    let Some(all) = entry::entries(Walk::new(frame)) else { return };
    assert!(all.len() <= entry::MOST);
    let args = all.iter().flat_map(|e| &e.args);
    assert!(args.map(|a| a.bytes.len()).sum::<usize>() <= frame.len());
    for entry in &all {
        assert!(entry.args.iter().all(|a| a.beyond == 0 || a.bytes.len() == entry::SHOWN));
        assert!(!entry.may_hide_keys() || entry.is_cut());
    }
}

/// Whether all of it is of kinds that a command of ours is answered with.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Nil | Value::Int(_) | Value::BulkString(_) | Value::SimpleString(_) => true,
        Value::Okay | Value::Boolean(_) | Value::ServerError(_) => true,
        Value::Array(all) | Value::Set(all) => all.iter().all(is_plain),
        Value::Map(all) => all.iter().all(|(k, v)| is_plain(k) && is_plain(v)),
        _ => false,
    }
}

/// Whether the walk sees what redis-rs parsed, of the kinds that this program reads. Of an error redis-rs keeps no bytes:
/// `is_error` says whether those are right.
pub(in crate::poll) fn agrees(
    walk: &mut Walk<'_>,
    value: &Value,
    is_error: fn(&[u8]) -> bool,
) -> bool {
    match (walk.next(), value) {
        (Some(Item::Bulk(b)), Value::BulkString(v)) => b == v,
        (Some(Item::Simple(b)), Value::SimpleString(v)) => b == v.as_bytes(),
        (Some(Item::Simple(b)), Value::Okay) => b == b"OK",
        (Some(Item::Int(a)), Value::Int(b)) => a == *b,
        (Some(Item::Null), Value::Nil) => true,
        (Some(Item::Error(b)), Value::ServerError(_)) => is_error(b),
        (Some(Item::Other(b)), Value::Boolean(v)) => b == if *v { b"t" } else { b"f" },
        (Some(Item::Many(n)), Value::Array(v) | Value::Set(v)) => {
            n == v.len() && v.iter().all(|v| agrees(walk, v, is_error))
        }
        (Some(Item::Many(n)), Value::Map(m)) => {
            n == m.len() * 2
                && m.iter().all(|(k, v)| agrees(walk, k, is_error) && agrees(walk, v, is_error))
        }
        _ => false,
    }
}
