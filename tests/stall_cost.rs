//! What sampling the stalls of a host full of processes costs: a share of a core that is bounded whatever there is to
//! sample, and by whichever way.

use std::time::Duration;

use crate::processes::unique;
use crate::support::{
    ExporterSetup, Fleet, cpu_of_threads, for_a_while, long, not_tested, wait_until,
};

const THREADS: usize = 40;
/// The share of a core that may be taken. Looks at cgroups and JVMs come on top of what is budgeted, and cost several
/// times as much without optimisation; the benchmark holds the release build to the bound of the documents.
const MOST: f64 = if cfg!(debug_assertions) { 0.04 } else { 0.015 };
/// Moves between two samples, every time.
const BEAT: Duration = Duration::from_millis(200);

/// Words that start a program without the capability that taskstats need.
const NO_TASKSTATS: [&str; 3] = ["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin"];

fn costs_little(wrapper: &[&str], log: &str) {
    let processes = if long() { 500 } else { 100 };
    let mark = unique();
    let dir = tempfile::TempDir::new().unwrap();
    let _fleet = Fleet::start(processes, THREADS, BEAT, &mark, dir.path());
    let setup = ExporterSetup::file(&format!(
        "workers:\n  fleet: {{ names: [fleet-1], process: {{ command: ' {mark} ' }} }}\n"
    ));
    let exporter = setup.wrapped(wrapper).start();
    assert!(exporter.log().contains(log), "{}", exporter.log());
    let polls = || {
        let labels = [("poller", "stall"), ("target", "host")];
        exporter.metrics().value("dlock_exporter_polls_total", &labels).unwrap_or_default()
    };
    // What is saved up for the first samples is spent, and young processes were looked at for becoming JVMs.
    wait_until("some samples", Duration::from_secs(30), || (polls() >= 18.0).then_some(()));
    let cpu = || cpu_of_threads(exporter.pid(), "stalls");
    let (before, begun, first) = (cpu(), dlock_exporter::clock::mono(), polls());
    for_a_while(Duration::from_secs(if long() { 30 } else { 6 }));
    let wall = dlock_exporter::clock::mono().since(begun);
    let share = (cpu() - before).as_secs_f64() / wall.as_secs_f64();
    let ticks = polls() - first;
    // Every half second, on a machine that may be busy.
    assert!(ticks >= wall.as_secs_f64(), "{ticks} samples in {wall:?}");
    assert!(share > 0.000_01, "nothing was done: {share}");
    assert!(share < MOST, "{processes} processes of {THREADS} threads: {share} of a core");
}

#[test]
fn by_taskstats_a_host_full_of_processes_costs_little() {
    let capable = std::fs::read_to_string("/proc/self/status").unwrap();
    let caps = capable.lines().find_map(|l| l.strip_prefix("CapEff:")).unwrap().trim();
    if u64::from_str_radix(caps, 16).unwrap() >> 12 & 1 == 0 {
        not_tested("taskstats: no CAP_NET_ADMIN");
        return;
    }
    costs_little(&[], "way=taskstats");
}

#[test]
fn from_proc_it_is_bounded_as_well() {
    if std::process::Command::new("setpriv").arg("--version").output().is_err() {
        not_tested("no setpriv to drop a capability with");
        return;
    }
    costs_little(&NO_TASKSTATS, "way=procfs");
}
