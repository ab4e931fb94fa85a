//! What must hold for any bytes that a server, another process or a file may give: the parsers do not panic, what they
//! accept is within reason, and what the kernel or a server would write comes back as it was. Compiled for tests and for
//! `tests/fuzz` only; the product must not call it.

mod feed;
mod host;
pub(in crate::poll) mod resp;
mod server;
mod source;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cgroup::locate::{Place, Tree, lines};
use super::cgroup::parse;
use super::chrony::codec;
use super::jvm::{counters, hsperfdata as file, maps};
use super::mounts::{Mount, Mounts};
use super::process::stat;
use super::stalls::tasks;
use super::stalls::taskstats::Stats;
use super::stalls::taskstats::wire::{self, Body, Whom};
use crate::observe::label;

pub use feed::feed;
pub use host::proc;
pub use resp::resp;
pub use server::server;
pub use source::source;

/// Holds its assertions against any bytes.
pub type Target = fn(&[u8]);

/// Every target by the name of its corpus.
pub const TARGETS: [(&str, Target); 11] = [
    ("chrony", chrony),
    ("hsperfdata", hsperfdata),
    ("cgroup", cgroup),
    ("taskstats", taskstats),
    ("resp", resp),
    ("server", server),
    ("feed", feed),
    ("source", source),
    ("proc", proc),
    ("format", crate::format::fuzzing::format),
    ("config", crate::config::fuzzing::config),
];

/// A datagram in answer to a request for chronyd's tracking data.
pub fn chrony(bytes: &[u8]) {
    // Believed only if it repeats the number of the request: it is given the chance.
    let sequence = bytes.get(16..20).and_then(|b| b.try_into().ok()).map_or(7, u32::from_be_bytes);
    let request = codec::request(sequence);
    assert_eq!(request.get(8..12), Some(&sequence.to_be_bytes()[..]));
    assert!(codec::reply(bytes, sequence.wrapping_add(1)).is_none(), "another request's answer");
    let Some(Ok(t)) = codec::reply(bytes, sequence) else { return };
    assert!(t.stratum <= 16 && t.leap <= 3);
    let seconds = [t.ref_time, t.rms_offset, t.root_delay, t.root_dispersion, t.update_interval];
    assert!(seconds.iter().all(|s| (0.0..=1e10).contains(s)), "{t:?}");
    assert!([t.correction, t.last_offset].iter().all(|s| s.abs() <= 1e10), "{t:?}");
    let ppm = [t.frequency_ppm, t.residual_ppm, t.skew_ppm];
    assert!(ppm.iter().all(|p| p.abs() <= 1e7), "{t:?}");
    let cut = bytes.get(..codec::LENGTH - 1).unwrap_or_default();
    assert!(!matches!(codec::reply(cut, sequence), Some(Ok(_))), "a part is not the whole");
    let longer = [bytes, b"tail"].concat();
    assert_eq!(codec::reply(&longer, sequence), Some(Ok(t)), "a tail does not matter");
}

/// A JVM's counters file, and what `/proc/<pid>/maps` says of it.
pub fn hsperfdata(bytes: &[u8]) {
    if let Ok(mapped) = maps::read(bytes, 7)
        && let Some(counters) = mapped.counters
    {
        let name = counters.directory;
        assert!(name.starts_with("hsperfdata_") && !name.contains('/'), "{name:?} leads elsewhere");
    }
    let Ok(counters) = file::parse(bytes) else { return };
    assert!(counters.entries.len() <= 4096);
    let age = Duration::from_secs(3600);
    let Ok(jvm) = counters::read(&counters, age) else { return };
    let most = age + Duration::from_secs(2);
    let totals = [jvm.ticks, jvm.safepoint_time, jvm.sync_time];
    assert!(totals.into_iter().flatten().all(|t| t <= most), "{jvm:?}");
    assert!(jvm.safepoints.is_none_or(|n| u128::from(n) <= most.as_micros()), "{jvm:?}");
    assert!(jvm.collectors.len() <= 8);
    for c in &jvm.collectors {
        assert!([c.time, c.last_entry, c.last_exit].iter().all(|t| *t <= most), "{c:?}");
        assert!(is_text(&c.name), "{c:?}");
    }
    assert!(is_text(&jvm.version), "{jvm:?}");
}

/// Where a server is, as a label shows it.
fn is_address(text: &str) -> bool {
    let is_port = |p: &str| p.parse::<u16>().is_ok_and(|p| p > 0);
    text.len() <= 300
        && !text.starts_with('/')
        && text.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && is_port(port))
        && !text.chars().any(|c| c.is_control() || c.is_whitespace())
}

/// Text as it may be printed.
fn is_text(text: &str) -> bool {
    text.chars().count() <= label::MAX_CHARS + 1 + label::HASH
        && !text.chars().any(char::is_control)
}

/// The files of cgroups, and the texts by which they are found.
pub fn cgroup(bytes: &[u8]) {
    if let Ok(pressure) = parse::pressure(bytes) {
        for waiting in [Some(pressure.some), pressure.full].into_iter().flatten() {
            assert!((0.0..=1.0).contains(&waiting.share), "{pressure:?}");
        }
    }
    for key in ["oom_kill", "nr_throttled", "throttled_usec", "frozen_usec"] {
        if let Ok(Some(n)) = parse::value(bytes, key) {
            assert_eq!(parse::value(format!("{key} {n}\n").as_bytes(), key), Ok(Some(n)));
        }
    }
    if let Ok(n) = parse::number(bytes) {
        assert_eq!(parse::number(format!("{n}\n").as_bytes()), Ok(n));
        assert!(parse::limit(bytes).is_ok() && i64::try_from(n).is_ok());
    }
    let _ = (parse::frozen(bytes), parse::is_quota(bytes));
    for period in [parse::quota_period(bytes).ok().flatten(), parse::period(bytes).ok()] {
        assert!(period.is_none_or(|p| !p.is_zero() && p <= Duration::from_secs(1000)));
    }
    let mounts = Mounts::parse(bytes);
    let _ = (mounts.cgroup1("memory"), mounts.at(Path::new("/proc")));
    let root = mounts.cgroup2().map_or_else(|| PathBuf::from("/"), |m| m.root.clone());
    let point = PathBuf::from("/nowhere/cgroup");
    let mount = Mount { root, point: point.clone(), fs: "cgroup2".into(), options: Vec::new() };
    let tree = Tree::mounted(&mount);
    for line in lines(bytes) {
        let Place::In(levels) = tree.place(line.path) else { continue };
        for dir in levels.up() {
            let leads_away = dir.components().any(|c| c.as_os_str() == "..");
            assert!(dir.starts_with(&point) && !leads_away, "{} is another's", dir.display());
        }
    }
}

/// A datagram of the taskstats family, and the lines of `/proc` that stand in for it.
pub fn taskstats(bytes: &[u8]) {
    const FAMILY: u16 = 30;
    let replies: Vec<_> = wire::replies(bytes, FAMILY).collect();
    assert!(replies.len() <= bytes.len() / 16, "each has a head of 16 bytes");
    for reply in &replies {
        match &reply.body {
            Body::Error(errno) => assert!((1..=4095).contains(errno)),
            Body::Stats(_, Ok(stats)) => assert!(stats.version != 0 && stats.version != 15),
            _ => {}
        }
    }
    if let Ok(stats) = Stats::parse(bytes) {
        let longer = [bytes, &[0xff; 600]].concat();
        let more = Stats::parse(&longer);
        assert!(more.is_ok_and(|m| (m.slices, m.waited) == (stats.slices, stats.waited)));
    }
    let id = bytes.first_chunk().map_or(1, |b| u32::from_ne_bytes(*b));
    let mut asked = Vec::new();
    for whom in [Whom::Thread(id), Whom::Process(id)] {
        wire::ask(&mut asked, FAMILY, id, whom);
    }
    let own: Vec<_> = wire::replies(&asked, FAMILY).collect();
    assert!(own.len() == 2 && own.iter().all(|r| r.sequence == id && r.body == Body::Other));
    if let Some(c) = tasks::schedstat(bytes) {
        let text = format!("{} {} {}\n", c.on_cpu, c.waited, c.slices);
        assert_eq!(tasks::schedstat(text.as_bytes()), Some(c));
    }
    let _ = stat::parse(bytes);
}
