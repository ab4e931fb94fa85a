//! Why a server aborted a transaction: the replies at queueing say which command, and so which key, it refused. Outside of
//! a transaction the same errors are the replies themselves.

use super::batch::{Dialect, Form, member_of};
use super::cluster::redirect::Redirect;
use super::codec::Item;
use super::conn::Conn;
use super::failure::{Failure, first_word, is_no_command, is_noperm, is_not_ready};
use crate::observe::lock::Unreadable;

/// Who is to blame for a refused batch.
#[derive(Debug, PartialEq)]
pub struct Blame {
    /// Keys by their place in the batch.
    pub keys: Vec<(usize, Unreadable)>,
    /// Keys that another node is to be asked for; nobody is to blame for those.
    pub elsewhere: Vec<(usize, Redirect)>,
    /// A command that is refused whatever the key.
    pub command: Option<&'static str>,
    /// Why, where no key and no command is named.
    pub general: Unreadable,
}

/// Whether the server refused a batch or a part of it. That a key is of another type is no refusal.
pub fn is_refused(conn: &Conn, dialect: Dialect, replies: usize) -> bool {
    if dialect.multi {
        return !matches!(conn.walk(replies.saturating_sub(1)).next(), Some(Item::Many(_)));
    }
    (0..replies).any(|i| matches!(conn.walk(i).next(), Some(Item::Error(e)) if !is_wrong_type(e)))
}

/// Looks at the replies to a refused batch. An error that is about no key at all is a failure of the node. `asked` is the
/// host of a node of a cluster: there a key may be another's.
pub fn blame(
    conn: &Conn,
    form: Form,
    dialect: Dialect,
    count: usize,
    replies: usize,
    asked: Option<&str>,
) -> Result<Blame, Failure> {
    let mut found = Blame {
        keys: Vec::new(),
        elsewhere: Vec::new(),
        command: None,
        general: Unreadable::Unexpected,
    };
    // Places are those in a transaction: without one there is none at the first and none at the last.
    let shift = usize::from(!dialect.multi);
    let last = (replies + 2 * shift).saturating_sub(1);
    for index in shift..replies + shift {
        let Some(Item::Error(error)) = conn.walk(index - shift).next() else { continue };
        if !dialect.multi && is_wrong_type(error) {
            continue;
        }
        if let Some(redirect) = asked.and_then(|asked| Redirect::read(error, asked)) {
            let member = member_of(form, count, index).filter(|_| count > 1).unwrap_or(0);
            if !found.elsewhere.iter().any(|(m, _)| *m == member) {
                found.elsewhere.push((member, redirect));
            }
            continue;
        }
        if is_not_ready(error) || first_word(error) == b"NOAUTH" {
            return Err(Failure::server("a read", error));
        }
        let why = if is_noperm(error) { Unreadable::Permission } else { Unreadable::Unexpected };
        match (index, member_of(form, count, index)) {
            (0, _) => return Err(Failure::server("MULTI", error)),
            (1, _) => return Err(Failure::server("TIME", error)),
            // Without EXEC the connection would stay inside the transaction.
            (i, _) if i == last => match first_word(error) {
                b"EXECABORT" => {
                    // "Transaction discarded because of: BUSY ..." is about EXEC itself, not about what was queued.
                    if let Some(cause) = cause(error) {
                        return Err(Failure::server("EXEC", cause));
                    }
                }
                b"CROSSSLOT" | b"MOVED" | b"ASK" => found.general = why,
                _ => return Err(Failure::server("EXEC", error)),
            },
            (i, None) if i + 1 == last && dialect.role => {
                return Err(Failure::server("ROLE", error));
            }
            _ if is_no_command(error) => {
                found.command = Some(command(form, count, index, dialect));
                found.general = Unreadable::Permission;
            }
            (_, Some(member)) => {
                if !found.keys.iter().any(|(m, _)| *m == member) {
                    found.keys.push((member, why));
                }
            }
            (_, None) => found.general = why,
        }
    }
    Ok(found)
}

fn is_wrong_type(error: &[u8]) -> bool {
    first_word(error) == b"WRONGTYPE"
}

/// What follows "because of:" in an `EXECABORT`.
fn cause(error: &[u8]) -> Option<&[u8]> {
    const MARK: &[u8] = b"because of: ";
    let at = error.windows(MARK.len()).position(|w| w == MARK)?;
    error.get(at + MARK.len()..)
}

/// The command behind a reply.
fn command(form: Form, count: usize, index: usize, dialect: Dialect) -> &'static str {
    let column = index.saturating_sub(2) / count.max(1);
    match (form, column) {
        (Form::Text, _) if index == 2 => "mget",
        (Form::Long, 0) => "strlen",
        (Form::Long, 1 | 2) => "getrange",
        (Form::Hash, 0) => "hgetall",
        (Form::Zset, 0) => "zrange",
        (Form::Zset, 1) => "zcard",
        (Form::Set, 0) => "smembers",
        (Form::Opaque, 0) => "type",
        _ if dialect.absolute => "pexpiretime",
        _ => "pttl",
    }
}
