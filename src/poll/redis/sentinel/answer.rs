//! What a sentinel answers, as addresses. Pure and tolerant: an entry that is not what it should be is left out, because a
//! sentinel remembers servers that it has never reached.

use super::super::codec::{Item, Walk};
use super::super::dial::parse_addr;
use super::super::failure::Failure;
use super::super::info;
use crate::config::RedisAddr;
use crate::observe::node::FailReason;

/// Servers or sentinels that are taken from one answer at most.
const MOST: usize = 64;

/// What a sentinel says of the master that it was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Where the primary is.
    pub primary: Option<RedisAddr>,
    /// Its replicas, those that are down among them.
    pub replicas: Vec<RedisAddr>,
    /// The other sentinels.
    pub sentinels: Vec<RedisAddr>,
}

/// The reply to `SENTINEL GET-MASTER-ADDR-BY-NAME`; `None` if the name is not known there.
pub fn primary(mut reply: Walk<'_>) -> Result<Option<RedisAddr>, Failure> {
    const COMMAND: &str = "SENTINEL GET-MASTER-ADDR-BY-NAME";
    match reply.next() {
        Some(Item::Null) => Ok(None),
        Some(Item::Many(2)) => {
            let (host, port) = (text(reply.bytes()), text(reply.bytes()));
            let found = host.zip(port).and_then(|(host, port)| address(host, port));
            found.map(Some).ok_or_else(|| Failure::unexpected(COMMAND))
        }
        Some(Item::Error(e)) => Err(refused(COMMAND, e)),
        _ => Err(Failure::unexpected(COMMAND)),
    }
}

/// The reply to `SENTINEL REPLICAS` and `SENTINEL SENTINELS`: the addresses in it.
pub fn instances(mut reply: Walk<'_>) -> Option<Vec<RedisAddr>> {
    let count = reply.many()?;
    let mut found = Vec::new();
    for _ in 0..count.min(MOST) {
        let fields = reply.many()? / 2;
        let (mut host, mut port) = (None, None);
        for _ in 0..fields {
            match reply.bytes()? {
                b"ip" => host = text(Some(reply.bytes()?)),
                b"port" => port = text(Some(reply.bytes()?)),
                _ => reply.skip()?,
            }
        }
        found.extend(host.zip(port).and_then(|(host, port)| address(host, port)));
    }
    Some(found)
}

/// A sentinel, or what was taken for one, refused to answer at all.
fn refused(command: &str, error: &[u8]) -> Failure {
    if error.starts_with(b"ERR unknown command") {
        return not_a_sentinel();
    }
    Failure::server(command, error)
}

/// The store's addresses are those of its servers.
pub fn not_a_sentinel() -> Failure {
    let detail = "this is no sentinel; with `topology: sentinel` the store's `url` or `urls` are those of its sentinels, usually of port 26379";
    Failure::new(FailReason::Protocol, detail)
}

fn text(bytes: Option<&[u8]>) -> Option<&str> {
    std::str::from_utf8(bytes?).ok()
}

fn address(host: &str, port: &str) -> Option<RedisAddr> {
    parse_addr(&info::address(host, port)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> RedisAddr {
        RedisAddr::Tcp { host: host.into(), port }
    }

    #[test]
    fn a_primary_is_told_by_two_texts() {
        let told = |reply: &[u8]| primary(Walk::new(reply));
        let found = told(b"*2\r\n$8\r\n10.0.0.5\r\n$4\r\n6379\r\n").unwrap();
        assert_eq!(found, Some(tcp("10.0.0.5", 6379)));
        let found = told(b"*2\r\n$3\r\n::1\r\n$4\r\n6379\r\n").unwrap();
        assert_eq!(found, Some(tcp("::1", 6379)));
        assert_eq!(told(b"*-1\r\n").unwrap(), None);
        assert_eq!(told(b"_\r\n").unwrap(), None);
        for (reply, reason) in [
            (b"*2\r\n$2\r\na/\r\n$4\r\n6379\r\n".as_slice(), FailReason::Protocol),
            (b"*2\r\n$1\r\nh\r\n$1\r\n0\r\n", FailReason::Protocol),
            (b"+OK\r\n", FailReason::Protocol),
            (b"-ERR unknown command `SENTINEL`\r\n", FailReason::Protocol),
            (b"-NOPERM no\r\n", FailReason::Permission),
        ] {
            assert_eq!(told(reply).unwrap_err().reason, reason, "{reply:?}");
        }
    }

    #[test]
    fn instances_are_maps_or_flat_lists() {
        let fields = "$4\r\nname\r\n$1\r\nx\r\n$2\r\nip\r\n$1\r\nh\r\n$4\r\nport\r\n$1\r\n7\r\n";
        let odd = "$2\r\nip\r\n$1\r\n/\r\n$4\r\nport\r\n$1\r\n7\r\n";
        let old = format!("*2\r\n*6\r\n{fields}*4\r\n{odd}");
        let new = format!("*2\r\n%3\r\n{fields}%2\r\n{odd}");
        for reply in [old, new] {
            assert_eq!(instances(Walk::new(reply.as_bytes())), Some(vec![tcp("h", 7)]), "{reply}");
        }
        assert_eq!(instances(Walk::new(b"*0\r\n")), Some(Vec::new()));
        assert_eq!(instances(Walk::new(b"-ERR No such master with that name\r\n")), None);
        assert_eq!(instances(Walk::new(b"*1\r\n*2\r\n$2\r\nip\r\n")), None);
    }
}
