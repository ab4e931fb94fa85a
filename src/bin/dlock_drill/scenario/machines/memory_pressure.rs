//! The holder's cgroup has too little memory for what is done in it: a neighbour reads more than may be kept, again and again.
//! Its pressure is told, and a holder that goes on renewing all the same is not said to be lost.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ChildStdin;

use rustix::fs::{Advice, fadvise, statfs};

use super::own::sum;
use crate::bound;
use crate::children::Group;
use crate::failure::Failure;
use crate::scenario::{Act, Scenario};
use crate::servers::cgroup::Cramped;
use crate::servers::wait::{at, private_dir};
use crate::stage::{Ended, Look, Stage, Within};

/// A cgroup with little memory around the holder and a neighbour that wants more.
pub struct MemoryPressure;

const LIMIT: u64 = 32 << 20;
/// What the neighbour reads.
const READ: usize = 96 << 20;
/// Pressure that is no accident, in seconds.
const PRESSED: f64 = 0.05;
const WAITING: &str = "dlock_worker_cgroup_memory_waiting_seconds_total";
const TMPFS: u32 = 0x0102_1994;

impl Scenario for MemoryPressure {
    fn name(&self) -> &'static str {
        "memory-pressure"
    }

    fn about(&self) -> &'static str {
        "the holder's cgroup runs short of memory: its pressure is told, and the holder is not said to be lost"
    }

    fn run<'a>(&'a self, stage: &'a mut Stage) -> Act<'a> {
        Box::pin(run(stage))
    }
}

async fn run(stage: &mut Stage) -> Result<(), Ended> {
    let worker = stage.start(stage.worker(1)).await?;
    let (mut neighbour, pages) = Neighbour::start()?;
    // Declared last: it is taken away before the processes in it, which are moved out of it then.
    let name = format!("{}-{}", stage.lock(), std::process::id());
    let cramped = Cramped::make(&name).map_err(|e| Ended::NotRun(e.to_string()))?;
    cramped.limit(LIMIT)?;
    stage.note(&format!("the limit is {} MiB, by {}", LIMIT >> 20, cramped.way));
    cramped.add(neighbour.group.pid())?;
    cramped.add(worker.pid())?;
    stage.healthy(&worker).await?;
    let of_worker = [("worker", worker.name())];
    let told = |l: &Look, name: &str| l.metrics().value(name, &of_worker);
    let is_read = |l: &Look| l.liveness() == "alive" && told(l, WAITING).is_some();
    stage.ready("the pressure of its cgroup is read", is_read).await?;
    let before = stage.look();
    let waited = told(&before, WAITING).unwrap_or_default();
    stage.wait_at_random().await;

    neighbour.begin()?;
    stage.mark("its neighbour begins to read more than may be kept");
    // How soon it hurts is the machine's business; what has hurt is told with the next look.
    let soon = Within::polls(2.0).and_seconds(30.0);
    let what = format!("{WAITING} rises by {PRESSED} s");
    stage.expect(&what, soon, |l| told(l, WAITING) >= Some(waited + PRESSED)).await;
    stage
        .expect("dlock_worker_cgroup_memory_bytes is within the limit", soon, |l| {
            let bytes = told(l, "dlock_worker_cgroup_memory_bytes");
            bytes.is_some_and(|b| b > 0.0 && b <= LIMIT as f64 * 1.1)
        })
        .await;
    if cramped.is_hard {
        stage
            .expect("dlock_worker_cgroup_memory_limit_bytes", soon, |l| {
                told(l, "dlock_worker_cgroup_memory_limit_bytes") == Some(LIMIT as f64)
            })
            .await;
    }
    let lease = std::time::Duration::from_secs_f64(stage.lease());
    tokio::time::sleep(lease).await;
    cramped.lift()?;
    neighbour.group.kill()?;
    stage.mark("it ends, and the limit is lifted");
    let still = Within::polls(3.0);
    stage
        .expect("the holder is alive and holds the lock", still, |l| {
            l.liveness() == "alive" && l.is_held_by(worker.name())
        })
        .await;
    let after = stage.look();
    let [kills, throttled] = ["oom_kills", "throttled_seconds"].map(|kind| {
        let name = format!("dlock_worker_cgroup_{kind}_total");
        sum(&after, &name, &of_worker) - sum(&before, &name, &of_worker)
    });
    let is_quiet = kills == 0.0 && throttled == 0.0;
    let told = format!("{kills} kills, {throttled} s throttled");
    stage.holds("no kill and no throttling is told", is_quiet, told);
    // A stall of the worker's own, if the want of memory made one, is told as that.
    stage.rises(&[("renewal_overdue", 0..=2), ("lease_shorter_than_stall", 0..=1)]).await;
    drop(pages);
    Ok(())
}

/// A program that waits for a word and then reads a file without end.
struct Neighbour {
    group: Group,
    input: ChildStdin,
}

impl Neighbour {
    /// With the directory of its file.
    fn start() -> Result<(Self, tempfile::TempDir), Ended> {
        let places = [PathBuf::from("/var/tmp"), std::env::temp_dir(), PathBuf::from(".")];
        // What is read of a file in memory cannot be forgotten and read again.
        let is_disk = |p: &&PathBuf| statfs(p.as_path()).is_ok_and(|s| s.f_type as u32 != TMPFS);
        let Some(place) = places.iter().find(is_disk) else {
            return Err(Ended::NotRun(
                "neither /var/tmp, the temporary directory nor the current one is on a disk".into(),
            ));
        };
        let dir = tempfile::Builder::new().prefix("dlock_drill-").tempdir_in(place);
        let dir = dir.map_err(|e| at(place, e))?;
        let pages = dir.path().join("pages");
        std::fs::write(&pages, vec![7; READ]).map_err(|e| at(&pages, e))?;
        let forgotten = std::fs::File::open(&pages).and_then(|file| {
            file.sync_all()?;
            Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
        });
        forgotten.map_err(|e| at(&pages, e))?;
        let mut command = bound::command(Path::new("sh"))?;
        command.args(["-c", "read go; while cat \"$1\" > /dev/null; do :; done", "sh"]).arg(&pages);
        let logs = private_dir()?;
        let (group, input, _) = Group::talking("neighbour", &mut command, logs.path())?;
        Ok((Self { group, input }, dir))
    }

    fn begin(&mut self) -> Result<(), Failure> {
        writeln!(self.input, "go").map_err(|e| Failure::new(format!("the neighbour is gone: {e}")))
    }
}
