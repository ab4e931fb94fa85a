use proptest::prelude::*;

use super::*;
use crate::config::TokenKind;

fn rules(format: Option<&str>, holder: Option<&str>) -> LockRules {
    LockRules {
        format: format.map(Into::into),
        holder: holder.map(|p| Pattern(regex::bytes::Regex::new(p).unwrap())),
        ..LockRules::default()
    }
}

fn text(value: &[u8]) -> Decoded {
    read(Raw::String { bytes: value, full_len: value.len() }, &rules(None, None))
}

/// By a key that says nothing.
fn read(raw: Raw<'_>, rules: &LockRules) -> Decoded {
    decode(b"k", raw, rules)
}

#[test]
fn tokens_of_known_libraries() {
    let fresh = |v: &[u8]| {
        let d = text(v);
        assert_eq!((d.shape, d.format, d.holders.len()), (Shape::Text, "string", 1), "{v:?}");
        assert_eq!(d.holders[0].owner.token.bytes(), v);
        d.tokens == TokenKind::PerAcquire
    };
    assert!(fresh(b"86bb5074ebf111f1930402fc00000001"), "redis-py");
    assert!(fresh(b"dG9rZW4gb2YgMTggYnl0ZXMh"), "python-redis-lock");
    assert!(fresh(b"dG9rZW4gb2YgMTYgYnl0ZQ=="), "redsync");
    assert!(!fresh(b"0e7cd1f1-6b3c-4a41-9d4a-0c9a7d2a9f10"), "a bare uuid4 may be a process");
    assert!(!fresh(b"0000000000001000a00000000000000f"), "a uuid1 of the year 1582");
    assert!(!fresh(b"9f86d081884c7d659a2feaa0c55ad015"), "random hex");
    assert!(!fresh(b"worker-7"));
    assert!(!fresh(b"123e4567"), "hex that looks like a float");
}

#[test]
fn what_is_no_owner() {
    let shape = |v: &[u8]| {
        let d = text(v);
        assert!(d.holders.is_empty(), "{v:?}");
        d.shape
    };
    for n in ["0", "-17", "1795955800526", "1795955800.526", " 42\n", "+1."] {
        assert_eq!(shape(n.as_bytes()), Shape::Number, "{n}");
    }
    for t in
        ["2026-11-29", "2026-11-29T13:14:01.090039Z", "2026-11-29 13:14", "2026-11-29T13:14+01:00"]
    {
        assert_eq!(shape(t.as_bytes()), Shape::Number, "{t}");
    }
    assert_eq!(shape(br#"{"holder":"w1"}"#), Shape::Json);
    assert_eq!(shape(b"[1, 2]"), Shape::Json);
    assert_eq!(shape(b""), Shape::Empty);
    assert_eq!(text(b"[not json").shape, Shape::Text);
    assert_eq!(text(b"2026-11-29-worker").shape, Shape::Text);
}

#[test]
fn binary_is_an_owner_and_a_cut_character_is_not_binary() {
    let d = text(b"\x00\xff\x01token");
    assert_eq!((d.shape, d.tokens, d.holders.len()), (Shape::Binary, TokenKind::Reusable, 1));
    let cut = Raw::String { bytes: "wörker-ü".as_bytes().split_last().unwrap().1, full_len: 900 };
    let d = read(cut, &rules(None, None));
    assert_eq!((d.shape, d.tokens), (Shape::Text, TokenKind::Reusable));
}

#[test]
fn the_config_may_say_that_it_is_an_owner() {
    let number = Raw::String { bytes: b"4711", full_len: 4 };
    assert_eq!(read(number, &rules(Some("string"), None)).holders.len(), 1);
    let d = read(number, &rules(None, Some(r"^(?P<pid>\d+)$")));
    assert_eq!(d.holders[0].owner.pid, Some(4711));
    let json = br#"{"holder":"w\u00e9","host":"h1"}"#;
    let d = read(
        Raw::String { bytes: json, full_len: json.len() },
        &rules(None, Some(r#""holder":"(?P<worker>[^"]+)","host":"(?P<host>[^"]+)""#)),
    );
    assert_eq!(d.holders[0].owner.worker.as_deref(), Some(r"w\\u00e9"));
    assert_eq!(d.holders[0].owner.host.as_deref(), Some("h1"));
}

#[test]
fn the_holder_pattern_names_worker_host_and_pid() {
    let r = rules(None, Some(r"^(?P<worker>[^:]+):(?P<host>[^:]*):(?P<pid>-?\d+)"));
    let owner =
        |v: &[u8]| read(Raw::String { bytes: v, full_len: v.len() }, &r).holders.remove(0).owner;
    let o = owner(b"orders-1:h\x01:4711:x");
    assert_eq!(o.worker.as_deref(), Some("orders-1"));
    assert_eq!(o.host.as_deref(), Some("h\\x01"));
    assert_eq!(o.pid, Some(4711));
    assert_eq!(owner(b"a::0").pid, None);
    assert_eq!(owner(b"a::99999999999").pid, None);
    assert_eq!(owner(b"a::1").host, None);
    assert_eq!(owner(b"no match").worker, None);
}

#[test]
fn redisson_owners_and_their_counts() {
    let id: &[u8] = b"fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162:47";
    let d = read(Raw::Hash(&[(id, b"2")]), &rules(None, None));
    assert_eq!((d.shape, d.format, d.tokens), (Shape::OwnerHash, "redisson", TokenKind::Reusable));
    assert_eq!(d.default_lease, Some(Duration::from_secs(30)));
    assert_eq!((d.holders.len(), d.holders[0].count), (1, 2));
    for other in [
        &[(id, &b"2"[..]), (&b"mode"[..], &b"read"[..])][..],
        &[(id, &b"x"[..])],
        &[(id, &b"0"[..])],
        &[(&b"a:1"[..], &b"1"[..])],
        &[],
    ] {
        let d = read(Raw::Hash(other), &rules(None, None));
        assert_eq!((d.shape, d.holders.len()), (Shape::Hash, 0));
    }
}

#[test]
fn unread_types_have_a_shape_and_nobody() {
    let d = read(Raw::Unread(Shape::List), &rules(None, None));
    assert_eq!((d.shape, d.format, d.holders.len()), (Shape::List, "unknown", 0));
    assert_eq!(read(Raw::Unread(Shape::Zset), &rules(Some("redisson"), None)).format, "redisson");
}

proptest! {
    #[test]
    fn any_bytes_decode(bytes: Vec<u8>, more in 0usize..9, hint in proptest::option::of("string|redisson|x")) {
        let r = rules(hint.as_deref(), Some(r"(?P<worker>.)"));
        let d = read(Raw::String { bytes: &bytes, full_len: bytes.len() + more }, &r);
        prop_assert!(d.holders.len() <= 1);
        let fields: Vec<(&[u8], &[u8])> = bytes.chunks(3).map(|c| (c, c)).collect();
        read(Raw::Hash(&fields), &r);
    }

    #[test]
    fn a_number_is_never_an_owner(i: i64, f in proptest::num::f64::NORMAL) {
        for v in [i.to_string(), f.to_string()] {
            let d = text(v.as_bytes());
            prop_assert_eq!((d.shape, d.holders.len()), (Shape::Number, 0));
        }
    }

    #[test]
    fn a_redisson_field_round_trips(uuid in "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", thread: u32, n in 1u64..) {
        let field = format!("{uuid}:{thread}");
        let count = n.to_string();
        let d = read(Raw::Hash(&[(field.as_bytes(), count.as_bytes())]), &rules(None, None));
        prop_assert_eq!(d.holders[0].owner.token.bytes(), field.as_bytes());
        prop_assert_eq!(d.holders[0].count, n);
    }
}
