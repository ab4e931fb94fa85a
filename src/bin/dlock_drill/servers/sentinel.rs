//! Private sentinels that watch a private primary. They must not be pointed at a server that the drill did not start:
//! what they do to one is a failover.

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::redis::{Server, command};
use super::wait::{Waiting, at, private_dir};
use crate::bound;
use crate::children::Group;
use crate::failure::Failure;
use crate::private::free_port;

const STARTED: Duration = Duration::from_secs(20);

/// The name by which they know the primary.
pub const MASTER: &str = "locks";

/// A running sentinel.
pub struct Sentinel {
    port: u16,
    password: String,
    _group: Group,
    _dir: TempDir,
}

impl Sentinel {
    /// By the program of a server. Two of them have to agree that the primary is down, which it is after a second.
    pub async fn watch(program: &Path, primary: &Server, password: &str) -> Result<Self, Failure> {
        let (port, dir) = (free_port()?, private_dir()?);
        let text = format!(
            "port {port}\nbind 127.0.0.1\ndir {dir:?}\nrequirepass {password}\nsentinel sentinel-pass {password}\n\
             sentinel monitor {MASTER} 127.0.0.1 {primary} 2\nsentinel auth-pass {MASTER} {password}\n\
             sentinel down-after-milliseconds {MASTER} 1000\nsentinel failover-timeout {MASTER} 5000\n",
            dir = dir.path().display().to_string(),
            primary = primary.port(),
        );
        let file = dir.path().join("sentinel.conf");
        std::fs::write(&file, text).map_err(|e| at(&file, e))?;
        let mut start = bound::command(program)?;
        start.arg(&file).arg("--sentinel");
        let mut group = Group::start("sentinel", &mut start, dir.path())?;
        let waiting = Waiting::new("the private sentinel answers", STARTED);
        while command(port, Some(password), &["PING"]).await.is_err() {
            if group.has_ended() {
                return Err(Failure::new(format!("the sentinel ends: {}", group.log_tail())));
            }
            waiting.on().await?;
        }
        Ok(Self { port, password: password.into(), _group: group, _dir: dir })
    }

    /// `redis://host:port`, without the password.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    async fn cmd(&self, words: &[&str]) -> Result<redis::Value, Failure> {
        command(self.port, Some(&self.password), words).await
    }

    /// The port of the primary that it names.
    pub async fn names(&self) -> Result<u16, Failure> {
        let reply = self.cmd(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER]).await?;
        let named = redis::from_redis_value::<(String, u16)>(reply);
        named.map(|(_, port)| port).map_err(|e| Failure::new(format!("{}: {e}", self.url())))
    }

    /// How many of these it knows and can reach: `REPLICAS` or `SENTINELS`.
    pub async fn knows(&self, whom: &str) -> Result<usize, Failure> {
        let reply = self.cmd(&["SENTINEL", whom, MASTER]).await?;
        Ok(redis::from_redis_value::<Vec<redis::Value>>(reply).map_or(0, |all| all.len()))
    }
}
