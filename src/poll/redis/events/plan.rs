//! What a feed asks a server for: broadcasts for prefixes of the locks' keys, and the channels of keyspace events on which they
//! are published. Pure.

use super::prefixes;
use crate::config::{LockKeys, Store};

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// All keys begin with one of them; none is a prefix of another.
    pub prefixes: Vec<Vec<u8>>,
    /// What the name of each channel begins with.
    pub space: Vec<u8>,
    /// Channels of single keys.
    pub channels: Vec<Vec<u8>>,
    /// Patterns of channels.
    pub patterns: Vec<Vec<u8>>,
}

impl Plan {
    /// For all locks of a store.
    pub fn of(store: &Store) -> Self {
        let mut keys = Vec::new();
        let mut found = Vec::new();
        for lock in &store.locks {
            match &lock.keys {
                LockKeys::One { key, .. } => keys.push(key.clone()),
                LockKeys::Several { keys: all, .. } => keys.extend(all.iter().cloned()),
                LockKeys::Matching { pattern, .. } => found.push(prefixes::literal(pattern)),
            }
        }
        let prefixes = prefixes::reduce(keys.iter().chain(&found).cloned().collect());
        let space = format!("__keyspace@{}__:", store.url.db).into_bytes();
        let found = prefixes::reduce(found);
        keys.retain(|key| !found.iter().any(|prefix| key.starts_with(prefix)));
        let channels = keys.iter().map(|key| [space.as_slice(), key].concat()).collect();
        let patterns = found.iter().map(|p| [space.as_slice(), &escaped(p), b"*"].concat());
        Self { prefixes, channels, patterns: patterns.collect(), space }
    }
}

/// As a pattern that matches this text alone.
fn escaped(text: &[u8]) -> Vec<u8> {
    let mut pattern = Vec::with_capacity(text.len());
    for byte in text {
        if matches!(byte, b'*' | b'?' | b'[' | b']' | b'\\' | b'^' | b'-') {
            pattern.push(b'\\');
        }
        pattern.push(*byte);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll::redis::tests::stores::{many, one, store};

    #[test]
    fn keys_have_their_channel_and_patterns_theirs() {
        let locks = vec![one("lock:a"), one("x"), many("lock:*", 10), many("j[1]*", 10)];
        let plan = Plan::of(&store(1, locks));
        let text = |all: &[Vec<u8>]| -> Vec<String> {
            all.iter().map(|b| String::from_utf8(b.clone()).unwrap()).collect()
        };
        assert_eq!(text(&plan.prefixes), ["j", "lock:", "x"]);
        assert_eq!(text(&plan.channels), ["__keyspace@0__:x"]);
        assert_eq!(text(&plan.patterns), ["__keyspace@0__:j*", "__keyspace@0__:lock:*"]);
        assert_eq!(escaped(b"a*b"), b"a\\*b");
    }
}
