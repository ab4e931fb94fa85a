//! What cannot be judged of a lock, and of its holders what is not said there already.

use super::super::escape::Broken;
use super::super::frame::UNKNOWN;
use super::super::{facts, stalls};
use super::Subject;

/// The section; nothing where all can be judged.
pub fn section(out: &mut String, subject: &Subject<'_>) {
    let row = subject.row;
    let mut list = facts::blind(row.lock).replace(UNKNOWN, "");
    for holder in row.lock.holders.iter().filter(|_| row.is_held()) {
        if let Some(worker) = stalls::worker(subject.view, &holder.worker) {
            let is_of_host = |aspect: &str| !matches!(aspect, "heartbeat" | "process");
            let of_host = stalls::blind(worker, is_of_host);
            if !of_host.is_empty() {
                let name = Broken(&holder.worker);
                put!(list, "<div class=\"dim\">of the stalls of {name}:</div>{of_host}");
            }
        }
    }
    if !list.is_empty() {
        put!(out, "<h2>Cannot be judged</h2>\n{list}\n");
    }
}
