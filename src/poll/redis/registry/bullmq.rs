//! BullMQ: workers that are connected, by the name that each gives its connection: `PREFIX:QUEUE:w:WORKER`, the queue in
//! base64. A worker without a name of its own cannot be told from another one and is not listed.

use super::super::codec::Item;
use super::super::conn::Conn;
use super::super::failure::Failure;
use super::super::pack;
use super::Names;
use super::walk::Budget;
use crate::poll::source::http::credentials::base64;

/// Reads it.
pub async fn read(conn: &mut Conn, queue: &str, budget: &mut Budget) -> Result<Names, Failure> {
    let mut request = Vec::new();
    pack::command(&mut request, &["CLIENT", "LIST"]);
    conn.exchange(&request, 1).await?;
    let mut names = Names::default();
    match conn.walk(0).next() {
        Some(Item::Bulk(text) | Item::Other(text)) => {
            let mark = format!(":{}:w:", base64(queue.as_bytes()));
            for client in text.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
                budget.take(client.len())?;
                if let Some(worker) = worker(client, mark.as_bytes()) {
                    names.add(worker, None);
                }
            }
        }
        Some(Item::Error(e)) => return Err(Failure::server("CLIENT LIST", e)),
        _ => return Err(Failure::unexpected("CLIENT LIST")),
    }
    Ok(names)
}

/// The worker of this queue whose connection a line shows.
fn worker<'a>(client: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    let name = client.split(|b| *b == b' ').find_map(|field| field.strip_prefix(b"name="))?;
    let at = name.windows(mark.len()).position(|w| w == mark)?;
    name.get(at + mark.len()..).filter(|worker| !worker.is_empty())
}

#[cfg(test)]
mod tests {
    #[test]
    fn workers_of_one_queue_are_told_by_their_connections_name() {
        let mark = b":cGF5:w:";
        let worker = |name: &str| {
            let line = format!("id=3 addr=127.0.0.1:5 name={name} age=1 lib-name=ioredis");
            super::worker(line.as_bytes(), mark).map(|w| String::from_utf8_lossy(w).into_owned())
        };
        assert_eq!(worker("bull:cGF5:w:wk1").as_deref(), Some("wk1"));
        assert_eq!(worker("{my}:bull:cGF5:w:a:w:b").as_deref(), Some("a:w:b"));
        for other in ["", "bull:cGF5", "bull:cGF5:w:", "bull:cGF5:qe", "bull:bWFpbA==:w:wk1"] {
            assert_eq!(worker(other), None, "{other}");
        }
    }
}
