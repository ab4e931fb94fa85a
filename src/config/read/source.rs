//! Reads a *source*: something outside that has a value, in Redis, a file or behind HTTP. Exactly one of the three.

use std::path::PathBuf;

use hyper::http::Uri;

use super::super::checks::{self, Wrong};
use super::super::cursor::Cursor;
use super::super::filling::{Braces, Filling};
use super::super::model::{HttpPart, RedisPart, Source};
use super::super::selector::MetricSelector;
use super::names::Entries;
use super::wants::{self, Wants};
use super::{file, noted, tls};

const KINDS: &[&str] = &["redis", "file", "http"];

/// What a source is read for, and what it may lean on.
#[derive(Clone, Copy)]
pub(super) struct Need<'a> {
    /// Whose name fills its templates.
    pub(super) filling: Filling,
    /// What is to be found there.
    pub(super) wants: Wants,
    /// The stores there are.
    pub(super) stores: &'a Entries,
    /// The store that is meant if none is named.
    pub(super) own: Option<&'a str>,
}

/// Reads the source in this table.
pub(super) fn read(at: &Cursor<'_>, need: Need<'_>) -> Option<Source> {
    let present = at.present(KINDS);
    if !present.contains(&"file") && at.has("content") {
        at.wrong("content", "has no meaning without `file`", "remove it");
    }
    // With too many of them, what is wrong inside each is told all the same.
    let mut sources: Vec<_> = present.iter().map(|kind| of_kind(kind, at, need)).collect();
    if let [_] = present.as_slice() {
        return sources.pop().flatten();
    }
    if !present.is_empty() || !at.mistyped(KINDS) {
        let reason = if present.is_empty() {
            "names no source".to_owned()
        } else {
            format!("has {} at once", present.join(" and "))
        };
        at.wrong_here(reason, "give exactly one of: redis, file, http");
    }
    None
}

fn of_kind(kind: &str, at: &Cursor<'_>, need: Need<'_>) -> Option<Source> {
    match kind {
        "redis" => redis(&at.table("redis")?, need),
        "file" => {
            let content = at.switch("content");
            wants::file(at, need.wants);
            let path = at.text("file")?;
            noted(at, "file", need.filling.places(path, Braces::Ours))?;
            noted(at, "file", need.filling.apart(&[path]));
            Some(Source::File { path: path.to_owned(), content: content.unwrap_or(false) })
        }
        _ => http(&at.table("http")?, need),
    }
}

fn redis(at: &Cursor<'_>, need: Need<'_>) -> Option<Source> {
    let filling = need.filling;
    if need.own.is_none() {
        at.require("store", "add the name of one of `stores`");
    }
    let example = format!("add the key, such as `hb:{}`", filling.place.as_str());
    at.require("key", &example);
    let store = match at.has("store") {
        true => at.text("store").and_then(|s| noted(at, "store", need.stores.known(s)).map(|()| s)),
        false => need.own,
    };
    let key = at.text("key");
    let placed = key.and_then(|key| noted(at, "key", filling.places(key, Braces::Shared)));
    let json = pointer(at, filling);
    let present = at.present(&["field", "member", "exists"]);
    let parts: Vec<_> = present.iter().map(|part| redis_part(part, at, filling)).collect();
    if present.len() > 1 {
        at.wrong_here(
            format!("has {} at once", present.join(" and ")),
            "at most one: `field` of a hash, `member` of a sorted set, or `exists`",
        );
        return None;
    }
    let part = match parts.into_iter().next() {
        Some(part) => part?,
        None => RedisPart::Text,
    };
    if at.has("json") && matches!(part, RedisPart::Member(_) | RedisPart::Exists) {
        at.wrong("json", "a score or a key's existence is no JSON", "remove it");
    }
    wants::redis(at, need.wants, &part);
    if placed.is_some()
        && let Some(key) = key
    {
        let more = match &part {
            RedisPart::Field(text) | RedisPart::Member(text) => text.as_str(),
            RedisPart::Text | RedisPart::Exists => "",
        };
        noted(at, "key", filling.apart(&[key, more]));
    }
    Some(Source::Redis { store: store?.into(), key: key?.to_owned(), part, json })
}

fn redis_part(part: &str, at: &Cursor<'_>, filling: Filling) -> Option<RedisPart> {
    if part == "exists" {
        return Some(if at.switch(part)? { RedisPart::Exists } else { RedisPart::Text });
    }
    let text = at.text(part)?;
    noted(at, part, filling.places(text, Braces::Shared))?;
    let text = text.to_owned();
    Some(if part == "field" { RedisPart::Field(text) } else { RedisPart::Member(text) })
}

fn pointer(at: &Cursor<'_>, filling: Filling) -> Option<String> {
    let text = at.text("json")?;
    noted(at, "json", filling.fixed(text).and_then(|()| checks::json_pointer(text)))?;
    Some(text.to_owned())
}

fn http(at: &Cursor<'_>, need: Need<'_>) -> Option<Source> {
    let filling = need.filling;
    at.require("url", "add it, such as `http://127.0.0.1:8080/health`");
    let url = at.text("url");
    let placed = url.and_then(|url| noted(at, "url", filling.places(url, Braces::Ours)));
    let https =
        url.filter(|_| placed.is_some()).and_then(|url| noted(at, "url", http_url(url, filling)));
    if placed.is_some()
        && let Some(url) = url
    {
        noted(at, "url", filling.apart(&[url]));
    }
    if at.has("json") && at.has("metric") {
        at.wrong("metric", "is set beside `json`", "an answer is JSON or metrics, not both");
    }
    wants::http(at, need.wants);
    let part = match (pointer(at, filling), metric(at, filling)) {
        (Some(json), _) => HttpPart::Json(json),
        (None, Some(metric)) => HttpPart::Metric(metric),
        (None, None) => HttpPart::Success,
    };
    let tls = tls(at, https, "https://");
    if at.has("basic_auth") && at.has("bearer_token_file") {
        at.wrong("bearer_token_file", "is set beside `basic_auth`", "use one of the two");
    }
    let basic_auth = at.table("basic_auth").and_then(|below| basic_auth(&below));
    let bearer_token_file = file(at, "bearer_token_file");
    https?;
    Some(Source::Http { url: url?.to_owned(), part, tls, basic_auth, bearer_token_file })
}

fn metric(at: &Cursor<'_>, filling: Filling) -> Option<String> {
    let text = at.text("metric")?;
    noted(at, "metric", filling.fixed(text))?;
    if let Err(why) = MetricSelector::parse(text) {
        at.wrong(
            "metric",
            format!("not a metric: {why}"),
            "write `name` or `name{label=\"value\"}`",
        );
        return None;
    }
    Some(text.to_owned())
}

fn basic_auth(at: &Cursor<'_>) -> Option<(String, PathBuf)> {
    at.require("username", "add it");
    at.require("password_file", "add the path of the file with the password");
    let username = at.text("username");
    if username.is_some_and(|u| u.contains(':')) {
        at.wrong(
            "username",
            "contains a `:`, which basic authentication cannot carry",
            "use another user",
        );
    }
    let password_file = file(at, "password_file");
    Some((username?.to_owned(), password_file?))
}

/// Whether the URL is an https one. Quotes nothing: it may hold a password by mistake.
fn http_url(text: &str, filling: Filling) -> Result<bool, Wrong> {
    let wrong = |reason: &str, fix: &str| Err((reason.to_owned(), fix.to_owned()));
    let example = "write it as `http://host:8080/path` or `https://host/path`";
    let sample = filling.sample(text);
    let authority = sample.split_once("://").map_or("", |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return wrong(
            "contains a user or password",
            "take the part before `@` out and use `basic_auth` with `password_file`",
        );
    }
    let Ok(uri) = sample.parse::<Uri>() else { return wrong("not a URL", example) };
    let https = match uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => return wrong("the scheme is neither http nor https", example),
    };
    if uri.host().is_none_or(str::is_empty) {
        return wrong("names no host", example);
    }
    Ok(https)
}
