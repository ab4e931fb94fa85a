//! Whether a host named in a token is this one. Names only: nothing is resolved.

use std::fs::File;
use std::io::Read;
use std::net::IpAddr;

/// Bytes that are read of `/etc/hosts`.
const MAX_HOSTS: u64 = 64 * 1024;

/// What a token's host says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// This host.
    Here,
    /// Another host, as far as is known.
    Elsewhere,
    /// Nothing: no host, or a name that every host has.
    Nowhere,
}

/// This host's name, the full one where it is known: the node's name, or what `/etc/hosts` calls it.
pub fn own() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mut hosts = String::new();
    let read = File::open("/etc/hosts").and_then(|f| f.take(MAX_HOSTS).read_to_string(&mut hosts));
    match read {
        Ok(_) => full(&hosts, &name).map_or(name, str::to_owned),
        Err(_) => name,
    }
}

/// The full name that this host's loopback addresses have beside the short one. Other lines are about other hosts.
pub fn full<'a>(hosts: &'a str, name: &str) -> Option<&'a str> {
    if name.is_empty() || name.contains('.') {
        return None;
    }
    let lines = hosts.lines().map(|line| line.split('#').next().unwrap_or(line).split_whitespace());
    let mut found = lines.filter_map(|mut words| {
        let is_own = words.next()?.parse::<IpAddr>().is_ok_and(|addr| addr.is_loopback());
        let is_full = |w: &&str| w.contains('.') && label(w).eq_ignore_ascii_case(name);
        is_own.then_some(words)?.find(is_full)
    });
    // Two different ones tell nothing.
    let first = found.next()?;
    found.all(|other| other.eq_ignore_ascii_case(first)).then_some(first)
}

/// Compares case-insensitively. A short name in a token is that of every host with this first label; a full one is this
/// host only where this host's full name is known to be that, as other networks have hosts of the same first label.
pub fn names(token: Option<&str>, own: &str) -> Named {
    let token = token.unwrap_or_default().trim_end_matches('.');
    let own = own.trim_end_matches('.');
    if token.is_empty() || own.is_empty() || token.eq_ignore_ascii_case("localhost") {
        return Named::Nowhere;
    }
    let is_full = token.contains('.');
    let same = token.eq_ignore_ascii_case(if is_full { own } else { label(own) });
    if same { Named::Here } else { Named::Elsewhere }
}

fn label(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_full_names_meet() {
        for (token, own, want) in [
            (Some("web-1"), "web-1", Named::Here),
            (Some("WEB-1"), "web-1", Named::Here),
            (Some("web-1.dc2.other.example"), "web-1", Named::Elsewhere),
            (Some("web-1."), "web-1", Named::Here),
            (Some("web-1.example"), "web-1.example.com", Named::Elsewhere),
            (Some("web-1"), "web-1.example.com", Named::Here),
            (Some("web-1.a.example"), "web-1.b.example", Named::Elsewhere),
            (Some("web-1.a.example."), "WEB-1.a.example", Named::Here),
            (Some("web-10"), "web-1", Named::Elsewhere),
            (Some("10.0.0.5"), "10", Named::Elsewhere),
            (Some("localhost"), "web-1", Named::Nowhere),
            (Some(""), "web-1", Named::Nowhere),
            (None, "web-1", Named::Nowhere),
        ] {
            assert_eq!(names(token, own), want, "{token:?} {own}");
        }
    }

    #[test]
    fn the_full_name_is_the_one_of_the_loopback_address() {
        let of = |hosts| full(hosts, "vm");
        assert_eq!(
            of("127.0.0.1 localhost\n127.0.1.1 VM.a.example vm # mine\n"),
            Some("VM.a.example")
        );
        assert_eq!(of("::1\tvm vm.a.example\n127.0.0.1 vm.A.example"), Some("vm.a.example"));
        for none in [
            "",
            "10.0.0.5 vm.a.example vm",
            "127.0.0.1 localhost vm\n",
            "127.0.0.1 vm2.a.example # vm.a.example",
            "127.0.0.1 vm.a.example\n127.0.1.1 vm.b.example",
        ] {
            assert_eq!(of(none), None, "{none}");
        }
        assert_eq!(full("127.0.0.1 vm.a.example.com", "vm.a"), None);
    }
}
