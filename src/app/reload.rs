//! Reads the config anew and puts it in force, or keeps the old one and says why. The file is read by a thread that may hang
//! with its file system: nobody else does, and it is not read a second time before that thread is back.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use super::conductor::Errand;
use super::snapshots::Word;
use crate::clock;
use crate::config::{self, Config, Group, Input, Mistakes, Store};
use crate::derive::Rules;
use crate::expose::SelfFacts;
use crate::http::Door;

/// How long the file may take to be read.
const READ: Duration = Duration::from_secs(5);

type Read = Result<Config, Mistakes>;

/// What a reload needs.
pub struct Reloader {
    input: Box<dyn Fn() -> Input + Send>,
    door: Arc<Door>,
    own: SelfFacts,
    /// Why the config as it was read last is not in force, if it is not.
    refused: Option<String>,
    words: mpsc::Sender<Word>,
    errands: mpsc::Sender<Errand>,
    /// A read that was not waited for. What it brings is not used: it is older than the next wish.
    late: Option<JoinHandle<Read>>,
}

impl Reloader {
    /// `input` gives file, flags and environment as of the call.
    pub fn new(
        input: Box<dyn Fn() -> Input + Send>,
        door: Arc<Door>,
        own: SelfFacts,
        words: mpsc::Sender<Word>,
        errands: mpsc::Sender<Errand>,
    ) -> Self {
        Self { input, door, own, refused: None, words, errands, late: None }
    }

    /// Reads the config and the web configuration and puts them in force; of each the old one stays on any mistake.
    pub async fn reload(&mut self) -> Result<(), String> {
        let at_the_door = self.door.reload().await;
        let own = self.reload_own().await;
        self.tell(at_the_door.clone().err()).await;
        if own.is_ok() && at_the_door.is_ok() {
            tracing::info!("configuration reloaded");
        }
        match (own, at_the_door) {
            (Err(own), Err(door)) => Err(format!("{own}\n{door}")),
            (Ok(()), Err(door)) => Err(format!("{door}\nThe configuration proper was taken.")),
            (own, _) => own,
        }
    }

    /// The same for the config proper.
    async fn reload_own(&mut self) -> Result<(), String> {
        let input = (self.input)();
        let file = input.file.as_ref().map_or_else(String::new, |f| format!("{}: ", f.display()));
        match self.read(input).await {
            Some(Ok(config)) => {
                self.put_in_force(config).await;
                Ok(())
            }
            Some(Err(mistakes)) => {
                let each = mistakes.iter().map(ToString::to_string).collect::<Vec<_>>();
                Err(self.refuse(mistakes.to_string(), &each))
            }
            None => {
                let seconds = READ.as_secs();
                let text = format!(
                    "{file}not read within {seconds} s: is its file system hung? reload again once it answers"
                );
                Err(self.refuse(text.clone(), &[text]))
            }
        }
    }

    /// `None` if the file, or an earlier read of it, takes too long.
    async fn read(&mut self, input: Input) -> Option<Read> {
        if let Some(late) = &mut self.late {
            timeout(READ, late).await.ok()?.ok();
            self.late = None;
        }
        let mut reading = spawn_blocking(move || config::load(&input));
        match timeout(READ, &mut reading).await {
            Ok(read) => Some(read.unwrap_or_else(|_| Err(Mistakes::fault()))),
            Err(_) => {
                self.late = Some(reading);
                None
            }
        }
    }

    fn refuse(&mut self, text: String, mistakes: &[String]) -> String {
        for mistake in mistakes {
            tracing::error!(%mistake, "configuration not reloaded, the old one stays in force");
        }
        self.refused = Some(text.clone());
        text
    }

    /// Shows why a configuration as it is now is not in force: the one proper, and the web configuration by what the
    /// door says of it.
    pub async fn tell(&mut self, at_the_door: Option<String>) {
        let all: Vec<String> = self.refused.iter().cloned().chain(at_the_door).collect();
        let error = (!all.is_empty()).then(|| all.join("\n"));
        if self.own.reload_error != error {
            self.own.reload_error = error;
            let _ = self.words.send(Word::Own(self.own.clone())).await;
        }
    }

    /// Puts a config in force: first for the state, so that it knows the groups of the facts that follow.
    pub async fn put_in_force(&mut self, config: Config) {
        self.own.poll_interval = config.poll_interval;
        self.own.reload_success_timestamp = clock::wall_secs();
        self.refused = None;
        self.own.reload_error = None;
        let (done, heard) = oneshot::channel();
        let word = Word::Reconfigure {
            rules: Box::new(rules(&config)),
            own: self.own.clone(),
            stores: config.stores.len(),
            evidence: config.evidence.clone(),
            done,
        };
        if self.words.send(word).await.is_ok() {
            let _ = heard.await;
        }
        let (done, applied) = oneshot::channel();
        if self.errands.send(Errand::Apply(Arc::new(config), done)).await.is_ok() {
            let _ = applied.await;
        }
    }
}

/// What of the config the state machines need.
pub fn rules(config: &Config) -> Rules {
    Rules {
        poll_interval: config.poll_interval,
        retain: config.retain,
        max_workers: config.max_workers,
        groups: config.workers.clone(),
        stall_poll: config.stall_poll,
        stall_window: config.stall_window,
        clocks: config.clocks.clone(),
        local_clock: config.local_clock.clone(),
        live_workers: config.live_workers.clone(),
        lock_groups: config.stores.values().map(|s| (s.name.clone(), groups(s))).collect(),
        node_clocks: config.stores.values().map(|s| (s.name.clone(), s.clocks.clone())).collect(),
        owner_indexes: config
            .stores
            .values()
            .filter(|s| s.owner_index.is_some())
            .map(|s| s.name.clone())
            .collect(),
    }
}

fn groups(store: &Store) -> Vec<Group> {
    store.locks.iter().filter_map(|l| l.rules.group.clone()).collect()
}
