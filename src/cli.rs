//! The command line, with dotted flags as Prometheus exporters have them. Parses and checks flags; opens nothing but a
//! throw-away socket to learn whether this host has IPv6.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::LazyLock;

use clap::{Parser, ValueEnum};

use crate::config::Input;
pub use crate::logging::LogFormat;

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let revision = option_env!("DLOCK_REVISION").unwrap_or("unknown");
    format!("version {} (revision: {revision})", env!("CARGO_PKG_VERSION"))
});

const ABOUT: &str = "Watches distributed locks in Redis or Valkey and says when mutual exclusion can no longer be \
                     trusted.\nIt only reads.";

const AFTER: &str = "Every key of the file can be overridden in the environment: \
                     DLOCK__STORES__MAIN__LOCKS__0__LEASE=45s sets stores.main.locks[0].lease. Passwords come from \
                     files or from DLOCK__STORES__<NAME>__PASSWORD, never from a flag.\n\n\
                     Examples:\n  dlock_exporter --redis.url redis://127.0.0.1:6379 --lock.pattern 'lock:*'\n  \
                     dlock_exporter --config.file /etc/dlock_exporter/dlock.yml\n  \
                     dlock_exporter --config.file dlock.yml --config.check";

/// The flags. There is no `Debug`, because a URL may hold a password by mistake.
#[derive(Clone, Parser)]
#[command(name = "dlock_exporter", bin_name = "dlock_exporter", about = ABOUT, after_help = AFTER)]
#[command(version = VERSION.as_str(), disable_version_flag = true, max_term_width = 100)]
pub struct Cli {
    /// Configuration file (YAML)
    #[arg(long = "config.file", value_name = "FILE", help_heading = "Configuration")]
    pub config_file: Option<PathBuf>,

    /// Check the configuration, tell all mistakes in it, and exit with 0 if there are none
    #[arg(long = "config.check", help_heading = "Configuration")]
    pub config_check: bool,

    /// Redis or Valkey server to watch, for a start without a file; it is called `main`
    #[arg(long = "redis.url", value_name = "URL", help_heading = "Start without a file")]
    pub redis_url: Option<String>,

    /// SCAN pattern of the lock keys, for a start without a file; repeatable
    #[arg(long = "lock.pattern", value_name = "GLOB", help_heading = "Start without a file")]
    pub lock_patterns: Vec<String>,

    /// Which share of the locks to watch, counted from 0, where several exporters with the same configuration share them
    #[arg(long = "shard", value_name = "NUMBER", help_heading = "Sharing")]
    pub shard: Option<u32>,

    /// How many exporters share the locks
    #[arg(long = "total-shards", value_name = "NUMBER", help_heading = "Sharing")]
    pub total_shards: Option<u32>,

    /// Address to serve on: `:port` (all addresses), `host:port` or `[::1]:port`; repeatable
    #[arg(
        long = "web.listen-address",
        value_name = "ADDRESS",
        default_value = ":10121",
        help_heading = "Web"
    )]
    pub listen: Vec<ListenAddress>,

    /// TLS, passwords and headers of the web server (YAML as Prometheus' exporter-toolkit has it)
    #[arg(long = "web.config.file", value_name = "FILE", help_heading = "Web")]
    pub web_config_file: Option<PathBuf>,

    /// Path of the metrics
    #[arg(
        long = "web.telemetry-path",
        value_name = "PATH",
        default_value = "/metrics",
        help_heading = "Web"
    )]
    #[arg(value_parser = telemetry_path)]
    pub telemetry_path: String,

    /// Where procfs is mounted
    #[arg(
        long = "path.procfs",
        value_name = "DIR",
        default_value = "/proc",
        help_heading = "Host"
    )]
    pub procfs: PathBuf,

    /// Where the cgroup v2 hierarchy is mounted
    #[arg(
        long = "path.cgroupfs",
        value_name = "DIR",
        default_value = "/sys/fs/cgroup",
        help_heading = "Host"
    )]
    pub cgroupfs: PathBuf,

    /// Least severe messages that are logged
    #[arg(
        long = "log.level",
        value_name = "LEVEL",
        default_value = "info",
        help_heading = "Logging"
    )]
    pub log_level: LogLevel,

    /// Format of the log
    #[arg(
        long = "log.format",
        value_name = "FORMAT",
        default_value = "logfmt",
        help_heading = "Logging"
    )]
    pub log_format: LogFormat,

    /// Print version and revision
    #[arg(long = "version", action = clap::ArgAction::Version)]
    version: Option<bool>,
}

impl Cli {
    /// Reads the arguments, the program's name first. Help and version come as an `Err` of their own kind, as clap has
    /// it: its `print` writes them and its `exit_code` is 0.
    pub fn parse_args(
        args: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Self, clap::Error> {
        Self::try_parse_from(args)
    }

    /// What the configuration is to be made of.
    pub fn input(&self, env: Vec<(String, String)>) -> Input {
        Input {
            file: self.config_file.clone(),
            redis_url: self.redis_url.clone(),
            lock_patterns: self.lock_patterns.clone(),
            shard: self.shard,
            total_shards: self.total_shards,
            env,
        }
    }
}

/// Least severe messages that are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// Something is broken.
    Error,
    /// Something needs a look.
    Warn,
    /// Transitions.
    Info,
    /// Details for finding faults.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    /// The name that tracing's filters have for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress {
    /// Name or address, without brackets; all addresses of the host if absent.
    pub host: Option<String>,
    /// Port; 0 lets the system choose.
    pub port: u16,
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((host, port)) = text.rsplit_once(':') else {
            return Err(format!(
                "no port; write `:{text}` for a port or `{text}:10121` for a host"
            ));
        };
        let port = match port.parse() {
            Ok(number) if port.bytes().all(|b| b.is_ascii_digit()) => number,
            _ => return Err("the port must be a number from 0 to 65535".into()),
        };
        let host = match host.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
            Some(inner) if inner.parse::<Ipv6Addr>().is_ok() => inner,
            Some(_) => return Err("no IPv6 address in the brackets".into()),
            None if host.contains([':', '[', ']']) => {
                return Err("write an IPv6 address in brackets, such as `[::1]:10121`".into());
            }
            None if host.contains(|c: char| c.is_whitespace() || c == '/') => {
                return Err("the host must be a name or an address".into());
            }
            None => host,
        };
        Ok(Self { host: (!host.is_empty()).then(|| host.to_owned()), port })
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Some(host) if host.contains(':') => write!(f, "[{host}]:{}", self.port),
            Some(host) => write!(f, "{host}:{}", self.port),
            None => write!(f, ":{}", self.port),
        }
    }
}

impl ListenAddress {
    /// The socket addresses to bind. Without a host that is `[::]`, which takes IPv4 too on Linux, or `0.0.0.0` where
    /// there is no IPv6. A name may have several.
    pub fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        let Some(host) = &self.host else {
            let any: IpAddr = if has_ipv6() {
                Ipv6Addr::UNSPECIFIED.into()
            } else {
                Ipv4Addr::UNSPECIFIED.into()
            };
            return Ok(vec![SocketAddr::new(any, self.port)]);
        };
        let mut found: Vec<SocketAddr> = Vec::new();
        for address in (host.as_str(), self.port).to_socket_addrs()? {
            if !found.contains(&address) {
                found.push(address);
            }
        }
        if found.is_empty() {
            return Err(io::Error::other(format!("{host} has no address")));
        }
        Ok(found)
    }
}

/// Binding is the test that counts: the module may be there and switched off.
fn has_ipv6() -> bool {
    std::net::UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).is_ok()
}

fn telemetry_path(text: &str) -> Result<String, String> {
    let taken = text == "/" || ["/-/", "/api/", "/locks/"].iter().any(|p| text.starts_with(p));
    if !text.starts_with('/') {
        return Err(format!("it must begin with `/`: write `/{text}`"));
    }
    if taken {
        return Err("this path is taken; choose another, such as `/metrics`".into());
    }
    if !text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'-' | b'_' | b'.')) {
        return Err("use only letters, digits and / - _ .".into());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests;
