//! Reads the lists of live workers: each a preset, or made of members and where they beat.

use std::sync::Arc;
use std::time::Duration;

use super::super::checks;
use super::super::cursor::Cursor;
use super::super::filling::Filling;
use super::super::model::{LiveList, MembersKind, Place, Preset, Source};
use super::names::Entries;
use super::noted;
use super::source::{self, Need};
use super::wants::Wants;

/// Time between two reads.
const REFRESH: Duration = Duration::from_secs(10);

/// Longest channel.
const MAX_CHANNEL: usize = 1024;

/// Reads all lists, by name. `None` in place of one that is not right.
pub(super) fn read_all(top: &Cursor<'_>, stores: &Entries) -> Vec<Option<LiveList>> {
    top.map("live_workers").iter().map(|(name, at)| read(name, at, stores)).collect()
}

fn read(name: &str, at: &Cursor<'_>, stores: &Entries) -> Option<LiveList> {
    if let Err((reason, fix)) = checks::section_name(name) {
        at.wrong_here(reason, fix);
    }
    let refresh = at.duration("refresh").unwrap_or(REFRESH);
    let preset = preset(at, stores);
    let place = at.table("members").and_then(|below| members(&below, stores));
    let heartbeat = at.table("heartbeat").map(|beat| {
        let own = place.as_ref().map(|(store, ..)| *store);
        heartbeat(&beat, own, stores)
    });
    let members = || {
        let (store, key, kind) = place?;
        let heartbeat = match heartbeat {
            Some(read) => Some(Box::new(read?)),
            None => None,
        };
        Some((store.into(), Preset::Members { key, kind, heartbeat }))
    };
    let forms = &["preset", "members"];
    let made = match (at.has("preset"), at.has("members")) {
        (true, false) => preset,
        (false, true) => members(),
        (true, true) => {
            at.wrong("members", "is set beside `preset`", "use one of the two");
            None
        }
        (false, false) => {
            if !at.mistyped(forms) {
                at.wrong_here(
                    "has neither `preset` nor `members`",
                    "add `preset: sidekiq` (or rq, resque, bullmq, celery), or `members` with where they are",
                );
            }
            None
        }
    };
    let (store, preset) = made?;
    Some(LiveList { name: name.into(), store, preset, refresh })
}

/// The store and the preset, if that is the form.
fn preset(at: &Cursor<'_>, stores: &Entries) -> Option<(Arc<str>, Preset)> {
    let word = at.one_of("preset");
    if at.has("preset") {
        at.require("store", "add the name of the store that the registry is in");
    }
    let store = at.text("store").and_then(|s| noted(at, "store", stores.known(s)).map(|()| s));
    let (queue, channel) = (at.text("queue"), channel(at));
    if word == Some("bullmq") {
        at.require("queue", "add the queue's name");
    }
    for key in at.present(&["store", "queue", "channel", "heartbeat"]) {
        let owner = match key {
            "queue" => Some("bullmq"),
            "channel" => Some("celery"),
            _ => None,
        };
        let is_misplaced = match (at.has("preset"), at.has("members")) {
            (true, false) => {
                key == "heartbeat" || (owner.is_some() && word.is_some_and(|w| Some(w) != owner))
            }
            (false, true) => key != "heartbeat",
            _ => false,
        };
        if is_misplaced && key == "store" {
            at.wrong(key, "has no meaning beside `members`", "it belongs below `members.redis`");
        } else if is_misplaced && let Some(owner) = owner {
            at.wrong(key, format!("has no meaning without `preset: {owner}`"), "remove it");
        } else if is_misplaced {
            at.wrong(
                key,
                "has no meaning beside `preset`",
                "remove it; a preset knows where they beat",
            );
        }
    }
    let preset = match word? {
        "sidekiq" => Preset::Sidekiq,
        "rq" => Preset::Rq,
        "resque" => Preset::Resque,
        "celery" => Preset::Celery { channel: channel? },
        _ => Preset::BullMq { queue: queue?.to_owned() },
    };
    Some((store?.into(), preset))
}

/// What the channels of Celery's events begin with; `None` if that is wrong.
fn channel(at: &Cursor<'_>) -> Option<Option<String>> {
    let Some(text) = at.text("channel") else { return (!at.has("channel")).then_some(None) };
    if text.len() > MAX_CHANNEL {
        let fix = "a channel's name is not that long";
        at.wrong("channel", format!("longer than {MAX_CHANNEL} bytes"), fix);
        return None;
    }
    if text.contains(['*', '?', '[']) {
        let fix =
            "name the channel itself, such as `/1.celeryev`; what comes behind its `/` is added";
        at.wrong("channel", "is a pattern", fix);
        return None;
    }
    Some(Some(text.to_owned()))
}

/// The store, key and type of the members.
fn members<'a>(at: &Cursor<'a>, stores: &Entries) -> Option<(&'a str, String, MembersKind)> {
    at.require("redis", "add `redis: {store: main, key: workers}`");
    let redis = at.table("redis")?;
    redis.require("store", "add the name of one of `stores`");
    redis.require("key", "add the key that the members are in");
    let store = redis.text("store");
    let store = store.and_then(|s| noted(&redis, "store", stores.known(s)).map(|()| s));
    let key = redis.text("key");
    let kind = match redis.one_of("kind") {
        Some("list") => MembersKind::List,
        Some("zset") => MembersKind::Zset,
        Some("hash") => MembersKind::Hash,
        _ => MembersKind::Set,
    };
    Some((store?, key?.to_owned(), kind))
}

/// Where members beat: all of them are read together with the list, so it must be beside it.
fn heartbeat(at: &Cursor<'_>, own: Option<&str>, stores: &Entries) -> Option<Source> {
    let filling = Filling { place: Place::Member, several: true };
    let source = source::read(at, Need { filling, wants: Wants::Beat, stores, own })?;
    match &source {
        Source::Redis { store, .. } if own.is_none_or(|own| own == &**store) => Some(source),
        Source::Redis { .. } => {
            let fix = "members beat in the store that their list is in";
            at.wrong("redis", "is in another store than `members`", fix);
            None
        }
        _ => {
            let fix = "use `redis: {key: '{member}', field: beat}`";
            at.wrong_here("is not in Redis, where the members are", fix);
            None
        }
    }
}
