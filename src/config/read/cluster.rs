//! What cannot be in a store that is a cluster. Knows no slot: that keys have one hash tag is all that can be asked for here.

use super::super::cursor::Cursor;
use super::super::model::{LockConfig, LockKeys, RedisUrl};

/// Says what is wrong; `entries` are the locks as they are written.
pub(super) fn check(
    at: &Cursor<'_>,
    url: Option<&RedisUrl>,
    entries: &[Cursor<'_>],
    locks: &[LockConfig],
) {
    if url.is_some_and(|url| url.db != 0) {
        let key = if at.has("urls") { "urls" } else { "url" };
        at.wrong(key, "names a database, and a cluster has only database 0", "remove its number");
    }
    if at.has("replicas") {
        let fix = "remove it; a cluster tells of all its nodes";
        at.wrong("replicas", "is of no use with `topology: cluster`", fix);
    }
    if at.has("owner_index") {
        let fix = "remove it, and let `holder` or the format name the worker";
        at.wrong("owner_index", "is not read with `topology: cluster`", fix);
    }
    // Each entry that could be read has its lock, unless one could not.
    for (entry, lock) in entries.iter().zip(locks).filter(|_| entries.len() == locks.len()) {
        let LockKeys::Several { keys, .. } = &lock.keys else { continue };
        let mut tags = keys.iter().map(|key| hash_tag(key));
        let first = tags.next().flatten();
        if first.is_none() || tags.any(|tag| tag != first) {
            let fix = "give all of them the same hash tag, such as `{orders}:1`";
            entry.wrong("keys", "may lie in several shards of the cluster", fix);
        }
    }
}

/// The text between the first `{` and the next `}`, if there is any.
fn hash_tag(key: &[u8]) -> Option<&[u8]> {
    let open = key.iter().position(|b| *b == b'{')? + 1;
    let rest = key.get(open..)?;
    let len = rest.iter().position(|b| *b == b'}').filter(|len| *len > 0)?;
    rest.get(..len)
}
