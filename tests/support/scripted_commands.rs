//! The commands of a scripted server: what a Redis 7.0 with its keys would answer. Only those that the exporter sends;
//! any other is an error, so that a test notices a new one.

use dlock_exporter::clock;

use super::redis_server::PASSWORD;
use super::scripted_redis::Reply::{Bulk, Double, Error, Int, Many, Nil, Simple};
use super::scripted_redis::{Content, Reply, Script, bulk};

/// Replication offset of every scripted server: nothing is ever written.
const OFFSET: i64 = 4200;

const WRONG_TYPE: Reply =
    Error("WRONGTYPE Operation against a key holding the wrong kind of value");
const REFUSED: Reply =
    Error("NOPERM this user has no permissions to access one of the keys used as arguments");

impl Script {
    /// The reply to a command outside of a transaction, or what it leaves in one.
    pub(super) fn reply(&self, name: &str, words: &[Vec<u8>]) -> Reply {
        let word = |at: usize| words.get(at).map_or(&b""[..], Vec::as_slice);
        match name {
            "HELLO" => self.hello(&words[1..]),
            "AUTH" if words[1..] == [b"dlock".to_vec(), PASSWORD.into()] => Simple("OK"),
            "CLIENT" | "SELECT" => Simple("OK"),
            "PING" => Simple("PONG"),
            "TIME" => {
                let micros = (clock::wall_secs() * 1e6) as u64;
                Many('*', vec![bulk(micros / 1_000_000), bulk(micros % 1_000_000)])
            }
            "INFO" => Bulk(self.info(word(1)).into_bytes()),
            "CONFIG" => Many('%', vec![Bulk(word(2).to_vec()), bulk(1)]),
            "ROLE" => self.role(),
            "SLOWLOG" => Many('*', Vec::new()),
            "SCAN" => self.scan(word(3)),
            "MGET" => self.mget(&words[1..]),
            _ => self.of_key(name, words),
        }
    }

    fn hello(&self, options: &[Vec<u8>]) -> Reply {
        let given = options.iter().position(|o| o == b"AUTH").map(|at| &options[at + 1..at + 3]);
        if given != Some(&[b"dlock".to_vec(), PASSWORD.into()]) {
            return Error("WRONGPASS invalid username-password pair or user is disabled.");
        }
        let role = if self.primary.is_some() { "replica" } else { "master" };
        let said = [("server", self.flavor), ("version", self.version), ("mode", "standalone")];
        let mut map: Vec<Reply> = said.iter().flat_map(|(k, v)| [bulk(k), bulk(v)]).collect();
        map.extend([bulk("proto"), Int(3), bulk("role"), bulk(role)]);
        Many('%', map)
    }

    fn role(&self) -> Reply {
        let Some(primary) = self.primary else {
            let replica =
                self.replica.map(|a| Many('*', vec![bulk(a.ip()), bulk(a.port()), bulk(OFFSET)]));
            let replicas = Many('*', replica.into_iter().collect());
            return Many('*', vec![bulk("master"), Int(OFFSET), replicas]);
        };
        let port = Int(primary.port().into());
        Many('*', vec![bulk("slave"), bulk(primary.ip()), port, bulk("connected"), Int(OFFSET)])
    }

    /// The whole text when asked by sections: the exporter must find its fields wherever they are.
    fn info(&self, section: &[u8]) -> String {
        if section == b"commandstats" {
            return "# Commandstats\r\n".to_owned();
        }
        let (run_id, place) = match (self.primary, self.replica) {
            (Some(primary), _) => (
                "b".repeat(40),
                format!(
                    "role:slave\r\nmaster_host:{}\r\nmaster_port:{}\r\nmaster_link_status:up\r\n\
                     slave_repl_offset:{OFFSET}\r\nconnected_slaves:0\r\n",
                    primary.ip(),
                    primary.port()
                ),
            ),
            (None, Some(replica)) => (
                "a".repeat(40),
                format!(
                    "role:master\r\nconnected_slaves:1\r\n\
                     slave0:ip={},port={},state=online,offset={OFFSET},lag=0\r\n",
                    replica.ip(),
                    replica.port()
                ),
            ),
            (None, None) => ("c".repeat(40), "role:master\r\nconnected_slaves:0\r\n".to_owned()),
        };
        let replid = "d".repeat(40);
        let server = match (self.flavor, self.version) {
            ("redis", version) => format!("redis_version:{version}\r\nredis_mode:standalone"),
            // For clients that do not know it, it is the Redis that it began as.
            (name, version) => format!(
                "redis_version:7.2.4\r\nserver_name:{name}\r\n{name}_version:{version}\r\nserver_mode:standalone"
            ),
        };
        format!(
            "# Server\r\n{server}\r\nrun_id:{run_id}\r\n\r\n\
             # Memory\r\nmaxmemory:104857600\r\nmaxmemory_policy:volatile-lru\r\n\r\n\
             # Persistence\r\nloading:0\r\nasync_loading:0\r\naof_enabled:1\r\n\r\n\
             # Stats\r\ntotal_connections_received:17\r\nrejected_connections:2\r\n\
             expired_keys:41\r\nevicted_keys:3\r\n\r\n\
             # Replication\r\n{place}master_replid:{replid}\r\nmaster_repl_offset:{OFFSET}\r\n\r\n\
             # Commandstats\r\ncmdstat_flushall:calls=1,usec=9,usec_per_call=9.00\r\n"
        )
    }

    /// All keys at once, in the order of their bytes. Knows patterns that end in their only star.
    fn scan(&self, pattern: &[u8]) -> Reply {
        let prefix = pattern.strip_suffix(b"*").expect("a pattern that ends in a star");
        let keys = self.keys.keys().filter(|k| k.starts_with(prefix));
        Many('*', vec![bulk(0), Many('*', keys.map(|k| Bulk(k.clone())).collect())])
    }

    fn mget(&self, keys: &[Vec<u8>]) -> Reply {
        let found: Vec<_> = keys.iter().map(|k| self.keys.get(k)).collect();
        if found.iter().any(|f| matches!(f, Some((Content::Refused, _)))) {
            return REFUSED;
        }
        let value = |(content, _): &(Content, _)| content.string().map_or(Nil, Bulk);
        Many('*', found.into_iter().map(|f| f.map_or(Nil, value)).collect())
    }

    /// Commands of one key.
    fn of_key(&self, name: &str, words: &[Vec<u8>]) -> Reply {
        let word = |at: usize| words.get(at).map_or(&b""[..], Vec::as_slice);
        let (key, argument) = (word(1), word(2));
        let Some((content, expires)) = self.keys.get(key) else {
            return match name {
                "TYPE" => Simple("none"),
                "PEXPIRETIME" | "PTTL" => Int(-2),
                "GETRANGE" => Bulk(Vec::new()),
                "HGETALL" => Many('%', Vec::new()),
                "HGET" | "ZSCORE" => Nil,
                "STRLEN" | "HLEN" | "EXISTS" | "ZCOUNT" => Int(0),
                _ => Error("ERR unknown command"),
            };
        };
        match (name, content) {
            (_, Content::Refused) => REFUSED,
            ("TYPE", content) => Simple(content.kind()),
            ("EXISTS", _) => Int(1),
            ("PEXPIRETIME", _) => Int(expires.unwrap_or(-1)),
            ("PTTL", _) => {
                let now = (clock::wall_secs() * 1e3) as i64;
                Int(expires.map_or(-1, |at| at.saturating_sub(now)))
            }
            ("STRLEN", Content::Text(text)) => Int(text.len() as i64),
            // Asking for its length is no read of it.
            ("STRLEN", Content::Beats(..)) => Int(6),
            // The exporter always asks for a beginning.
            ("GETRANGE", content) => content.string().map_or(WRONG_TYPE, |mut text| {
                let last = String::from_utf8_lossy(word(3)).parse().unwrap_or(0);
                text.truncate(last + 1);
                Bulk(text)
            }),
            ("HLEN", Content::Hash(fields)) => Int(fields.len() as i64),
            ("HGETALL", Content::Hash(fields)) => {
                let pairs = fields.iter().flat_map(|(f, v)| [Bulk(f.clone()), Bulk(v.clone())]);
                Many('%', pairs.collect())
            }
            // All at once.
            ("HSCAN", Content::Hash(fields)) => {
                let pairs = fields.iter().flat_map(|(f, v)| [Bulk(f.clone()), Bulk(v.clone())]);
                Many('*', vec![bulk(0), Many('*', pairs.collect())])
            }
            ("HGET", Content::Hash(fields)) => {
                let found = fields.iter().find(|(f, _)| f == argument);
                found.map_or(Nil, |(_, v)| Bulk(v.clone()))
            }
            ("ZSCORE", Content::Zset(member, score)) => {
                if member == argument {
                    Double(*score)
                } else {
                    Nil
                }
            }
            ("STRLEN" | "HLEN" | "HGETALL" | "HGET" | "ZSCORE", _) => WRONG_TYPE,
            _ => Error("ERR unknown command"),
        }
    }
}
