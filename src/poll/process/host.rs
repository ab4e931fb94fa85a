//! Whether a host named in a token is this one. Names only: nothing is resolved.

use std::net::IpAddr;

/// What a token's host says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// This host.
    Here,
    /// Another host.
    Elsewhere,
    /// Nothing: no host, or a name that every host has.
    Nowhere,
}

/// This host's name.
pub fn own() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Compares case-insensitively; a short name equals a full one that begins with it.
pub fn names(token: Option<&str>, own: &str) -> Named {
    let token = token.unwrap_or_default().trim_end_matches('.');
    let own = own.trim_end_matches('.');
    if token.is_empty() || own.is_empty() || token.eq_ignore_ascii_case("localhost") {
        return Named::Nowhere;
    }
    let is_addr = token.parse::<IpAddr>().is_ok();
    let both_full = token.contains('.') && own.contains('.');
    let same = if both_full || is_addr {
        token.eq_ignore_ascii_case(own)
    } else {
        label(token).eq_ignore_ascii_case(label(own))
    };
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
            (Some("WEB-1.example.com"), "web-1", Named::Here),
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
}
