//! Replies that hold a whole small hash, sorted set or set, opened for their format. Pure. RESP2 and RESP3 write them
//! differently and both are read; anything else is no answer, never half of one.

use super::batch::Form;
use super::codec::{Item, Walk};
use crate::config::LockRules;
use crate::format::{self, Raw};
use crate::observe::lock::Shape;
use crate::observe::{Decoded, ServerTime};

/// A value that was opened.
pub enum Opened<'a> {
    /// Fields and their values.
    Hash(Vec<(&'a [u8], &'a [u8])>),
    /// Members and their scores.
    Zset(Vec<(&'a [u8], f64)>),
    /// Members, in the order of their bytes: the server's means nothing.
    Set(Vec<&'a [u8]>),
}

/// How many elements a reply has; `None` if it is no reply to the form's command.
pub fn len(form: Form, reply: &[u8]) -> Option<usize> {
    let mut walk = Walk::new(reply);
    let count = walk.many()?;
    let half = (count % 2 == 0).then_some(count / 2);
    match form {
        Form::Hash => half,
        Form::Set => Some(count),
        // RESP3 has a pair for each member, RESP2 one row of members and scores.
        Form::Zset if is_paired(&walk) => Some(count),
        Form::Zset => half,
        _ => None,
    }
}

/// How many elements a value has beyond the `len` that were read, where it was counted; `None` if that is no count.
pub fn beyond(count: Option<Item<'_>>, len: usize) -> Option<usize> {
    match count {
        None => Some(0),
        Some(Item::Int(all)) => Some(usize::try_from(all).ok()?.saturating_sub(len)),
        Some(_) => None,
    }
}

/// Opens a reply of a small value.
pub fn open(form: Form, reply: &[u8]) -> Option<Opened<'_>> {
    let count = len(form, reply)?;
    let mut walk = Walk::new(reply);
    walk.many()?;
    match form {
        Form::Hash => {
            let field = |_| Some((walk.bytes()?, walk.bytes()?));
            (0..count).map(field).collect::<Option<_>>().map(Opened::Hash)
        }
        Form::Zset => {
            let is_paired = is_paired(&walk);
            let member = |_| {
                if is_paired {
                    walk.many().filter(|n| *n == 2)?;
                }
                Some((walk.bytes()?, score(walk.bytes()?)?))
            };
            (0..count).map(member).collect::<Option<_>>().map(Opened::Zset)
        }
        Form::Set => {
            let mut members: Vec<&[u8]> =
                (0..count).map(|_| walk.bytes()).collect::<Option<_>>()?;
            members.sort_unstable();
            Some(Opened::Set(members))
        }
        _ => None,
    }
}

impl Opened<'_> {
    /// What it means as a lock.
    pub fn decode(&self, key: &[u8], rules: &LockRules, now: ServerTime) -> Decoded {
        let raw = match self {
            Opened::Hash(fields) => Raw::Hash(fields),
            Opened::Zset(members) => Raw::Zset(members),
            Opened::Set(members) => Raw::Set(members),
        };
        format::decode(key, raw, rules, now)
    }
}

/// What `TYPE` says of a value of this form, and its shape where it is not read.
pub fn kind(form: Form) -> (&'static [u8], Shape) {
    match form {
        Form::Zset => (b"zset", Shape::Zset),
        Form::Set => (b"set", Shape::Set),
        _ => (b"hash", Shape::Hash),
    }
}

/// The shape of a key that is not read, by what `TYPE` says.
pub fn shape_of_type(kind: &[u8]) -> Shape {
    match kind {
        b"hash" => Shape::Hash,
        b"zset" => Shape::Zset,
        b"set" => Shape::Set,
        b"list" => Shape::List,
        _ => Shape::Other,
    }
}

fn is_paired(members: &Walk<'_>) -> bool {
    matches!(members.clone().next(), Some(Item::Many(_)))
}

/// Text in RESP2 and a double in RESP3, written the same.
fn score(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok().filter(|n: &f64| !n.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zset(reply: &[u8]) -> Option<Vec<(&[u8], f64)>> {
        match open(Form::Zset, reply)? {
            Opened::Zset(members) => Some(members),
            _ => None,
        }
    }

    #[test]
    fn both_protocols_write_the_same_sorted_set() {
        let two = b"*4\r\n$1\r\na\r\n$13\r\n1795969586629\r\n$1\r\nb\r\n$4\r\n-inf\r\n";
        let three = b"*2\r\n*2\r\n$1\r\na\r\n,1795969586629\r\n*2\r\n$1\r\nb\r\n,-inf\r\n";
        let want: &[(&[u8], f64)] = &[(b"a", 1_795_969_586_629.0), (b"b", f64::NEG_INFINITY)];
        assert_eq!(zset(two).as_deref(), Some(want));
        assert_eq!(zset(three).as_deref(), Some(want));
        assert_eq!((len(Form::Zset, two), len(Form::Zset, three)), (Some(2), Some(2)));
        assert_eq!(zset(b"*0\r\n"), Some(Vec::new()));
    }

    #[test]
    fn half_an_answer_is_none() {
        for reply in [
            &b"*2\r\n$1\r\na\r\n$3\r\nnan\r\n"[..],
            b"*2\r\n$1\r\na\r\n$1\r\nx\r\n",
            b"*2\r\n$1\r\na\r\n_\r\n",
            b"*2\r\n*2\r\n$1\r\na\r\n,1\r\n$1\r\nb\r\n",
            b"*1\r\n*3\r\n$1\r\na\r\n,1\r\n,2\r\n",
            b"*2\r\n$1\r\na\r\n",
            b"*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n",
            b":7\r\n",
        ] {
            assert_eq!(zset(reply), None, "{:?}", String::from_utf8_lossy(reply));
        }
        assert!(open(Form::Set, b"~2\r\n$1\r\na\r\n*0\r\n").is_none());
        assert!(open(Form::Hash, b"%1\r\n$1\r\na\r\n_\r\n").is_none());
    }

    #[test]
    fn a_set_has_no_order() {
        for reply in [&b"~2\r\n$1\r\na\r\n$1\r\nb\r\n"[..], b"*2\r\n$1\r\nb\r\n$1\r\na\r\n"] {
            let Some(Opened::Set(members)) = open(Form::Set, reply) else { panic!("{reply:?}") };
            assert_eq!(members, [b"a", b"b"]);
        }
    }
}
