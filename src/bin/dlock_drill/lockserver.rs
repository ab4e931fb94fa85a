//! Connections to the lock server. It must not be used by the exporter, and it makes no keys: callers give them.

use std::str::FromStr;
use std::time::Duration;

use redis::{Connection, ConnectionInfo, FromRedisValue, IntoConnectionInfo};

use crate::failure::Failure;

/// Longest time to a connection, and longest wait for a reply.
const LIMIT: Duration = Duration::from_secs(1);
/// Where the password comes from; a flag would show it to everybody on the machine.
pub const PASSWORD: &str = "DLOCK_DRILL_PASSWORD";

/// Where a lock server is, as a flag says it: `host:port`, `/path`, or a URL.
#[derive(Clone, Debug)]
pub struct Address {
    text: String,
    info: ConnectionInfo,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let url = match text {
            _ if text.starts_with('/') => format!("redis+unix://{text}"),
            _ if text.contains("://") => text.replacen("valkey://", "redis://", 1),
            _ => format!("redis://{text}"),
        };
        if url.starts_with("rediss:") || url.starts_with("valkeys:") {
            return Err(
                "TLS is not spoken here; rehearse on a server, or a port of it, without TLS".into(),
            );
        }
        let info = url.as_str().into_connection_info().map_err(|e| {
            format!("it is host:port, redis://[user@]host:port[/db], or the path of a socket: {e}")
        })?;
        if info.redis_settings().password().is_some() {
            return Err(format!(
                "a password in a flag is seen by all on this machine; put it in {PASSWORD}"
            ));
        }
        let address = Self { text: text.into(), info };
        address.check_user(std::env::var(PASSWORD).is_ok())?;
        Ok(address)
    }
}

impl Address {
    /// As it was given; there is no password in it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Without a password the user would be passed over in silence, and `default` would write.
    fn check_user(&self, has_password: bool) -> Result<(), String> {
        match self.user() {
            Some(user) if !has_password => {
                Err(format!("it names the user {user}, and there is no password in {PASSWORD}"))
            }
            _ => Ok(()),
        }
    }

    /// The user, if one is named.
    pub fn user(&self) -> Option<&str> {
        self.info.redis_settings().username()
    }

    /// As the exporter's config wants it: without the user.
    pub fn url(&self) -> String {
        let db = match self.info.redis_settings().db() {
            0 => String::new(),
            n => format!("/{n}"),
        };
        match self.info.addr() {
            redis::ConnectionAddr::Unix(path) => format!("redis+unix://{}", path.display()),
            other => format!("redis://{other}{db}"),
        }
    }

    /// `host:port`, unless it is a Unix socket.
    pub fn tcp(&self) -> Option<String> {
        match self.info.addr() {
            redis::ConnectionAddr::Tcp(host, port) => Some(format!("{host}:{port}")),
            _ => None,
        }
    }

    /// A connection of the caller's own.
    pub fn connect(&self) -> Result<Server, redis::RedisError> {
        let mut settings = self.info.redis_settings().clone().set_skip_set_lib_name();
        if let Ok(password) = std::env::var(PASSWORD) {
            settings = settings.set_password(password);
        }
        let client = redis::Client::open(self.info.clone().set_redis_settings(settings))?;
        let connection = client.get_connection_with_timeout(LIMIT)?;
        connection.set_read_timeout(Some(LIMIT))?;
        connection.set_write_timeout(Some(LIMIT))?;
        Ok(Server { connection })
    }
}

/// One connection.
pub struct Server {
    connection: Connection,
}

impl Server {
    /// Sends one command.
    pub fn call<T: FromRedisValue>(&mut self, words: &[&str]) -> Result<T, redis::RedisError> {
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(*word);
        }
        command.query(&mut self.connection)
    }
}

/// A connection that is rebuilt when it broke.
pub struct Kept {
    address: Address,
    server: Option<Server>,
}

impl Kept {
    /// To that address, not yet.
    pub fn new(address: &Address) -> Self {
        Self { address: address.clone(), server: None }
    }

    /// Sends one command. A broken connection is left for the next call to make anew: to repeat a command could do it twice.
    pub fn call<T: FromRedisValue>(&mut self, words: &[&str]) -> Result<T, Failure> {
        let told = |e: redis::RedisError| {
            // A server's error names the command at most, never its arguments.
            Failure::new(format!("{}: {}: {e}", self.address.text(), words.first().unwrap_or(&"")))
        };
        if self.server.is_none() {
            self.server = Some(self.address.connect().map_err(told)?);
        }
        let Some(server) = self.server.as_mut() else { return Err(Failure::new("no connection")) };
        server.call(words).map_err(|error| {
            let failure = told(error);
            self.server = None;
            failure
        })
    }
}

/// The same for those that share threads with others, who must not wait with it for a server that hangs.
pub struct Asked {
    address: Address,
    kept: Option<Kept>,
}

impl Asked {
    /// At that address, not yet.
    pub fn new(address: &Address) -> Self {
        Self { address: address.clone(), kept: None }
    }

    /// Sends one command, as [`Kept::call`] does, on a thread where it may wait.
    pub async fn call<T: FromRedisValue + Send + 'static>(
        &mut self,
        words: &[&str],
    ) -> Result<T, Failure> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let mut kept = self.kept.take().unwrap_or_else(|| Kept::new(&self.address));
        let asked = tokio::task::spawn_blocking(move || {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let answer = kept.call(&words);
            (kept, answer)
        });
        let (kept, answer) = asked.await.map_err(|e| Failure::new(e.to_string()))?;
        self.kept = Some(kept);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_needs_a_password() {
        let of = |url: &str| {
            let info = url.into_connection_info().unwrap();
            Address { text: url.into(), info }
        };
        let named = of("redis://drill@10.0.0.1:6379");
        let told = named.check_user(false).unwrap_err();
        assert!(told.contains("drill") && told.contains(PASSWORD), "{told}");
        assert_eq!(named.check_user(true), Ok(()));
        assert_eq!(of("redis://10.0.0.1").check_user(false), Ok(()));
    }
}
