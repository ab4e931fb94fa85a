//! How one companion of a lock is asked for, and what an answer means. Pure. Every answer is bounded by its command, but
//! that of a hash field: its size is asked for first.

use crate::observe::lock::{Companion, CompanionPart, CompanionValue, Elements, Tells};
use crate::observe::{Expiry, ServerTime, label};
use crate::poll::redis::cluster::redirect::Redirect;
use crate::poll::redis::codec::{Item, Walk};
use crate::poll::redis::failure::{Failure, first_word, is_no_command, is_not_ready};
use crate::poll::redis::pack;

/// Bytes of a text that are read; a field that is longer is not read at all.
pub const MAX_TEXT: usize = 512;

/// What came of a question.
#[derive(Debug, PartialEq)]
pub enum Answer {
    /// This.
    Told(CompanionValue),
    /// A field of so many bytes, to be read now.
    Field,
    /// Nothing that can be used, and the server did not mind the question.
    Useless,
    /// The server refused it for this key.
    Refused,
    /// The server refuses or lacks the command, whatever the key.
    Unable,
}

/// The command for a part, as ACLs write it.
pub fn command(part: &CompanionPart, absolute: bool) -> &'static str {
    match part {
        CompanionPart::Text => "getrange",
        CompanionPart::Field(_) => "hstrlen",
        CompanionPart::Count(Elements::List) => "llen",
        CompanionPart::Count(Elements::Set) => "scard",
        CompanionPart::Count(Elements::Zset) => "zcard",
        CompanionPart::CountAhead => "zcount",
        CompanionPart::Expiry if absolute => "pexpiretime",
        CompanionPart::Expiry => "pttl",
        CompanionPart::Contains(_) => "sismember",
    }
}

/// Appends the question.
pub fn pack(request: &mut Vec<u8>, companion: &Companion, absolute: bool, now_ms: i64) {
    let key = &*companion.key;
    let name = command(&companion.part, absolute).as_bytes();
    match &companion.part {
        CompanionPart::Text => pack::command(request, &[name, key, b"0", b"511"]),
        CompanionPart::Field(field) => pack::command(request, &[name, key, field]),
        CompanionPart::Count(_) | CompanionPart::Expiry => pack::command(request, &[name, key]),
        CompanionPart::CountAhead => {
            pack::command(request, &[name, key, now_ms.to_string().as_bytes(), b"+inf"]);
        }
        CompanionPart::Contains(member) => pack::command(request, &[name, key, member]),
    }
}

/// What the answer to the question means; `time` is the server's, from the same pipeline.
pub fn answer(
    companion: &Companion,
    absolute: bool,
    time: ServerTime,
    mut reply: Walk<'_>,
) -> Result<Answer, Failure> {
    let item = reply.next().ok_or_else(|| Failure::unexpected("a read beside a lock"))?;
    Ok(match (&companion.part, item) {
        (_, Item::Error(e)) => return lack(e),
        (CompanionPart::Text, Item::Bulk(bytes)) => Answer::Told(text(companion.tells, bytes)),
        (CompanionPart::Field(_), Item::Int(0)) => Answer::Told(CompanionValue::Missing),
        (CompanionPart::Field(_), Item::Int(n)) if is_short(n) => Answer::Field,
        (CompanionPart::Expiry, Item::Int(n)) => Answer::Told(match (n, absolute) {
            (-2, _) => CompanionValue::Missing,
            (..0, _) => CompanionValue::Until(Expiry::Never),
            (at, true) => CompanionValue::Until(Expiry::At(ServerTime::from_ms(at))),
            (left, false) => {
                let at = time.0.div_euclid(1000).saturating_add(left);
                CompanionValue::Until(Expiry::At(ServerTime::from_ms(at)))
            }
        }),
        (
            CompanionPart::Count(_) | CompanionPart::CountAhead | CompanionPart::Contains(_),
            Item::Int(n),
        ) => Answer::Told(CompanionValue::Number(n)),
        _ => Answer::Useless,
    })
}

/// What the value of a field means.
pub fn field(companion: &Companion, mut reply: Walk<'_>) -> Result<Answer, Failure> {
    Ok(match reply.next().ok_or_else(|| Failure::unexpected("HGET"))? {
        Item::Error(e) => return lack(e),
        Item::Null => Answer::Told(CompanionValue::Missing),
        Item::Bulk(bytes) if bytes.len() <= MAX_TEXT => Answer::Told(text(companion.tells, bytes)),
        _ => Answer::Useless,
    })
}

/// What an error says of the question. One that is about no question at all is a failure of the node; what was asked is
/// not quoted, because a key or a member may be an owner's token.
pub fn lack(error: &[u8]) -> Result<Answer, Failure> {
    if Redirect::read(error, "").is_some() {
        // The slot is on its way to another shard of a cluster.
        return Ok(Answer::Useless);
    }
    if is_not_ready(error) || first_word(error) == b"NOAUTH" {
        return Err(Failure::server_secret("a read beside a lock", error));
    }
    Ok(if is_no_command(error) { Answer::Unable } else { Answer::Refused })
}

/// Whether a field or an entry of so many bytes is read.
pub fn is_short(len: i64) -> bool {
    usize::try_from(len).is_ok_and(|len| len <= MAX_TEXT)
}

/// Redis knows no difference between an empty string and none in most of its answers, and neither tells anything. A worker
/// may be called by a number.
fn text(tells: Tells, bytes: &[u8]) -> CompanionValue {
    let number = std::str::from_utf8(bytes).ok().and_then(|t| t.parse().ok());
    match number {
        _ if bytes.is_empty() => CompanionValue::Missing,
        Some(n) if tells != Tells::Worker => CompanionValue::Number(n),
        _ => CompanionValue::Text(label::text(bytes).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(part: CompanionPart, tells: Tells) -> Companion {
        Companion { key: (*b"k").into(), part, tells }
    }

    fn told(c: &Companion, absolute: bool, reply: &[u8]) -> Answer {
        answer(c, absolute, ServerTime(5_000_700), Walk::new(reply)).unwrap()
    }

    #[test]
    fn each_part_is_asked_for_by_one_bounded_command() {
        let words = |part| {
            let mut request = Vec::new();
            pack(&mut request, &of(part, Tells::Waiters), true, 77);
            let text = String::from_utf8(request).unwrap();
            let words = text.split("\r\n").filter(|w| !w.is_empty() && !w.starts_with(['*', '$']));
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words(CompanionPart::Text), "getrange k 0 511");
        assert_eq!(words(CompanionPart::Field((*b"f").into())), "hstrlen k f");
        assert_eq!(words(CompanionPart::Count(Elements::List)), "llen k");
        assert_eq!(words(CompanionPart::Count(Elements::Set)), "scard k");
        assert_eq!(words(CompanionPart::Count(Elements::Zset)), "zcard k");
        assert_eq!(words(CompanionPart::CountAhead), "zcount k 77 +inf");
        assert_eq!(words(CompanionPart::Expiry), "pexpiretime k");
        assert_eq!(words(CompanionPart::Contains((*b"m").into())), "sismember k m");
        assert_eq!(command(&CompanionPart::Expiry, false), "pttl");
    }

    #[test]
    fn answers_are_what_they_say_and_missing_is_never_zero() {
        use CompanionValue as V;
        let token = of(CompanionPart::Text, Tells::FencingToken);
        assert_eq!(told(&token, true, b"$2\r\n17\r\n"), Answer::Told(V::Number(17)));
        assert_eq!(told(&token, true, b"$0\r\n\r\n"), Answer::Told(V::Missing));
        assert_eq!(told(&token, true, b"$2\r\nx\n\r\n"), Answer::Told(V::Text("x\\x0a".into())));
        let worker = of(CompanionPart::Text, Tells::Worker);
        assert_eq!(told(&worker, true, b"$2\r\n17\r\n"), Answer::Told(V::Text("17".into())));
        let until = of(CompanionPart::Expiry, Tells::HolderExpiry(0));
        assert_eq!(told(&until, true, b":-2\r\n"), Answer::Told(V::Missing));
        assert_eq!(told(&until, true, b":-1\r\n"), Answer::Told(V::Until(Expiry::Never)));
        let at = |ms| Answer::Told(V::Until(Expiry::At(ServerTime::from_ms(ms))));
        assert_eq!(told(&until, true, b":9\r\n"), at(9));
        assert_eq!(told(&until, false, b":9\r\n"), at(5009));
        let waiters = of(CompanionPart::CountAhead, Tells::Waiters);
        assert_eq!(told(&waiters, true, b":0\r\n"), Answer::Told(V::Number(0)));
        assert_eq!(told(&waiters, true, b"$1\r\n3\r\n"), Answer::Useless);
        let name = of(CompanionPart::Field((*b"f").into()), Tells::Worker);
        assert_eq!(told(&name, true, b":0\r\n"), Answer::Told(V::Missing));
        assert_eq!(told(&name, true, b":512\r\n"), Answer::Field);
        assert_eq!(told(&name, true, b":513\r\n"), Answer::Useless);
        assert_eq!(field(&name, Walk::new(b"_\r\n")).unwrap(), Answer::Told(V::Missing));
    }

    #[test]
    fn errors_are_told_apart_and_quote_nothing() {
        let refused = lack(b"NOPERM No permissions to access a key").unwrap();
        assert_eq!(refused, Answer::Refused);
        assert_eq!(lack(b"WRONGTYPE Operation against a key").unwrap(), Answer::Refused);
        let right = b"NOPERM User x has no permissions to run the 'zcount' command";
        assert_eq!(lack(right).unwrap(), Answer::Unable);
        let unknown = b"ERR unknown command `hstrlen`, with args beginning with: `k`, `secret`";
        assert_eq!(lack(unknown).unwrap(), Answer::Unable);
        let failure = lack(b"LOADING the secret").unwrap_err();
        assert!(!failure.detail.contains("secret"), "{}", failure.detail);
    }
}
