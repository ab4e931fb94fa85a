use proptest::prelude::*;

use super::*;
use crate::poll::fuzzing::resp::agrees;

/// A reply as a tree, from which bytes are written.
#[derive(Clone, Debug)]
enum Tree {
    Bulk(Vec<u8>),
    Simple(String),
    Error(String),
    Int(i64),
    Null(&'static str),
    Bool(bool),
    Array(Vec<Tree>),
    Set(Vec<Tree>),
    Map(Vec<(Tree, Tree)>),
}

impl Tree {
    fn write(&self, out: &mut Vec<u8>) {
        let many = |out: &mut Vec<u8>, kind: char, items: &[Tree]| {
            out.extend(format!("{kind}{}\r\n", items.len()).bytes());
            items.iter().for_each(|t| t.write(out));
        };
        match self {
            Tree::Bulk(b) => {
                out.extend(format!("${}\r\n", b.len()).bytes());
                out.extend(b);
                out.extend(b"\r\n");
            }
            Tree::Simple(s) => out.extend(format!("+{s}\r\n").bytes()),
            Tree::Error(s) => out.extend(format!("-{s}\r\n").bytes()),
            Tree::Int(n) => out.extend(format!(":{n}\r\n").bytes()),
            Tree::Null(s) => out.extend(s.bytes()),
            Tree::Bool(b) => out.extend(if *b { b"#t\r\n" } else { b"#f\r\n" }),
            Tree::Array(items) => many(out, '*', items),
            Tree::Set(items) => many(out, '~', items),
            Tree::Map(items) => {
                out.extend(format!("%{}\r\n", items.len()).bytes());
                items.iter().for_each(|(k, v)| {
                    k.write(out);
                    v.write(out);
                });
            }
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(Tree::Bulk),
        Just(Tree::Bulk(b"a\r\nb\r\n".to_vec())),
        "[ -~]{0,20}".prop_map(Tree::Simple),
        "ERR [ -~]{1,20}".prop_map(Tree::Error),
        any::<i64>().prop_map(Tree::Int),
        Just(Tree::Null("_\r\n")),
        Just(Tree::Null("$-1\r\n")),
        Just(Tree::Null("*-1\r\n")),
        any::<bool>().prop_map(Tree::Bool),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        let items = proptest::collection::vec(inner.clone(), 0..8);
        prop_oneof![
            items.clone().prop_map(Tree::Array),
            items.prop_map(Tree::Set),
            proptest::collection::vec((inner.clone(), inner), 0..4).prop_map(Tree::Map),
        ]
    })
}

#[test]
fn a_transaction_reply_by_hand() {
    let frame =
        b"*4\r\n*2\r\n$1\r\n1\r\n$1\r\n2\r\n*2\r\n$-1\r\n$2\r\nv1\r\n:-2\r\n-WRONGTYPE x\r\n+next";
    let end = Scanner::at(0).advance(frame).unwrap().unwrap();
    assert_eq!(&frame[end..], b"+next");
    let mut w = Walk::new(&frame[..end]);
    assert_eq!(w.many(), Some(4));
    assert_eq!(w.raw(), Some(&b"*2\r\n$1\r\n1\r\n$1\r\n2\r\n"[..]));
    assert_eq!((w.many(), w.next(), w.bytes()), (Some(2), Some(Item::Null), Some(&b"v1"[..])));
    assert_eq!((w.int(), w.next()), (Some(-2), Some(Item::Error(b"WRONGTYPE x"))));
    assert_eq!(w.next(), None);
}

#[test]
fn attributes_and_pushes() {
    let frame = b"|1\r\n+ttl\r\n:9\r\n*1\r\n|0\r\n:7\r\n";
    assert_eq!(Scanner::at(0).advance(frame), Ok(Some(frame.len())));
    let mut w = Walk::new(frame);
    assert_eq!((w.many(), w.int(), w.next()), (Some(1), Some(7), None));
    assert!(is_push(b">2\r\n+invalidate\r\n_\r\n"));
    assert!(!is_push(frame));
    let mut w = Walk::new(b"=7\r\ntxt:abc\r\n");
    assert_eq!(w.bytes(), Some(&b"abc"[..]));
}

#[test]
fn hostile_sizes_are_refused_before_they_cost_anything() {
    let refused = |bytes: &[u8]| Scanner::at(0).advance(bytes).unwrap_err();
    assert_eq!(refused(b"$16777217\r\n"), Malformed::Limit("16 MiB"));
    assert_eq!(refused(b"$99999999999999999999\r\n"), Malformed::Number);
    assert_eq!(refused(b"*262145\r\n"), Malformed::Limit("262144 elements"));
    assert_eq!(refused(b"$-2\r\n"), Malformed::Number);
    assert_eq!(refused(b"*?\r\n"), Malformed::Number);
    assert_eq!(refused(b"$3\r\nabcd\r\n"), Malformed::Terminator);
    assert_eq!(refused(b"HTTP/1.1 400"), Malformed::Kind(b'H'));
    assert_eq!(refused(&b"*1\r\n".repeat(20)), Malformed::Limit("16 levels"));
    let mut line = vec![b'+'];
    line.resize(MAX_LINE + 3, b'x');
    assert_eq!(refused(&line), Malformed::Limit("64 KiB in one line"));
    let nested = [b"*262144\r\n".repeat(3), b":1\r\n".repeat(1 << 10)].concat();
    assert_eq!(Scanner::at(0).advance(&nested), Ok(None), "claims much, has little, waits");
}

proptest! {
    #[test]
    fn frames_end_where_they_end_wherever_they_are_split(t in tree(), u in tree(), split: prop::sample::Index) {
        let (first, second) = (t.bytes(), u.bytes());
        let both = [first.clone(), second].concat();
        let mut scanner = Scanner::at(0);
        let cut = split.index(both.len() + 1);
        let early = scanner.advance(&both[..cut]).unwrap();
        prop_assert_eq!(early.is_some(), cut >= first.len());
        let end = match early {
            Some(end) => end,
            None => scanner.advance(&both).unwrap().unwrap(),
        };
        prop_assert_eq!(end, first.len());
        prop_assert_eq!(Scanner::at(end).advance(&both), Ok(Some(both.len())));
    }

    #[test]
    fn what_is_queued_ends_where_a_scan_ends_it(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..20), at in 0_usize..12, cut in 0_usize..30, rest in tree()) {
        let start = bytes.len();
        let mut queued = b"+QUEUED\r\n".to_vec();
        if let Some(byte) = queued.get_mut(at) {
            *byte = byte.wrapping_add(1);
        }
        bytes.extend(queued);
        bytes.extend(rest.bytes());
        bytes.truncate(start + cut);
        let scanned = Scanner::at(start).advance(&bytes);
        match end_of_queued(&bytes, start) {
            Some(end) => prop_assert_eq!(scanned, Ok(Some(end))),
            None => prop_assert!(!bytes[start..].starts_with(b"+QUEUED\r\n")),
        }
    }

    #[test]
    fn byte_by_byte_is_the_same(t in tree()) {
        let bytes = t.bytes();
        let mut scanner = Scanner::at(0);
        for n in 0..bytes.len() {
            prop_assert_eq!(scanner.advance(&bytes[..n]), Ok(None));
        }
        prop_assert_eq!(scanner.advance(&bytes), Ok(Some(bytes.len())));
    }

    #[test]
    fn the_walker_sees_what_redis_rs_parses(t in tree()) {
        let bytes = t.bytes();
        let value = redis::parse_redis_value(&bytes).unwrap();
        let mut walk = Walk::new(&bytes);
        let is_error = |b: &[u8]| b.starts_with(b"ERR");
        prop_assert!(agrees(&mut walk, &value, is_error), "{:?}", value);
        prop_assert_eq!(walk.next(), None);
    }

    #[test]
    fn any_bytes_are_harmless(bytes in proptest::collection::vec(prop_oneof![
        any::<u8>(), proptest::sample::select(b"+-:,#(_$=!*~>%|\r\n0123456789".to_vec())], 0..200)) {
        if let Ok(Some(end)) = Scanner::at(0).advance(&bytes) {
            prop_assert!(end <= bytes.len());
        }
        let mut walk = Walk::new(&bytes);
        while walk.next().is_some() {}
        let mut walk = Walk::new(&bytes);
        while walk.skip().is_some() {}
    }
}
