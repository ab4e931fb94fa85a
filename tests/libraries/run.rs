//! What every ecosystem's locks go through, and what must be seen meanwhile. The same for all libraries: what differs is
//! in their cases.

use std::collections::BTreeSet;
use std::process::Command;

use dlock_exporter::clock;
use serde_json::Value;

use super::case::{Case, NamedBy};
use super::world::{SOON, WORKER, World, Wrong, of, with};
use crate::support::{Metrics, Sample};

/// What else is watched of an ecosystem.
pub struct Beside {
    /// More of the config, at its top level.
    pub config: &'static str,
    /// What it makes the exporter show while all is well.
    pub shows: fn(&Metrics) -> bool,
}

/// Takes every lock with its library and watches what becomes of it.
pub fn run(ecosystem: &str, command: Command, cases: &[Case]) {
    run_with(ecosystem, command, cases, &Beside { config: "", shows: |_| true });
}

/// The same, and what else there is to be seen.
pub fn run_with(ecosystem: &str, command: Command, cases: &[Case], beside: &Beside) {
    let mut world = World::start(ecosystem, command, cases, beside.config);
    world.acquire(|_| true);
    world.all_are_decoded();
    world.exporter.wait_for("dlock_worker_ what is beside the locks", SOON, beside.shows);
    world.those_that_renew_are_renewed();
    world.a_stopped_process_is_seen_in_every_lock();
    world.all_is_well_again();
    world.all_are_released();
    world.no_token_is_shown();
}

impl World<'_> {
    fn all_are_decoded(&mut self) {
        let driver = i64::from(self.driver.pid());
        self.wait("every lock is decoded", |case, m, lock| {
            let mut wrong = Wrong::default();
            wrong.unless(m.is("dlock_lock_held", &of(case), 1.0), "not held");
            let held_by = m.value("dlock_lock_holder_info", &with(case, ("worker", WORKER)));
            let is_named = case.named_by != NamedBy::Nobody;
            wrong.same("held by the driver", held_by == Some(1.0), is_named);
            let infos = m.all("dlock_lock_info", &of(case));
            wrong.same(
                "format",
                infos.iter().map(|s| s.label("format")).collect(),
                vec![case.format],
            );
            wrong.same("format in the API", lock["format"].as_str(), Some(case.format));
            let others =
                lock["also_fits"].as_array().map(|l| l.iter().filter_map(Value::as_str).collect());
            wrong.same("also fits", others, Some(case.also_fits.to_vec()));
            let holders = lock["holders"].as_array().cloned().unwrap_or_default();
            wrong.same("holders", holders.len(), case.holders);
            let counted = m.value("dlock_lock_holders", &of(case));
            wrong.same("counted", counted, Some(case.holders as f64));
            wrong.same("waiters", m.value("dlock_lock_waiters", &of(case)), case.waiters);
            let counts = m.value("dlock_fencing_token_issued", &of(case)).is_some();
            wrong.same("counts fencing tokens", counts, case.fenced);
            for holder in &holders {
                wrong.same("count", holder["count"].as_u64(), Some(case.count));
                wrong.same("liveness", holder["liveness"].as_str(), Some(case.state("alive")));
                let pid = holder["pid"].as_i64();
                wrong.same("pid", pid, case.states_pid.then_some(driver));
                let age = holder["acquired_timestamp"].as_f64().map(|at| clock::wall_secs() - at);
                let is_recent = age.is_some_and(|age| (-1.0..120.0).contains(&age));
                wrong.same(&format!("states its time ({age:?})"), is_recent, case.states_time);
            }
            wrong
        });
        let m = self.exporter.metrics();
        let listed: BTreeSet<_> =
            m.all("dlock_lock_info", &[]).iter().map(|s| s.label("lock").to_owned()).collect();
        let locks: BTreeSet<_> = self.cases.iter().map(|c| c.key.to_owned()).collect();
        assert_eq!(listed, locks, "only locks are listed");
    }

    fn those_that_renew_are_renewed(&mut self) {
        self.wait("those that renew are renewed", |case, m, _| {
            let mut wrong = Wrong::default();
            let renewals = m.value("dlock_lease_renewals_total", &of(case)).unwrap_or(0.0);
            wrong.unless(!case.renews || renewals >= 2.0, &format!("{renewals} renewals"));
            wrong
        });
        let m = self.exporter.metrics();
        for case in self.cases {
            let of_case = of(case);
            if !case.renews {
                let renewals = m.sum("dlock_lease_renewals_total", &of_case);
                assert_eq!(renewals, 0.0, "{}: nobody renews it", case.case);
            }
            let length = m.value("dlock_lease_length_seconds", &of_case);
            let told = case.lease_ms as f64 / 1e3;
            let is_learned = length.is_some_and(|l| (told * 0.8..=told + 0.1).contains(&l));
            let transitions = &self.api_of(case)["lock"]["transitions"];
            let told: Vec<_> =
                transitions.as_array().into_iter().flatten().map(|t| &t["what"]).collect();
            let is_usual = |what: &&Value| {
                ["found_held", "acquired", OF_THE_MACHINE].iter().any(|usual| **what == *usual)
            };
            assert!(
                !case.raises.is_empty() || told.iter().all(is_usual),
                "{}: {told:?}",
                case.case
            );
            let info = m.all("dlock_lock_info", &of_case);
            // One that a pattern found when it was held already and that is not seen to be renewed does not tell.
            let is_shown = info.first().is_some_and(|s| s.label("lease_source") == "learned");
            let tells = case.lease_ms > 0 && (case.renews || is_shown);
            assert!(is_learned || !tells, "{}: a lease of {length:?}", case.case);
            assert_eq!(info.first().map(|s| s.label("format")), Some(case.format), "{}", case.case);
        }
        self.nothing_rose("nothing is wrong");
    }

    /// No signal is up or was, but those that the cases name.
    fn nothing_rose(&self, what: &str) {
        let m = self.exporter.metrics();
        for case in self.cases {
            let rises = m.all("dlock_signal_rises_total", &of(case));
            assert!(!rises.is_empty(), "{} is not judged", case.case);
            let rose = rises.iter().filter(|s| s.value > 0.0).map(|s| s.label("signal"));
            let is_the_locks = |s: &&str| case.raises.contains(s) || *s != OF_THE_MACHINE;
            let rose: Vec<_> = rose.filter(is_the_locks).collect();
            assert_eq!(rose, case.raises, "{what}: {}: {:#}", case.case, self.api_of(case));
        }
    }

    fn a_stopped_process_is_seen_in_every_lock(&mut self) {
        self.driver.pause();
        self.wait("every holder is stopped, and every short lease lapses", |case, m, _| {
            let mut wrong = Wrong::default();
            let stale = with(case, ("signal", "holder_stale"));
            let is_judged = case.is_judged();
            let is_stale = m.sum("dlock_signal_rises_total", &stale) >= 1.0;
            wrong.same("was stale", is_stale, is_judged);
            let after = with(case, ("signal", "renewal_after_lost_liveness"));
            wrong.same("renewed after it", m.sum("dlock_signal_rises_total", &after), 0.0);
            if case.lapses() {
                let all = case.holders as f64;
                wrong.same("ended", lapsed(case, m) + unseen(case, m), all);
                let stopped = with(case, ("state", "stopped"));
                let under = m.sum("dlock_lease_expired_under_holder_total", &stopped);
                let expected = if is_judged { lapsed(case, m) } else { 0.0 };
                wrong.same("lapsed while stopped", under, expected);
                wrong.same("held", m.value("dlock_lock_held", &of(case)), Some(0.0));
            } else {
                let stopped = with(case, ("state", case.state("stopped")));
                wrong.same("stopped", m.value("dlock_holder_liveness", &stopped), Some(1.0));
                let stale = m.value("dlock_holder_stale", &of(case));
                wrong.same("stale", stale, is_judged.then_some(1.0));
            }
            wrong
        });
        self.driver.resume();
        // On a machine that is busy for 50 ms just then, the end of some leases is not seen from near enough.
        let m = self.exporter.metrics();
        let short = || self.cases.iter().filter(|c| c.lapses());
        let all: usize = short().map(|c| c.holders).sum();
        let seen: f64 = short().map(|c| lapsed(c, &m)).sum();
        assert!(seen * 2.0 >= all as f64, "of {all} leases only {seen} were seen to lapse");
    }

    fn all_is_well_again(&mut self) {
        self.acquire(Case::lapses);
        self.wait("every lock is held again, and well", |case, m, _| {
            let mut wrong = Wrong::default();
            wrong.same("held", m.value("dlock_lock_held", &of(case)), Some(1.0));
            let alive = with(case, ("state", case.state("alive")));
            wrong.same("alive", m.value("dlock_holder_liveness", &alive), Some(1.0));
            let stale = m.value("dlock_holder_stale", &of(case));
            wrong.same("stale", stale, case.is_judged().then_some(0.0));
            wrong
        });
        let m = self.exporter.metrics();
        // What was too long a stop for some leases stays true; a missed renewal is shown for a minute.
        const STAY: [&str; 2] = [OF_THE_MACHINE, "renewal_overdue"];
        let flagged: Vec<_> = m
            .all("dlock_locks_flagged", &[])
            .into_iter()
            .filter(|s| s.value > 0.0 && !STAY.contains(&s.label("signal")))
            .filter(|s| !self.cases.iter().any(|c| c.raises.contains(&s.label("signal"))))
            .collect();
        assert!(flagged.is_empty(), "{flagged:?}");
    }

    fn all_are_released(&mut self) {
        for case in self.cases {
            self.driver.release(case.name);
        }
        self.wait("every lock is released", |case, m, _| {
            let mut wrong = Wrong::default();
            wrong.same("held", m.value("dlock_lock_held", &of(case)), Some(0.0));
            let ends =
                |evidence| m.sum("dlock_lease_ends_total", &with(case, ("evidence", evidence)));
            let all = case.holders as f64;
            let before = if case.lapses() { all } else { 0.0 };
            wrong.same("ends", m.sum("dlock_lease_ends_total", &of(case)), all + before);
            let own = if case.ends == "lapsed" { all + before - unseen(case, m) } else { all };
            wrong.same(case.ends, ends(case.ends), own);
            wrong
        });
        let m = self.exporter.metrics();
        let contested = m.all("dlock_contention_events_total", &[]);
        // Hints prove nothing: a holder that comes back from a long stop rightly leaves one.
        let is_proof = |s: &&&Sample| !["resumed", "slowlog"].contains(&s.label("kind"));
        let contested: Vec<_> =
            contested.iter().filter(|s| s.value > 0.0).filter(is_proof).collect();
        assert!(contested.is_empty(), "nobody contended: {contested:?}");
        self.driver.quit();
    }

    /// Owner tokens are credentials.
    fn no_token_is_shown(&self) {
        let pages = ["/metrics", "/api/v1/locks", "/api/v1/workers", "/"];
        let shown = pages.map(|p| self.exporter.get(p).body).concat() + &self.exporter.log();
        for token in &self.tokens {
            let text = String::from_utf8_lossy(token).into_owned();
            let hex: String = token.iter().map(|b| format!("{b:02x}")).collect();
            assert!(!shown.contains(&text) && !shown.contains(&hex), "a token is shown: {text:?}");
        }
    }
}

/// Rightly up where a busy machine stalled the holder; it says nothing of the lock or its library.
const OF_THE_MACHINE: &str = "lease_shorter_than_stall";

/// Its leases that ran out, as far as that was seen.
fn lapsed(case: &Case, m: &Metrics) -> f64 {
    m.sum("dlock_lease_ends_total", &with(case, ("evidence", "lapsed")))
}

/// Its leases whose end nobody saw.
fn unseen(case: &Case, m: &Metrics) -> f64 {
    m.sum("dlock_lease_ends_total", &with(case, ("evidence", "unknown")))
}
