//! Why a clock could not be read, as a reason for a label and a sentence that says what to do. The table of what each
//! failure means was measured against real daemons; a silence has the most causes, so it names them.

use std::io;

use super::codec::Wrong;
use super::exchange::NoAnswer;
use crate::observe::clock::ClockFailed;
use crate::observe::node::FailReason;

/// A failure with its explanation.
pub fn failed(reason: FailReason, detail: impl Into<String>) -> ClockFailed {
    ClockFailed { reason, detail: detail.into() }
}

/// What an exchange over UDP came to.
pub fn udp(at: &str, why: NoAnswer) -> ClockFailed {
    match why {
        NoAnswer::Io(error) => udp_error(at, &error),
        NoAnswer::Silence(0) => failed(
            FailReason::Timeout,
            format!(
                "timeout: chronyd not answering; is cmdallow/bindcmdaddress set? ({at}; also silent: a stopped \
                 chronyd, a firewall)"
            ),
        ),
        other => not_chrony(at, other),
    }
}

/// What the socket says about UDP.
fn udp_error(at: &str, error: &io::Error) -> ClockFailed {
    use io::ErrorKind as K;
    let (reason, fix) = match error.kind() {
        K::ConnectionRefused => (
            FailReason::Refused,
            "nothing listens there: is chronyd running, and is this its cmdport and bindcmdaddress?",
        ),
        K::PermissionDenied => {
            (FailReason::Permission, "this host's firewall or its rules for this process forbid it")
        }
        K::HostUnreachable | K::NetworkUnreachable | K::NetworkDown | K::AddrNotAvailable => (
            FailReason::Network,
            "there is no way to that address from here: is it right, and is IPv6 on if it is one of that?",
        ),
        _ => (FailReason::Network, "is the host reachable?"),
    };
    failed(reason, format!("{at}: {error} ({fix})"))
}

/// What an exchange over chronyd's socket came to; `own` says where ours is.
pub fn unix(at: &str, own: &str, why: NoAnswer) -> ClockFailed {
    match why {
        NoAnswer::Io(error) => unix_error(at, &error),
        NoAnswer::Silence(0) => failed(
            FailReason::Timeout,
            format!(
                "timeout: chronyd not answering on {at}; is it stopped, or kept from writing to this exporter's \
                 socket in {own} (another mount namespace, PrivateTmp, SELinux, AppArmor)? udp://127.0.0.1 needs none of that"
            ),
        ),
        other => not_chrony(at, other),
    }
}

/// What the kernel says about chronyd's socket.
pub fn unix_error(at: &str, error: &io::Error) -> ClockFailed {
    use io::ErrorKind as K;
    let (reason, fix) = match error.kind() {
        K::NotFound => (
            FailReason::Missing,
            "is chronyd running, and is this its bindcmdaddress? It also closes its socket where the owner of the directory is wrong",
        ),
        K::ConnectionRefused => {
            (FailReason::Refused, "a chronyd that is gone left it behind: is one running?")
        }
        K::PermissionDenied => (
            FailReason::Permission,
            "run the exporter as root or as chronyd's user, or use udp://127.0.0.1",
        ),
        _ if is_of_another_type(error) => {
            (FailReason::Protocol, "this is not chronyd's datagram socket")
        }
        K::ConnectionReset | K::NotConnected | K::BrokenPipe => {
            (FailReason::Network, "chronyd went away while it was asked")
        }
        _ => (FailReason::Other, "is this chronyd's socket?"),
    };
    failed(reason, format!("{at}: {error} ({fix})"))
}

fn is_of_another_type(error: &io::Error) -> bool {
    rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::PROTOTYPE)
}

fn not_chrony(at: &str, why: NoAnswer) -> ClockFailed {
    match why {
        NoAnswer::Wrong(Wrong::Status(status)) => refused(at, status),
        NoAnswer::Wrong(wrong) => failed(
            FailReason::Protocol,
            format!("{at}: {wrong}; is this a chronyd of version 2 or later?"),
        ),
        NoAnswer::Flood | NoAnswer::Silence(_) => failed(
            FailReason::Protocol,
            format!(
                "{at}: what comes from there answers nothing that was asked; is this chronyd's command port?"
            ),
        ),
        NoAnswer::Io(error) => failed(FailReason::Network, format!("{at}: {error}")),
    }
}

fn refused(at: &str, status: u16) -> ClockFailed {
    let (reason, words) = match status {
        1 => (FailReason::Other, "it failed"),
        2 => (FailReason::Permission, "not authorised; does its opencommands lack `tracking`?"),
        3 => (FailReason::Protocol, "it does not know `tracking`"),
        6 => (FailReason::Other, "not enabled"),
        18 => (FailReason::Protocol, "it speaks another version of the protocol"),
        19 => (FailReason::Protocol, "it expects another length of request"),
        _ => (FailReason::Protocol, "its log may say why"),
    };
    failed(reason, format!("{at}: chronyd refused with status {status}: {words}"))
}
