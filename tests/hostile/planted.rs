//! The keys of the test that are there to do harm, and how they are written.

use std::collections::BTreeMap;

use crate::support::RedisServer;

/// A configured key is not longer than 4096 bytes.
pub const LONGEST: usize = 4091;
pub const MIB: usize = 1 << 20;
/// Locks of one pattern. They have no series as long as nothing is wrong.
pub const MANY: usize = 2000;
/// Locks whose tokens name workers.
pub const NAMED: usize = 100;

type Bytes = Vec<u8>;

/// Values of string keys that are locks: whatever somebody sets.
pub fn values() -> BTreeMap<&'static str, Bytes> {
    let json = [&b"{\"a\":".repeat(50_000)[..], b"1"].concat();
    BTreeMap::from([
        ("nul", b"\0".to_vec()),
        ("nul-inside", b"a\0b".to_vec()),
        ("newlines", b"a\n# TYPE dlock_lock_held counter\ndlock_lock_held 7\r\n".to_vec()),
        ("quotes", b"\"} 1\n\\\"{'".to_vec()),
        ("invalid", b"\xff\xfe\xc3\x28\xed\xa0\x80".to_vec()),
        ("empty", Vec::new()),
        ("blank", b" \t".to_vec()),
        ("number", b"1e999".to_vec()),
        ("nested", json),
        ("one-mib", vec![b'x'; MIB]),
        ("eight-mib", vec![0xfe; 8 * MIB]),
        ("unclosed", b"{\"owner\":\"".to_vec()),
        ("bidi", "\u{202e}evil\u{2066}\u{feff}".into()),
    ])
}

/// Keys that the pattern `odd:*` finds, and their lock names.
pub fn odd_keys() -> Vec<(Bytes, String)> {
    let key = |rest: &[u8]| [b"odd:", rest].concat();
    vec![
        (key(b" a  b "), "odd: a  b ".into()),
        (key(b"{braces}}{{worker}"), "odd:{braces}}{{worker}".into()),
        (key(b"\"'`\""), "odd:\"'`\"".into()),
        (key(b"\n\r\t\0\x1b[31m"), "odd:\\x0a\\x0d\\x09\\x00\\x1b[31m".into()),
        (key(b"\xff\xc3("), "odd:\\xff\\xc3(".into()),
        (key(b"\\xff"), "odd:\\x5cxff".into()),
        (key("ü\u{1f512}\u{202e}".as_bytes()), "odd:ü\u{1f512}\\xe2\\x80\\xae".into()),
        (key(&[b'k'; 4000]), format!("odd:{}…{}", "k".repeat(252), digest(&key(&[b'k'; 4000])))),
    ]
}

/// What tells a name that was cut from others that begin like it.
fn digest(whole: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(whole).iter().take(6).map(|b| format!("{b:02x}")).collect()
}

/// Keys of types that are no lock, or of a format that they are not.
pub const TYPES: [&str; 10] = [
    "list",
    "set",
    "zset",
    "stream",
    "fields",
    "one-field",
    "huge-field",
    "huge-fields",
    "huge-member",
    "huge-members",
];

pub struct Client(redis::Connection);

impl Client {
    pub fn of(server: &RedisServer) -> Self {
        let client = redis::Client::open(server.url()).expect("a URL");
        Self(client.get_connection().expect("the server is there"))
    }

    pub fn run(&mut self, words: &[&[u8]]) {
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(word);
        }
        command.exec(&mut self.0).unwrap_or_else(|e| panic!("{:?}: {e}", &words[..1]));
    }

    /// `command key` with `count` arguments or pairs of them.
    fn fill(&mut self, command: &str, key: &str, count: usize, pair: impl Fn(usize) -> Vec<Bytes>) {
        let numbers: Vec<usize> = (0..count).collect();
        for part in numbers.chunks(10_000) {
            let mut filled = redis::cmd(command);
            filled.arg(key);
            for word in part.iter().flat_map(|n| pair(*n)) {
                filled.arg(word);
            }
            filled.exec(&mut self.0).unwrap_or_else(|e| panic!("{command} {key}: {e}"));
        }
    }

    /// Every key of this file but those that change while the exporter looks.
    pub fn plant(&mut self) {
        for (name, value) in values() {
            self.run(&[b"SET", format!("lock:{name}").as_bytes(), &value, b"PX", b"600000"]);
        }
        for (key, _) in odd_keys() {
            self.run(&[b"SET", &[b"lock:", &key[..]].concat(), b"x", b"PX", b"600000"]);
        }
        // Longer than any key that a pattern may bring.
        self.run(&[b"SET", &[b"lock:odd:", &[b'l'; 100_000][..]].concat(), b"x"]);
        self.run(&[b"SET", format!("lock:{}", "k".repeat(LONGEST)).as_bytes(), b"x"]);
        for n in 0..MANY {
            self.run(&[b"SET", format!("lock:many:{n}").as_bytes(), b"x", b"PX", b"600000"]);
        }
        for n in 0..NAMED {
            let holder: Bytes = match n % 5 {
                0 => format!("../../etc/passwd {n}").into(),
                1 => format!("a\n\"}} 1 {n}\0").into(),
                2 => [b"\xff\xfe", n.to_string().as_bytes()].concat(),
                3 => [&[b'w'; 200][..], n.to_string().as_bytes()].concat(),
                _ => format!("{{worker}} {n}").into(),
            };
            self.run(&[b"SET", format!("lock:named:{n}").as_bytes(), &holder, b"PX", b"600000"]);
        }
        let one = |n: usize| vec![n.to_string().into_bytes()];
        self.fill("RPUSH", "lock:list", 100_000, one);
        self.fill("SADD", "lock:set", 100_000, one);
        self.fill("ZADD", "lock:zset", 100_000, |n| [one(n), one(n)].concat());
        self.fill("HSET", "lock:fields", 100_000, |n| [one(n), one(n)].concat());
        for _ in 0..1000 {
            self.run(&[b"XADD", b"lock:stream", b"*", b"f", b"v"]);
        }
        let field = |size: usize| move |n: usize| vec![format!("f{n}").into(), vec![b'v'; size]];
        self.fill("HSET", "lock:one-field", 1, field(8 * MIB));
        self.fill("HSET", "lock:huge-field", 1, field(20 * MIB));
        self.fill("HSET", "lock:huge-fields", 60, field(MIB / 2));
        self.run(&[b"ZADD", b"lock:huge-member", b"1", &vec![b'm'; 20 * MIB]]);
        let member = |n: usize| vec![[n.to_string().as_bytes(), &vec![b'm'; MIB / 2]].concat()];
        self.fill("SADD", "lock:huge-members", 60, member);
        self.run(&[b"SET", b"lock:wrong", b"a string"]);
        self.run(&[b"SET", b"hb:large", &vec![b'h'; 8 * MIB]]);
        self.run(&[b"SET", b"hb:deep", &b"{\"a\":".repeat(10_000)]);
        self.run(&[b"SET", b"hb:binary", b"\xff\0\n"]);
    }
}

/// A key that is of another type each time it is looked at.
pub fn change(client: &mut Client, turn: usize) {
    let key = &b"lock:changes"[..];
    client.run(&[b"DEL", key]);
    match turn % 7 {
        0 => client.run(&[b"SET", key, b"changed"]),
        1 => client.run(&[b"RPUSH", key, b"x"]),
        2 => client.run(&[b"HSET", key, b"mode", b"read"]),
        3 => client.run(&[b"SET", key, &vec![b'c'; MIB]]),
        4 => client.run(&[b"ZADD", key, b"+inf", b"__write__"]),
        5 => client.run(&[b"SADD", key, b"", b"\r\n"]),
        _ => {}
    }
}
