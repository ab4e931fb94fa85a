//! Which shard has which slots, as one node says it: the reply to `CLUSTER SLOTS` opened. That command is asked because
//! every server from 6.2 on has it, where `CLUSTER SHARDS` came with 7.0 only; what the newer one tells beyond it (health
//! and offsets of nodes) is read from the nodes themselves. Pure and bounded: a reply that does not fit is refused whole.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::codec::{Item, Walk};
use super::super::dial::{addr_text, parse_addr};
use super::super::info;
use super::key_slot::SLOTS;
use crate::config::RedisAddr;

/// Shards at most.
pub const MAX_SHARDS: usize = 256;
/// Replicas of one shard that are taken at most.
const MAX_REPLICAS: usize = 16;
/// Longest host or node id.
const MAX_TEXT: usize = 255;

/// A node of a shard.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Where it is.
    pub addr: RedisAddr,
    /// That as it is written.
    pub name: Arc<str>,
    /// The cluster's own name of it, which it keeps when its address changes.
    pub id: Arc<str>,
}

/// A primary with the replicas and the slots that it has.
#[derive(Clone, Debug, PartialEq)]
pub struct Shard {
    /// Its primary.
    pub primary: Member,
    /// Its replicas, as far as the cluster takes them for usable.
    pub replicas: Vec<Member>,
}

impl Shard {
    /// All its nodes, the primary first.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        std::iter::once(&self.primary).chain(&self.replicas)
    }
}

/// All shards that have slots.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotMap {
    /// The shards, in the order of their first slot.
    pub shards: Vec<Shard>,
    /// The shard of each slot by its place in `shards`; `None` if no shard has it.
    owners: Vec<Option<u16>>,
}

impl SlotMap {
    /// The shard that has a slot.
    pub fn owner(&self, slot: u16) -> Option<usize> {
        self.owners.get(usize::from(slot)).copied().flatten().map(usize::from)
    }

    /// Slots that no shard has.
    pub fn unassigned(&self) -> usize {
        self.owners.iter().filter(|o| o.is_none()).count()
    }

    /// Opens a reply. `asked` is the host that answered: a node leaves its own out where it does not know it.
    pub fn read(walk: &mut Walk<'_>, asked: &str) -> Result<Self, &'static str> {
        const BAD: &str = "CLUSTER SLOTS was not answered as documented";
        let entries = walk.many().ok_or(BAD)?;
        if entries > usize::from(SLOTS) {
            return Err("CLUSTER SLOTS names more ranges than there are slots");
        }
        let mut shards: Vec<Shard> = Vec::new();
        let mut by_id: HashMap<Arc<str>, u16> = HashMap::new();
        let mut owners = vec![None; usize::from(SLOTS)];
        for _ in 0..entries {
            let fields = walk.many().filter(|n| *n >= 3).ok_or(BAD)?;
            let mut bound =
                || walk.int().and_then(|n| u16::try_from(n).ok()).filter(|n| *n < SLOTS);
            let (first, last) = (bound().ok_or(BAD)?, bound().ok_or(BAD)?);
            let primary = member(walk, asked).ok_or(BAD)?;
            let mut replicas = Vec::new();
            for _ in 3..fields {
                let replica = member(walk, asked).ok_or(BAD)?;
                replicas.extend(replica.filter(|_| replicas.len() < MAX_REPLICAS));
            }
            // A node whose address is not known to anybody serves nobody.
            let Some(primary) = primary else { continue };
            let shard = match by_id.get(&primary.id) {
                Some(shard) => *shard,
                None => {
                    let shard = u16::try_from(shards.len()).map_err(|_| BAD)?;
                    if shards.len() >= MAX_SHARDS {
                        return Err("the cluster has more than 256 shards; that is not supported");
                    }
                    by_id.insert(primary.id.clone(), shard);
                    shards.push(Shard { primary, replicas });
                    shard
                }
            };
            if let Some(range) = owners.get_mut(usize::from(first)..=usize::from(last)) {
                range.fill(Some(shard));
            }
        }
        Ok(Self { shards, owners })
    }
}

/// One node: host, port, id and, since 7.0, what else it is called. `Some(None)` if it has no address.
fn member(walk: &mut Walk<'_>, asked: &str) -> Option<Option<Member>> {
    let fields = walk.many().filter(|n| *n >= 2)?;
    let host = match walk.next()? {
        // No preferred endpoint: reach it as the one that was asked.
        Item::Null => "",
        Item::Bulk(host) | Item::Simple(host) | Item::Other(host) => {
            std::str::from_utf8(host).ok()?
        }
        _ => return None,
    };
    let port = walk.int()?;
    let id = if fields > 2 { std::str::from_utf8(walk.bytes()?).ok()? } else { "" };
    (3..fields).try_for_each(|_| walk.skip())?;
    if host.len() > MAX_TEXT || id.len() > MAX_TEXT {
        return None;
    }
    let host = if host.is_empty() { asked } else { host };
    // `?` stands for a host name that was never set; a path would be no address of another server.
    if host == "?" || host.starts_with('/') {
        return Some(None);
    }
    // It is dialled and becomes a label: made of the same letters as where `INFO` tells it.
    let found = info::address(host, &port.to_string()).and_then(|whole| parse_addr(&whole));
    let Some(addr) = found else { return Some(None) };
    let name = addr_text(&addr);
    let id = if id.is_empty() { name.clone() } else { id.into() };
    Some(Some(Member { addr, name, id }))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use proptest::prelude::*;

    use super::*;

    fn bulk(text: &str) -> String {
        format!("${}\r\n{text}\r\n", text.len())
    }

    fn node(host: &str, port: u16, id: &str) -> String {
        format!("*4\r\n{}:{port}\r\n{}*0\r\n", bulk(host), bulk(id))
    }

    fn range(first: i64, last: i64, nodes: &[String]) -> String {
        let mut text = format!("*{}\r\n:{first}\r\n:{last}\r\n", nodes.len() + 2);
        nodes.iter().for_each(|n| text.push_str(n));
        text
    }

    fn read(ranges: &[String]) -> Result<SlotMap, &'static str> {
        let mut text = format!("*{}\r\n", ranges.len());
        ranges.iter().for_each(|r| text.push_str(r));
        SlotMap::read(&mut Walk::new(text.as_bytes()), "10.0.0.9")
    }

    #[test]
    fn slots_are_found_at_their_shard() {
        let (a, b) = (node("10.0.0.1", 1, "aa"), node("10.0.0.2", 2, "bb"));
        let map = read(&[
            range(0, 5, &[a.clone(), node("10.0.0.3", 3, "cc")]),
            range(6, 10, &[b]),
            range(12, 16_383, &[a]),
        ])
        .unwrap();
        assert_eq!(map.shards.len(), 2, "two ranges of one shard");
        assert_eq!(map.shards[0].replicas[0].name.as_ref(), "10.0.0.3:3");
        let owners: Vec<_> = [0, 6, 11, 12, 16_383].iter().map(|s| map.owner(*s)).collect();
        assert_eq!(owners, [Some(0), Some(1), None, Some(0), Some(0)]);
        assert_eq!(map.unassigned(), 1);
    }

    #[test]
    fn a_node_without_an_address_is_reached_as_the_one_that_answered() {
        let nameless = format!("*3\r\n$-1\r\n:7000\r\n{}", bulk("aa"));
        let map = read(&[range(0, 1, &[nameless]), range(2, 3, &[node("", 7001, "bb")])]).unwrap();
        let names: Vec<_> = map.shards.iter().map(|s| s.primary.name.to_string()).collect();
        assert_eq!(names, ["10.0.0.9:7000", "10.0.0.9:7001"]);
        let map = read(&[range(0, 1, &[node("?", 7000, "aa")])]).unwrap();
        assert_eq!((map.shards.len(), map.unassigned()), (0, 16_384));
        let map = read(&[range(0, 1, &[node("a\u{1b}[2Jb", 7000, "aa")])]).unwrap();
        assert!(map.shards.is_empty(), "what no host is called, is none");
    }

    #[test]
    fn what_does_not_fit_is_refused_whole() {
        let a = node("h", 1, "aa");
        for bad in [
            range(0, 16_384, std::slice::from_ref(&a)),
            range(-1, 3, std::slice::from_ref(&a)),
            range(0, 3, &[]),
            range(0, 3, &[bulk("h")]),
            range(0, 3, &[node(&"h".repeat(300), 1, "aa")]),
        ] {
            assert!(read(std::slice::from_ref(&bad)).is_err(), "{bad}");
        }
        let many: Vec<_> =
            (0..300).map(|i| range(i, i, &[node("h", 1, &format!("id{i}"))])).collect();
        assert!(read(&many).unwrap_err().contains("256"));
        assert!(SlotMap::read(&mut Walk::new(b"*99999\r\n"), "h").is_err());
        assert!(SlotMap::read(&mut Walk::new(b"-ERR unknown command\r\n"), "h").is_err());
    }

    proptest! {
        /// Whatever a server sends costs no more than its own reply.
        #[test]
        fn no_reply_breaks_it(items in proptest::collection::vec(0..6_u8, 0..60)) {
            let mut text = String::new();
            for item in items {
                let _ = match item {
                    0 => write!(text, "*3\r\n"),
                    1 => write!(text, ":7\r\n"),
                    2 => write!(text, "$1\r\nh\r\n"),
                    3 => write!(text, "$-1\r\n"),
                    4 => write!(text, "*-1\r\n"),
                    _ => write!(text, "*1\r\n"),
                };
            }
            let _ = SlotMap::read(&mut Walk::new(text.as_bytes()), "h");
        }
    }
}
