//! Tells variables that were meant for this program and miss the prefix `DLOCK__` from those of others: one that is
//! passed over in silence leaves a password or a lease unset. Looks at names only.

use super::env::{Wrong, normal, strip};
use super::mistake::closest;
use super::schema::TOP;

/// Beginnings, after `DLOCK_`, of names that belong to this program's own build and tests.
const OTHERS: &[&str] = &["exporter", "test", "revision", "drill"];

/// What is wrong with the name of a variable that is not ours but was probably meant to be. Other programs have
/// variables that begin with `DLOCK_`, and an orchestrator makes some for a service of that name: these are let be.
pub(super) fn check(name: &str) -> Option<Wrong> {
    let (prefix, written) = name.split_at_checked("DLOCK_".len())?;
    let rest = normal(written);
    let other = OTHERS.iter().any(|o| rest.starts_with(o)) || of_a_service(&rest);
    if !prefix.eq_ignore_ascii_case("DLOCK_") || strip(name).is_some() || other {
        return None;
    }
    let known = || TOP.keys.iter().map(|k| k.name);
    let whole = known().chain(TOP.later.iter().copied()).any(|n| n == rest) || rest.contains("__");
    let begins = known().any(|n| rest.strip_prefix(n).is_some_and(|r| r.starts_with('_')));
    let nearly = rest.split_once('_').is_some_and(|(head, _)| closest(head, known()).is_some());
    let fix = if whole {
        format!("write DLOCK__{written}")
    } else if begins || nearly {
        "write `__` after DLOCK and between the parts of the path, as in DLOCK__STORES__MAIN__URL"
            .into()
    } else {
        return None;
    };
    Some(("is not read: `DLOCK` must be followed by two underscores".into(), fix))
}

/// Whether these are the variables that an orchestrator makes for each service, such as `..._SERVICE_HOST`.
fn of_a_service(rest: &str) -> bool {
    let rest = format!("_{rest}_");
    let marks = ["_service_host_", "_service_port_", "_tcp_", "_udp_", "_sctp_"];
    rest.ends_with("_port_") || marks.iter().any(|mark| rest.contains(mark))
}
