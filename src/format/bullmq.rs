//! BullMQ's lock of a job: `<worker's uuid>:<n>` under `bull:<queue>:<job>:lock`. The worker's readable name is in the
//! job's hash. From time to time the queue marks all active jobs as stalled, and each renewal clears the job's mark.

use std::sync::Arc;
use std::time::Duration;

use crate::config::TokenKind;
use crate::observe::Decoded;
use crate::observe::lock::{Companion, CompanionPart, Shape, Tells};

use super::holder::{Named, holding};
use super::value::{self, split_last};
use super::{Fit, Format, PLAIN, Sight};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "bullmq",
    libraries: "BullMQ",
    key: "`bull:<queue>:<job>:lock`",
    value: "`<worker uuid>:<n>`",
    tokens: TokenKind::PerAcquire,
    default_lease: Some(Duration::from_secs(30)),
    // The first renewal comes at half of the lease, later ones at a quarter.
    always_renews: Some(0.5),
    renewal: "always, first at half of the lease, then at a quarter",
    companions: "job hash `pb` (worker), `bull:<queue>:stalled`; other `bull:<queue>:` keys are no locks",
    decode,
    is_companion,
    ..PLAIN
};

/// What a queue has beside its jobs.
const BESIDE: [&[u8]; 20] = [
    b"active",
    b"wait",
    b"waiting",
    b"waiting-children",
    b"paused",
    b"delayed",
    b"prioritized",
    b"priority",
    b"completed",
    b"failed",
    b"stalled",
    b"stalled-check",
    b"repeat",
    b"events",
    b"meta",
    b"id",
    b"limiter",
    b"marker",
    b"pc",
    b"de",
];

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let token = sight.whole().filter(|v| value::uuid_and_number(v).is_some())?;
    let job = sight.key.strip_suffix(b":lock").and_then(Job::of);
    if job.is_none() && !sight.is_declared {
        return None;
    }
    let mut decoded = FORMAT.decoded(Shape::Text);
    decoded.holders.push(holding(token, Named::default(), sight.rules));
    if let Some(job) = job {
        decoded.companions = job.companions();
    }
    Some((Fit::Certain, decoded))
}

/// A job as its key names it.
struct Job<'a> {
    /// The job's own key.
    key: &'a [u8],
    /// The prefix and the queue.
    queue: &'a [u8],
    id: &'a [u8],
}

impl<'a> Job<'a> {
    /// `<prefix>:<queue>:<id>`; the id of a repeated job has colons of its own.
    fn of(key: &'a [u8]) -> Option<Self> {
        const REPEAT: &[u8] = b":repeat:";
        let repeated = key.windows(REPEAT.len()).rposition(|w| w == REPEAT);
        let repeated = repeated.and_then(|at| Some((key.get(..at)?, key.get(at + 1..)?)));
        let (queue, id) = repeated
            .filter(|(queue, _)| queue.contains(&b':'))
            .or_else(|| split_last(key, b':'))?;
        (queue.contains(&b':') && !id.is_empty()).then_some(Self { key, queue, id })
    }

    fn companions(&self) -> Vec<Companion> {
        let worker = Companion {
            key: self.key.into(),
            part: CompanionPart::Field(Arc::from(&b"pb"[..])),
            tells: Tells::Worker,
        };
        let stalled = Companion {
            key: [self.queue, b":stalled"].concat().into(),
            part: CompanionPart::Contains(self.id.into()),
            tells: Tells::Stalled,
        };
        vec![worker, stalled]
    }
}

/// `bull:<queue>:<one of a queue's own keys>`.
fn is_companion(key: &[u8]) -> bool {
    let is_bull = key.starts_with(b"bull:") || key.starts_with(b"{bull}:");
    is_bull
        && split_last(key, b':')
            .is_some_and(|(queue, last)| queue.contains(&b':') && BESIDE.contains(&last))
}
