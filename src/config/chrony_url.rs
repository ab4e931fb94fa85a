//! Reads `udp://HOST[:PORT]` and `unix:///PATH`: where a chronyd answers. Looks nothing up and opens nothing: a chronyd
//! may start after this program.

use std::path::PathBuf;

use super::checks::{Wrong, split_host_port};
use super::model::ChronyAddr;

/// chronyd's command port unless its `cmdport` says otherwise.
const PORT: u16 = 323;
/// What the kernel takes as a socket's path, without the zero at its end.
const MAX_PATH: usize = 107;

const EXAMPLE: &str = "write `udp://127.0.0.1:323` or `unix:///run/chrony/chronyd.sock`";

/// The address.
pub(super) fn parse(text: &str) -> Result<ChronyAddr, Wrong> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return wrong("not a URL", EXAMPLE);
    };
    match scheme.to_ascii_lowercase().as_str() {
        "udp" => udp(rest),
        "unix" => unix(rest),
        _ => wrong("the scheme is neither udp nor unix", EXAMPLE),
    }
}

fn udp(rest: &str) -> Result<ChronyAddr, Wrong> {
    if rest.contains('@') {
        return wrong("contains a user, and chronyd knows none", EXAMPLE);
    }
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    if authority.contains(['/', '?', '#']) {
        return wrong("has something behind the host and port", EXAMPLE);
    }
    match split_host_port(authority) {
        Some((host, port)) if !host.is_empty() => {
            Ok(ChronyAddr::Udp { host: host.to_owned(), port: port.unwrap_or(PORT) })
        }
        Some(_) => wrong("names no host", EXAMPLE),
        None if authority.matches(':').count() > 1 && !authority.starts_with('[') => {
            wrong("its host or port is not valid", "write an IPv6 address as `udp://[::1]:323`")
        }
        None => wrong("its host or port is not valid", EXAMPLE),
    }
}

fn unix(path: &str) -> Result<ChronyAddr, Wrong> {
    if !path.starts_with('/') {
        return wrong("a socket's path must be absolute", EXAMPLE);
    }
    if path.ends_with('/') {
        return wrong("names a directory, not a socket", EXAMPLE);
    }
    if path.contains('\0') {
        return wrong("has a zero byte in its path", EXAMPLE);
    }
    if path.len() > MAX_PATH {
        let fix = format!("the kernel takes {MAX_PATH} bytes: use a shorter path");
        return Err(("the socket's path is too long".into(), fix));
    }
    Ok(ChronyAddr::Unix(PathBuf::from(path)))
}

fn wrong<T>(reason: &str, fix: &str) -> Result<T, Wrong> {
    Err((reason.to_owned(), fix.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let udp = |host: &str, port| ChronyAddr::Udp { host: host.into(), port };
        for (text, addr) in [
            ("udp://127.0.0.1", udp("127.0.0.1", 323)),
            ("udp://10.0.0.5:1323", udp("10.0.0.5", 1323)),
            ("UDP://lock-1.example/", udp("lock-1.example", 323)),
            ("udp://[::1]", udp("::1", 323)),
            ("udp://[fe80::1%eth0]:9", udp("fe80::1%eth0", 9)),
            (
                "unix:///run/chrony/chronyd.sock",
                ChronyAddr::Unix("/run/chrony/chronyd.sock".into()),
            ),
        ] {
            assert_eq!(parse(text), Ok(addr), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "127.0.0.1",
            "tcp://h",
            "udp://",
            "udp://h:0",
            "udp://h:65536",
            "udp://h:x",
            "udp://::1",
            "udp://h/x",
            "udp://h?x",
            "udp://u@h",
            "udp://[::1",
            "udp://a b",
            "unix://run/x",
            "unix://",
            "unix:///",
            "unix:///run/",
            "unix:///a\0b",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&format!("unix:///{}", "x".repeat(106))).is_ok());
        assert!(parse(&format!("unix:///{}", "x".repeat(107))).is_err());
    }
}
