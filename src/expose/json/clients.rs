//! Who is connected to a lock's server, and what tells who renews it, as the API shows it for one lock.

use serde::Serialize;

use super::not_empty;
use crate::view::{LockView, RenewalView};

/// Connections to the server of one lock.
#[derive(Debug, Serialize)]
pub(super) struct Client<'a> {
    origin: &'static str,
    pid: Option<i32>,
    comm: Option<&'a str>,
    worker: Option<&'a str>,
    liveness: Option<&'static str>,
    addr: &'a str,
    name: Option<&'a str>,
    lib_name: Option<&'a str>,
    lib_ver: Option<&'a str>,
    user: Option<&'a str>,
    age_seconds: u64,
    idle_seconds: u64,
    last_command: Option<&'a str>,
    can_renew: Option<bool>,
}

/// Who renews it.
#[derive(Debug, Serialize)]
pub(super) struct Renewer<'a> {
    separate: Option<bool>,
    renewals: Vec<Renewal<'a>>,
}

#[derive(Debug, Serialize)]
struct Renewal<'a> {
    age_seconds: f64,
    worker: &'static str,
    others: Vec<Other<'a>>,
    elsewhere: &'static str,
}

#[derive(Debug, Serialize)]
struct Other<'a> {
    pid: i32,
    comm: Option<&'a str>,
    fit: &'static str,
}

pub(super) fn describe_clients(lock: &LockView) -> Option<Vec<Client<'_>>> {
    let clients = lock.clients.as_ref()?;
    let describe = clients.list.iter().map(|c| Client {
        origin: c.origin,
        pid: c.pid,
        comm: c.comm.as_deref(),
        worker: c.worker.as_deref(),
        liveness: c.liveness.map(|l| l.as_str()),
        addr: &c.addr,
        name: not_empty(&c.name),
        lib_name: not_empty(&c.library.0),
        lib_ver: not_empty(&c.library.1),
        user: not_empty(&c.user),
        age_seconds: c.age_seconds,
        idle_seconds: c.idle_seconds,
        last_command: not_empty(&c.command),
        can_renew: lock.last_write.and_then(|write| clients.can_have_renewed(c, write)),
    });
    Some(describe.collect())
}

pub(super) fn describe_renewer(lock: &LockView) -> Option<Renewer<'_>> {
    let renewals = lock.renewals.iter().map(describe_renewal).collect();
    (!lock.renewals.is_empty()).then_some(Renewer { separate: lock.renewer_separate, renewals })
}

fn describe_renewal(renewal: &RenewalView) -> Renewal<'_> {
    let others = renewal.others.iter().map(|(pid, comm, fit)| Other {
        pid: *pid,
        comm: comm.as_deref(),
        fit: fit.as_str(),
    });
    Renewal {
        age_seconds: renewal.age_seconds,
        worker: renewal.own.as_str(),
        others: others.collect(),
        elsewhere: renewal.elsewhere.as_str(),
    }
}
