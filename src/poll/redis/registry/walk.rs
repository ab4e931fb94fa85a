//! Walks through collections page by page, within bounds: a registry that is too large is not read rather than read in
//! part. What is there all the time is met; what comes and goes meanwhile may be.

use super::super::codec::{Item, Walk};
use super::super::conn::Conn;
use super::super::failure::{Failure, first_word};
use super::super::pack;
use crate::observe::label;
use crate::observe::node::FailReason;

/// Members of all collections of a registry.
pub const MAX_MEMBERS: usize = 50_000;
/// Bytes of all that is read of it.
pub const MAX_BYTES: usize = 16 << 20;
/// Elements that are asked for at once.
const PAGE: usize = 200;
/// Keys of one pipeline.
const CHUNK: usize = 100;
/// Pages of one collection; a sparse one has empty ones.
const MAX_PAGES: usize = 10_000;

/// What may still be read.
pub struct Budget {
    members: usize,
    bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { members: MAX_MEMBERS, bytes: MAX_BYTES }
    }
}

impl Budget {
    /// Takes one element of so many bytes.
    pub fn take(&mut self, bytes: usize) -> Result<(), Failure> {
        self.members = self.members.checked_sub(1).ok_or_else(too_many)?;
        let large = || Failure::new(FailReason::Other, "the registry is larger than 16 MiB");
        self.bytes = self.bytes.checked_sub(bytes).ok_or_else(large)?;
        Ok(())
    }

    /// Whether so many more members would fit, before any of them is read.
    pub fn fits(&self, members: usize) -> Result<(), Failure> {
        if members > self.members { Err(too_many()) } else { Ok(()) }
    }
}

fn too_many() -> Failure {
    let detail = "the registry has more than 50,000 members; it is not read in part";
    Failure::new(FailReason::Other, detail)
}

/// Calls `each` with every element of a set (`SSCAN`), or field and value (`HSCAN`), or member and score (`ZSCAN`).
pub async fn scan(
    conn: &mut Conn,
    command: &'static str,
    key: &[u8],
    budget: &mut Budget,
    mut each: impl FnMut(&[u8], &[u8]),
) -> Result<(), Failure> {
    let width = if command == "SSCAN" { 1 } else { 2 };
    let count = PAGE.to_string();
    let mut cursor = b"0".to_vec();
    for _ in 0..MAX_PAGES {
        let args = [command.as_bytes(), key, &cursor, b"COUNT", count.as_bytes()];
        let mut walk = ask(conn, &args, key).await?;
        let unexpected = || Failure::unexpected(command);
        if walk.many() != Some(2) {
            return Err(unexpected());
        }
        let next = walk.bytes().ok_or_else(unexpected)?.to_vec();
        let elements = walk.many().ok_or_else(unexpected)?;
        for _ in 0..elements / width {
            let first = walk.bytes().ok_or_else(unexpected)?;
            let second = match width {
                2 => walk.bytes().ok_or_else(unexpected)?,
                _ => b"",
            };
            budget.take(first.len() + second.len())?;
            each(first, second);
        }
        if next == b"0" {
            return Ok(());
        }
        cursor = next;
    }
    let detail = format!("{command} of {} does not end", label::text(key));
    Err(Failure::new(FailReason::Protocol, detail))
}

/// Calls `each` with every element of a list, from its head. What is pushed there meanwhile shifts the others back, so
/// that they are met again and none is missed; queues are popped at their tail.
pub async fn list(
    conn: &mut Conn,
    key: &[u8],
    budget: &mut Budget,
    mut each: impl FnMut(&[u8]),
) -> Result<(), Failure> {
    let mut start = 0;
    loop {
        let (from, to) = (start.to_string(), (start + PAGE - 1).to_string());
        let args = [b"LRANGE", key, from.as_bytes(), to.as_bytes()];
        let mut walk = ask(conn, &args, key).await?;
        let elements = walk.many().ok_or_else(|| Failure::unexpected("LRANGE"))?;
        for _ in 0..elements {
            let element = walk.bytes().ok_or_else(|| Failure::unexpected("LRANGE"))?;
            budget.take(element.len())?;
            each(element);
        }
        if elements < PAGE {
            return Ok(());
        }
        start += PAGE;
    }
}

/// How many elements these keys have together, by the command for their type.
pub async fn lengths(conn: &mut Conn, keys: &[(&'static str, Vec<u8>)]) -> Result<usize, Failure> {
    let mut sum = 0usize;
    for chunk in keys.chunks(CHUNK) {
        let mut request = Vec::new();
        for (command, key) in chunk {
            pack::command(&mut request, &[command.as_bytes(), key]);
        }
        conn.exchange(&request, chunk.len()).await?;
        for (i, (command, key)) in chunk.iter().enumerate() {
            let length = match conn.walk(i).next() {
                Some(Item::Int(n)) => usize::try_from(n).unwrap_or(0),
                Some(Item::Error(e)) => return Err(refused(command, key, e)),
                _ => return Err(Failure::unexpected(command)),
            };
            sum = sum.saturating_add(length);
        }
    }
    Ok(sum)
}

/// Calls `each` with each key's place and what these fields of its hash say.
pub async fn fields(
    conn: &mut Conn,
    keys: &[Vec<u8>],
    names: &[&[u8]],
    budget: &mut Budget,
    mut each: impl FnMut(usize, &[Option<&[u8]>]),
) -> Result<(), Failure> {
    for (chunk_at, chunk) in keys.chunks(CHUNK).enumerate() {
        let mut request = Vec::new();
        for key in chunk {
            let mut args: Vec<&[u8]> = vec![b"HMGET", key];
            args.extend(names);
            pack::command(&mut request, &args);
        }
        conn.exchange(&request, chunk.len()).await?;
        for (i, key) in chunk.iter().enumerate() {
            let mut walk = conn.walk(i);
            match walk.next() {
                Some(Item::Many(n)) if n == names.len() => {}
                Some(Item::Error(e)) => return Err(refused("HMGET", key, e)),
                _ => return Err(Failure::unexpected("HMGET")),
            }
            let mut found = Vec::with_capacity(names.len());
            for _ in names {
                found.push(match walk.next() {
                    Some(Item::Null) => None,
                    Some(Item::Bulk(bytes)) => Some(bytes),
                    _ => return Err(Failure::unexpected("HMGET")),
                });
            }
            budget.take(found.iter().flatten().map(|b| b.len()).sum())?;
            each(chunk_at * CHUNK + i, &found);
        }
    }
    Ok(())
}

/// One command about one key.
async fn ask<'c>(conn: &'c mut Conn, args: &[&[u8]], key: &[u8]) -> Result<Walk<'c>, Failure> {
    let mut request = Vec::new();
    pack::command(&mut request, args);
    conn.exchange(&request, 1).await?;
    if let Some(Item::Error(e)) = conn.walk(0).next() {
        let command = String::from_utf8_lossy(args.first().copied().unwrap_or_default());
        return Err(refused(&command, key, e));
    }
    Ok(conn.walk(0))
}

fn refused(command: &str, key: &[u8], error: &[u8]) -> Failure {
    let key = label::text(key);
    if first_word(error) == b"WRONGTYPE" {
        let detail = format!("{key} is of another type than this registry has there");
        return Failure::new(FailReason::Protocol, detail);
    }
    Failure::server(&format!("{command} {key}"), error)
}
