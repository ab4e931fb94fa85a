//! What a store of several servers of their own needs: all their addresses, and locks of one key. Knows nothing of what a
//! server says.

use super::super::cursor::Cursor;
use super::super::model::LockConfig;

/// Fewest servers that have a majority when one of them fails.
const LEAST: usize = 3;
/// Servers of one store at most; nobody asks so many for a lock.
const MOST: usize = 31;

/// Says what of a store of several servers is missing or has no meaning there.
pub(super) fn check(at: &Cursor<'_>) {
    let count = at.texts("urls").len();
    let fix = "list all servers that the locks' clients ask, an odd number of three or more: `urls: [redis://10.0.0.1, \
               redis://10.0.0.2, redis://10.0.0.3]`";
    if !at.has("urls") && !at.misspelt("urls") {
        at.wrong("urls", "missing beside `topology: quorum`", fix);
    } else if count > 0 && count < LEAST {
        let reason = format!(
            "has {count} of at least three addresses: a majority of fewer ends with the first server that fails"
        );
        at.wrong("urls", reason, fix);
    } else if count > MOST {
        at.wrong("urls", format!("has more than {MOST} addresses"), fix);
    }
    if at.has("replicas") {
        let fix = "remove it: the replicas of each server are found from it";
        at.wrong("replicas", "has no meaning beside `topology: quorum`", fix);
    }
    for lock in at.list("locks") {
        if lock.has("keys") {
            let fix = "use `key`: each server has the same one";
            lock.wrong("keys", "has no meaning beside `topology: quorum`", fix);
        }
        if lock.has("limit") {
            let fix = "remove it: only locks of one holder are counted over several servers";
            lock.wrong("limit", "has no meaning beside `topology: quorum`", fix);
        }
    }
}

/// Tells the locks how many servers have them.
pub(super) fn tell(locks: &mut [LockConfig], servers: usize) {
    for lock in locks {
        std::sync::Arc::make_mut(&mut lock.rules).servers = u16::try_from(servers).ok();
    }
}
