//! The pollers of configured sources and of lists of live workers: started, replaced and stopped as the config says.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::parts::Parts;
use crate::config::{Config, LiveList};
use crate::derive::ToRead;
use crate::observe::StoreId;
use crate::poll::Out;
use crate::poll::lists::{self, ListHandle};
use crate::poll::readings::{self, Reading, ReadingsHandle};
use crate::poll::redis::StoreHandle;

/// The pollers of sources and lists.
pub struct Sources {
    out: Out,
    readings: Option<(Duration, ReadingsHandle)>,
    lists: BTreeMap<Arc<str>, RunningList>,
}

struct RunningList {
    config: LiveList,
    store: StoreId,
    handle: ListHandle,
}

impl Sources {
    /// No poller runs yet.
    pub fn new(out: Out) -> Self {
        Self { out, readings: None, lists: BTreeMap::new() }
    }

    /// Polls what this config says, in these stores.
    pub async fn apply(
        &mut self,
        config: &Config,
        parts: &Parts,
        store: impl Fn(&str) -> Option<(StoreId, StoreHandle)>,
    ) {
        if self.readings.as_ref().is_none_or(|(interval, _)| *interval != config.poll_interval) {
            if let Some((_, handle)) = self.readings.take() {
                handle.stop().await;
            }
            let interval = config.poll_interval;
            let handle = readings::spawn(interval, Arc::new(parts.clone()), self.out.clone());
            self.readings = Some((interval, handle));
        }
        for (name, running) in std::mem::take(&mut self.lists) {
            let now = store(&running.config.store).map(|(id, _)| id);
            if config.live_workers.contains(&running.config) && now == Some(running.store) {
                self.lists.insert(name, running);
            } else {
                running.handle.stop().await;
            }
        }
        for list in config.live_workers.iter() {
            let Some((id, handle)) = store(&list.store) else { continue };
            self.lists.entry(list.name.clone()).or_insert_with(|| RunningList {
                config: list.clone(),
                store: id,
                handle: lists::spawn(list.clone(), handle, self.out.clone()),
            });
        }
    }

    /// Stops the lists of a store that ends: each holds on to its connection.
    pub async fn let_go(&mut self, store: StoreId) {
        let (gone, kept) =
            std::mem::take(&mut self.lists).into_iter().partition(|(_, r)| r.store == store);
        self.lists = kept;
        let gone: BTreeMap<Arc<str>, RunningList> = gone;
        for running in gone.into_values() {
            running.handle.stop().await;
        }
    }

    /// Replaces which sources are read.
    pub fn read(&self, list: &[ToRead]) {
        let Some((_, handle)) = &self.readings else { return };
        let reading = |r: &ToRead| Reading {
            what: r.what.clone(),
            source: r.source.clone(),
            place: r.place,
            name: r.name.clone(),
            poll: r.poll.clone(),
        };
        handle.watch(list.iter().map(reading).collect());
    }

    /// Stops all of them.
    pub async fn stop(&mut self) {
        if let Some((_, handle)) = self.readings.take() {
            handle.stop().await;
        }
        for running in std::mem::take(&mut self.lists).into_values() {
            running.handle.stop().await;
        }
    }
}
