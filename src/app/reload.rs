//! Reads the config anew and puts it in force, or keeps the old one and says why.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::conductor::Errand;
use super::snapshots::Word;
use crate::clock;
use crate::config::{self, Config, Group, Input, Mistakes, Store};
use crate::derive::Rules;
use crate::expose::SelfFacts;

/// What a reload needs.
pub struct Reloader {
    input: Box<dyn Fn() -> Input + Send>,
    own: SelfFacts,
    words: mpsc::Sender<Word>,
    errands: mpsc::Sender<Errand>,
}

impl Reloader {
    /// `input` gives file, flags and environment as of the call.
    pub fn new(
        input: Box<dyn Fn() -> Input + Send>,
        own: SelfFacts,
        words: mpsc::Sender<Word>,
        errands: mpsc::Sender<Errand>,
    ) -> Self {
        Self { input, own, words, errands }
    }

    /// Reads the config and puts it in force; on any mistake the old one stays.
    pub async fn reload(&mut self) -> Result<(), String> {
        match config::load(&(self.input)()) {
            Ok(config) => {
                self.put_in_force(config).await;
                tracing::info!("configuration reloaded");
                Ok(())
            }
            Err(mistakes) => Err(self.refuse(&mistakes).await),
        }
    }

    async fn refuse(&mut self, mistakes: &Mistakes) -> String {
        let text = mistakes.to_string();
        for m in mistakes.iter() {
            tracing::error!(mistake = %m, "configuration not reloaded, the old one stays in force");
        }
        self.own.reload_error = Some(text.clone());
        let _ = self.words.send(Word::Own(self.own.clone())).await;
        text
    }

    /// Puts a config in force: first for the state, so that it knows the groups of the facts that follow.
    pub async fn put_in_force(&mut self, config: Config) {
        self.own.poll_interval = config.poll_interval;
        self.own.reload_success_timestamp = clock::wall_secs();
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
