//! The shape of the configuration as data: which keys exist where, of which type, and which are known to come in a
//! later version. Unknown keys, names from the environment and the key reference all follow from it. Holds no values.

/// What a key holds.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// Text.
    Text,
    /// Text that only the environment may give.
    Secret,
    /// A duration with its smallest and largest sensible value.
    Duration(&'static str, &'static str),
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
}

/// One key of a section.
pub(super) struct Key {
    /// Its name.
    pub(super) name: &'static str,
    /// What it holds.
    pub(super) kind: Kind,
    /// Its default as the reference prints it: a value, `required`, or empty.
    #[cfg_attr(not(test), allow(dead_code))]
    pub(super) default: &'static str,
}

/// A table's keys.
pub(super) struct Section {
    /// The heading it has in the reference.
    #[cfg_attr(not(test), allow(dead_code))]
    pub(super) title: &'static str,
    /// Its keys.
    pub(super) keys: &'static [Key],
    /// Keys that later versions have. They are named as such, so that nobody searches for a typo.
    pub(super) later: &'static [&'static str],
}

impl Section {
    /// The key of that name.
    pub(super) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|k| k.name == name)
    }
}

const fn key(name: &'static str, kind: Kind, default: &'static str) -> Key {
    Key { name, kind, default }
}

use Kind::{Duration, List, Map, OneOf, Secret, Switch, Table, Text, Texts, Whole};

const YEAR: &str = "365d";

pub(super) static TOP: Section = Section {
    title: "Top level",
    keys: &[
        key("poll_interval", Duration("50ms", "1h"), "2s"),
        key("stall_poll", Duration("50ms", "1m"), "500ms"),
        key("stall_window", Duration("1m", "7d"), "1h"),
        key("retain", Duration("1s", "30d"), "1h"),
        key("max_workers", Whole(1, 100_000), "1000"),
        key("stores", Map(&STORE), ""),
        key("workers", Map(&WORKER), ""),
        key("clocks", Map(&CLOCK), ""),
        key("local_clock", Text, "the only one that is here"),
    ],
    later: &["sweep_interval", "live_workers", "evidence"],
};

pub(super) static STORE: Section = Section {
    title: "stores.NAME",
    keys: &[
        key("url", Text, "required"),
        key("topology", OneOf(&["auto", "standalone"], &["sentinel", "cluster", "quorum"]), "auto"),
        key("replicas", Texts, ""),
        key("username", Text, ""),
        key("password_file", Text, ""),
        key("password", Secret, ""),
        key("tls", Table(&TLS), ""),
        key("connect_timeout", Duration("10ms", "1m"), "1s"),
        key("response_timeout", Duration("10ms", "1m"), "1s"),
        key("clocks", List(&NODE_CLOCK), ""),
        key("locks", List(&LOCK), ""),
    ],
    later: &["urls", "events", "sentinel", "owner_index"],
};

pub(super) static NODE_CLOCK: Section = Section {
    title: "stores.NAME.clocks[]",
    keys: &[key("addr", Text, "required"), key("clock", Text, "required")],
    later: &[],
};

pub(super) static TLS: Section = Section {
    title: "tls",
    keys: &[
        key("ca_file", Text, ""),
        key("cert_file", Text, ""),
        key("key_file", Text, ""),
        key("server_name", Text, ""),
    ],
    later: &[],
};

pub(super) static LOCK: Section = Section {
    title: "stores.NAME.locks[]",
    keys: &[
        key("name", Text, "required with `key`; `{0}` with `match`"),
        key("key", Text, "`key` or `match`"),
        key("match", Text, "`key` or `match`"),
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
            "full with `key`; core with `match`",
        ),
        key("expect", OneOf(&["any", "always_held"], &[]), "any"),
        key("holder", Text, ""),
    ],
    later: &["keys", "workers", "fencing", "effects", "owner_json", "limit", "listed_in", "group"],
};

pub(super) static WORKER: Section = Section {
    title: "workers.GROUP",
    keys: &[
        key("match", Text, "`match` or `names`"),
        key("names", Texts, "`match` or `names`"),
        key("series", OneOf(&["full", "core"], &[]), "full"),
        key("process", Table(&PROCESS), ""),
        key("heartbeat", Table(&HEARTBEAT), ""),
        key("jvm", OneOf(&["auto", "always", "never"], &[]), "auto"),
    ],
    later: &["claim"],
};

pub(super) static PROCESS: Section = Section {
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

pub(super) static HEARTBEAT: Section = Section {
    title: "workers.GROUP.heartbeat",
    keys: &[
        key("redis", Table(&REDIS_SOURCE), "exactly one of `redis`, `file`, `http`"),
        key("file", Text, "exactly one of `redis`, `file`, `http`"),
        key("content", Switch, "false"),
        key("http", Table(&HTTP_SOURCE), "exactly one of `redis`, `file`, `http`"),
        key("frozen_after", Duration("100ms", YEAR), ""),
    ],
    later: &[],
};

pub(super) static REDIS_SOURCE: Section = Section {
    title: "redis source",
    keys: &[
        key("store", Text, "required"),
        key("key", Text, "required"),
        key("field", Text, ""),
        key("member", Text, ""),
        key("exists", Switch, "false"),
        key("json", Text, ""),
    ],
    later: &[],
};

pub(super) static HTTP_SOURCE: Section = Section {
    title: "http source",
    keys: &[
        key("url", Text, "required"),
        key("json", Text, ""),
        key("metric", Text, ""),
        key("tls", Table(&TLS), ""),
        key("basic_auth", Table(&BASIC_AUTH), ""),
        key("bearer_token_file", Text, ""),
    ],
    later: &[],
};

pub(super) static BASIC_AUTH: Section = Section {
    title: "basic_auth",
    keys: &[key("username", Text, "required"), key("password_file", Text, "required")],
    later: &[],
};

pub(super) static CLOCK: Section =
    Section { title: "clocks.NAME", keys: &[key("chrony", Text, "required")], later: &[] };

/// All sections, in the order of the reference.
#[cfg(test)]
pub(super) static SECTIONS: &[&Section] = &[
    &TOP,
    &STORE,
    &NODE_CLOCK,
    &TLS,
    &LOCK,
    &WORKER,
    &PROCESS,
    &HEARTBEAT,
    &REDIS_SOURCE,
    &HTTP_SOURCE,
    &BASIC_AUTH,
    &CLOCK,
];
