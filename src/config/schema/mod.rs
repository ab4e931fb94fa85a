//! The shape of the configuration as data: which keys exist where, of which type, and which are known to come in a
//! later version. Unknown keys, names from the environment and the key reference all follow from it. Holds no values.

mod sources;
mod web;

/// What a key holds.
#[derive(Clone, Copy)]
pub(in crate::config) enum Kind {
    /// Text.
    Text,
    /// Text that only the environment may give.
    Secret,
    /// A duration with its smallest and largest sensible value.
    Duration(&'static str, &'static str),
    /// A number of bytes with its smallest and largest sensible value.
    Size(&'static str, &'static str),
    /// A whole number with its smallest and largest sensible value.
    Whole(u64, u64),
    /// `true` or `false`.
    Switch,
    /// One of a few words, and words of later versions.
    OneOf(&'static [&'static str], &'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A table.
    Table(&'static Section),
    /// A table whose keys are names that the user chooses.
    Map(&'static Section),
    /// A list of tables.
    List(&'static Section),
    /// A table of texts that nobody may see, whose keys are names that the user chooses.
    Hashes,
}

/// One key of a section.
pub(in crate::config) struct Key {
    /// Its name.
    pub(in crate::config) name: &'static str,
    /// What it holds.
    pub(in crate::config) kind: Kind,
    /// Its default as the reference prints it: a value, `required`, or empty.
    #[cfg_attr(not(test), allow(dead_code))]
    pub(in crate::config) default: &'static str,
}

/// A table's keys.
pub(in crate::config) struct Section {
    /// The heading it has in the reference.
    #[cfg_attr(not(test), allow(dead_code))]
    pub(in crate::config) title: &'static str,
    /// Its keys.
    pub(in crate::config) keys: &'static [Key],
    /// Keys that later versions have. They are named as such, so that nobody searches for a typo.
    pub(in crate::config) later: &'static [&'static str],
}

impl Section {
    /// The key of that name.
    pub(in crate::config) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|k| k.name == name)
    }
}

const fn key(name: &'static str, kind: Kind, default: &'static str) -> Key {
    Key { name, kind, default }
}

#[cfg(test)]
use sources::{BASIC_AUTH, MEMBERS, MEMBERS_REDIS, RESOURCE};
use sources::{EFFECTS, FENCING, HTTP_SOURCE, LIVE, REDIS_SOURCE, SOURCE};
pub(in crate::config) use web::WEB;
#[cfg(test)]
pub(in crate::config) use web::WEB_SECTIONS;

use Kind::{Duration, List, Map, OneOf, Secret, Size, Switch, Table, Text, Texts, Whole};

const YEAR: &str = "365d";
const ONE_OF_THREE: &str = "exactly one of `redis`, `file`, `http`";

pub(in crate::config) static TOP: Section = Section {
    title: "Top level",
    keys: &[
        key("poll_interval", Duration("50ms", "1h"), "2s"),
        key("sweep_interval", Duration("50ms", "1d"), "5m"),
        key("stall_poll", Duration("50ms", "1m"), "500ms"),
        key("stall_window", Duration("1m", "7d"), "1h"),
        key("retain", Duration("1s", "30d"), "1h"),
        key("max_workers", Whole(1, 100_000), "1000"),
        key("stores", Map(&STORE), ""),
        key("workers", Map(&WORKER), ""),
        key("live_workers", Map(&LIVE), ""),
        key("clocks", Map(&CLOCK), ""),
        key("local_clock", Text, "the only one that is here"),
        key("evidence", Table(&EVIDENCE), ""),
    ],
    later: &[],
};

pub(in crate::config) static STORE: Section = Section {
    title: "stores.NAME",
    keys: &[
        key("url", Text, "this or `urls`"),
        key("urls", Texts, ""),
        key(
            "topology",
            OneOf(&["auto", "standalone", "sentinel", "cluster", "quorum"], &[]),
            "auto",
        ),
        key("sentinel", Table(&SENTINEL), ""),
        key("replicas", Texts, ""),
        key("username", Text, ""),
        key("password_file", Text, ""),
        key("password", Secret, ""),
        key("tls", Table(&TLS), ""),
        key("connect_timeout", Duration("10ms", "1m"), "1s"),
        key("response_timeout", Duration("10ms", "1m"), "1s"),
        key("events", OneOf(&["auto", "tracking", "notifications", "off"], &[]), "auto"),
        key("clients", OneOf(&["auto", "on", "off"], &[]), "auto"),
        key("slowlog", OneOf(&["auto", "on", "off"], &[]), "auto"),
        key("owner_index", Table(&OWNER_INDEX), ""),
        key("clocks", List(&NODE_CLOCK), ""),
        key("locks", List(&LOCK), ""),
    ],
    later: &[],
};

pub(in crate::config) static SENTINEL: Section = Section {
    title: "stores.NAME.sentinel",
    keys: &[
        key("master", Text, "required"),
        key("username", Text, ""),
        key("password_file", Text, ""),
        key("password", Secret, ""),
        key("tls", Table(&TLS), ""),
    ],
    later: &[],
};

pub(in crate::config) static OWNER_INDEX: Section =
    Section { title: "stores.NAME.owner_index", keys: &[key("key", Text, "required")], later: &[] };

pub(in crate::config) static NODE_CLOCK: Section = Section {
    title: "stores.NAME.clocks[]",
    keys: &[key("addr", Text, "required"), key("clock", Text, "required")],
    later: &[],
};

pub(in crate::config) static TLS: Section = Section {
    title: "tls",
    keys: &[
        key("ca_file", Text, ""),
        key("cert_file", Text, ""),
        key("key_file", Text, ""),
        key("server_name", Text, ""),
    ],
    later: &[],
};

pub(in crate::config) static LOCK: Section = Section {
    title: "stores.NAME.locks[]",
    keys: &[
        key("name", Text, "required with `key` and `keys`; `{0}` with `match`"),
        key("key", Text, "`key`, `keys` or `match`"),
        key("keys", Texts, "`key`, `keys` or `match`"),
        key("match", Text, "`key`, `keys` or `match`"),
        key("capture", Text, ""),
        key("max_locks", Whole(1, 1_000_000), "1000"),
        key("format", Text, "auto"),
        key("lease", Duration("10ms", YEAR), ""),
        key("max_hold", Duration("10ms", YEAR), ""),
        key("token", OneOf(&["per_acquire", "reusable"], &[]), ""),
        key("renewed", Switch, ""),
        key("ends", OneOf(&["by_release", "by_expiry"], &[]), "the format's"),
        key(
            "series",
            OneOf(&["full", "core", "flagged"], &[]),
            "full with `key` and `keys`; core with `match`",
        ),
        key("expect", OneOf(&["any", "always_held"], &[]), "any"),
        key("holder", Text, ""),
        key("owner_json", Text, ""),
        key("limit", Whole(1, 1_000_000), ""),
        key("workers", Texts, ""),
        key("listed_in", Text, ""),
        key("fencing", Table(&FENCING), ""),
        key("effects", List(&EFFECTS), ""),
        key("group", Switch, "false"),
        key("group_top", Whole(1, 1_000), "20"),
    ],
    later: &[],
};

pub(in crate::config) static WORKER: Section = Section {
    title: "workers.GROUP",
    keys: &[
        key("match", Text, "`match` or `names`"),
        key("names", Texts, "`match` or `names`"),
        key("series", OneOf(&["full", "core"], &[]), "full"),
        key("process", Table(&PROCESS), ""),
        key("heartbeat", Table(&HEARTBEAT), ""),
        key("claim", Table(&SOURCE), ""),
        key("jvm", OneOf(&["auto", "always", "never"], &[]), "auto"),
    ],
    later: &[],
};

pub(in crate::config) static PROCESS: Section = Section {
    title: "workers.GROUP.process",
    keys: &[
        key("pid_file", Text, "exactly one"),
        key("pid_from_holder", Switch, "exactly one"),
        key("systemd_unit", Text, "exactly one"),
        key("command", Text, "exactly one"),
        key("cgroup", Text, "exactly one"),
    ],
    later: &[],
};

pub(in crate::config) static HEARTBEAT: Section = Section {
    title: "workers.GROUP.heartbeat",
    keys: &[
        key("redis", Table(&REDIS_SOURCE), ONE_OF_THREE),
        key("file", Text, ONE_OF_THREE),
        key("content", Switch, "false"),
        key("http", Table(&HTTP_SOURCE), ONE_OF_THREE),
        key("frozen_after", Duration("100ms", YEAR), ""),
    ],
    later: &[],
};

pub(in crate::config) static CLOCK: Section =
    Section { title: "clocks.NAME", keys: &[key("chrony", Text, "required")], later: &[] };

pub(in crate::config) static EVIDENCE: Section = Section {
    title: "evidence",
    keys: &[
        key("dir", Text, "required"),
        key("keep", Whole(1, 10_000), "200"),
        key("max_bytes", Size("1MiB", "1TiB"), "64MiB"),
        key("raw_tokens", Switch, "false"),
    ],
    later: &[],
};

/// All sections, in the order of the reference.
#[cfg(test)]
pub(in crate::config) static SECTIONS: &[&Section] = &[
    &TOP,
    &STORE,
    &SENTINEL,
    &OWNER_INDEX,
    &NODE_CLOCK,
    &TLS,
    &LOCK,
    &FENCING,
    &RESOURCE,
    &EFFECTS,
    &WORKER,
    &PROCESS,
    &HEARTBEAT,
    &LIVE,
    &MEMBERS,
    &MEMBERS_REDIS,
    &SOURCE,
    &REDIS_SOURCE,
    &HTTP_SOURCE,
    &BASIC_AUTH,
    &CLOCK,
    &EVIDENCE,
];
