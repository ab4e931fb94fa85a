//! An owner made of its token: what the format finds in it, and what the lock's `holder` pattern does. The pattern wins,
//! because people wrote it for their own tokens.

use std::sync::Arc;

use crate::config::LockRules;
use crate::observe::lock::{Holding, Mode};
use crate::observe::{Decoded, Owner, Token, label};

/// What a format itself finds in a token.
#[derive(Clone, Copy, Default)]
pub(super) struct Named<'a> {
    /// The worker's name.
    pub worker: Option<&'a [u8]>,
    /// The host.
    pub host: Option<&'a [u8]>,
    /// The host is a name that people gave it: it stands for the worker where nothing else names one.
    pub goes_by_host: bool,
    /// The process.
    pub pid: Option<i32>,
    /// The thread.
    pub thread: Option<&'a [u8]>,
}

/// One owner, which holds alone and once.
pub(super) fn holding(token: &[u8], named: Named<'_>, rules: &LockRules) -> Holding {
    holding_in(token, token, named, rules)
}

/// One owner, with `text` for the pattern: the value of which the token is a part.
pub(super) fn holding_in(
    token: &[u8],
    text: &[u8],
    named: Named<'_>,
    rules: &LockRules,
) -> Holding {
    let found = rules.holder.as_ref().and_then(|p| p.0.captures(text));
    let group = |name| found.as_ref().and_then(|c| c.name(name)).map(|m| m.as_bytes());
    let printed = |name, own: Option<&[u8]>| group(name).or(own).and_then(printable);
    // Who is asked for a name, a pattern or an index, knows better.
    let goes_by_host = named.goes_by_host && rules.holder.is_none() && !rules.has_index;
    let own_host = named.host.filter(|host| goes_by_host && !is_everywhere(host));
    let owner = Owner {
        token: Token::new(token),
        worker: printed("worker", named.worker.or(own_host)),
        host: printed("host", named.host),
        pid: group("pid").map_or(named.pid, pid),
        thread: printed("thread", named.thread),
    };
    Holding {
        owner: Arc::new(owner),
        count: 1,
        mode: Mode::Exclusive,
        until: None,
        refreshed_ms: None,
        taken_at: None,
    }
}

/// The holders, each once, in an order that does not depend on the server's; no answer if there are none.
pub(super) fn held_by(decoded: Decoded, mut holders: Vec<Holding>) -> Option<Decoded> {
    holders.sort_by(|a, b| a.owner.token.bytes().cmp(b.owner.token.bytes()));
    holders.dedup_by(|a, b| a.owner.token == b.owner.token);
    (!holders.is_empty()).then_some(Decoded { holders, ..decoded })
}

/// Names that any host may have: many workers would be one.
fn is_everywhere(host: &[u8]) -> bool {
    [&b"localhost"[..], b"localhost.localdomain", b"unknown"]
        .iter()
        .any(|name| host.eq_ignore_ascii_case(name))
}

/// Bytes as they may be printed; none of nothing.
fn printable(bytes: &[u8]) -> Option<Arc<str>> {
    (!bytes.is_empty()).then(|| Arc::from(label::text(bytes).as_str()))
}

/// A process id.
pub(super) fn pid(bytes: &[u8]) -> Option<i32> {
    std::str::from_utf8(bytes).ok()?.parse().ok().filter(|pid: &i32| *pid > 0)
}
