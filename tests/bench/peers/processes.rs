//! 500 processes of 40 threads, each of them a worker that is watched: what process-exporter takes for a scrape, beside all that the exporter
//! takes at its default intervals, scraped as often.

use std::time::Duration;

use dlock_exporter::clock;
use tempfile::TempDir;

use super::cpu_of_threads;
use super::peer::{self, Peer};
use super::support::{ExporterSetup, Fleet, for_a_while, long};
use super::table::Table;

const PROCESSES: usize = 500;
const THREADS: usize = 40;
/// One thread of each moves so often.
const BEAT: Duration = Duration::from_millis(200);
/// Between two scrapes, as is usual.
const SCRAPES: Duration = Duration::from_secs(15);

/// A group of each process, so that one can be told from another as ours are.
const CONFIG: &str = "process_names: [{ name: '{{.PID}}', comm: [python3] }]\n";

/// Measures and adds to the table.
pub fn compare(table: &mut Table) {
    let Some(program) = peer::find("prometheus-process-exporter") else {
        return table.missing("process-exporter, which is not installed".into());
    };
    let dir = TempDir::new().unwrap();
    let fleet = Fleet::start(PROCESSES, THREADS, BEAT, "fleet-of-peers", dir.path());
    let config = dir.path().join("process.yml");
    std::fs::write(&config, CONFIG).unwrap();
    let config = format!("-config.path={}", config.display());
    let least = ["-threads=false".to_owned(), "-gather-smaps=false".to_owned(), config.clone()];
    let peers = [vec![config], least.to_vec()]
        .map(|words| Peer::start(&program, &words, "-web.listen-address="));
    let mut names = Vec::new();
    for (n, (pid, _)) in fleet.processes().iter().enumerate() {
        names.push(format!("w-{n}"));
        std::fs::write(dir.path().join(format!("w-{n}.pid")), pid.to_string()).unwrap();
    }
    let mut ours = ExporterSetup::file(&format!(
        "workers: {{ fleet: {{ names: [{}], process: {{ pid_file: '{}/{{worker}}.pid' }} }} }}\n",
        names.join(", "),
        dir.path().display()
    ))
    .start();
    ours.wait_for("dlock_worker_alive", Duration::from_secs(30), |m| {
        m.sum("dlock_worker_alive", &[]) == PROCESSES as f64
    });
    // What is saved up for the first samples is spent then.
    for_a_while(Duration::from_secs(10));
    let (mut all, mut cheap, mut shares) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..if long() { 5 } else { 3 } {
        let share = share(ours.address(), ours.pid());
        shares.push(share);
        for (peer, ratios) in peers.iter().zip([&mut all, &mut cheap]) {
            // The first one is of what came and went since the last.
            peer.scrape();
            let before = peer.cpu();
            let text = peer.scrape().1;
            let shown = text.lines().filter(|l| l.starts_with("namedprocess_namegroup_num_procs{"));
            assert!(shown.count() >= PROCESSES, "processes that it shows");
            ratios.push((peer.cpu() - before) / SCRAPES.as_secs_f64() / share);
        }
    }
    println!("ours: {shares:.4?} of a core");
    let of = format!(
        "process-exporter {}, {PROCESSES} processes of {THREADS} threads",
        peer::version(&program)
    );
    table.add(&format!("{of}, scraped every {} s: share of a core", SCRAPES.as_secs()), all);
    table.add("the same without threads and memory maps", cheap);
}

/// Share of a core that the exporter takes, from one scrape to the next.
fn share(address: std::net::SocketAddr, pid: i32) -> f64 {
    let sampling = || cpu_of_threads(pid, "stalls").as_secs_f64();
    let (before, stalls, begun) = (peer::cpu(pid), sampling(), clock::mono());
    for_a_while(SCRAPES);
    peer::scrape(address);
    let wall = clock::mono().since(begun).as_secs_f64();
    let share = (peer::cpu(pid) - before) / wall;
    println!("ours: {share:.4} of a core, of which stalls {:.4}", (sampling() - stalls) / wall);
    share
}
