//! From an address to a connection that may be used: stream, protocol, credentials, name, database. All of it within the
//! store's `connect_timeout`. Must not let the password into an error: servers that do not know HELLO quote it back.

use std::path::Path;
use std::sync::Arc;

use redis::Value;
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::ability::{Abilities, Ability};
use super::codec::{Item, Walk};
use super::conn::Conn;
use super::dial::dial;
use super::failure::{Failure, first_word, is_full, is_noperm, is_unknown};
use super::info;
use crate::config::{Password, RedisAddr, Store, Topology};
use crate::observe::node::FailReason;
use crate::poll::names;
use crate::secret::Secret;

/// The name that `CLIENT LIST` shows for us.
pub(super) const CLIENT_NAME: &[u8] = b"dlock_exporter";
/// Where sentinels listen if nobody says otherwise.
const SENTINELS_PORT: u16 = 26_379;
/// Largest password file; a larger one is something else.
const MAX_PASSWORD: u64 = 64 << 10;

/// What a server said of itself in the handshake; empty fields where it spoke RESP2.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hello {
    /// `redis` or `valkey`.
    pub server: String,
    /// Its version.
    pub version: String,
    /// `standalone`, `sentinel` or `cluster`.
    pub mode: String,
    /// The database that was selected; no server says it.
    pub db: u32,
}

impl Hello {
    /// Whether `INFO` takes several sections at once (7.0), as far as that is known.
    pub fn has_info_sections(&self) -> bool {
        self.server == "valkey" || version_at_least(&self.version, 7, 0)
    }
}

/// Whether a version such as `7.0.15` is at least `major.minor`.
pub fn version_at_least(version: &str, major: u32, minor: u32) -> bool {
    let mut parts = version.split('.').map_while(|p| p.parse::<u32>().ok());
    parts.next().is_some_and(|a| (a, parts.next().unwrap_or(0)) >= (major, minor))
}

/// Connects and makes the connection usable.
pub async fn connect(
    store: &Arc<Store>,
    addr: &RedisAddr,
    abilities: &mut Abilities,
) -> Result<(Conn, Hello), Failure> {
    let limit = store.connect_timeout;
    match timeout(limit, establish(store, addr, abilities)).await {
        Ok(done) => done.map_err(|failure| at_sentinels_port(failure, store, addr)),
        // A plain Redis waits for the end of a line in what TLS sends it.
        Err(_) if store.url.tls => {
            let what = "connecting (does the server speak TLS on this port?)";
            Err(Failure::timeout(what, limit, "connect_timeout"))
        }
        Err(_) => Err(match addr {
            RedisAddr::Tcp { host, .. } if names::is_asked_for(host) => {
                let shown = humantime::format_duration(limit);
                let detail = format!(
                    "the name {host} was not resolved in {shown} (does the name server answer?)"
                );
                Failure::new(FailReason::Dns, detail)
            }
            _ => Failure::timeout("connecting", limit, "connect_timeout"),
        }),
    }
}

async fn establish(
    store: &Arc<Store>,
    addr: &RedisAddr,
    abilities: &mut Abilities,
) -> Result<(Conn, Hello), Failure> {
    abilities.connecting();
    let password = password(&store.password).await?;
    let (stream, local) = dial(addr, store.url.tls.then_some(&store.tls)).await?;
    // The connect timeout is around all of this, so the replies need no timeout of their own.
    let mut conn = Conn::new(stream, local, store.connect_timeout.saturating_mul(2));
    let user = store.username.as_deref();
    let mut hello = None;
    if abilities.worth_trying("hello") {
        let said = say_hello(&mut conn, user, password.as_ref(), abilities).await;
        hello = said.map_err(|failure| cut_off(failure, store.url.tls))?;
    }
    if hello.is_none() {
        authenticate(&mut conn, user, password.as_ref()).await?;
        set_name(&mut conn, abilities).await?;
    }
    if store.url.db != 0 {
        select(&mut conn, store.url.db).await?;
    }
    conn.set_limit(store.response_timeout);
    Ok((conn, Hello { db: store.url.db, ..hello.unwrap_or_default() }))
}

/// A sentinel has users of its own, and what refuses ours may be one.
fn at_sentinels_port(mut failure: Failure, store: &Store, addr: &RedisAddr) -> Failure {
    let is_usual = matches!(addr, RedisAddr::Tcp { port: SENTINELS_PORT, .. });
    let is_known = matches!(store.topology, Topology::Sentinel(_));
    if failure.reason == FailReason::Auth && is_usual && !is_known {
        failure.detail.push_str(
            "; if this is a sentinel, set `topology: sentinel`, and its own user under `sentinel`",
        );
    }
    failure
}

/// A server that closes the connection at our first word may have expected TLS.
fn cut_off(mut failure: Failure, is_tls: bool) -> Failure {
    if failure.reason == FailReason::Network && !is_tls {
        failure.detail.push_str("; if this port speaks TLS, write the url with rediss://");
    }
    failure
}

/// RESP3 with credentials in one round trip; `None` where the server does not have it.
async fn say_hello(
    conn: &mut Conn,
    user: Option<&str>,
    password: Option<&Secret>,
    abilities: &mut Abilities,
) -> Result<Option<Hello>, Failure> {
    let mut args: Vec<&[u8]> = vec![b"HELLO", b"3"];
    if user.is_some() || password.is_some() {
        let secret = password.map_or("", |p| p.reveal());
        args.extend([b"AUTH".as_slice(), user.unwrap_or("default").as_bytes(), secret.as_bytes()]);
    }
    args.extend([b"SETNAME".as_slice(), CLIENT_NAME]);
    let (value, _) = conn.call(&args).await?;
    if let Some(Item::Error(error)) = Walk::new(conn.reply(0)).next() {
        return match first_word(error) {
            b"ERR" | b"NOPROTO" | b"NOPERM" if !is_full(error) => {
                abilities.set("hello", Ability::from_error(error));
                Ok(None)
            }
            // A proxy that looks for AUTH before it looks at HELLO.
            b"NOAUTH" if password.is_some() => Ok(None),
            _ => Err(Failure::server_secret("HELLO", error)),
        };
    }
    let Value::Map(entries) = value else { return Err(Failure::unexpected("HELLO")) };
    abilities.set("hello", Ability::Works);
    let text = |name: &str| {
        let found = entries.iter().find(|(k, _)| is_text(k, name)).map(|(_, v)| v);
        let found = found.and_then(|v| redis::from_redis_value_ref::<String>(v).ok());
        info::word(&found.unwrap_or_default())
    };
    let (server, version, mode) = (text("server"), text("version"), text("mode"));
    Ok(Some(Hello { server, version, mode, db: 0 }))
}

fn is_text(value: &Value, text: &str) -> bool {
    match value {
        Value::BulkString(b) => b == text.as_bytes(),
        Value::SimpleString(s) => s == text,
        _ => false,
    }
}

async fn authenticate(
    conn: &mut Conn,
    user: Option<&str>,
    password: Option<&Secret>,
) -> Result<(), Failure> {
    if user.is_none() && password.is_none() {
        return Ok(());
    }
    let secret = password.map_or("", |p| p.reveal()).as_bytes();
    match user {
        Some(user) => conn.call(&[b"AUTH", user.as_bytes(), secret]).await?,
        None => conn.call(&[b"AUTH", secret]).await?,
    };
    match conn.walk(0).next() {
        Some(Item::Simple(_)) => Ok(()),
        Some(Item::Error(error)) => {
            let mut failure = Failure::server_secret("AUTH", error);
            if failure.reason == FailReason::Other || is_unknown(error) {
                failure.reason = FailReason::Auth;
            }
            Err(failure)
        }
        _ => Err(Failure::unexpected("AUTH")),
    }
}

/// A name is a courtesy to whoever reads CLIENT LIST. All servers have had it for long: who refuses it took it away.
async fn set_name(conn: &mut Conn, abilities: &mut Abilities) -> Result<(), Failure> {
    if abilities.worth_trying("client|setname") {
        conn.call(&[b"CLIENT", b"SETNAME", CLIENT_NAME]).await?;
        match conn.walk(0).next() {
            Some(Item::Error(_)) => abilities.refuse("client|setname"),
            _ => abilities.set("client|setname", Ability::Works),
        }
    }
    Ok(())
}

async fn select(conn: &mut Conn, db: u32) -> Result<(), Failure> {
    conn.call(&[b"SELECT", db.to_string().as_bytes()]).await?;
    match conn.walk(0).next() {
        Some(Item::Simple(_)) => Ok(()),
        Some(Item::Error(error)) if is_noperm(error) => {
            Err(Failure::new(FailReason::Permission, format!("the ACL user may not SELECT {db}")))
        }
        Some(Item::Error(error)) => Err(Failure::server(&format!("SELECT {db}"), error)),
        _ => Err(Failure::unexpected("SELECT")),
    }
}

/// The password as it is now.
async fn password(source: &Password) -> Result<Option<Secret>, Failure> {
    match source {
        Password::None => Ok(None),
        Password::Value(secret) => Ok(Some(secret.clone())),
        Password::File(path) => read_password(path).await.map(Some),
    }
}

async fn read_password(path: &Path) -> Result<Secret, Failure> {
    let failed = |why: String| {
        let detail = format!("password_file {}: {why}", path.display());
        Failure::new(FailReason::Auth, detail)
    };
    let mut bytes = Vec::new();
    let file = File::open(path).await.map_err(|e| failed(e.to_string()))?;
    let read = file.take(MAX_PASSWORD + 1).read_to_end(&mut bytes).await;
    if read.map_err(|e| failed(e.to_string()))? as u64 > MAX_PASSWORD {
        return Err(failed("larger than 64 KiB, which no password is".to_owned()));
    }
    // The error would quote the bytes.
    let text = String::from_utf8(bytes).map_err(|_| failed("not UTF-8 text".to_owned()))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(Secret::new(text.strip_suffix('\r').unwrap_or(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        assert!(version_at_least("7.0.15", 7, 0));
        assert!(version_at_least("10.1", 7, 2));
        assert!(!version_at_least("7.0.15", 7, 2));
        assert!(!version_at_least("6.2.5", 7, 0));
        assert!(!version_at_least("", 0, 0));
        assert!(
            Hello { server: "valkey".into(), version: "1".into(), ..Hello::default() }
                .has_info_sections()
        );
    }

    #[tokio::test]
    async fn a_password_files_line_end_is_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pw");
        for (content, want) in [("a b\n", "a b"), ("a\r\n", "a"), ("a\n\n", "a\n"), ("", "")] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(read_password(&path).await.unwrap().reveal(), want);
        }
        let missing = read_password(&dir.path().join("none")).await.unwrap_err();
        assert_eq!(missing.reason, FailReason::Auth);
        assert!(missing.detail.contains("none"), "{}", missing.detail);
    }
}
