//! Plain strings: what is an owner, what the `holder` pattern finds, and what `owner_json` does.

use super::*;
use crate::observe::lock::Shape;

#[test]
fn what_is_no_owner() {
    let shape = |v: &str| {
        let d = string("k", v, &auto());
        assert_eq!((d.format, d.holders.len()), ("string", 0), "{v:?}");
        d.shape
    };
    for n in ["0", "-17", "1795955800526", "1795955800.526", " 42\n", "+1."] {
        assert_eq!(shape(n), Shape::Number, "{n}");
    }
    for t in
        ["2026-11-29", "2026-11-29T13:14:01.090039Z", "2026-11-29 13:14", "2026-11-29T13:14+01:00"]
    {
        assert_eq!(shape(t), Shape::Number, "{t}");
    }
    assert_eq!(shape(r#"{"holder":"w1"}"#), Shape::Json);
    assert_eq!(shape("[1, 2]"), Shape::Json);
    assert_eq!(shape(""), Shape::Empty);
    assert_eq!(string("k", "[not json", &auto()).shape, Shape::Text);
    assert_eq!(string("k", "2026-11-29-worker", &auto()).shape, Shape::Text);
}

#[test]
fn binary_is_an_owner_and_a_cut_character_is_not_binary() {
    let d = string("k", b"\x00\xff\x01token", &auto());
    assert_eq!((d.shape, d.tokens, d.holders.len()), (Shape::Binary, TokenKind::Reusable, 1));
    let cut = "wörker-ü".as_bytes().split_last().unwrap().1;
    let d = decode(b"k", Raw::String { bytes: cut, full_len: 900 }, &auto(), NOW);
    assert_eq!((d.shape, d.format, d.holders.len()), (Shape::Text, "string", 1));
}

#[test]
fn the_config_may_say_that_it_is_an_owner() {
    assert_eq!(string("k", "4711", &declared("string")).holders.len(), 1);
    let d = string("k", "4711", &pattern(r"^(?P<pid>\d+)$"));
    assert_eq!(d.holders[0].owner.pid, Some(4711));
    let json = r#"{"holder":"w\u00e9","host":"h1"}"#;
    let rules = pattern(r#""holder":"(?P<worker>[^"]+)","host":"(?P<host>[^"]+)""#);
    assert_eq!(who(&string("k", json, &rules)), (Some(r"w\u00e9"), Some("h1"), None));
}

#[test]
fn the_holder_pattern_names_worker_host_and_pid() {
    let r = pattern(r"^(?P<worker>[^:]+):(?P<host>[^:]*):(?P<pid>-?\d+)(?:/(?P<thread>\w+))?");
    let owner = |v: &str| string("k", v, &r).holders.remove(0).owner;
    let o = owner("orders-1:h\x01:4711/t1:x");
    assert_eq!(o.worker.as_deref(), Some("orders-1"));
    assert_eq!(o.host.as_deref(), Some("h\\x01"));
    assert_eq!((o.pid, o.thread.as_deref()), (Some(4711), Some("t1")));
    assert_eq!(owner("a::0").pid, None);
    assert_eq!(owner("a::99999999999").pid, None);
    assert_eq!(owner("a::1").host, None);
    assert_eq!(owner("no match").worker, None);
}

#[test]
fn a_pattern_overrules_what_the_format_finds() {
    let token = format!("{UUID}-web-3.eu");
    let rules = pattern(r"-(?P<worker>web-\d+)\.(?P<host>\w+)$");
    let d = string("mutex:a", &token, &rules);
    assert_eq!((d.format, who(&d)), ("redis-semaphore", (Some("web-3"), Some("eu"), None)));
}

#[test]
fn a_pointer_says_where_json_names_its_owner() {
    let at = |pointer: &str, holder: Option<&str>, value: &str| {
        let rules = holder.map_or_else(auto, pattern);
        string("k", value, &LockRules { owner_json: Some(pointer.to_owned()), ..rules })
    };
    let value = r#"{"who": {"holder": "w1@h1", "pid": 4711}, "beat": 17, "none": null}"#;
    let d = at("/who/holder", None, value);
    assert_eq!((d.format, d.shape, tokens(&d)), ("json", Shape::Json, vec!["w1@h1".to_owned()]));
    assert_eq!(d.holders[0].owner.token.bytes(), b"w1@h1", "the beat is no part of the token");
    let d = at("/who/holder", Some("^(?P<worker>[^@]+)@(?P<host>.+)$"), value);
    assert_eq!(who(&d), (Some("w1"), Some("h1"), None));
    let d = at("/who/holder", Some(r#""pid": (?P<pid>\d+)"#), value);
    assert_eq!(who(&d), (None, None, Some(4711)), "the pattern is for the document");
    assert_eq!(tokens(&at("/who/pid", None, value)), ["4711"], "it was pointed at");
    for pointer in ["/none", "/who", "/nothing", "/beat/x"] {
        let d = at(pointer, None, value);
        assert_eq!((d.format, d.shape, d.holders.len()), ("json", Shape::Json, 0), "{pointer}");
    }
    for value in ["w1", "{", "", "17", r#"{"who": "#] {
        assert!(at("/who", None, value).holders.is_empty(), "{value}");
    }
    let nested = "[".repeat(400);
    assert!(at("/0", None, &nested).holders.is_empty());
}

#[test]
fn a_document_that_was_cut_names_nobody() {
    let rules = LockRules { owner_json: Some("/a".to_owned()), ..LockRules::default() };
    let raw = Raw::String { bytes: br#"{"a":"b"}"#, full_len: 900 };
    assert!(decode(b"k", raw, &rules, NOW).holders.is_empty());
}
