//! The holder is killed and its process id is taken by another process, as happens by chance on a host that runs through its
//! ids. Whoever looks at the id alone sees a holder that lives.

use crate::scenario::{Act, Scenario};
use crate::servers::pids;
use crate::servers::wait::{at, private_dir};
use crate::stage::{Ended, Stage, Within};

/// Another process with the holder's id; where ids cannot be chosen, another one in the holder's pid file.
pub struct PidReuse;

impl Scenario for PidReuse {
    fn name(&self) -> &'static str {
        "pid-reuse"
    }

    fn about(&self) -> &'static str {
        "another process gets the id of a holder that was killed: replaced and stale, not alive, until its lease ends"
    }

    fn run<'a>(&'a self, stage: &'a mut Stage) -> Act<'a> {
        Box::pin(run(stage))
    }
}

async fn run(stage: &mut Stage) -> Result<(), Ended> {
    let mut worker = stage.start(stage.worker(1)).await?;
    stage.healthy(&worker).await?;
    stage.wait_at_random().await;
    let pid = worker.pid();
    worker.kill()?;
    let logs = private_dir()?;
    let _stranger = if pids::may_be_chosen() {
        let stranger = pids::take(pid, logs.path())?;
        stage.mark("the holder is killed, and another process has its id");
        stranger
    } else {
        stage.note("ids cannot be chosen without CAP_CHECKPOINT_RESTORE: the pid file names another process instead");
        let stranger = pids::stranger(logs.path())?;
        let file = stage.pid_file(worker.name());
        std::fs::write(&file, stranger.pid().to_string()).map_err(|e| at(&file, e))?;
        stage.mark("the holder is killed, and its pid file names another process");
        stranger
    };
    let soon = Within::polls(2.0);
    stage.expect("dlock_holder_liveness replaced", soon, |l| l.liveness() == "replaced").await;
    stage.expect("dlock_holder_stale 1", soon, |l| l.is_up("holder_stale")).await;
    let name = worker.name().to_owned();
    let restarts = [("worker", name.as_str())];
    stage
        .expect("dlock_worker_restarts_total counts it", soon, |l| {
            l.metrics().value("dlock_worker_restarts_total", &restarts) >= Some(1.0)
        })
        .await;
    let lease = stage.lapsed();
    stage.expect("dlock_lock_held 0", lease, |l| l.is_free()).await;
    stage.expect_lapse().await;
    stage.expect("dlock_holder_stale 0", lease, |l| l.is_down("holder_stale")).await;
    // Between the two it may be seen without any process for a moment; on a busy machine it really stalls.
    let allowed =
        [("holder_stale", 1..=2), ("renewal_overdue", 0..=1), ("lease_shorter_than_stall", 0..=1)];
    stage.rises(&allowed).await;
    Ok(())
}
