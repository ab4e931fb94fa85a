//! One immutable snapshot: what is known at an instant, sorted by name and unique, ready to print. `None` is "not
//! known or not judged" and is never printed. Made from [`crate::derive`]; knows no metric name and no format.

mod build;
mod clients;
mod clock;
mod contention;
mod coverage;
mod event_coverage;
mod group;
mod hint;
mod holder;
mod host;
mod host_coverage;
mod lease_coverage;
mod list;
mod lock;
mod node;
mod quiet;
mod release;
mod resources;
mod show;
mod slowlog;
mod worker;

use std::sync::Arc;

pub use crate::derive::lock::proof::Basis;
pub use build::Instant;
pub use clients::{ByLibrary, ClientView, ClientsView, OtherRenewer, RenewalView};
pub use clock::ClockView;
pub use contention::{ContentionView, PartyView};
pub use coverage::BLIND;
pub use group::{GroupCounts, GroupView};
pub use hint::{Hint, Namer, Reuse};
pub use host::{CgroupView, JvmView, WorkerHostView, WorstStallView};
pub use list::ListView;
pub use lock::{LockCounts, TransitionView};
pub use node::{NodeFactsView, NodeView};
pub use release::{Check, Release, release};
pub use resources::{EffectsView, FencingView, ToldView};
pub use show::{Page, Show};
pub use slowlog::{SlowCommandView, SlowlogView};
pub use worker::{PollerView, WorkerProcessView, WorkerView};

pub use crate::config::SeriesTier;
pub use crate::derive::lock::past::{Past, PastTenure};
pub use crate::derive::lock::recent::{Act, Mark, Recent};
pub use crate::derive::quorum::Votes;
pub use crate::derive::renewers::Fit;
pub use crate::derive::servers::Ballot;
pub use crate::derive::{
    Aspect, BlindReason, ClockStatus, ContentionKind, DivergenceKind, Evidence, LeaseSource,
    Liveness, LivenessSource, Signal, StallSource,
};
use crate::observe::Mono;
pub use crate::observe::lock::Mode;

/// Everything that is known at one instant. Ages are seconds on the observer's clock as of `taken`.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Counts the snapshots.
    pub generation: u64,
    /// When it was made.
    pub taken: Mono,
    /// The same on this host's wall clock, seconds since the epoch.
    pub taken_wall: f64,
    /// Stores by name.
    pub stores: Vec<StoreView>,
    /// Workers by name.
    pub workers: Vec<WorkerView>,
    /// Pollers by kind and target.
    pub pollers: Vec<PollerView>,
    /// Clocks by name.
    pub clocks: Vec<ClockView>,
    /// Steps of this host's own wall clock: forward, backward.
    pub host_clock_steps: (u64, u64),
    /// The part of a group that was asked for, where not all of its locks are there.
    pub page: Option<Page>,
}

/// One lock store.
#[derive(Clone, Debug)]
pub struct StoreView {
    /// The `store` label.
    pub name: Arc<str>,
    /// Whether its locks were read within three intervals. When not, nothing that rests on them is printed.
    pub fresh: bool,
    /// Whether that is so of as many servers as tell who holds them. When not, how many are held is not known.
    pub counted: bool,
    /// Since all of them were last read; `None` until then.
    pub read_age_seconds: Option<f64>,
    /// Its nodes by address.
    pub nodes: Vec<NodeView>,
    /// Its locks by name, but for those of groups that are only counted.
    pub locks: Vec<LockView>,
    /// Locks of groups that are only counted, and how many of them were not read lately.
    pub counted_only: (u64, u64),
    /// Lists of live workers that are in it, by name.
    pub lists: Vec<ListView>,
    /// Groups that locks are told as, by name.
    pub groups: Vec<GroupView>,
    /// Largest number of nodes of one replication lineage that say master.
    pub primaries: Option<u64>,
    /// Its sentinels name different primaries; `None` without sentinels that answer.
    pub sentinels_disagree: Option<bool>,
    /// The primary changed.
    pub failovers: u64,
    /// Replicated bytes that primaries had and their successors had not.
    pub failover_lost_bytes: u64,
    /// Ends by evidence, in the order of `Evidence::ALL`.
    pub lease_ends: Vec<(Evidence, u64)>,
    /// Locks held and free.
    pub held: u64,
    /// See `held`.
    pub free: u64,
    /// Locks not watched, by reason; every reason is there.
    pub dropped: Vec<(&'static str, u64)>,
    /// Holders beyond `max_workers`.
    pub workers_dropped: u64,
    /// Locks with each signal up, for signals that at least one lock can be judged for.
    pub flagged: Vec<(Signal, u64)>,
    /// Keys that a pattern found and that name no owner; not shown as locks.
    pub ownerless: LeftOut,
    /// Keys that a pattern found and that may not be read; whether they are locks is not known.
    pub refused: LeftOut,
    /// Locks that cannot be judged, for every aspect and reason that can occur in this version.
    pub blind: Vec<(Aspect, BlindReason, u64)>,
}

/// Keys that are not shown as locks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// How many.
    pub count: u64,
    /// Some of them, printable; [`EXAMPLES`] at most.
    pub examples: Vec<Arc<str>>,
}

/// Keys that are named as examples at most.
pub const EXAMPLES: usize = 5;

/// One lock.
#[derive(Clone, Debug)]
pub struct LockView {
    /// The `lock` label.
    pub name: Arc<str>,
    /// The key, printable.
    pub key: Arc<str>,
    /// Registry name of its format; empty until seen held.
    pub format: &'static str,
    /// Other formats that its value fits as well: the name is a guess then.
    pub also_fits: Vec<&'static str>,
    /// Where its lease length comes from; `None` until known.
    pub lease_source: Option<LeaseSource>,
    /// The group it is told as one of.
    pub group: Option<Arc<str>>,
    /// Its place among the locks of its group that need a look or lately did; 0 is the worst.
    pub look: Option<usize>,
    /// Which series to print; `None` for a `flagged` lock without a flag, and for all of a group but the first that need a
    /// look.
    pub tier: Option<SeriesTier>,
    /// Read within three intervals and judged since the last break. When not, no series of it is printed.
    pub fresh: bool,
    /// Held, free, or not known.
    pub held: Option<bool>,
    /// Who holds it now.
    pub holders: Vec<HolderView>,
    /// Holders beyond those that are followed one by one.
    pub holders_beyond: u64,
    /// How many may hold it at once, of a semaphore.
    pub limit: Option<u64>,
    /// How many of its keys show the owner that most of them show, and how many are needed, of a lock over several.
    pub votes: Option<Votes>,
    /// What each server says of a lock over several, by its address.
    pub ballots: Vec<(Arc<str>, Ballot)>,
    /// How many wait, where the format shows it.
    pub waiters: Option<u64>,
    /// Who held it before, and how that ended.
    pub previous: Option<(Arc<str>, Evidence)>,
    /// Age of the present tenure.
    pub held_seconds: Option<f64>,
    /// Its begin on the server's clock.
    pub held_since_timestamp: Option<f64>,
    /// The last read before that, on the same clock; `None` if none without a break was seen without this owner.
    pub held_after_timestamp: Option<f64>,
    /// The last good read, on the same clock.
    pub read_timestamp: Option<f64>,
    /// PTTL in seconds.
    pub remaining_seconds: Option<f64>,
    /// By replica: what is left on that node's own clock, and by how much earlier than on the primary's the lease would
    /// end there.
    pub remaining_by_replica: Vec<(Arc<str>, f64, f64)>,
    /// L.
    pub length_seconds: Option<f64>,
    /// E on the server's clock.
    pub expiry_timestamp: Option<f64>,
    /// Since the last renewal or the acquisition.
    pub renewal_age_seconds: Option<f64>,
    /// The same instant on the server's clock.
    pub last_renewal_timestamp: Option<f64>,
    /// P.
    pub renewal_period_seconds: Option<f64>,
    /// Least remaining/L just before a renewal in the last hour.
    pub least_margin_ratio: Option<f64>,
    /// Longest stall the lease survives.
    pub stall_budget_seconds: Option<f64>,
    /// The lease is left to run out on purpose: a holder that has ended proves nothing.
    pub left_to_expire: bool,
    /// Counters.
    pub counts: LockCounts,
    /// Each signal: up, down or not judged.
    pub signals: Vec<(Signal, Option<bool>)>,
    /// Rises of each signal.
    pub rises: Vec<(Signal, u64)>,
    /// Worst liveness of its holders; `None` while free.
    pub liveness: Option<Liveness>,
    /// Since liveness was lost.
    pub lost_seconds: Option<f64>,
    /// Last renewal minus last heartbeat.
    pub renewal_minus_heartbeat_seconds: Option<f64>,
    /// How long the last tenure outlived its holder's death.
    pub overrun_seconds: Option<f64>,
    /// 99th percentile of ended holds.
    pub typical_hold_seconds: Option<f64>,
    /// How long what it shows has been on no replica.
    pub unreplicated_seconds: Option<f64>,
    /// Replicas that differ now.
    pub divergences: Vec<(Arc<str>, DivergenceKind)>,
    /// What is configured and cannot be judged now.
    pub coverage_lost: Vec<(Aspect, BlindReason)>,
    /// All that cannot be judged, also what nobody configured; for people, not for series.
    pub blind: Vec<(Aspect, BlindReason)>,
    /// What more is known of why, by aspect; for people.
    pub hints: Vec<(Aspect, Hint)>,
    /// Seconds since the holder's last beat, where it has a heartbeat.
    pub beat_age_seconds: Option<f64>,
    /// Who is connected to its primary; shared by all locks of it.
    pub clients: Option<Arc<ClientsView>>,
    /// The reads between which its lease was last written.
    pub last_write: Option<(Mono, Mono)>,
    /// Whether another process renews it than the one that works.
    pub renewer_separate: Option<bool>,
    /// A process other than the worker's that renewed its present tenure.
    pub other_renewer: Option<OtherRenewer>,
    /// What its last renewals told of that, the newest first.
    pub renewals: Vec<RenewalView>,
    /// What sources tell of it.
    pub told: ToldView,
    /// The last proofs that two owners had it at once, and hints at it, oldest first, bounded.
    pub contention: Vec<ContentionView>,
    /// The `owner_json` that finds nothing in its value, which is JSON.
    pub missed_pointer: Option<Arc<str>>,
    /// The last slow commands on its key, oldest first, bounded.
    pub slow_commands: Vec<SlowCommandView>,
    /// The last writes of its expiry, oldest first, bounded; `None` of a lock of which they are not kept.
    pub recent: Option<Recent>,
    /// The last tenures that are over; kept as those are.
    pub past: Option<Past>,
    /// The last transitions, oldest first, bounded.
    pub transitions: Vec<TransitionView>,
}

/// One holder of a lock.
#[derive(Clone, Debug)]
pub struct HolderView {
    /// The worker's name, empty if not attributable.
    pub worker: Arc<str>,
    /// Fingerprint of its token; for API and evidence only.
    pub fingerprint: String,
    /// Hold count.
    pub count: u64,
    /// In what way it holds.
    pub mode: Mode,
    /// Its liveness.
    pub liveness: Liveness,
    /// Since liveness was lost.
    pub lost_seconds: Option<f64>,
    /// What is left of its lease; none where it never ends.
    pub remaining_seconds: Option<f64>,
    /// Age of its tenure.
    pub held_seconds: f64,
    /// Since its last renewal or the acquisition; none where several share one expiry.
    pub renewal_age_seconds: Option<f64>,
    /// When it was acquired as its token states it, seconds since the epoch on the holder's clock.
    pub taken_at: Option<f64>,
    /// Host and pid that its token names.
    pub host: Option<Arc<str>>,
    /// See `host`.
    pub pid: Option<i32>,
    /// The thread that its token names.
    pub thread: Option<Arc<str>>,
    /// Since its last beat.
    pub beat_age_seconds: Option<f64>,
}
