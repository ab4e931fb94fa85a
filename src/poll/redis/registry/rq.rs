//! RQ: workers that beat, by name and by host and pid, and the job that each is at. A worker's hash expires when it has not
//! beaten for long; its name stays in the set until it is cleaned.

use super::super::conn::Conn;
use super::super::failure::Failure;
use super::walk::{self, Budget};
use super::{Names, written_time};

const PREFIX: &[u8] = b"rq:worker:";
const FIELDS: [&[u8]; 4] = [b"last_heartbeat", b"current_job", b"hostname", b"pid"];

/// Reads it.
pub async fn read(conn: &mut Conn, budget: &mut Budget) -> Result<Names, Failure> {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    walk::scan(conn, "SSCAN", b"rq:workers", budget, |key, _| keys.push(key.to_vec())).await?;
    // Members are the keys of the hashes; whatever else is in the set is no worker's.
    keys.retain(|key| key.starts_with(PREFIX));
    let mut names = Names::default();
    walk::fields(conn, &keys, &FIELDS, budget, |i, found| {
        let (Some(key), [Some(beat), job, host, pid]) = (keys.get(i), found) else { return };
        let beat = written_time(beat);
        names.add(key.strip_prefix(PREFIX).unwrap_or(key), beat);
        if let Some(job) = job {
            names.add_job(job);
        }
        if let (Some(host), Some(pid)) = (host, pid) {
            names.add(&[*host, b":", *pid].concat(), beat);
        }
    })
    .await?;
    Ok(names)
}
