//! A lock server whose wall clock is stepped, or stands still, while locks are renewed, idle and free. Each step must be
//! counted and sized, and nothing else may be concluded from it: what is counted of a lock is what was done to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::support::{
    Driver, Exporter, ExporterSetup, Metrics, RedisServer, RedisSetup, SLACK, Sampler,
    SteppedClock, for_a_while, raised, raised_besides,
};

const SOON: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(200);
/// Longer than the largest step.
const LONG: f64 = 90.0;
/// Shorter than a large step.
const SHORT: f64 = 6.0;
const ABSURD: &str = "lease_absurd";
const PERIOD: Duration = Duration::from_millis(600);

fn config(server: &RedisServer, locks: &[&str], poll: Duration) -> String {
    let (url, poll) = (server.url(), poll.as_millis());
    let locks: String = locks
        .iter()
        .map(|l| {
            format!("      - {{ name: {l}, key: 'lock:{l}', holder: '^(?P<worker>[^:]+):' }}\n")
        })
        .collect();
    format!(
        "poll_interval: {poll}ms
stores:
  main:
    url: {url}
    username: dlock
    locks:
{locks}"
    )
}

/// Every transition in its log, so that the routine ones can be looked for.
fn start(yaml: &str) -> Exporter {
    ExporterSetup::file(yaml).password().arguments(&["--log.level", "debug"]).start()
}

/// What was really done to a lock.
#[derive(Default)]
struct Done {
    acquired: AtomicU64,
    renewed: AtomicU64,
    lost: AtomicU64,
}

impl Done {
    fn get(counter: &AtomicU64) -> f64 {
        counter.load(Ordering::SeqCst) as f64
    }
}

/// Takes a lock and renews it, with a new token each time that it takes it; counts what it did.
fn renewing(server: &RedisServer, lock: &str, lease: f64) -> (Driver, Arc<Done>) {
    let done = Arc::new(Done::default());
    let (told, key) = (Arc::clone(&done), format!("lock:{lock}"));
    let (name, lease) = (format!("{lock}-1"), ((lease * 1000.0) as u64).to_string());
    let driver = Driver::start(server, 0, move |c| {
        for n in 0.. {
            let token = format!("{name}:{n}");
            c.cmd(&["SET", &key, &token, "NX", "PX", &lease]);
            told.acquired.fetch_add(1, Ordering::SeqCst);
            while c.wait(PERIOD) {
                // Its own key only: nobody else takes it.
                if c.cmd(&["PEXPIRE", &key, &lease]) != redis::Value::Int(1) {
                    told.lost.fetch_add(1, Ordering::SeqCst);
                    break;
                }
                told.renewed.fetch_add(1, Ordering::SeqCst);
            }
            if !c.goes_on() {
                break;
            }
        }
    });
    (driver, done)
}

fn steps(m: &Metrics) -> (f64, f64) {
    let of = |direction| m.sum("dlock_store_clock_steps_total", &[("direction", direction)]);
    (of("forward"), of("backward"))
}

/// How wrong the offset and the last step may be, and are at most, whatever the machine's load adds to a round trip.
fn error(m: &Metrics) -> f64 {
    m.value("dlock_store_clock_offset_error_seconds", &[]).unwrap_or(f64::NAN)
}

fn is_ahead(m: &Metrics, seconds: f64) -> bool {
    let offset = m.value("dlock_store_clock_offset_seconds", &[]);
    offset.is_some_and(|offset| (offset - seconds).abs() <= error(m) + 0.001)
}

/// Steps the clock, waits until that is seen, and checks what is said of it.
fn step(exporter: &mut Exporter, clock: &SteppedClock, seconds: f64) {
    let before = steps(&exporter.metrics());
    clock.step(seconds);
    let after = match seconds > 0.0 {
        true => (before.0 + 1.0, before.1),
        false => (before.0, before.1 + 1.0),
    };
    let took = exporter.wait_for("dlock_store_clock_step counted", SOON, |m| steps(m) == after);
    assert!(took <= POLL * 2 + SLACK, "seen after {took:?}");
    let m = exporter.metrics();
    let size = m.value("dlock_store_clock_step_seconds", &[]).expect("it was just counted");
    // The intervals before and after it are each as wide as a round trip on a loaded machine.
    assert!((size - seconds).abs() < 0.05, "a step of {seconds} s is said to be one of {size} s");
    assert!(is_ahead(&m, clock.ahead()), "right afterwards: {}", m.lines("dlock_store_clock"));
}

/// The counters of ends, of all kinds, as text.
fn ends(m: &Metrics, lock: &str) -> f64 {
    m.sum("dlock_lease_ends_total", &[("lock", lock)])
}

fn counted(m: &Metrics, name: &str, lock: &str) -> f64 {
    m.value(name, &[("lock", lock)]).unwrap_or_else(|| panic!("no {name} of {lock}"))
}

/// That a lock that was renewed and never lost shows just that.
fn is_as_done(m: &Metrics, lock: &str, lease: f64, done: &Done, slack: f64) {
    let renewed = counted(m, "dlock_lease_renewals_total", lock);
    let really = Done::get(&done.renewed);
    assert!(renewed <= really, "{lock}: {renewed} renewals counted, {really} made");
    assert!(renewed >= really - slack, "{lock}: {renewed} renewals counted, {really} made");
    let length = counted(m, "dlock_lease_length_seconds", lock);
    assert!((length - lease).abs() < 0.3, "{lock}: a lease of {lease} s is taken for {length} s");
    let period = counted(m, "dlock_lease_renewal_period_seconds", lock);
    let right = PERIOD.as_secs_f64();
    assert!(
        (right..right + 0.5).contains(&period),
        "{lock}: renewed every {right} s, not {period}"
    );
    let margin = counted(m, "dlock_lease_least_margin_ratio", lock);
    let right = (lease - PERIOD.as_secs_f64()) / lease;
    assert!((right - 0.2..=right + 0.02).contains(&margin), "{lock}: margin {margin}, not {right}");
    assert_eq!(counted(m, "dlock_lease_late_renewals_total", lock), 0.0, "{lock}");
    assert_eq!(counted(m, "dlock_lease_renewals_after_lost_liveness_total", lock), 0.0, "{lock}");
}

#[test]
fn a_step_is_counted_and_sized_and_nothing_else_is_concluded() {
    let clock = SteppedClock::start();
    let server = RedisSetup::default().clock(&clock).start();
    server.cmd(&["SET", "lock:idle", "idle-1:x", "PX", "600000"]);
    let (_long, long) = renewing(&server, "long", LONG);
    let (_short, short) = renewing(&server, "short", SHORT);
    let mut exporter = start(&config(&server, &["long", "short", "idle", "free"], POLL));
    let renewed = ["long", "short"];
    exporter.wait_for("dlock_lease_renewals_total of both", SOON, |m| {
        renewed.iter().all(|lock| counted(m, "dlock_lease_renewals_total", lock) >= 5.0)
    });
    let missed = {
        let m = exporter.metrics();
        assert_eq!(steps(&m), (0.0, 0.0), "0 from the start");
        assert!(m.all("dlock_store_clock_step_seconds", &[]).is_empty(), "and no size");
        assert!(is_ahead(&m, 0.0), "{}", m.lines("dlock_store_clock"));
        Done::get(&long.renewed) - counted(&m, "dlock_lease_renewals_total", "long")
    };
    // One renewal may be missed for each time that the machine stands still; none of the lock's is invented.
    let slack = missed.max(0.0) + 3.0;
    // Set back, the clock leaves more of a lease than it has, until it is renewed: that is told as what it is.
    let sampler = Sampler::start(exporter.address(), |m| raised_besides(m, ABSURD));
    let mut lost = 0.0;
    for seconds in [0.3, -0.3, 0.3, 40.0, -40.0, -0.3, -40.0, 40.0] {
        step(&mut exporter, &clock, seconds);
        if seconds > SHORT {
            // The one thing that really happened: the short lease ran out by the step, and was taken again.
            lost += 1.0;
            exporter.wait_for("dlock_store_lease_ends_total clock_step", SOON, |m| {
                let ends = [("evidence", "clock_step")];
                m.is("dlock_store_lease_ends_total", &ends, lost)
                    && m.is("dlock_lock_held", &[("lock", "short")], 1.0)
            });
        }
        // The renewals after the step, each of which is a chance to be wrong.
        for_a_while(PERIOD * 4);
        let m = exporter.metrics();
        for lock in ["long", "short", "idle", "free"] {
            let ends = ends(&m, lock);
            assert_eq!(ends, 0.0, "{lock} after {seconds} s:\n{}", m.lines("dlock_lease_ends"));
        }
        assert_eq!(m.sum("dlock_store_lease_ends_total", &[]), lost, "after {seconds} s");
        let held = counted(&m, "dlock_lock_held_seconds", "idle");
        assert!((2.0..90.0).contains(&held), "held for {held} s on the exporter's own clock");
        is_as_done(&m, "long", LONG, &long, slack);
    }
    sampler.finish();
    // Until what was last done is seen.
    for_a_while(POLL * 2);
    let m = exporter.metrics();
    is_as_done(&m, "long", LONG, &long, slack);
    is_as_done(&m, "short", SHORT, &short, slack + lost * 2.0);
    assert_eq!(counted(&m, "dlock_lock_acquisitions_total", "long"), 0.0, "held all along");
    assert_eq!(Done::get(&long.lost), 0.0);
    assert_eq!(Done::get(&short.lost), lost, "what the clock really took from its holder");
    assert_eq!(counted(&m, "dlock_lock_acquisitions_total", "short"), lost);
    for lock in ["idle", "free"] {
        assert_eq!(counted(&m, "dlock_lease_renewals_total", lock), 0.0, "{lock}");
        assert_eq!(counted(&m, "dlock_lock_acquisitions_total", lock), 0.0, "{lock}");
    }
    assert_eq!(m.sum("dlock_contention_events_total", &[]), 0.0);
    assert_eq!(m.sum("dlock_store_restarts_total", &[]), 0.0);
    assert!(m.is("dlock_store_clock_frozen", &[], 0.0));
    assert_eq!(raised_besides(&m, ABSURD), None);
    assert!(m.is("dlock_locks_flagged", &[("signal", ABSURD)], 0.0), "no longer");
    for (lock, may_rise) in [("long", true), ("short", true), ("idle", false), ("free", false)] {
        let rises = m.sum("dlock_signal_rises_total", &[("lock", lock), ("signal", ABSURD)]);
        assert_eq!(rises > 0.0, may_rise, "{lock}: a tenth of its lease is less than the step");
    }
    let log = exporter.log();
    assert!(!log.contains("event=shortened"), "nobody let go early:\n{log}");
    assert!(!log.contains("event=renewed_late"), "nobody was late:\n{log}");
}

#[test]
fn a_step_back_by_just_the_time_between_two_polls_is_no_standstill() {
    let clock = SteppedClock::start();
    let server = RedisSetup::default().clock(&clock).start();
    let (_driver, done) = renewing(&server, "long", LONG);
    let poll = Duration::from_millis(1000);
    let mut exporter = start(&config(&server, &["long"], poll));
    exporter.wait_for("dlock_lease_renewals_total", SOON * 2, |m| {
        counted(m, "dlock_lease_renewals_total", "long") >= 4.0
    });
    let mut backward = 0.0;
    for seconds in [-1.0, -0.95, -1.05, -2.0] {
        clock.step(seconds);
        backward += 1.0;
        exporter.wait_for("dlock_store_clock_steps_total backward", SOON, |m| {
            steps(m) == (0.0, backward) && is_ahead(m, clock.ahead())
        });
        for_a_while(poll * 3);
        let m = exporter.metrics();
        let size = m.value("dlock_store_clock_step_seconds", &[]);
        assert!(size.is_some_and(|size| (size - seconds).abs() < 0.05), "{seconds}: {size:?}");
        assert_eq!(steps(&m), (0.0, backward), "once each");
        assert!(m.is("dlock_store_clock_frozen", &[], 0.0));
        assert_eq!(raised(&m), None);
    }
    let m = exporter.metrics();
    let renewed = counted(&m, "dlock_lease_renewals_total", "long");
    assert!(renewed <= Done::get(&done.renewed));
    assert_eq!(m.sum("dlock_lease_ends_total", &[]), 0.0);
}

#[test]
fn by_a_clock_that_stands_still_no_lease_is_judged() {
    let clock = SteppedClock::start();
    let server = RedisSetup::default().clock(&clock).start();
    server.cmd(&["SET", "lock:idle", "idle-1:x", "PX", "600000"]);
    let (_long, long) = renewing(&server, "long", LONG);
    let (_short, short) = renewing(&server, "short", SHORT);
    let mut exporter = start(&config(&server, &["long", "short", "idle"], POLL));
    exporter.wait_for("dlock_lease_renewals_total dlock_renewal_overdue", SOON, |m| {
        counted(m, "dlock_lease_renewals_total", "short") >= 5.0
            && m.is("dlock_renewal_overdue", &[("lock", "short")], 0.0)
            && m.is("dlock_store_clock_frozen", &[], 0.0)
    });
    // While nothing can be judged there may be no counter to look at; then none has risen either.
    let sampler = Sampler::start(exporter.address(), |m| {
        let rose = m.sum("dlock_signal_rises_total", &[]) + m.sum("dlock_locks_flagged", &[]);
        (rose > 0.0).then(|| m.lines("dlock_signal_rises_total"))
    });
    // Once it goes on where it stood, once it jumps to the right time, which ends the short lease.
    for jumps in [false, true] {
        let stood = dlock_exporter::clock::mono();
        clock.stop();
        let lease_verdicts = [
            "dlock_renewal_overdue",
            "dlock_lease_remaining_seconds",
            "dlock_lease_without_ttl",
            "dlock_held_too_long",
        ];
        exporter.wait_for("dlock_store_clock_frozen 1, no verdict: dlock_", SOON, |m| {
            m.is("dlock_store_clock_frozen", &[], 1.0)
                && lease_verdicts.iter().all(|name| m.all(name, &[]).is_empty())
        });
        // Longer than the time after which a renewal would be overdue, and than the lease.
        for_a_while(Duration::from_secs_f64(SHORT));
        let m = exporter.metrics();
        assert!(m.is("dlock_store_clock_frozen", &[], 1.0));
        assert!(m.is("dlock_store_up", &[], 1.0), "it answers, if with the wrong time");
        assert_eq!(m.sum("dlock_lease_ends_total", &[]), 0.0);
        let before = steps(&m);
        let lag = if jumps { 0.0 } else { dlock_exporter::clock::mono().secs_since(stood) };
        clock.step(-lag);
        exporter.wait_for("judged again: dlock_store_clock_ dlock_renewal_overdue", SOON, |m| {
            m.is("dlock_store_clock_frozen", &[], 0.0)
                && m.is("dlock_renewal_overdue", &[("lock", "long")], 0.0)
                && m.is("dlock_renewal_overdue", &[("lock", "short")], 0.0)
                && is_ahead(m, clock.ahead())
        });
        for_a_while(PERIOD * 3);
        let m = exporter.metrics();
        assert_eq!(raised(&m), None);
        let after = steps(&m);
        let (forward, backward) = (after.0 - before.0, after.1 - before.1);
        if jumps {
            // It may have stood since the middle of a poll, which is seen as a step of less than a poll.
            assert!(forward <= 1.0 && backward == 0.0, "{before:?}, {after:?}");
        } else {
            assert_eq!((forward, backward), (0.0, 1.0), "it is behind by what it stood still");
            let size = m.value("dlock_store_clock_step_seconds", &[]).unwrap_or_default();
            assert!((size + lag).abs() < POLL.as_secs_f64() + 0.1, "{size} s for {lag} s");
            assert_eq!(Done::get(&short.lost), 0.0);
            assert_eq!(m.sum("dlock_store_lease_ends_total", &[]), 0.0);
        }
    }
    sampler.finish();
    let m = exporter.metrics();
    for (lock, done) in [("long", &long), ("short", &short)] {
        let renewed = counted(&m, "dlock_lease_renewals_total", lock);
        assert!(renewed <= Done::get(&done.renewed), "{lock}: {renewed}");
        assert_eq!(counted(&m, "dlock_lease_late_renewals_total", lock), 0.0, "{lock}");
    }
    assert_eq!(counted(&m, "dlock_lease_renewals_total", "idle"), 0.0);
    let lost = Done::get(&short.lost);
    assert_eq!((Done::get(&long.lost), lost), (0.0, 1.0));
    assert_eq!(m.sum("dlock_lock_acquisitions_total", &[]), lost, "{}", m.lines("dlock_lock_acq"));
    assert_eq!(m.sum("dlock_store_lease_ends_total", &[]), lost);
    for wrong in ["released", "lapsed", "overwritten", "failover"] {
        let ends = [("evidence", wrong)];
        assert_eq!(m.sum("dlock_store_lease_ends_total", &ends), 0.0, "{wrong}");
    }
}

#[test]
fn a_lock_without_an_expiry_is_found_by_the_exporters_own_clock() {
    let clock = SteppedClock::start();
    let server = RedisSetup::default().clock(&clock).start();
    let mut exporter = start(&config(&server, &["endless"], POLL));
    exporter.wait_for("dlock_lease_without_ttl 0", SOON, |m| {
        m.is("dlock_lease_without_ttl", &[("lock", "endless")], 0.0)
    });
    server.cmd(&["SET", "lock:endless", "endless-1:x"]);
    exporter.wait_for("dlock_lock_held", SOON, |m| m.is("dlock_lock_held", &[], 1.0));
    clock.step(-40.0);
    let worst = Duration::from_secs(1) + POLL * 2;
    let took = exporter.wait_for("dlock_lease_without_ttl 1", worst + SLACK * 4, |m| {
        m.is("dlock_lease_without_ttl", &[("lock", "endless")], 1.0)
    });
    assert!(took < worst + SLACK, "after {took:?}");
}
