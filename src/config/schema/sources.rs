//! The sections of what is read from elsewhere: sources, what of a lock's is made of them, and lists of live workers.

use super::Kind::{Duration, List, OneOf, Switch, Table, Text};
use super::{ONE_OF_THREE, Section, TLS, key};

pub(in crate::config) static FENCING: Section = Section {
    title: "stores.NAME.locks[].fencing",
    keys: &[
        key("issued", Table(&SOURCE), ""),
        key("accepted", List(&RESOURCE), ""),
        key("rejected", List(&RESOURCE), ""),
    ],
    later: &[],
};

pub(in crate::config) static RESOURCE: Section = Section {
    title: "stores.NAME.locks[].fencing.accepted[]",
    keys: &[
        key("name", Text, "required"),
        key("redis", Table(&REDIS_SOURCE), ONE_OF_THREE),
        key("file", Text, ONE_OF_THREE),
        key("content", Switch, "false"),
        key("http", Table(&HTTP_SOURCE), ONE_OF_THREE),
    ],
    later: &[],
};

pub(in crate::config) static EFFECTS: Section = Section {
    title: "stores.NAME.locks[].effects[]",
    keys: &[
        key("name", Text, "required"),
        key("total", Table(&SOURCE), "required"),
        key("distinct", Table(&SOURCE), ""),
    ],
    later: &[],
};

pub(in crate::config) static LIVE: Section = Section {
    title: "live_workers.NAME",
    keys: &[
        key(
            "preset",
            OneOf(&["sidekiq", "rq", "resque", "bullmq", "celery"], &[]),
            "`preset` or `members`",
        ),
        key("store", Text, "required with `preset`"),
        key("queue", Text, "required with `bullmq`"),
        key("channel", Text, "that of the store's database"),
        key("members", Table(&MEMBERS), "`preset` or `members`"),
        key("heartbeat", Table(&SOURCE), ""),
        key("refresh", Duration("1s", "1h"), "10s"),
    ],
    later: &[],
};

pub(in crate::config) static MEMBERS: Section = Section {
    title: "live_workers.NAME.members",
    keys: &[key("redis", Table(&MEMBERS_REDIS), "required")],
    later: &[],
};

pub(in crate::config) static MEMBERS_REDIS: Section = Section {
    title: "live_workers.NAME.members.redis",
    keys: &[
        key("store", Text, "required"),
        key("key", Text, "required"),
        key("kind", OneOf(&["set", "list", "zset", "hash"], &[]), "set"),
    ],
    later: &[],
};

pub(in crate::config) static SOURCE: Section = Section {
    title: "source",
    keys: &[
        key("redis", Table(&REDIS_SOURCE), ONE_OF_THREE),
        key("file", Text, ONE_OF_THREE),
        key("content", Switch, "false"),
        key("http", Table(&HTTP_SOURCE), ONE_OF_THREE),
    ],
    later: &[],
};

pub(in crate::config) static REDIS_SOURCE: Section = Section {
    title: "redis source",
    keys: &[
        key("store", Text, "required; the lock's own below a lock"),
        key("key", Text, "required"),
        key("field", Text, ""),
        key("member", Text, ""),
        key("exists", Switch, "false"),
        key("json", Text, ""),
    ],
    later: &[],
};

pub(in crate::config) static HTTP_SOURCE: Section = Section {
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

pub(in crate::config) static BASIC_AUTH: Section = Section {
    title: "basic_auth",
    keys: &[key("username", Text, "required"), key("password_file", Text, "required")],
    later: &[],
};
