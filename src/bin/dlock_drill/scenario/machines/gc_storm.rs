//! A worker on a JVM whose collector stops the world for longer than its lease leaves room for. It lives all the while: what
//! has to be told is the stall, its cause, and that the lease is too short for it, and nothing about its death.

use std::time::Duration;

use super::own::{self, Own};
use crate::failure::Failure;
use crate::keys;
use crate::scenario::{Act, Scenario};
use crate::servers::jvm::{Job, Jvm, is_missing};
use crate::stage::{Ended, Look, Stage, Within};

/// Full collections, one after the other.
pub struct GcStorm;

const LEASE: Duration = Duration::from_millis(600);
const PERIOD: Duration = Duration::from_millis(120);
/// How long one collection should be; the lease leaves room for less.
const PAUSE: Duration = Duration::from_millis(700);
/// How often the exporter polls: a few times in such a lease.
const POLL: Duration = Duration::from_millis(250);
/// Storms until a collection was long enough: how long one takes is the machine's business.
const TRIES: u32 = 6;

impl Scenario for GcStorm {
    fn name(&self) -> &'static str {
        "gc-storm"
    }

    fn about(&self) -> &'static str {
        "a JVM's collector stops its worker for longer than the lease leaves room for: told as a stall, not as a death"
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn run<'a>(&'a self, stage: &'a mut Stage) -> Act<'a> {
        Box::pin(run(stage))
    }
}

async fn run(stage: &mut Stage) -> Result<(), Ended> {
    let own = Own::begin(stage)?;
    if let Some(why) = is_missing() {
        return Err(Ended::NotRun(why));
    }
    let server = own.server().start().await?;
    let (name, key) = (stage.lock().to_owned(), keys::lock_key(stage.lock()));
    let (worker, token) = (keys::worker_name(&name, 1), own::token(stage, 1));
    let heartbeat = keys::heartbeat_key(&worker);
    let job = Job {
        port: server.port(),
        password: &own.password,
        key: &key,
        token: &token,
        heartbeat: &heartbeat,
        lease: LEASE,
        period: PERIOD,
    };
    let mut jvm = Jvm::start(&job).await?;
    let usual = millis(&jvm.tell(&format!("fill {}", PAUSE.as_millis())).await?)?;
    stage.note(&format!("its heap is filled: a full collection takes {usual} ms"));
    let pid_file = own.file("jvm.pid");
    std::fs::write(&pid_file, jvm.pid().to_string())
        .map_err(|e| Failure::new(format!("{}: {e}", pid_file.display())))?;
    let store =
        format!("url: {}\nlocks:\n{}", server.url(), own::lock(&name, LEASE, ", renewed: true"));
    let table = format!(
        "workers:\n  jvm: {{ names: [{worker}], process: {{ pid_file: '{}' }}, heartbeat: {{ redis: {{ store: {}, key: '{heartbeat}' }} }} }}\n",
        pid_file.display(),
        stage.world().store
    );
    let _watch = own.watch(stage, server.address(), &store, &table, POLL).await?;
    if jvm.tell("hold").await? != "+OK" {
        return Err(Failure::new("the worker on the JVM did not get its lock").into());
    }
    let of_worker = [("worker", worker.as_str())];
    let number = |l: &Look, metric: &str| l.metrics().value(metric, &of_worker);
    let is_well = |l: &Look| {
        l.value("dlock_lease_renewals_total") >= Some(6.0)
            && l.value("dlock_lease_stall_budget_seconds").is_some()
            && l.liveness() == "alive"
            && l.is_down("lease_shorter_than_stall")
            && number(l, "dlock_worker_jvm_safepoint_seconds_total").is_some()
    };
    stage.ready("it is held, renewed, and seen as a JVM", is_well).await?;
    let look = stage.look();
    let budget = look.value("dlock_lease_stall_budget_seconds").unwrap_or_default();
    let before = number(&look, "dlock_worker_jvm_safepoint_seconds_total").unwrap_or_default();
    let collected = own::sum(&look, "dlock_worker_jvm_gc_collections_total", &of_worker);
    stage.note(&format!("the lease survives a stall of {budget:.2} s"));
    stage.wait_at_random().await;

    let (mut count, mut fills, mut longest) = (0, 0, 0.0);
    for _ in 0..TRIES {
        let storm = 1 + stage.random().u32(..3);
        stage.mark(&format!("a storm of {storm} full collections begins"));
        longest = millis(&jvm.tell(&format!("storm {storm}")).await?)? / 1000.0;
        count += storm;
        if longest > budget * 1.1 {
            break;
        }
        fills += 1;
        // It was filled while the machine was busier than it is now.
        let more = (budget * (1500.0 + 500.0 * f64::from(fills))).ceil();
        let usual = millis(&jvm.tell(&format!("more {more}")).await?)?;
        stage.note(&format!("that was too short: its heap is filled up to {usual} ms"));
    }
    stage.mark(&format!("the storm is over; the longest collection took {longest:.2} s"));
    // JVMs and stalls are looked at each second or so.
    let soon = Within::polls(2.0).and_seconds(2.0);
    stage
        .expect("dlock_worker_jvm_gc_collections_total counts them", soon, |l| {
            let sum = own::sum(l, "dlock_worker_jvm_gc_collections_total", &of_worker);
            sum >= collected + f64::from(count)
        })
        .await;
    stage
        .expect("dlock_worker_jvm_safepoint_seconds_total has their time", soon, |l| {
            number(l, "dlock_worker_jvm_safepoint_seconds_total") >= Some(before + longest * 0.9)
        })
        .await;
    if longest > budget * 1.1 {
        stage
            .expect("dlock_worker_worst_stall_seconds is above the budget", soon, |l| {
                let lower = [("worker", worker.as_str()), ("bound", "lower")];
                l.metrics().value("dlock_worker_worst_stall_seconds", &lower) > Some(budget)
            })
            .await;
        stage
            .expect("dlock_lease_shorter_than_stall 1", soon, |l| {
                l.is_up("lease_shorter_than_stall")
            })
            .await;
    } else {
        let why = format!("this machine collects too fast: {longest:.2} s of {budget:.2} s");
        stage.not_judged("dlock_lease_shorter_than_stall 1", &why);
    }
    let look = stage.look();
    let lived = number(&look, "dlock_worker_restarts_total") == Some(0.0)
        && own::sum(&look, "dlock_worker_alive", &[("worker", &worker), ("source", "process")])
            == 1.0;
    stage.holds("the worker is alive all along", lived, look.told());
    let lost = millis(&jvm.tell("lost").await?)?;
    stage.note(&format!("the worker found its lease gone {lost} times"));
    // A lease that ran out under it, and late renewals, are what such a storm does.
    stage
        .rises(&[
            ("lease_shorter_than_stall", 0..=3),
            // A heap is filled in a few rounds, each with a collection or two.
            ("renewal_overdue", 0..=count + 10 * fills),
            ("lease_lapses_in_use", 0..=1),
        ])
        .await;
    Ok(())
}

fn millis(answer: &str) -> Result<f64, Failure> {
    answer.parse().map_err(|_| Failure::new(format!("the worker on the JVM answers {answer:?}")))
}
