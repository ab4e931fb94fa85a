//! The values as the libraries write them, by family. Nothing here needs a server.

mod detection;
mod go_and_rust;
mod hashes;
mod javascript;
mod jobs;
mod jvm_and_net;
mod python;
mod registry;
mod strings;
mod timing;
mod zsets;

use super::*;
use crate::config::Pattern;

/// Random UUIDs, as tests use them.
const UUID: &str = "0e7cd1f1-6b3c-4a41-9d4a-0c9a7d2a9f10";
const OTHER: &str = "fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162";
/// 18, 16 and 32 random bytes in base64.
const BASE64_18: &str = "q3JvZ+Yw0a7LkT9uXc2hVb5N";
const BASE64_16: &str = "q3JvZ+Yw0a7LkT9uXc2hVg==";
const BASE64_32: &str = "q3JvZ+Yw0a7LkT9uXc2hVb5Nq3JvZ+Yw0a7LkT9uXc0=";

/// The server's time, a minute after what the tokens here say.
const NOW: ServerTime = ServerTime(1_795_958_100_000_000);

/// Nothing is configured.
fn auto() -> LockRules {
    LockRules::default()
}

/// The format is.
fn declared(format: &str) -> LockRules {
    LockRules { format: Some(format.to_owned()), ..LockRules::default() }
}

/// The `holder` pattern is.
fn pattern(pattern: &str) -> LockRules {
    let pattern = Pattern(regex::bytes::Regex::new(pattern).unwrap());
    LockRules { holder: Some(pattern), ..LockRules::default() }
}

fn string(key: &str, value: impl AsRef<[u8]>, rules: &LockRules) -> Decoded {
    let bytes = value.as_ref();
    decode(key.as_bytes(), Raw::String { bytes, full_len: bytes.len() }, rules, NOW)
}

fn hash(key: &str, fields: &[(&str, &str)], rules: &LockRules) -> Decoded {
    let fields: Vec<(&[u8], &[u8])> =
        fields.iter().map(|(f, v)| (f.as_bytes(), v.as_bytes())).collect();
    decode(key.as_bytes(), Raw::Hash(&fields), rules, NOW)
}

fn zset(key: &str, members: &[(&[u8], f64)], rules: &LockRules) -> Decoded {
    decode(key.as_bytes(), Raw::Zset(members), rules, NOW)
}

fn set(key: &str, members: &[&str]) -> Decoded {
    let members: Vec<&[u8]> = members.iter().map(|m| m.as_bytes()).collect();
    decode(key.as_bytes(), Raw::Set(&members), &auto(), NOW)
}

/// A string's format, where nothing is configured.
fn named(key: &str, value: impl AsRef<[u8]>) -> &'static str {
    string(key, value, &auto()).format
}

/// The one owner's name, host and process.
fn who(decoded: &Decoded) -> (Option<&str>, Option<&str>, Option<i32>) {
    let [held] = decoded.holders.as_slice() else { panic!("one holder: {decoded:?}") };
    (held.owner.worker.as_deref(), held.owner.host.as_deref(), held.owner.pid)
}

/// Tokens of all holders as text.
fn tokens(decoded: &Decoded) -> Vec<String> {
    let token = |h: &crate::observe::lock::Holding| {
        String::from_utf8_lossy(h.owner.token.bytes()).into_owned()
    };
    decoded.holders.iter().map(token).collect()
}

/// The companions' keys.
fn beside(decoded: &Decoded) -> Vec<String> {
    let key = |c: &crate::observe::lock::Companion| String::from_utf8_lossy(&c.key).into_owned();
    decoded.companions.iter().map(key).collect()
}
