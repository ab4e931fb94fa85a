//! Views of any content: every option there or not, numbers of any kind, names of any text, duplicates included.

mod host;

use std::sync::Arc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::config::SeriesTier;
use crate::observe::Mono;
use crate::view::*;

/// Mostly ordinary names, so that duplicates happen, and sometimes any text at all.
fn name() -> impl Strategy<Value = Arc<str>> {
    prop_oneof![3 => select(vec!["a", "b", "", "x\"y\\z\n"]).prop_map(Arc::from), 1 => any::<String>().prop_map(Arc::from)]
}

fn number() -> impl Strategy<Value = Option<f64>> {
    option::of(prop_oneof![
        any::<f64>(),
        select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e300])
    ])
}

fn word<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    select(all)
}

fn tier() -> impl Strategy<Value = SeriesTier> {
    select(vec![SeriesTier::Flagged, SeriesTier::Core, SeriesTier::Full])
}

fn holder() -> impl Strategy<Value = HolderView> {
    (name(), any::<u64>(), word(Liveness::ALL)).prop_map(|(worker, count, liveness)| HolderView {
        worker,
        fingerprint: "0123456789ab".into(),
        count,
        mode: Mode::Exclusive,
        liveness,
        lost_seconds: None,
        remaining_seconds: None,
        held_seconds: 0.0,
        renewal_age_seconds: None,
        taken_at: None,
        host: None,
        pid: None,
        thread: None,
        beat_age_seconds: None,
    })
}

fn lock() -> impl Strategy<Value = LockView> {
    let numbers = vec(number(), 17);
    let words = (
        vec((word(Signal::ALL), option::of(any::<bool>())), 0..8),
        vec((word(Signal::ALL), any::<u64>()), 0..8),
        vec((word(Evidence::ALL), any::<u64>()), 0..9),
        option::of(vec((word(Liveness::ALL), any::<u64>()), 0..4)),
        vec((name(), word(DivergenceKind::ALL)), 0..3),
        vec((word(Aspect::ALL), word(BlindReason::ALL)), 0..3),
    );
    let who = (
        vec(holder(), 0..4),
        option::of((name(), word(Evidence::ALL))),
        option::of(word(Liveness::ALL)),
        option::of(any::<bool>()),
    );
    let by_replica = vec((name(), any::<f64>(), any::<f64>()), 0..3);
    let source = option::of(word(LeaseSource::ALL));
    let group = option::of((name(), option::of(0_usize..3)));
    let what = (name(), option::of(tier()), any::<bool>(), source, by_replica, group);
    (numbers, words, who, what).prop_map(|(n, words, who, what)| {
        let (signals, rises, ends, expired_under_holder, divergences, coverage_lost) = words;
        let (holders, previous, liveness, held) = who;
        let (name, tier, fresh, lease_source, remaining_by_replica, group) = what;
        let hint = Hint::ListNamesNobody(name.clone());
        let (group, look) = group.map_or((None, None), |(group, look)| (Some(group), look));
        LockView {
            remaining_by_replica,
            key: name.clone(),
            name,
            format: "string",
            also_fits: Vec::new(),
            lease_source,
            group,
            look,
            tier,
            fresh,
            held,
            holders,
            holders_beyond: 0,
            limit: None,
            votes: None,
            ballots: Vec::new(),
            waiters: None,
            previous,
            held_seconds: n[0],
            held_since_timestamp: n[1],
            held_after_timestamp: n[0],
            read_timestamp: n[2],
            remaining_seconds: n[2],
            length_seconds: n[3],
            expiry_timestamp: n[4],
            renewal_age_seconds: n[5],
            last_renewal_timestamp: n[6],
            renewal_period_seconds: n[7],
            least_margin_ratio: n[8],
            stall_budget_seconds: n[9],
            left_to_expire: n[9].is_none(),
            counts: LockCounts {
                ends,
                expired_under_holder,
                free_seconds: n[10].unwrap_or(0.0),
                ..LockCounts::default()
            },
            signals,
            rises,
            liveness,
            lost_seconds: n[11],
            renewal_minus_heartbeat_seconds: n[12],
            overrun_seconds: n[13],
            typical_hold_seconds: n[14],
            unreplicated_seconds: n[16],
            divergences,
            blind: coverage_lost.clone(),
            hints: coverage_lost.iter().map(|(aspect, _)| (*aspect, hint.clone())).collect(),
            coverage_lost,
            beat_age_seconds: n[12],
            told: ToldView::default(),
            clients: None,
            last_write: None,
            other_renewer: None,
            renewer_separate: n[0].map(|n| n > 1.0),
            renewals: Vec::new(),
            contention: Vec::new(),
            missed_pointer: None,
            slow_commands: Vec::new(),
            recent: n[0].is_some().then(|| recent(&n)),
            past: None,
            transitions: Vec::new(),
        }
    })
}

/// Marks at any instants, with anything left.
fn recent(numbers: &[Option<f64>]) -> Recent {
    let acts = [Act::Held, Act::Renewed, Act::Written, Act::Ended];
    let at = |n: usize, s: Option<f64>| {
        Mono::from_secs_f64(s.filter(|s| s.is_finite()).unwrap_or(990.0 + n as f64).clamp(0.0, 2e6))
    };
    let all = numbers.iter().enumerate();
    let mark = |(n, s): (usize, &Option<f64>)| Mark {
        at: at(n, *s),
        act: acts[n % 4],
        left: s.map(|s| s as f32),
    };
    std::sync::Arc::new(all.map(mark).collect())
}

/// Nodes come from the example, with options taken away.
fn node() -> impl Strategy<Value = NodeView> {
    (name(), any::<bool>(), any::<bool>(), number(), number(), 0_usize..2).prop_map(
        |(addr, up, facts, a, b, which)| {
            let mut node = View::example().stores.remove(0).nodes.remove(which);
            node.addr = addr;
            node.up = up;
            node.clock_step_seconds = a;
            if let Some(known) = &mut node.facts {
                known.clock_offset = a.zip(b);
                known.rtt_seconds = b;
                known.skew_bound_seconds = a;
                known.version = node.addr.clone();
            }
            node.facts = node.facts.filter(|_| facts);
            node
        },
    )
}

fn store() -> impl Strategy<Value = StoreView> {
    (name(), any::<bool>(), vec(node(), 0..3), vec(lock(), 0..5), option::of(any::<u64>()))
        .prop_map(|(name, fresh, nodes, locks, primaries)| {
            let mut example = View::example().stores.remove(0);
            // Some of its locks are of a group that is there.
            if let (Some(name), Some(group)) =
                (locks.iter().find_map(|l: &LockView| l.group.clone()), example.groups.first_mut())
            {
                group.name = name;
            }
            StoreView { name, fresh, nodes, locks, primaries, ..example }
        })
}

fn worker() -> impl Strategy<Value = WorkerView> {
    let sources = vec((word(LivenessSource::ALL), any::<bool>(), number()), 0..3);
    let skew_bounds = vec((name(), any::<f64>()), 0..3);
    let here = (option::of(host::any_host()), skew_bounds);
    (name(), tier(), sources, number(), any::<bool>(), any::<bool>(), here).prop_map(
        |(name, tier, sources, age, process, gone, (host, skew_bounds))| {
            let example = View::example().workers.remove(0);
            WorkerView {
                name,
                tier,
                sources,
                heartbeat_age_seconds: age,
                process: example.process.clone().filter(|_| process),
                process_gone: gone,
                host,
                skew_bounds,
                ..example
            }
        },
    )
}

/// Any view.
pub fn views() -> impl Strategy<Value = View> {
    let clocks = vec(host::any_clock(), 0..3);
    (vec(store(), 0..3), vec(worker(), 0..3), clocks, number()).prop_map(
        |(stores, workers, clocks, wall)| View {
            stores,
            workers,
            clocks,
            taken_wall: wall.unwrap_or(f64::NAN),
            ..View::example()
        },
    )
}
