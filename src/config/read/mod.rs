//! Turns the merged values into the model, one file per section. Every reader carries on after a mistake, so that all
//! are found; it answers `None` only where something that it needs is missing or wrong.

mod clock;
mod cluster;
mod evidence;
mod fits;
mod group;
mod holder;
mod list;
mod list_uses;
mod lock;
mod names;
mod quorum;
mod resources;
mod seen;
mod sentinel;
mod source;
mod store;
mod wants;
mod worker;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::checks::{self, Wrong};
use super::cursor::Cursor;
use super::model::{Clock, Config, LiveList, Password, Shard, TlsFiles};
use holder::Holders;
use list_uses::ListUses;
use lock::Around;
use names::Entries;

/// The whole configuration.
pub(super) fn config(top: &Cursor<'_>) -> Option<Config> {
    let mut stores = BTreeMap::new();
    let mut complete = true;
    let mut told = Told::default();
    if top.unusable("stores") || top.misspelt("stores") {
        told.doubt();
    }
    let (clocks, mut known_clocks) = clock::read_all(top);
    complete &= clocks.iter().all(Option::is_some);
    let clocks: Vec<Clock> = clocks.into_iter().flatten().collect();
    let local_clock = clock::local(top, &clocks, &mut known_clocks);
    let names = Entries::of(top, "stores", "store");
    let lists = Entries::of(top, "live_workers", "list of live workers");
    for (name, below) in top.map("stores") {
        if let Err((reason, fix)) = checks::section_name(name) {
            below.wrong_here(reason, fix);
        }
        let around = Around { store: name, stores: &names, lists: &lists, has_index: false };
        match store::read(name, &below, &known_clocks, &mut told, around) {
            Some(store) => drop(stores.insert(name.to_owned(), Arc::new(store))),
            None => complete = false,
        }
    }
    let live_workers = list::read_all(top, &names);
    complete &= live_workers.iter().all(Option::is_some);
    let live_workers: Vec<LiveList> = live_workers.into_iter().flatten().collect();
    told.lists.check(top, &live_workers);
    let known = Known { stores: names, holders: told.holders, has_lists: lists.any() };
    let workers = worker::read_all(top, &known);
    let evidence = evidence::read(top);
    complete &= evidence.is_some();
    if top.present(&["stores", "workers", "clocks"]).is_empty() {
        top.wrong("stores", "there is nothing to watch", "add a store with its `url` and `locks`");
    }
    let config = Config {
        poll_interval: top.duration("poll_interval").unwrap_or(Duration::from_secs(2)),
        sweep_interval: top.duration("sweep_interval").unwrap_or(Duration::from_secs(300)),
        stall_poll: top.duration("stall_poll").unwrap_or(Duration::from_millis(500)),
        stall_window: top.duration("stall_window").unwrap_or(Duration::from_secs(3600)),
        retain: top.duration("retain").unwrap_or(Duration::from_secs(3600)),
        max_workers: top.whole("max_workers").unwrap_or(1000),
        stores,
        workers: Arc::new(workers),
        live_workers: Arc::new(live_workers),
        clocks: Arc::new(clocks),
        local_clock,
        evidence: evidence.flatten(),
        // From flags alone.
        shard: Shard::default(),
    };
    complete.then_some(config)
}

/// What all locks together tell those that are read after them.
#[derive(Default)]
struct Told {
    /// How they name their holders.
    holders: Holders,
    /// Which lists of live workers they lean on.
    lists: ListUses,
}

impl Told {
    /// Locks could not be read that may have told all of it. That is reported, and nothing is to follow from it.
    fn doubt(&mut self) {
        self.holders.doubt();
        self.lists.doubt();
    }
}

/// What the stores have that worker groups refer to.
struct Known {
    /// The names of the stores there are.
    stores: Entries,
    /// What their locks tell of holders.
    holders: Holders,
    /// There are lists of live workers, and their members can be workers too.
    has_lists: bool,
}

/// A checked value, or the mistake recorded.
fn noted<T>(at: &Cursor<'_>, key: &str, checked: Result<T, Wrong>) -> Option<T> {
    checked.map_err(|(reason, fix)| at.wrong(key, reason, fix)).ok()
}

/// A file that must be readable.
fn file(at: &Cursor<'_>, key: &str) -> Option<std::path::PathBuf> {
    let path = at.text(key)?;
    noted(at, key, checks::file(path))
}

/// The `tls` table; `used` says whether the URL beside it speaks TLS at all, `None` where that is not known.
fn tls(at: &Cursor<'_>, used: Option<bool>, scheme: &str) -> TlsFiles {
    let Some(below) = at.table("tls") else { return TlsFiles::default() };
    if used == Some(false) {
        at.wrong(
            "tls",
            "the URL does not use TLS",
            format!("write `{scheme}` in the URL, or remove `tls`"),
        );
    }
    for (one, other) in [("cert_file", "key_file"), ("key_file", "cert_file")] {
        if below.has(one) && !below.has(other) {
            below.wrong(other, format!("missing beside `{one}`"), "give both, or neither");
        }
    }
    TlsFiles {
        ca_file: file(&below, "ca_file"),
        cert_file: file(&below, "cert_file"),
        key_file: file(&below, "key_file"),
        server_name: below.text("server_name").map(str::to_owned),
    }
}

/// The password of a store.
fn password(at: &Cursor<'_>) -> Password {
    if at.has("password") && at.has("password_file") {
        at.wrong("password", "is set beside `password_file`", "use one of the two");
    }
    // One that the file holds was reported before; it is not from the environment.
    if at.origin("password").is_some()
        && let Some(text) = at.text("password")
    {
        return Password::Value(crate::secret::Secret::new(text));
    }
    file(at, "password_file").map_or(Password::None, Password::File)
}
