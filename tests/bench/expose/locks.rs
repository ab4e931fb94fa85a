//! A snapshot of many held locks with the series of the core tier, as the state makes it from what a server would have
//! told. Measures nothing.

use std::sync::Arc;
use std::time::Duration;

use dlock_exporter::clock;
use dlock_exporter::config::{Group, LockRules, SeriesTier};
use dlock_exporter::derive::{Effects, Rules, State};
use dlock_exporter::observe::lock::{Decoded, Holding, KeyWatched, Mode, Shape};
use dlock_exporter::observe::node::SweepDone;
use dlock_exporter::observe::*;
use dlock_exporter::view::{Instant, View};

const STORE: StoreId = StoreId(1);
const LEASE_MICROS: i64 = 30_000_000;
/// The server's clock minus ours.
const AHEAD_MICROS: i64 = 1_790_000_000_123_457;
/// Polls, so that renewals and a habit are seen.
const POLLS: u64 = 12;
/// Of the exporter's reads, up to now.
const POLL: Duration = Duration::from_secs(2);

/// The snapshot; its instant is now.
pub fn view(locks: usize) -> View {
    of(locks, LockRules::default(), Rules::default())
}

/// The same of as many locks that are told as one group.
pub fn grouped(locks: usize) -> View {
    let group = Group { name: "orders".into(), top: 20 };
    let lock_groups = [("main".into(), vec![group.clone()])].into();
    let rules =
        LockRules { series: SeriesTier::Flagged, group: Some(group), ..LockRules::default() };
    of(locks, rules, Rules { lock_groups, ..Rules::default() })
}

fn of(locks: usize, rules: LockRules, all: Rules) -> View {
    let now = clock::mono();
    let mut state = State::new(Rules { poll_interval: POLL, ..all }, now);
    let mut at = now.minus(POLL * POLLS as u32);
    let mut step = |fact: Observation| state.step(&fact, &mut Effects::default());
    step(Observation::StoreStarted { store: STORE, name: "main".into(), at });
    let rules = Arc::new(rules);
    for n in 0..locks {
        let name: Arc<str> = format!("lock:orders:shard:{n:06}").into();
        step(Observation::KeyWatched(KeyWatched {
            store: STORE,
            key: KeyId(n as u64),
            key_text: name.clone(),
            lock: name,
            rules: rules.clone(),
            with: None,
            has_appeared: false,
        }));
    }
    let values: Vec<Arc<Decoded>> = (0..locks).map(held).collect();
    for poll in 0..POLLS {
        at = at.plus(POLL);
        let span = Span { sent: at, done: at.plus(Duration::from_millis(1)) };
        let time = ServerTime(AHEAD_MICROS + i64::try_from(at.0 / 1000).unwrap_or_default());
        // Renewed each third poll.
        let renewed = time.plus_micros(LEASE_MICROS - (poll % 3) as i64 * 2_000_000);
        let read = |(n, value): (usize, &Arc<Decoded>)| KeyRead {
            key: KeyId(n as u64),
            found: Found::Present {
                value: value.clone(),
                expiry: Expiry::At(renewed.plus_micros(n as i64)),
            },
        };
        step(Observation::Batch(BatchRead {
            node: node(),
            connection: 1,
            span,
            time,
            role: Role::Master,
            offset: Some(poll),
            reads: values.iter().enumerate().map(read).collect(),
        }));
        step(Observation::SweepDone(SweepDone { node: node(), span, busy: span.width() }));
    }
    View::of(&state, Instant { mono: at.plus(Duration::from_millis(2)), wall: 1_790_000_000.25 }, 1)
}

fn node() -> NodeRef {
    NodeRef { store: STORE, line: Line::default(), addr: "10.0.0.5:6379".into() }
}

fn held(n: usize) -> Arc<Decoded> {
    let token = Token::new(format!("{n:08x}-1f2c-4f0e-8a3c-1d2e3f405162").as_bytes());
    let worker = Some(Arc::from(format!("orders-{}", n % 500)));
    let owner = Owner { token, worker, host: None, pid: None, thread: None };
    let holding = Holding {
        owner: Arc::new(owner),
        count: 1,
        mode: Mode::Exclusive,
        until: None,
        refreshed_ms: None,
        taken_at: None,
    };
    Arc::new(Decoded { holders: vec![holding], ..Decoded::nobody("string", Shape::Text) })
}
