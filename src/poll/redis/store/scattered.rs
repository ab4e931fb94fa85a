//! Reads of parts of keys that are spread over the shards of a cluster: each is asked of the primary that has its slot. A
//! shard that fails costs its own parts only.

use std::collections::BTreeMap;

use super::StoreHandle;
use crate::observe::Line;
use crate::observe::lock::Unreadable;
use crate::poll::redis::parts::{PartRequest, PartValue, PartsFailed, PartsReply};

/// Reads all of them, one shard after another; fails only if none could be read.
pub(super) async fn read(
    store: &StoreHandle,
    requests: Vec<PartRequest>,
) -> Result<PartsReply, PartsFailed> {
    let mut by_line: BTreeMap<Option<Line>, Vec<usize>> = BTreeMap::new();
    for (i, request) in requests.iter().enumerate() {
        by_line.entry(store.primary_of(&request.key).0).or_default().push(i);
    }
    let mut values = vec![PartValue::Unreadable(Unreadable::Unexpected); requests.len()];
    let mut whole: Option<PartsReply> = None;
    let mut last = None;
    for places in by_line.into_values() {
        let part: Vec<PartRequest> =
            places.iter().filter_map(|i| requests.get(*i).cloned()).collect();
        let Some(first) = part.first() else { continue };
        let primary = store.primary_of(&first.key).1;
        match store.read_of(primary, part).await {
            Ok(reply) => {
                for (place, value) in places.iter().zip(reply.values) {
                    if let Some(slot) = values.get_mut(*place) {
                        *slot = value;
                    }
                }
                let span = reply.span;
                let whole = whole.get_or_insert(PartsReply { span, values: Vec::new() });
                whole.span.done = span.done;
            }
            Err(failed) => last = Some(failed),
        }
    }
    match (whole, last) {
        (Some(reply), _) => Ok(PartsReply { values, ..reply }),
        (None, Some(failed)) => Err(failed),
        // Nothing was asked for.
        (None, None) => store.read_of(store.home().map(|(primary, _)| primary), requests).await,
    }
}
