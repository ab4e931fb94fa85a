//! Why talking to a server failed: a reason from the closed list for a label, and a sentence for the log that says what
//! to do. Must not carry what we sent: servers and proxies quote our arguments, the password among them, and not only in
//! answer to the command that had it.

use std::io;
use std::time::Duration;

use super::codec::Malformed;
use crate::observe::label;
use crate::observe::node::FailReason;
use crate::secret;

/// A replica whose link is down, with `replica-serve-stale-data no`.
pub const MASTERDOWN: &[u8] = b"MASTERDOWN";

/// A failed exchange with a server.
#[derive(Clone, Debug)]
pub struct Failure {
    /// For a label.
    pub reason: FailReason,
    /// For the log, without secrets.
    pub detail: String,
    /// A replica that answers no reads until its primary is back: each one would be an error in its statistics.
    pub awaits_link: bool,
}

impl Failure {
    /// A failure with its explanation.
    pub fn new(reason: FailReason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into(), awaits_link: false }
    }

    /// The server answered `command` by an error. Quotes the error.
    pub fn server(command: &str, error: &[u8]) -> Self {
        Self::refused(command, error, &quoted(error))
    }

    /// As [`Failure::server`], for a command whose arguments are secret: quotes the first word of the error only.
    pub fn server_secret(command: &str, error: &[u8]) -> Self {
        Self::refused(command, error, &quoted(first_word(error)))
    }

    fn refused(command: &str, error: &[u8], quoted: &str) -> Self {
        let (reason, fix) = classify(error);
        let detail = format!("{command} was answered by `{quoted}`: {fix}");
        Self { awaits_link: first_word(error) == MASTERDOWN, ..Self::new(reason, detail) }
    }

    /// No answer in time.
    pub fn timeout(what: &str, limit: Duration, key: &str) -> Self {
        let detail = format!(
            "{what} took longer than {}; raise {key} if the server is only slow",
            humantime::format_duration(limit)
        );
        Self::new(FailReason::Timeout, detail)
    }

    /// The connection broke.
    pub fn io(what: &str, error: &io::Error) -> Self {
        use io::ErrorKind as K;
        let (reason, fix) = match error.kind() {
            K::ConnectionRefused | K::NotFound => {
                (FailReason::Refused, "is the server running, and is its address right?")
            }
            K::PermissionDenied => (FailReason::Permission, "may this user open the socket?"),
            K::InvalidData => (
                FailReason::Tls,
                "does the server speak TLS on this port, and accept our certificate?",
            ),
            K::TimedOut => (FailReason::Timeout, "is the host reachable?"),
            K::UnexpectedEof => (
                FailReason::Network,
                "the server closed the connection; is it restarting, or at its maxclients?",
            ),
            _ => {
                (FailReason::Network, "is the host reachable, and does a firewall cut connections?")
            }
        };
        Self::new(reason, format!("{what}: {error} ({fix})"))
    }

    /// Something that is not RESP.
    pub fn malformed(error: Malformed) -> Self {
        Self::new(
            FailReason::Protocol,
            format!("{error}; is this a Redis or Valkey server, and is TLS set as it is there?"),
        )
    }

    /// A reply that is RESP but not what the command returns.
    pub fn unexpected(command: &str) -> Self {
        Self::new(
            FailReason::Protocol,
            format!("{command} was not answered as documented; does a proxy stand between?"),
        )
    }
}

/// What a server says, as it may be kept: every error that is quoted comes by here.
pub fn quoted(error: &[u8]) -> String {
    label::text(&secret::blot(error))
}

/// Up to the first space.
pub fn first_word(error: &[u8]) -> &[u8] {
    error.split(|b| *b == b' ').next().unwrap_or(error)
}

/// What an error reply means, by its first word and never by its prose, which differs between servers.
fn classify(error: &[u8]) -> (FailReason, &'static str) {
    match first_word(error) {
        b"NOAUTH" => (FailReason::Auth, "set password_file (and username) of this store"),
        b"WRONGPASS" => (FailReason::Auth, "check username and password of this store"),
        b"NOPERM" => (
            FailReason::Permission,
            "the ACL user lacks a right; the README has the line that grants what is needed",
        ),
        b"DENIED" => {
            (FailReason::Permission, "the server is in protected mode; give it a password")
        }
        b"LOADING" => (FailReason::NotReady, "the server loads its data; waiting"),
        b"BUSY" => (FailReason::NotReady, "a script blocks the server; all its clients wait"),
        MASTERDOWN => {
            (FailReason::NotReady, "a replica without its primary does not answer reads; waiting")
        }
        b"CLUSTERDOWN" => (FailReason::NotReady, "the cluster does not serve; waiting"),
        b"OOM" => (
            FailReason::NotReady,
            "the server is at its maxmemory and refuses even reads; does a proxy stand between?",
        ),
        b"TRYAGAIN" => (FailReason::NotReady, "the cluster moves this slot; waiting"),
        _ if is_unknown(error) => (
            FailReason::Permission,
            "the server has no such command: an old version, a proxy, or its provider took it away",
        ),
        _ if is_full(error) => (FailReason::NotReady, "the server is at its maxclients; waiting"),
        _ => (FailReason::Other, "not an answer this program knows"),
    }
}

/// The one error without a word of its own that says to come back later.
pub fn is_full(error: &[u8]) -> bool {
    error.starts_with(b"ERR max number of clients")
}

/// Whether the ACL refused, be it the command or the key.
pub fn is_noperm(error: &[u8]) -> bool {
    first_word(error) == b"NOPERM"
}

/// Whether the ACL refused the command itself, so that other keys fare no better.
pub fn is_noperm_command(error: &[u8]) -> bool {
    is_noperm(error) && error.windows(10).any(|w| w == b"to run the")
}

/// Whether the server has no such command: an older one, one whose provider took it away or gave it another name, or a
/// proxy. Before 7.0 the word for a subcommand begins with a capital letter.
pub fn is_unknown(error: &[u8]) -> bool {
    let begins =
        |with: &[u8]| error.get(..with.len()).is_some_and(|e| e.eq_ignore_ascii_case(with));
    begins(b"ERR unknown command") || begins(b"ERR unknown subcommand")
}

/// Whether the command is not to be had, whatever the key: refused by the ACL, or not there at all.
pub fn is_no_command(error: &[u8]) -> bool {
    is_noperm_command(error) || is_unknown(error)
}

/// Whether the whole server is not ready, whatever the key.
pub fn is_not_ready(error: &[u8]) -> bool {
    classify(error).0 == FailReason::NotReady
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_by_their_first_word() {
        let reason = |e: &[u8]| Failure::server("GET", e).reason;
        assert_eq!(reason(b"NOAUTH Authentication required."), FailReason::Auth);
        assert_eq!(reason(b"WRONGPASS invalid username-password pair"), FailReason::Auth);
        assert_eq!(reason(b"NOPERM No permissions to access a key"), FailReason::Permission);
        assert_eq!(reason(b"OOM command not allowed"), FailReason::NotReady);
        assert_eq!(reason(b"LOADING Valkey is loading"), FailReason::NotReady);
        assert_eq!(reason(b"BUSY Redis is busy"), FailReason::NotReady);
        assert_eq!(reason(b"MASTERDOWN Link with MASTER is down"), FailReason::NotReady);
        assert_eq!(reason(b"ERR max number of clients reached"), FailReason::NotReady);
        assert_eq!(reason(b"ERR syntax error"), FailReason::Other);
        assert_eq!(reason(b""), FailReason::Other);
    }

    #[test]
    fn a_secret_commands_error_is_not_quoted() {
        let e =
            b"ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `u`, `hunter2`";
        assert!(!Failure::server_secret("HELLO", e).detail.contains("hunter2"));
        assert!(Failure::server("HELLO", e).detail.contains("unknown command"));
    }

    #[test]
    fn refused_command_and_refused_key_differ() {
        let old = b"NOPERM this user has no permissions to run the 'mget' command";
        assert!(is_noperm_command(old));
        assert!(is_noperm_command(b"NOPERM User x has no permissions to run the 'mget' command"));
        assert!(!is_noperm_command(b"NOPERM No permissions to access a key"));
        for unknown in [
            &b"ERR unknown command `MGET`, with args beginning with: `a`, "[..],
            b"ERR unknown command 'MGET', with args beginning with: 'a' ",
            b"ERR Unknown subcommand or wrong number of arguments for 'no-touch'. Try CLIENT HELP.",
            b"ERR unknown subcommand 'no-touch'. Try CLIENT HELP.",
        ] {
            assert!(is_unknown(unknown) && is_no_command(unknown));
        }
        assert!(!is_no_command(b"ERR syntax error") && is_no_command(old));
    }
}
