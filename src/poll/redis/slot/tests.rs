use super::*;
use crate::config::{LockConfig, LockKeys, LockRules};
use crate::observe::StoreId;
use crate::poll::redis::keys::Keys;
use crate::poll::redis::share::Share;

/// How many members a sorted set has; read of no other form.
const COUNT: &[u8] = b":65\r\n";

fn slot() -> Slot {
    let rules = Arc::new(LockRules::default());
    let keys = LockKeys::One { name: "a".into(), key: b"a".to_vec() };
    let (keys, _) = Keys::new(StoreId(0), Share::default(), &[LockConfig { keys, rules }], 1);
    Slot::new(keys.list()[0].clone())
}

fn stamp(absolute: bool, ms: i64) -> Stamp {
    let time = ServerTime(ms * 1000 + 700);
    Stamp { time, until: time, absolute }
}

fn read(slot: &mut Slot, form: Form, value: &[u8], head: &[u8], expiry: i64, s: Stamp) -> Outcome {
    // A value that is no longer than its beginning is its own end.
    ends_of(slot, form, value, [head, head], expiry, s)
}

fn ends_of(
    slot: &mut Slot,
    form: Form,
    value: &[u8],
    ends: [&[u8]; 2],
    expiry: i64,
    s: Stamp,
) -> Outcome {
    let [mut head, mut tail] = ends.map(Walk::new);
    slot.read(form, &mut Walk::new(value), &mut head, &mut tail, Some(expiry), s)
}

fn present(outcome: Outcome) -> (Arc<Decoded>, Expiry) {
    match outcome {
        Outcome::Found(Found::Present { value, expiry })
        | Outcome::Moved(Found::Present { value, expiry }, _) => (value, expiry),
        _ => panic!("not present"),
    }
}

#[test]
fn unchanged_bytes_are_the_same_arc_however_they_are_read() {
    let mut s = slot();
    let now = stamp(true, 5);
    let (a, e) = present(read(&mut s, Form::Text, b"$2\r\nt1\r\n", b"", 77, now));
    assert_eq!(e, Expiry::At(ServerTime(77_000)));
    let (b, e) = present(read(&mut s, Form::Long, b":2\r\n", b"$2\r\nt1\r\n", -1, now));
    assert!(Arc::ptr_eq(&a, &b));
    assert_eq!(e, Expiry::Never);
    let (c, _) = present(read(&mut s, Form::Text, b"$2\r\nt2\r\n", b"", 77, now));
    assert!(!Arc::ptr_eq(&a, &c));
    assert_eq!(c.holders[0].owner.token.bytes(), b"t2");
}

#[test]
fn a_long_value_is_cut_and_read_otherwise_from_then_on() {
    let mut s = slot();
    let reply = |v: &[u8]| [format!("${}\r\n", v.len()).as_bytes(), v, b"\r\n"].concat();
    let long = reply(&[b'x'; 600]);
    let outcome = read(&mut s, Form::Text, &long, b"", -1, stamp(true, 5));
    assert!(matches!(&outcome, Outcome::Moved(_, Form::Long)));
    assert!(s.long);
    let (a, _) = present(outcome);
    assert_eq!(a.holders[0].owner.token.bytes(), [b'x'; 600]);
    let head = reply(&[b'x'; 512]);
    let (b, _) = present(read(&mut s, Form::Long, b":600\r\n", &head, -1, stamp(true, 5)));
    assert!(Arc::ptr_eq(&a, &b));
}

#[test]
fn long_tokens_that_end_otherwise_are_other_owners() {
    for len in [HEAD + 1, HEAD + 6, 2 * HEAD, 2 * HEAD + 1, 5000] {
        let mut owners = Vec::new();
        for last in [b'A', b'B'] {
            let mut value = vec![b'S'; len];
            value[0] = b'f';
            value[len - 1] = last;
            let reply = |v: &[u8]| [format!("${}\r\n", v.len()).as_bytes(), v, b"\r\n"].concat();
            let (whole, now) = (reply(&value), stamp(true, 5));
            let mut s = slot();
            let (a, _) = present(read(&mut s, Form::Text, &whole, b"", -1, now));
            let (head, tail) = (reply(&value[..HEAD]), reply(&value[len - HEAD..]));
            let number = format!(":{len}\r\n");
            let ends = [head.as_slice(), &tail];
            let (b, _) = present(ends_of(&mut s, Form::Long, number.as_bytes(), ends, -1, now));
            assert!(Arc::ptr_eq(&a, &b), "both ways show the same of {len} bytes");
            let token = a.holders[0].owner.token.clone();
            assert_eq!(token.bytes().len(), len.min(2 * HEAD));
            assert!(token.bytes().starts_with(b"f") && token.bytes().ends_with(&[last]));
            owners.push(token);
        }
        assert_ne!(owners[0], owners[1], "{len}");
        assert_ne!(owners[0].fingerprint(), owners[1].fingerprint());
    }
}

#[test]
fn an_expiry_made_of_pttl_stands_still_while_it_is_the_same() {
    let mut s = slot();
    let at = |outcome| match present(outcome).1 {
        Expiry::At(e) => e.0 / 1000,
        Expiry::Never => -1,
    };
    let v = b"$2\r\nt1\r\n";
    assert_eq!(at(read(&mut s, Form::Text, v, b"", 1000, stamp(false, 5))), 1005);
    assert_eq!(at(read(&mut s, Form::Text, v, b"", 901, stamp(false, 105))), 1005);
    assert_eq!(at(read(&mut s, Form::Text, v, b"", 798, stamp(false, 205))), 1005);
    let mut torn = stamp(false, 305);
    torn.until = ServerTime(345_000);
    assert_eq!(at(read(&mut s, Form::Text, v, b"", 662, torn)), 1005, "interrupted");
    assert_eq!(at(read(&mut s, Form::Text, v, b"", 1000, stamp(false, 305))), 1305, "renewed");
    assert_eq!(
        at(read(&mut s, Form::Text, b"$1\r\nu\r\n", b"", 999, stamp(false, 305))),
        1304,
        "another"
    );
}

#[test]
fn types_that_are_not_what_we_thought() {
    let mut s = slot();
    let now = stamp(true, 5);
    let wrong = b"-WRONGTYPE Operation against a key\r\n";
    assert!(matches!(read(&mut s, Form::Text, b"$-1\r\n", b"", -1, now), Outcome::Retype));
    assert!(matches!(
        read(&mut s, Form::Text, b"$-1\r\n", b"", -2, now),
        Outcome::Found(Found::Absent)
    ));
    assert!(matches!(read(&mut s, Form::Long, wrong, wrong, 9, now), Outcome::Retype));
    assert!(matches!(read(&mut s, Form::Hash, wrong, b"", 9, now), Outcome::Retype));
    assert!(matches!(read(&mut s, Form::Opaque, b"+string\r\n", b"", 9, now), Outcome::Retype));
    let (list, _) = present(read(&mut s, Form::Opaque, b"+list\r\n", b"", 9, now));
    assert_eq!((list.shape, list.holders.len()), (Shape::List, 0));
    assert!(matches!(
        read(&mut s, Form::Opaque, b"+none\r\n", b"", -2, now),
        Outcome::Moved(Found::Absent, Form::Text)
    ));
    assert!(matches!(
        read(&mut s, Form::Text, b":1\r\n", b"", 9, now),
        Outcome::Found(Found::Unreadable(Unreadable::Unexpected))
    ));
}

#[test]
fn what_came_between_its_value_and_its_expiry_is_read_again() {
    let mut s = slot();
    let now = stamp(true, 5);
    for (form, nothing) in [
        (Form::Text, b"$-1\r\n"),
        (Form::Hash, b"*0\r\n\0"),
        (Form::Hash, b"%0\r\n\0"),
        (Form::Zset, b"*0\r\n\0"),
        (Form::Set, b"~0\r\n\0"),
    ] {
        assert!(matches!(read(&mut s, form, nothing, COUNT, 9, now), Outcome::Retype), "{form:?}");
    }
    assert!(matches!(read(&mut s, Form::Opaque, b"+none\r\n", b"", 9, now), Outcome::Retype));
    let went = read(&mut s, Form::Text, b"$2\r\nt1\r\n", b"", -2, now);
    assert!(matches!(went, Outcome::Found(Found::Absent)));
}

#[test]
fn hashes_of_either_protocol() {
    let mut s = slot();
    let now = stamp(true, 5);
    let id = "fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162:47";
    for kind in ["*2", "%1"] {
        let reply = format!("{kind}\r\n${}\r\n{id}\r\n$1\r\n2\r\n", id.len());
        let (a, _) = present(read(&mut s, Form::Hash, reply.as_bytes(), b"", 9, now));
        assert_eq!((a.shape, a.holders[0].count), (Shape::OwnerHash, 2));
        let (b, _) = present(read(&mut s, Form::Hash, reply.as_bytes(), b"", 9, now));
        assert!(Arc::ptr_eq(&a, &b));
    }
    let many = format!("*{}\r\n{}", 130, "$1\r\nx\r\n".repeat(130));
    let outcome = read(&mut s, Form::Hash, many.as_bytes(), b"", 9, now);
    assert!(matches!(&outcome, Outcome::Moved(_, Form::Opaque)));
    assert_eq!(present(outcome).0.shape, Shape::Hash);
}

#[test]
fn sets_and_sorted_sets_that_are_too_large_are_left_alone_until_they_are_counted_again() {
    let now = stamp(true, 5);
    for (form, kind, shape) in
        [(Form::Zset, &b"+zset\r\n"[..], Shape::Zset), (Form::Set, &b"+set\r\n"[..], Shape::Set)]
    {
        let mut s = slot();
        let members: String = (0..65).map(|n| format!("$2\r\n{n:02}\r\n,1\r\n")).collect();
        let reply = match form {
            Form::Zset => format!("*130\r\n{members}"),
            _ => format!("~65\r\n{}", members.replace(",1\r\n", "")),
        };
        let outcome = read(&mut s, form, reply.as_bytes(), COUNT, 9, now);
        assert!(matches!(&outcome, Outcome::Moved(_, Form::Opaque)), "{form:?}");
        assert_eq!(present(outcome).0.shape, shape);
        assert!(!s.huge);
        s.crowded = Some(Mono(1));
        assert_eq!(present(read(&mut s, Form::Opaque, kind, b"", 9, now)).0.shape, shape);
        // Of another type until now, so that nobody has counted it.
        s.crowded = None;
        assert!(matches!(read(&mut s, Form::Opaque, kind, b"", 9, now), Outcome::Retype));
        let member = format!("${MAX_COLLECTION}\r\n{}\r\n", "x".repeat(MAX_COLLECTION));
        let large = match form {
            Form::Zset => format!("*1\r\n*2\r\n{member},1\r\n"),
            _ => format!("~1\r\n{member}"),
        };
        let outcome = read(&mut s, form, large.as_bytes(), COUNT, 9, now);
        assert!(matches!(outcome, Outcome::Moved(_, Form::Opaque)) && s.huge);
        read(&mut s, Form::Opaque, b"+none\r\n", b"", -2, now);
        assert!(!s.huge, "what comes next may be small");
    }
}
