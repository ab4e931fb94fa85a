//! Reads of single parts of keys: heartbeats and whatever else is not a lock. Plain pipelined commands: a part is one
//! value, so nothing has to be atomic with anything.

use std::collections::HashMap;

use super::ability::{Abilities, Ability, RETRY_REFUSED};
use super::cluster::redirect::Redirect;
use super::codec::{Item, Walk};
use super::conn::Conn;
use super::facts;
use super::failure::{Failure, first_word, is_no_command, is_noperm, is_not_ready};
use super::pack;
use crate::clock;
use crate::config::RedisPart;
use crate::observe::lock::Unreadable;
use crate::observe::node::FailReason;
use crate::observe::{Mono, ServerTime, Span};

/// Bytes of a value that are kept.
pub const MAX_VALUE: usize = 64 << 10;
/// Parts of one pipeline.
const CHUNK: usize = 100;
/// Refusals and expiries remembered; beyond it all are forgotten, which costs a refusal or a beat.
const MAX_REMEMBERED: usize = 4096;
/// Smaller changes of an expiry made of `TIME` and `PTTL` are no write.
const SAME_EXPIRY_MS: i64 = 20;

pub use crate::poll::part::{PartRequest, PartValue, PartsFailed, PartsReply};

impl From<Failure> for PartsFailed {
    fn from(failure: Failure) -> Self {
        Self { reason: failure.reason, detail: failure.detail }
    }
}

/// Reads parts over the connections to one node.
#[derive(Default)]
pub struct PartReader {
    refused: HashMap<Vec<u8>, (Unreadable, Mono)>,
    /// Expiries made of `PTTL`, by key; they must stand still while nobody writes them.
    expiries: HashMap<Vec<u8>, i64>,
}

impl PartReader {
    /// Gives what was refused another try with the next read.
    pub fn retry_refused(&mut self) {
        self.refused.clear();
    }

    /// Reads all of them, in pipelines.
    pub async fn read(
        &mut self,
        conn: &mut Conn,
        abilities: &Abilities,
        requests: &[PartRequest],
    ) -> Result<PartsReply, Failure> {
        let absolute = abilities.of("pexpiretime") == Ability::Works;
        let begun = clock::mono();
        let mut reply = PartsReply { span: Span { sent: begun, done: begun }, values: Vec::new() };
        for chunk in requests.chunks(CHUNK) {
            self.read_chunk(conn, absolute, chunk, &mut reply.values).await?;
        }
        reply.span.done = clock::mono();
        Ok(reply)
    }

    async fn read_chunk(
        &mut self,
        conn: &mut Conn,
        absolute: bool,
        chunk: &[PartRequest],
        values: &mut Vec<PartValue>,
    ) -> Result<(), Failure> {
        let now = clock::mono();
        let step = if absolute { 2 } else { 3 };
        self.refused.retain(|_, (_, since)| now.since(*since) < RETRY_REFUSED);
        // As of now: what is refused meanwhile has its replies all the same.
        let refused: Vec<Option<Unreadable>> =
            chunk.iter().map(|p| self.refused.get(&mark(p)).map(|(why, _)| *why)).collect();
        let mut request = Vec::new();
        let mut replies = 0;
        for (part, _) in chunk.iter().zip(&refused).filter(|(_, refused)| refused.is_none()) {
            pack_part(&mut request, part);
            if absolute {
                pack::command(&mut request, &[b"PEXPIRETIME".as_slice(), &part.key]);
            } else {
                // Right before, so that the sum of the two stands still on a busy server too.
                pack::command(&mut request, &["TIME"]);
                pack::command(&mut request, &[b"PTTL".as_slice(), &part.key]);
            }
            replies += step;
        }
        if replies > 0
            && let Err(failure) = conn.exchange(&request, replies).await
        {
            self.find_huge(conn, chunk, step, &failure);
            return Err(failure);
        }
        let mut next = 0;
        for (part, refused) in chunk.iter().zip(refused) {
            if let Some(why) = refused {
                values.push(PartValue::Unreadable(why));
                continue;
            }
            let (value, ends) = (conn.walk(next), conn.walk(next + step - 1));
            let time = match absolute {
                true => None,
                false => Some(facts::time(&mut conn.walk(next + 1))?),
            };
            next += step;
            let value = match self.ends(&part.key, ends, time)? {
                Ok(ends) => value_of(&part.part, value, ends)?,
                Err(why) => PartValue::Unreadable(why),
            };
            let value = match value {
                PartValue::Value { bytes, .. } if bytes.len() > MAX_VALUE => {
                    self.refuse(part, Unreadable::Unexpected);
                    PartValue::Unreadable(Unreadable::Unexpected)
                }
                PartValue::Unreadable(why @ Unreadable::Permission) => {
                    self.refuse(part, why);
                    value
                }
                value => value,
            };
            values.push(value);
        }
        Ok(())
    }

    /// Looks which field made a reply too large, or so slow that it was given up: it alone is left out for a while.
    fn find_huge(&mut self, conn: &Conn, chunk: &[PartRequest], step: usize, failure: &Failure) {
        let (whole, part) = conn.partial();
        let mut asked = chunk.iter().filter(|p| !self.refused.contains_key(&mark(p)));
        let Some(under_way) = asked.nth(whole / step) else { return };
        let is_large = part.len() > MAX_VALUE || failure.reason == FailReason::Protocol;
        if whole % step == 0 && is_large && matches!(under_way.part, RedisPart::Field(_)) {
            self.refuse(under_way, Unreadable::Unexpected);
        }
    }

    fn refuse(&mut self, part: &PartRequest, why: Unreadable) {
        bound(&mut self.refused);
        self.refused.insert(mark(part), (why, clock::mono()));
    }

    /// The key's expiry: outer `None` if there is no key. `base` is the server's time where the reply is what remains.
    #[allow(clippy::type_complexity, reason = "each layer is one of three different answers")]
    fn ends(
        &mut self,
        key: &[u8],
        mut reply: Walk<'_>,
        base: Option<ServerTime>,
    ) -> Result<Result<Option<Option<i64>>, Unreadable>, Failure> {
        let n = match reply.next() {
            Some(Item::Int(n)) => n,
            Some(Item::Error(e)) => return refusal("an expiry", e).map(Err),
            _ => return Ok(Err(Unreadable::Unexpected)),
        };
        let ends = match (n, base) {
            (-2, _) => None,
            (..0, _) => Some(None),
            (at, None) => Some(Some(at)),
            (left, Some(base)) => {
                let at = base.0.div_euclid(1000).saturating_add(left);
                let same = |old: &&i64| at.saturating_sub(**old).saturating_abs() <= SAME_EXPIRY_MS;
                let at = self.expiries.get(key).filter(same).copied().unwrap_or(at);
                bound(&mut self.expiries);
                self.expiries.insert(key.to_vec(), at);
                Some(Some(at))
            }
        };
        Ok(Ok(ends))
    }
}

fn pack_part(request: &mut Vec<u8>, part: &PartRequest) {
    let key = part.key.as_slice();
    match &part.part {
        RedisPart::Text => pack::command(request, &[b"GETRANGE", key, b"0", b"65535"]),
        RedisPart::Field(field) => pack::command(request, &[b"HGET", key, field.as_bytes()]),
        RedisPart::Member(member) => pack::command(request, &[b"ZSCORE", key, member.as_bytes()]),
        RedisPart::Exists => pack::command(request, &[b"EXISTS", key]),
    }
}

fn value_of(
    part: &RedisPart,
    mut reply: Walk<'_>,
    ends: Option<Option<i64>>,
) -> Result<PartValue, Failure> {
    let item = reply.next().ok_or_else(|| Failure::unexpected("a read of a part"))?;
    if let Item::Error(e) = item {
        return refusal("a read of a part", e).map(PartValue::Unreadable);
    }
    // Without the key there is nothing, whatever the command said a moment earlier.
    let Some(expires_at_ms) = ends else { return Ok(PartValue::Missing) };
    Ok(match (part, item) {
        (_, Item::Null) | (RedisPart::Exists, Item::Int(0)) => PartValue::Missing,
        (RedisPart::Exists, Item::Int(_)) => PartValue::Exists { expires_at_ms },
        // A score is text in RESP2 and a double in RESP3.
        (_, Item::Bulk(bytes) | Item::Other(bytes)) => {
            // One byte more tells that it is too long.
            let bytes = bytes.get(..=MAX_VALUE).unwrap_or(bytes).to_vec();
            PartValue::Value { bytes, expires_at_ms }
        }
        _ => PartValue::Unreadable(Unreadable::Unexpected),
    })
}

/// An error about one part, or about the whole node.
fn refusal(command: &str, error: &[u8]) -> Result<Unreadable, Failure> {
    // Of another shard of a cluster since a moment ago.
    let is_elsewhere = Redirect::read(error, "").is_some();
    if !is_elsewhere && is_not_ready(error) || first_word(error) == b"NOAUTH" {
        return Err(Failure::server(command, error));
    }
    let is_refused = is_noperm(error) || is_no_command(error);
    Ok(if is_refused { Unreadable::Permission } else { Unreadable::Unexpected })
}

/// Tells requests apart.
fn mark(request: &PartRequest) -> Vec<u8> {
    let (kind, name) = match &request.part {
        RedisPart::Text => (b't', ""),
        RedisPart::Field(f) => (b'f', f.as_str()),
        RedisPart::Member(m) => (b'm', m.as_str()),
        RedisPart::Exists => (b'e', ""),
    };
    let mut mark = vec![kind];
    mark.extend_from_slice(&name.len().to_le_bytes());
    mark.extend_from_slice(name.as_bytes());
    mark.extend_from_slice(&request.key);
    mark
}

fn bound<V>(map: &mut HashMap<Vec<u8>, V>) {
    if map.len() >= MAX_REMEMBERED {
        map.clear();
    }
}
