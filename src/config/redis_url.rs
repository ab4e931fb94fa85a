//! Reads `redis://`, `rediss://` and `redis+unix://` URLs. A URL may hold a password by mistake, so no message here
//! quotes any part of one.

use std::path::PathBuf;

use super::checks::{Wrong, split_host_port};
use super::model::{RedisAddr, RedisUrl};

/// Port where the URL names none.
const PORT: u16 = 6379;

/// How a URL looks.
const EXAMPLE: &str =
    "write `redis://host:6379/0`, `rediss://host:6379` or `redis+unix:///run/redis.sock?db=0`";

/// The URL's parts. `variable` is the environment variable that takes the password.
pub(super) fn parse(text: &str, variable: &str) -> Result<RedisUrl, Wrong> {
    parse_for(text, variable, PORT)
}

/// The same for servers that listen on another port by default.
pub(super) fn parse_for(text: &str, variable: &str, port: u16) -> Result<RedisUrl, Wrong> {
    let default = port;
    let Some((scheme, rest)) = text.split_once("://") else {
        return wrong("not a URL", EXAMPLE);
    };
    let tls = match scheme.to_ascii_lowercase().as_str() {
        "redis" | "valkey" => false,
        "rediss" | "valkeys" => true,
        "redis+unix" | "valkey+unix" | "unix" => return unix(rest, variable),
        _ => {
            return wrong(
                "the scheme is none of redis, rediss, redis+unix, valkey, valkeys",
                EXAMPLE,
            );
        }
    };
    // Searched in all of it: a password with a `/` in it must not be taken for a path.
    if let Some((user, _)) = rest.rsplit_once('@') {
        return Err(credentials(user, variable));
    }
    if rest.contains(['?', '#']) {
        return wrong(
            "has a `?` or `#` part, which means nothing here",
            "remove it; other settings are keys of the store",
        );
    }
    let (authority, db) = rest.split_once('/').unwrap_or((rest, ""));
    let Some((host, port)) = split_host_port(authority) else {
        return wrong("its host or port is not valid", EXAMPLE);
    };
    if host.is_empty() {
        return wrong("names no host", EXAMPLE);
    }
    let addr = RedisAddr::Tcp { host: host.to_owned(), port: port.unwrap_or(default) };
    Ok(RedisUrl { addr, tls, db: database(db)? })
}

fn unix(rest: &str, variable: &str) -> Result<RedisUrl, Wrong> {
    let (authority, _) = rest.split_once('/').unwrap_or((rest, ""));
    if let Some((user, _)) = authority.rsplit_once('@') {
        return Err(credentials(user, variable));
    }
    if !authority.is_empty() {
        return wrong("a socket's path must be absolute", "write `redis+unix:///run/redis.sock`");
    }
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    if path.len() < 2 {
        return wrong("names no socket", "write `redis+unix:///run/redis.sock`");
    }
    let db = match query.split_once('=') {
        None if query.is_empty() => "",
        Some(("db", db)) if !db.contains('&') => db,
        _ => {
            return wrong(
                "only `?db=` may follow a socket's path",
                format!("use `username`, and `password_file` or {variable}, for the rest"),
            );
        }
    };
    Ok(RedisUrl { addr: RedisAddr::Unix(PathBuf::from(path)), tls: false, db: database(db)? })
}

fn credentials(user: &str, variable: &str) -> Wrong {
    if user.contains(':') {
        (
            "contains a password, and URLs end up in process lists and logs".into(),
            format!(
                "take the part before `@` out; use `username`, and `password_file` or {variable} in the environment"
            ),
        )
    } else {
        (
            "contains a user".into(),
            "take the part before `@` out and set the store's `username` instead".into(),
        )
    }
}

fn database(text: &str) -> Result<u32, Wrong> {
    let text = text.strip_suffix('/').unwrap_or(text);
    if text.is_empty() {
        return Ok(0);
    }
    match text.parse() {
        Ok(db) if text.bytes().all(|b| b.is_ascii_digit()) => Ok(db),
        _ => wrong("its database is not a number", EXAMPLE),
    }
}

fn wrong<T>(reason: &str, fix: impl Into<String>) -> Result<T, Wrong> {
    Err((reason.to_owned(), fix.into()))
}
