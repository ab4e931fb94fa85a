//! What the exporter is given for the search: servers with passwords, a key for TLS, sources with credentials, and locks
//! whose tokens are canaries. Knows nothing of where they could be shown.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::support::{
    Endpoint, ExporterSetup, PASSWORD, RedisServer, RedisSetup, Reply, Sentinel,
    acl_line_of_the_readme,
};
use crate::tls::{Authority, server};

/// Passwords, each for something else.
pub const OF_REDIS: &str = "cnry-Redis-7Qx1";
const OF_BEARER: &str = "cnry.bearer.Zt9w";
const OF_BASIC: &str = "cnry-basic-Kp4d";
/// `orders:` and it, as the header has it.
const BASIC_CODED: &str = "b3JkZXJzOmNucnktYmFzaWMtS3A0ZA";

/// Owner tokens by the lock that has them, as far as nobody may see them.
pub const TOKENS: [(&str, &str); 8] = [
    ("token of text", "cnry0text0fac79ce72b1c4f0e"),
    ("the token that overwrote it", "cnry0over086bb5074ebf111f"),
    ("token of hash", "c0ffee00-7e57-4a5e"),
    ("token of zset", "c0ffee01234567890123456789abcdef"),
    ("token of json", "cnry0json0f9e8d7c6b5a49382"),
    ("token of opaque", "0badc0de7e570badc0de7e57"),
    ("token in a claim", "cnry0claim05f4e3d2c1b0a998"),
    ("a token in a slow command", "cnry0slow0777666555444333"),
];

/// The locks of `main` that are taken.
pub const LOCKS: [&str; 5] = ["text", "hash", "zset", "json", "opaque"];

/// Writes a file with that line, and gives its path.
pub fn file(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    std::fs::write(&path, format!("{text}\n")).expect("a file can be written");
    path.display().to_string()
}

fn plant(server: &RedisServer) {
    let until = ((dlock_exporter::clock::wall_secs() + 600.0) * 1e3) as i64;
    let zset = format!("HOST_9_{}", TOKENS[3].1);
    let json = format!("{{\"owner\":\"orders-2\",\"token\":\"{}\"}}", TOKENS[4].1);
    let claim = format!(
        "{{\"beat\":1,\"locks\":[{{\"store\":\"main\",\"lock\":\"text\",\"token\":\"orders-1:h:1:{}\"}}]}}",
        TOKENS[6].1
    );
    server.cmd(&["SET", "lock:text", &format!("orders-1:h:1:{}", TOKENS[0].1), "PX", "600000"]);
    server.cmd(&["HSET", "lock:hash", &format!("{}-9c0d-0123456789ab:47", TOKENS[2].1), "1"]);
    server.cmd(&["PEXPIRE", "lock:hash", "600000"]);
    server.cmd(&["ZADD", "lock:zset", &until.to_string(), &zset]);
    server.cmd(&["SET", "lock:json", &json, "PX", "600000"]);
    server.cmd(&["SET", "lock:opaque", TOKENS[5].1, "PX", "600000"]);
    server.cmd(&["HSET", "lock:owners", TOKENS[5].1, "orders-3"]);
    server.cmd(&["SET", "hb:orders-1", &claim]);
}

/// All of it; it ends with the value.
pub struct World {
    /// The store `main`.
    pub main: RedisServer,
    _tls: RedisServer,
    _sentinel: Sentinel,
    _ends: Vec<Endpoint>,
    dir: TempDir,
    key: String,
    yaml: String,
}

impl World {
    /// Starts the servers, and sets the locks.
    pub fn start() -> Self {
        let dir = TempDir::new().expect("a temporary directory");
        let acl = acl_line_of_the_readme().replace("ACL SETUSER", "user");
        let main = RedisSetup::default()
            .acl(&(acl.replace("PASSWORD", OF_REDIS) + " +psubscribe allchannels"))
            .arguments(&["--notify-keyspace-events", "KEA", "--slowlog-log-slower-than", "-1"])
            .start();
        plant(&main);
        let authority = Authority::new(dir.path(), "ca");
        let (tls, port) = server(&authority, "127.0.0.1", "yes", &[]);
        let sentinel = Sentinel::watch(&main, 1);
        let (crt, key) = authority.signs("client", "client");
        let pem = std::fs::read_to_string(&key).expect("it was just made");
        let of = |name: &str, text: &str| file(dir.path(), name, text);
        let (redis, watch) = (of("redis.pass", OF_REDIS), of("watch.pass", PASSWORD));
        let (bearer, basic) = (of("bearer", OF_BEARER), of("basic.pass", OF_BASIC));
        let said = format!("{OF_BEARER} {OF_BASIC} Basic {BASIC_CODED}==");
        let ends = vec![
            Endpoint::start(Reply::Answer(401, said.clone())),
            Endpoint::start(Reply::Answer(200, format!("{{\"beat\":\"{said}\"}}"))),
            Endpoint::start(Reply::Bytes("cnry.bearer.Zt9w cnry-basic-Kp4d\r\n\r\n")),
        ];
        let mut workers = String::new();
        for (i, end) in ends.iter().enumerate() {
            let url = end.url("/");
            for (name, login) in [
                ("bearer", format!("bearer_token_file: '{bearer}'")),
                ("basic", format!("basic_auth: {{ username: orders, password_file: '{basic}' }}")),
            ] {
                workers += &format!(
                    "  {name}-{i}:\n    names: ['{name}-{i}']\n    heartbeat: {{ http: {{ url: '{url}', json: /beat, {login} }} }}\n"
                );
            }
        }
        let yaml = format!(
            "poll_interval: 200ms
stores:
  main:
    url: {}
    username: dlock
    slowlog: on
    clients: on
    owner_index: {{ key: 'lock:owners' }}
    locks:
      - {{ name: text, key: 'lock:text', workers: [nobody], holder: '^(?P<worker>[^:]+):(?P<host>[^:]+):(?P<pid>\\d+):' }}
      - {{ name: json, key: 'lock:json', owner_json: /owner, workers: [nobody] }}
      - {{ name: hash, key: 'lock:hash' }}
      - {{ name: zset, key: 'lock:zset' }}
      - {{ name: opaque, key: 'lock:opaque' }}
      - {{ match: 'lock:*' }}
  tls:
    url: rediss://127.0.0.1:{port}
    username: dlock
    password_file: '{watch}'
    tls: {{ ca_file: '{}', cert_file: '{crt}', key_file: '{key}' }}
    locks: [{{ name: none, key: 'lock:none' }}]
  watched:
    urls: ['redis://127.0.0.1:{}']
    topology: sentinel
    username: dlock
    password_file: '{redis}'
    sentinel: {{ master: locks, username: dlock, password_file: '{watch}' }}
    locks: [{{ name: text, key: 'lock:text' }}]
workers:
{workers}  orders:
    match: 'orders-\\d+'
    heartbeat: {{ redis: {{ store: main, key: 'hb:{{worker}}' }}, frozen_after: 1s }}
    claim: {{ redis: {{ store: main, key: 'hb:{{worker}}', json: /locks }} }}
",
            main.url(),
            authority.file.display(),
            sentinel.address().port(),
        );
        let key = pem.lines().nth(1).expect("a line of the key").to_owned();
        Self { main, _tls: tls, _sentinel: sentinel, _ends: ends, dir, key, yaml }
    }

    /// What must be shown nowhere, by what it is.
    pub fn canaries(&self) -> Vec<(&str, &str)> {
        let passwords = [
            ("password of Redis", OF_REDIS),
            ("password of the sentinel", PASSWORD),
            ("bearer token", OF_BEARER),
            ("password of basic_auth", OF_BASIC),
            ("basic_auth as it is sent", BASIC_CODED),
            ("key of the certificate", self.key.as_str()),
        ];
        passwords.into_iter().chain(TOKENS).collect()
    }

    /// Each exporter has a directory of its own for evidence.
    pub fn evidence(&self, which: usize) -> PathBuf {
        self.dir.path().join(format!("evidence-{which}"))
    }

    /// An exporter that watches all of it.
    pub fn setup(&self, which: usize) -> ExporterSetup {
        std::fs::create_dir(self.evidence(which)).expect("a directory can be made");
        let of = self.evidence(which).display().to_string();
        let yaml = self.yaml.clone() + &format!("evidence: {{ dir: '{of}' }}\n");
        ExporterSetup::file(&yaml).env("DLOCK__STORES__MAIN__PASSWORD", OF_REDIS)
    }
}
