//! redsync, bsm/redislock, rueidislock; rslock, redis-lock.

use super::*;
use crate::observe::lock::Shape;

#[test]
fn redsync_ends_as_16_bytes_end() {
    let d = string("job", BASE64_16, &auto());
    assert_eq!((d.format, d.tokens), ("redsync", TokenKind::PerAcquire));
    assert_eq!(d.default_lease, Some(Duration::from_secs(8)));
    let d = string("job", "dG9rZW4gb2YgMTYgYnl0ZQ==", &auto());
    assert_eq!((d.format, d.also_fits.len()), ("redsync", 0), "without what only one alphabet has");
    // 22 characters that are not 16 bytes, a name, another padding.
    for other in ["q3JvZ+Yw0a7LkT9uXc2hVb==", "ordersworkerinstance0A==", "q3JvZ+Yw0a7LkT9uXc2hVg="]
    {
        assert_eq!(named("job", other), "string", "{other}");
    }
}

#[test]
fn bsm_redislock_has_metadata_behind_its_token() {
    const TOKEN: &str = "q3JvZ-Yw0a7LkT9uXc2hVg";
    for (key, metadata) in [("a", ""), ("a", "{\"host\":\"h1\"}"), ("lock:b", ":4711"), ("a", " ü")]
    {
        let d = string(key, format!("{TOKEN}{metadata}"), &auto());
        assert_eq!((d.format, d.tokens), ("bsm-redislock", TokenKind::PerAcquire), "{metadata}");
        assert_eq!(tokens(&d), [format!("{TOKEN}{metadata}")]);
    }
    let rules = pattern(r"^.{22}(?P<worker>[^@]+)@(?P<host>.+)$");
    assert_eq!(
        who(&string("a", format!("{TOKEN}:w1@h1"), &rules)),
        (Some(":w1"), Some("h1"), None)
    );
    // It goes on with the same letters; a name; a UUID; not 16 bytes.
    for other in
        [&format!("{TOKEN}metadata"), "orders-worker-number-w", UUID, "q3JvZ-Yw0a7LkT9uXc2hVb"]
    {
        assert_ne!(named("a", other), "bsm-redislock", "{other}");
    }
    assert_eq!(string("a", format!("{TOKEN}meta"), &declared("bsm-redislock")).holders.len(), 1);
}

#[test]
fn raw_bytes() {
    let bytes: Vec<u8> = (0..24).map(|i| 0xe0 ^ (i * 11)).collect();
    let d = string("rueidislock:0:job", &bytes, &auto());
    assert_eq!((d.format, d.shape), ("rueidislock", Shape::Binary));
    assert_eq!((d.tokens, d.always_renews), (TokenKind::PerAcquire, Some(0.5)));
    assert_eq!(d.default_lease, Some(Duration::from_secs(5)));
    for key in ["job", "rueidislock:job", "rueidislock:x:job", "rueidislock:0"] {
        assert_eq!(named(key, &bytes), "string", "{key}");
    }
    assert_eq!(named("rueidislock:0:job", "24 letters but no bytes."), "string");
    let d = string("job", &bytes[..20], &auto());
    assert_eq!(
        (d.format, d.tokens),
        ("rslock", TokenKind::Reusable),
        "drawn once for all, perhaps"
    );
    let d = string("job", &bytes[..20], &declared("rslock"));
    assert_eq!(d.tokens, TokenKind::PerAcquire);
    assert_eq!(named("job", &bytes[..19]), "string");
}

#[test]
fn the_rust_crate_names_its_holder_in_json() {
    let value = format!(r#"{{"holder":"{UUID}","resources":["a","b"]}}"#);
    let d = string("lock:a", &value, &auto());
    assert_eq!((d.format, d.shape), ("redis-lock-rs-multi", Shape::Json));
    assert_eq!((d.tokens, tokens(&d)), (TokenKind::PerAcquire, vec![UUID.to_owned()]));
    assert!(string("a", &value, &auto()).holders.is_empty(), "another key");
    for other in [
        r#"{"holder":"w1","resources":[]}"#.to_owned(),
        format!(r#"{{"holder":"{UUID}"}}"#),
        format!(r#"{{"holder":"{UUID}","resources":[],"beat":1}}"#),
        format!(r#"["{UUID}",[]]"#),
        value.replace('}', ""),
    ] {
        let d = string("lock:a", &other, &auto());
        assert!(
            d.format == "string" && (d.shape == Shape::Text || d.holders.is_empty()),
            "{other}"
        );
    }
}
