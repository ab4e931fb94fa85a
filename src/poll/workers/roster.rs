//! Who is watched and by what means: the workers that the config names, and those found as holders. Templates are filled
//! once here, not at each poll.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicI32;

use crate::config::{Place, ProcessSource, Source, WorkerGroup, fill_worker};
use crate::observe::worker::ProcessUnknown;
use crate::poll::lane::Lane;
use crate::poll::process::Target;
use crate::poll::source::{Filled, fill_path, tls};
use crate::poll::{TokenPid, WatchedWorker};

/// One worker.
#[derive(Debug)]
pub struct Worker {
    /// Its name.
    pub name: Arc<str>,
    /// Its group's place in the config.
    pub group: usize,
    /// How its processes are found: one way for each pid that a token of it names, else one under `None`.
    pub processes: Vec<(Option<i32>, Finder)>,
    /// Where it beats.
    pub heartbeat: Option<Filled>,
    /// For a heartbeat of its own file or endpoint.
    pub beat_lane: Lane,
    /// For its pid file.
    pub pid_lane: Lane,
    /// The last pid that its file named, 0 for none: a file that is gone says nothing of the process it named.
    pub last_pid: Arc<AtomicI32>,
    tokens: Vec<TokenPid>,
}

/// How a worker's process is found.
#[derive(Clone, Debug)]
pub enum Finder {
    /// Read this file first.
    PidFile(PathBuf),
    /// Look at this.
    Ready(Target),
    /// Not at all, and why.
    Never(ProcessUnknown, String),
}

/// Everyone who is watched, by name.
pub struct Roster {
    groups: Arc<Vec<WorkerGroup>>,
    /// One for each group.
    tls: Vec<Arc<tls::Client>>,
    workers: BTreeMap<Arc<str>, Arc<Worker>>,
}

impl Roster {
    /// The workers that the config names.
    pub fn new(groups: Arc<Vec<WorkerGroup>>) -> Self {
        let tls = groups.iter().map(|g| match g.heartbeat.as_ref().map(|h| &h.source) {
            Some(Source::Http { tls, .. }) => Arc::new(tls::Client::new(tls.clone())),
            _ => Arc::default(),
        });
        let mut new = Self { tls: tls.collect(), groups, workers: BTreeMap::new() };
        new.replace(&[]);
        new
    }

    /// Replaces those found as holders; gives back who is new or has another token now.
    pub fn replace(&mut self, found: &[WatchedWorker]) -> Vec<Arc<Worker>> {
        let mut wanted: BTreeMap<Arc<str>, (usize, Vec<TokenPid>)> = BTreeMap::new();
        for (index, group) in self.groups.iter().enumerate() {
            for name in &group.names {
                wanted.entry(Arc::clone(name)).or_insert((index, Vec::new()));
            }
        }
        for worker in found.iter().filter(|w| w.group < self.groups.len()) {
            let entry =
                wanted.entry(Arc::clone(&worker.name)).or_insert((worker.group, Vec::new()));
            entry.1.extend(worker.token.clone());
        }
        let mut old = std::mem::take(&mut self.workers);
        let mut changed = Vec::new();
        for (name, (group, tokens)) in wanted {
            let before = old.remove(&name);
            let same = before.clone().filter(|w| w.group == group && w.tokens == tokens);
            let worker = same.unwrap_or_else(|| {
                let made = Arc::new(self.make(Arc::clone(&name), group, tokens, before.as_deref()));
                changed.push(Arc::clone(&made));
                made
            });
            self.workers.insert(name, worker);
        }
        changed
    }

    /// A worker by name.
    pub fn get(&self, name: &str) -> Option<Arc<Worker>> {
        self.workers.get(name).cloned()
    }

    /// All workers.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Worker>> {
        self.workers.values()
    }

    fn make(
        &self,
        name: Arc<str>,
        index: usize,
        tokens: Vec<TokenPid>,
        before: Option<&Worker>,
    ) -> Worker {
        let group = self.groups.get(index);
        let source = group.and_then(|g| g.process.as_ref());
        let processes = source.map_or_else(Vec::new, |s| finders(s, &name, &tokens));
        let heartbeat = group
            .and_then(|g| g.heartbeat.as_ref())
            .zip(self.tls.get(index))
            .map(|(heartbeat, tls)| Filled::of(&heartbeat.source, Place::Worker, &name, tls));
        // A read that is under way goes on; its lane stays the one.
        let beat_lane = before.map_or_else(Lane::default, |w| w.beat_lane.clone());
        let pid_lane = before.map_or_else(Lane::default, |w| w.pid_lane.clone());
        let last_pid = before.map_or_else(Arc::default, |w| Arc::clone(&w.last_pid));
        Worker { name, group: index, processes, heartbeat, beat_lane, pid_lane, last_pid, tokens }
    }
}

/// Whether processes of this source are found by a scan over all pids.
pub fn needs_scan(source: &ProcessSource) -> bool {
    !matches!(source, ProcessSource::PidFile(_) | ProcessSource::FromHolder)
}

fn finders(source: &ProcessSource, name: &str, tokens: &[TokenPid]) -> Vec<(Option<i32>, Finder)> {
    if matches!(source, ProcessSource::FromHolder) && !tokens.is_empty() {
        return tokens.iter().map(|t| (Some(t.pid), finder(source, name, Some(t)))).collect();
    }
    vec![(None, finder(source, name, None))]
}

fn finder(source: &ProcessSource, name: &str, token: Option<&TokenPid>) -> Finder {
    match source {
        ProcessSource::PidFile(template) => match fill_path(template, Place::Worker, name) {
            Ok(path) => Finder::PidFile(path),
            Err(why) => Finder::Never(ProcessUnknown::NoPidFile, why),
        },
        ProcessSource::FromHolder => match token {
            Some(token) => Finder::Ready(Target::Token(token.clone())),
            None => Finder::Never(ProcessUnknown::NoPid, "no token with a pid was seen".to_owned()),
        },
        // The name comes from a token: it must match itself and not be a pattern.
        ProcessSource::Command(template) => {
            match regex::bytes::Regex::new(&fill_worker(template, &regex::escape(name))) {
                Ok(pattern) => Finder::Ready(Target::Command(pattern)),
                Err(e) => Finder::Never(ProcessUnknown::Failed, format!("process.command: {e}")),
            }
        }
        ProcessSource::SystemdUnit(template) => {
            Finder::Ready(Target::Unit(fill_worker(template, name)))
        }
        ProcessSource::Cgroup(template) => {
            Finder::Ready(Target::Cgroup(fill_worker(template, name)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SeriesTier;

    fn group(names: &[&str], process: ProcessSource) -> WorkerGroup {
        WorkerGroup {
            name: "g".to_owned(),
            names: names.iter().map(|n| Arc::from(*n)).collect(),
            matches: None,
            series: SeriesTier::Full,
            process: Some(process),
            heartbeat: None,
            claim: None,
            jvm: crate::config::JvmMode::Auto,
        }
    }

    fn found(name: &str, group: usize, pid: Option<i32>) -> WatchedWorker {
        WatchedWorker {
            name: name.into(),
            group,
            token: pid.map(|pid| TokenPid { pid, host: None }),
        }
    }

    #[test]
    fn configured_stay_and_found_are_replaced() {
        let groups = vec![
            group(&["a"], ProcessSource::FromHolder),
            group(&["a", "b"], ProcessSource::FromHolder),
        ];
        let mut roster = Roster::new(Arc::new(groups));
        let names =
            |r: &Roster| r.iter().map(|w| (w.name.to_string(), w.group)).collect::<Vec<_>>();
        let own = [("a".to_owned(), 0), ("b".to_owned(), 1)];
        assert_eq!(names(&roster), own);
        let changed =
            roster.replace(&[found("a", 0, Some(7)), found("c", 1, None), found("x", 9, None)]);
        assert_eq!(changed.iter().map(|w| &*w.name).collect::<Vec<_>>(), ["a", "c"]);
        assert!(
            matches!(&roster.get("a").unwrap().processes[..], [(Some(7), Finder::Ready(Target::Token(t)))] if t.pid == 7)
        );
        assert!(roster.replace(&[found("a", 0, Some(7)), found("c", 1, None)]).is_empty());
        assert_eq!(roster.replace(&[]).len(), 1);
        assert_eq!(names(&roster), own);
        assert!(matches!(
            roster.get("a").unwrap().processes[..],
            [(None, Finder::Never(ProcessUnknown::NoPid, _))]
        ));
    }

    #[test]
    fn names_are_no_patterns() {
        let Finder::Ready(Target::Command(p)) =
            finder(&ProcessSource::Command("^w {worker}$".to_owned()), ".*", None)
        else {
            panic!()
        };
        assert!(p.is_match(b"w .*") && !p.is_match(b"w other"));
        let pid_file = ProcessSource::PidFile("/run/{worker}.pid".to_owned());
        assert!(matches!(finder(&pid_file, "../x", None), Finder::Never(..)));
    }
}
