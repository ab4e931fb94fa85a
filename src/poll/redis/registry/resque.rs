//! Resque: registered workers, called `host:pid:queues`; listed as that and as `host:pid`. One that died stays registered
//! until another worker finds its heartbeat too old, so it is as late as Resque itself.

use std::collections::BTreeSet;

use super::super::conn::Conn;
use super::super::failure::Failure;
use super::walk::{self, Budget};
use super::{Names, written_time};

/// Reads it.
pub async fn read(conn: &mut Conn, budget: &mut Budget) -> Result<Names, Failure> {
    let mut workers: BTreeSet<Vec<u8>> = BTreeSet::new();
    let add = |id: &[u8], _: &[u8]| {
        workers.insert(id.to_vec());
    };
    walk::scan(conn, "SSCAN", b"resque:workers", budget, add).await?;
    let mut names = Names::default();
    for id in &workers {
        names.add(id, None);
        names.add(process(id), None);
    }
    // Since 2.0; before that there is no such key, and nobody has a beat.
    walk::scan(conn, "HSCAN", b"resque:workers:heartbeat", budget, |id, beat| {
        if workers.contains(id) {
            names.add(id, written_time(beat));
            names.add(process(id), written_time(beat));
        }
    })
    .await?;
    Ok(names)
}

/// `host:pid` of `host:pid:queues`; a host may have colons, queues may not.
fn process(id: &[u8]) -> &[u8] {
    let end = id.iter().rposition(|b| *b == b':').unwrap_or(id.len());
    id.get(..end).unwrap_or(id)
}
