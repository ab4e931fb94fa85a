//! A private server on a free port of the loopback: started, paused, killed and started again by a scenario, gone with it.
//! Nobody but who has its password, which no command line shows, may talk to it, unless it is left open. It must not touch a
//! server that the drill did not start.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::clock::SteppedClock;
use super::wait::{Waiting, at, private_dir};
use crate::bound;
use crate::children::Group;
use crate::failure::Failure;
use crate::private::free_port;

/// How long a server may take until it answers, on a busy machine.
const STARTED: Duration = Duration::from_secs(20);
/// How long one command may take.
const ANSWER: Duration = Duration::from_secs(2);

/// How to start a server.
pub struct Setup {
    program: PathBuf,
    password: Option<String>,
    lines: String,
    environment: Vec<(String, String)>,
}

impl Setup {
    /// By this program, for everybody on this host: workers that are tried by hand should not need a password.
    pub fn open(program: &Path) -> Self {
        Self {
            program: program.into(),
            password: None,
            lines: String::new(),
            environment: Vec::new(),
        }
    }

    /// By this program, a `redis-server` or `valkey-server`, for who knows this password.
    pub fn of(program: &Path, password: &str) -> Self {
        Self { password: Some(password.into()), ..Self::open(program) }
            .line(&format!("requirepass {password}"))
            .line(&format!("masterauth {password}"))
    }

    /// Adds a line to its configuration, `maxmemory 10mb`.
    pub fn line(mut self, line: &str) -> Self {
        let _ = writeln!(self.lines, "{line}");
        self
    }

    /// Makes it a replica.
    pub fn replica_of(self, primary: &Server) -> Self {
        self.line(&format!("replicaof 127.0.0.1 {}", primary.port))
    }

    /// Lets it go by a clock that can be stepped.
    pub fn clock(mut self, clock: &SteppedClock) -> Self {
        self.environment.extend(clock.environment());
        self
    }

    /// Starts it and waits until it answers.
    pub async fn start(self) -> Result<Server, Failure> {
        let port = free_port()?;
        let dir = private_dir()?;
        let text = format!(
            "port {port}\nbind 127.0.0.1\ndir {:?}\nsave \"\"\nappendonly no\n\
             repl-diskless-sync-delay 0\nrepl-ping-replica-period 1\n{}",
            // In quotes: it may have a space in it.
            dir.path().display().to_string(),
            self.lines
        );
        let file = dir.path().join("server.conf");
        std::fs::write(&file, text).map_err(|e| at(&file, e))?;
        let mut server = Server {
            program: self.program,
            password: self.password,
            port,
            environment: self.environment,
            group: None,
            dir,
        };
        server.restart().await?;
        Ok(server)
    }
}

/// A running server, or one that was killed. It ends before its directory goes.
pub struct Server {
    program: PathBuf,
    password: Option<String>,
    port: u16,
    environment: Vec<(String, String)>,
    group: Option<Group>,
    dir: TempDir,
}

impl Server {
    /// Its address.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// `redis://host:port`, without the password.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address())
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sends one command and gives the reply.
    pub async fn cmd(&self, words: &[&str]) -> Result<redis::Value, Failure> {
        command(self.port, self.password.as_deref(), words).await
    }

    /// The reply as text.
    pub async fn text(&self, words: &[&str]) -> Result<String, Failure> {
        redis::from_redis_value(self.cmd(words).await?)
            .map_err(|e| Failure::new(format!("{}: {e}", words.first().unwrap_or(&""))))
    }

    /// The reply as a number.
    pub async fn number(&self, words: &[&str]) -> Result<i64, Failure> {
        redis::from_redis_value(self.cmd(words).await?)
            .map_err(|e| Failure::new(format!("{}: {e}", words.first().unwrap_or(&""))))
    }

    /// Whether `SET key token NX PX lease` took the lock.
    pub async fn take(&self, key: &str, token: &str, lease: Duration) -> Result<bool, Failure> {
        let lease = lease.as_millis().to_string();
        let reply = self.cmd(&["SET", key, token, "NX", "PX", &lease]).await?;
        Ok(reply == redis::Value::Okay)
    }

    /// Lets it stand still: connections stay open and nothing is answered.
    pub async fn pause(&self) -> Result<(), Failure> {
        match &self.group {
            Some(group) => group.pause().await,
            None => Ok(()),
        }
    }

    /// Kills it: its data is gone.
    pub fn kill(&mut self) {
        self.group = None;
    }

    /// Starts it (again) on the same port, empty, and waits until it answers.
    pub async fn restart(&mut self) -> Result<(), Failure> {
        self.kill();
        let mut command = bound::command(&self.program)?;
        command.arg(self.dir.path().join("server.conf")).envs(self.environment.clone());
        let mut group = Group::start("lock server", &mut command, self.dir.path())?;
        let waiting = Waiting::new("the private server answers", STARTED);
        while self.cmd(&["PING"]).await.is_err() {
            if group.has_ended() {
                let tail = group.log_tail();
                return Err(Failure::new(format!("{} ends: {tail}", self.program.display())));
            }
            waiting.on().await?;
        }
        self.group = Some(group);
        Ok(())
    }
}

/// Sends one command on a connection of its own, as the server may have been started anew, and gives the reply.
pub async fn command(
    port: u16,
    password: Option<&str>,
    words: &[&str],
) -> Result<redis::Value, Failure> {
    let mut command = redis::Cmd::new();
    words.iter().for_each(|word| {
        command.arg(*word);
    });
    let login = password.map_or_else(String::new, |password| format!(":{password}@"));
    let url = format!("redis://{login}127.0.0.1:{port}");
    // Only the command's name is told: its arguments may be tokens.
    let name = words.first().map_or_else(String::new, |word| (*word).to_owned());
    let asked = tokio::task::spawn_blocking(move || {
        let client = redis::Client::open(url)?;
        let mut connection = client.get_connection_with_timeout(ANSWER)?;
        connection.set_read_timeout(Some(ANSWER))?;
        connection.set_write_timeout(Some(ANSWER))?;
        command.query::<redis::Value>(&mut connection)
    });
    let answered = asked.await.map_err(|e| Failure::new(format!("{name}: {e}")))?;
    answered.map_err(|e| Failure::new(format!("{name} at 127.0.0.1:{port}: {e}")))
}
