//! The generic form: members of a set, list, sorted set or hash, each of which may have a beat elsewhere in the store. A
//! member without a beat is one that ended and was not taken out.

use super::super::ability::Abilities;
use super::super::conn::Conn;
use super::super::failure::Failure;
use super::super::parts::{PartReader, PartRequest, PartValue};
use super::walk::{self, Budget};
use super::{Names, number, written_time};
use crate::config::{MembersKind, Place, RedisPart, Source};
use crate::observe::lock::Unreadable;
use crate::observe::node::FailReason;
use crate::poll::source::json;

/// Reads it.
pub async fn read(
    conn: &mut Conn,
    parts: &mut PartReader,
    key: &str,
    kind: MembersKind,
    heartbeat: Option<&Source>,
    budget: &mut Budget,
) -> Result<Names, Failure> {
    let key = key.as_bytes();
    let mut members: Vec<Vec<u8>> = Vec::new();
    let mut add = |member: &[u8]| members.push(member.to_vec());
    match kind {
        MembersKind::Set => walk::scan(conn, "SSCAN", key, budget, |m, _| add(m)).await?,
        MembersKind::Zset => walk::scan(conn, "ZSCAN", key, budget, |m, _| add(m)).await?,
        MembersKind::Hash => walk::scan(conn, "HSCAN", key, budget, |m, _| add(m)).await?,
        MembersKind::List => walk::list(conn, key, budget, add).await?,
    }
    let mut names = Names::default();
    let Some(Source::Redis { key, part, json, .. }) = heartbeat else {
        members.iter().for_each(|member| names.add(member, None));
        return Ok(names);
    };
    // A name that is not text cannot be put into a template.
    let named: Vec<&str> = members.iter().filter_map(|m| std::str::from_utf8(m).ok()).collect();
    let requests: Vec<PartRequest> = named.iter().map(|name| request(key, part, name)).collect();
    let reply = parts.read(conn, &Abilities::default(), &requests).await?;
    for (name, value) in named.iter().zip(&reply.values) {
        match value {
            PartValue::Missing => {}
            PartValue::Exists { .. } => names.add(name.as_bytes(), None),
            PartValue::Value { bytes, .. } => {
                names.add(name.as_bytes(), beat(bytes, json.as_deref()))
            }
            PartValue::Unreadable(Unreadable::Permission) => {
                let detail = "the ACL user may not read where members beat";
                return Err(Failure::new(FailReason::Permission, detail));
            }
            PartValue::Unreadable(Unreadable::Unexpected) => {
                let detail = "where members beat is of another type than configured";
                return Err(Failure::new(FailReason::Protocol, detail));
            }
        }
    }
    Ok(names)
}

fn request(key: &str, part: &RedisPart, name: &str) -> PartRequest {
    let fill = |template: &str| Place::Member.fill(template, name);
    let part = match part {
        RedisPart::Field(field) => RedisPart::Field(fill(field)),
        RedisPart::Member(member) => RedisPart::Member(fill(member)),
        other => other.clone(),
    };
    PartRequest { key: fill(key).into_bytes(), part }
}

/// When it beat, as far as that can be read; for people only.
fn beat(bytes: &[u8], pointer: Option<&str>) -> Option<f64> {
    let inner = pointer.map(|p| json::scalar(bytes, p).ok());
    let text = match &inner {
        Some(found) => found.as_ref()?.as_bytes(),
        None => bytes,
    };
    number(text).or_else(|| written_time(text))
}
