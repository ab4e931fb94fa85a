//! One pass over all pids of a procfs for the targets that name no pid: by command line or by cgroup. A file is read only
//! if some target needs it.

use std::fs;
use std::io;
use std::path::Path;

use regex::bytes::RegexSet;

use super::Target;
use super::dir::{self, ProcDir, SMALL};
use super::inner::Inner;
use crate::poll::cgroup::locate;

/// Processes that one target may have; more of them say nothing more.
const MAX_MATCHES: usize = 1024;

/// What the pass found for one target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Pids that match.
    pub pids: Vec<i32>,
    /// A process that could not be read and might have matched.
    pub unread: Option<String>,
    /// The procfs could not be listed.
    pub failed: Option<String>,
}

/// Looks for every target that names no pid; one answer for each of those, in their order.
pub fn scan(root: &Path, targets: &[Target]) -> Vec<Found> {
    let named: Vec<&Target> =
        targets.iter().filter(|t| !matches!(t, Target::Pid(..) | Target::Token(_))).collect();
    let mut found = vec![Found::default(); named.len()];
    if named.is_empty() {
        return found;
    }
    let commands = Commands::of(&named);
    let needs_cgroup = named.iter().any(|t| matches!(t, Target::Unit(_) | Target::Cgroup(_)));
    let ours = own_pid(root);
    let pids = match pids(root) {
        Ok(pids) => pids,
        Err(e) => {
            found.iter_mut().for_each(|f| f.failed = Some(e.to_string()));
            return found;
        }
    };
    for pid in pids.filter(|pid| Some(*pid) != ours) {
        let mut note = |at: usize| {
            if let Some(f) = found.get_mut(at).filter(|f| f.pids.len() < MAX_MATCHES) {
                f.pids.push(pid);
            }
        };
        match look(root, pid, &named, &commands, needs_cgroup, &mut note) {
            Ok(()) => {}
            Err(e) if dir::is_gone(&e) => {}
            Err(e) => {
                let unread = format!("{}/{pid}: {e}", root.display());
                found.iter_mut().for_each(|f| f.unread = Some(unread.clone()));
            }
        }
    }
    found
}

fn look(
    root: &Path,
    pid: i32,
    named: &[&Target],
    commands: &Commands,
    needs_cgroup: bool,
    note: &mut impl FnMut(usize),
) -> io::Result<()> {
    let proc = ProcDir::open(root, pid)?;
    if !commands.at.is_empty() {
        let line = command_line(&proc)?;
        if !line.is_empty() {
            commands.matching(&line).into_iter().for_each(&mut *note);
        }
    }
    if needs_cgroup {
        let text = proc.file("cgroup", SMALL)?;
        for (at, target) in named.iter().enumerate() {
            let fits = match target {
                Target::Unit(unit) => {
                    locate::lines(&text).any(|l| in_unit(l.path, unit.as_bytes()))
                }
                Target::Cgroup(path) => {
                    locate::lines(&text).any(|l| in_cgroup(l.path, path.as_bytes()))
                }
                _ => false,
            };
            if fits {
                note(at);
            }
        }
    }
    Ok(())
}

/// Patterns of all targets at once: a thousand workers must not cost a thousand searches per process.
struct Commands {
    set: RegexSet,
    at: Vec<usize>,
    /// In use where the set would be too large.
    single: Vec<regex::bytes::Regex>,
}

impl Commands {
    fn of(named: &[&Target]) -> Self {
        let (at, single): (Vec<_>, Vec<_>) = named
            .iter()
            .enumerate()
            .filter_map(|(at, t)| match t {
                Target::Command(pattern) => Some((at, pattern.clone())),
                _ => None,
            })
            .unzip();
        match RegexSet::new(single.iter().map(|p| p.as_str())) {
            Ok(set) => Self { set, at, single: Vec::new() },
            Err(_) => Self { set: RegexSet::empty(), at, single },
        }
    }

    fn matching(&self, line: &[u8]) -> Vec<usize> {
        let hits: Vec<usize> = if self.single.is_empty() {
            self.set.matches(line).iter().collect()
        } else {
            (0..self.single.len())
                .filter(|i| self.single.get(*i).is_some_and(|p| p.is_match(line)))
                .collect()
        };
        hits.into_iter().filter_map(|i| self.at.get(i).copied()).collect()
    }
}

/// Arguments joined by blanks. A leader that has exited has none any more, but its threads still do.
fn command_line(proc: &ProcDir) -> io::Result<Vec<u8>> {
    let mut line = proc.file("cmdline", SMALL)?;
    if line.is_empty() {
        let threads = proc.threads().unwrap_or_default();
        if threads.len() > 1 {
            let of_threads =
                threads.iter().filter_map(|t| proc.file(&format!("task/{t}/cmdline"), SMALL).ok());
            line = of_threads.into_iter().find(|l| !l.is_empty()).unwrap_or_default();
        }
    }
    let end = line.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
    line.truncate(end);
    line.iter_mut().filter(|b| **b == 0).for_each(|b| *b = b' ');
    Ok(line)
}

/// A unit's own cgroup or one below it. A name without a unit type is a service.
fn in_unit(path: &[u8], unit: &[u8]) -> bool {
    let typed = [&b".service"[..], b".scope", b".slice"].iter().any(|t| unit.ends_with(t));
    path.split(|b| *b == b'/').any(|part| {
        part == unit || (!typed && part.strip_suffix(b".service").is_some_and(|p| p == unit))
    })
}

fn in_cgroup(path: &[u8], cgroup: &[u8]) -> bool {
    matches!(path.strip_prefix(cgroup), Some([] | [b'/', ..]))
}

fn pids(root: &Path) -> io::Result<impl Iterator<Item = i32>> {
    Ok(fs::read_dir(root)?.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()))
}

/// Our own pid in the numbering of this procfs; a pattern that our own command line carries must not find us.
fn own_pid(root: &Path) -> Option<i32> {
    fs::read_link(root.join("self")).ok()?.to_str()?.parse().ok()
}

/// The processes of nested pid namespaces, with the pids that they have inside.
pub fn inner_pids(root: &Path) -> Inner {
    let Ok(pids) = pids(root) else { return Inner::default() };
    let both = |pid| {
        let status = ProcDir::open(root, pid).and_then(|d| d.file("status", SMALL)).ok()?;
        Some((pid, inner_pid(&status)?))
    };
    Inner(pids.filter_map(both).collect())
}

/// The innermost pid of a status file.
pub fn inner_pid(status: &[u8]) -> Option<i32> {
    let line = status.split(|b| *b == b'\n').find_map(|l| l.strip_prefix(b"NSpid:"))?;
    let levels = std::str::from_utf8(line).ok()?.split_ascii_whitespace().skip(1);
    levels.last()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_cgroups_match_by_whole_names() {
        let path = &b"/system.slice/foo.service/sub"[..];
        assert!(in_unit(path, b"foo.service") && in_unit(path, b"foo"));
        assert!(
            !in_unit(path, b"oo.service")
                && !in_unit(path, b"foo.serv")
                && !in_unit(path, b"foo.scope")
        );
        assert!(in_cgroup(path, b"/system.slice/foo.service") && in_cgroup(path, path));
        assert!(!in_cgroup(path, b"/system.slice/foo") && !in_cgroup(path, b"/"));
    }

    #[test]
    fn only_nested_namespaces_have_inner_pids() {
        assert_eq!(inner_pid(b"Name:\ta\xff\nNSpid:\t4711\t88\t7\nX:\n"), Some(7));
        assert_eq!(inner_pid(b"NSpid:\t4711\n"), None);
        assert_eq!(inner_pid(b""), None);
    }
}
