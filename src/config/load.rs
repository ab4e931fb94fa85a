//! The one way to a configuration: file or flags, the environment over them, then the readers. Either all of it is
//! right or every mistake is told. Opens the files that are named and nothing else.

use super::cursor::Cursor;
use super::input::Input;
use super::layers;
use super::mistake::{Mistakes, Report};
use super::model::{Config, Shard};
use super::{env, misnamed, read, schema};

/// Makes the configuration, or tells every mistake in it.
pub fn load(input: &Input) -> Result<Config, Mistakes> {
    let base = match &input.file {
        Some(path) => path.to_string_lossy().into_owned(),
        None if input.redis_url.is_some() => "command line".into(),
        None => "environment".into(),
    };
    let report = Report::new(base);
    let config = made(input, &report);
    match (config, report.finish()) {
        (Some(config), None) => Ok(config),
        (_, Some(mistakes)) => Err(mistakes),
        // A reader that gives up without a word is a fault of this program, and must not pass for success.
        (None, None) => Err(Mistakes::fault()),
    }
}

fn made(input: &Input, report: &Report) -> Option<Config> {
    // Its mistakes are told beside those of the file.
    let shard = shard(input, report);
    if !start(input, report) {
        return None;
    }
    let merged = layers::merge(input, report)?;
    let top = Cursor::top(&merged, &schema::TOP, report)?;
    let config = read::config(&top)?;
    Some(Config { shard: shard?, ..config })
}

/// Which of the locks are watched; all of them unless the flags say otherwise.
fn shard(input: &Input, report: &Report) -> Option<Shard> {
    let wrong = |flag: &str, reason: String, fix: &str| {
        report.add(Some(flag), "", reason, Some(fix.to_owned()));
        None
    };
    match (input.shard, input.total_shards) {
        (None, None) => Some(Shard::default()),
        (Some(_), None) => wrong(
            "--shard",
            "says which share, and not of how many".into(),
            "add --total-shards, such as --total-shards 3",
        ),
        (None, Some(_)) => wrong(
            "--total-shards",
            "says how many shares there are, and not which one this is".into(),
            "add --shard, counted from 0",
        ),
        (_, Some(0)) => wrong(
            "--total-shards",
            "there must be one share at least".into(),
            "leave out both flags to watch all locks",
        ),
        (Some(index), Some(total)) => Shard::new(index, total).or_else(|| {
            let reason = format!("{index} is not below --total-shards, which is {total}");
            wrong("--shard", reason, "shares are counted from 0")
        }),
    }
}

/// Whether the flags go together; if not, there is nothing to go on with.
fn start(input: &Input, report: &Report) -> bool {
    let given = |flag: &str, reason: &str, fix: &str| {
        report.add(Some(flag), "", reason.to_owned(), Some(fix.to_owned()));
        false
    };
    if input.file.is_some() {
        let with_file = "cannot be used together with --config.file";
        let url = input.redis_url.is_none()
            || given("--redis.url", with_file, "put it into the file as `stores.NAME.url`");
        let patterns = input.lock_patterns.is_empty()
            || given(
                "--lock.pattern",
                with_file,
                "put it into the file as a `match` of the store's `locks`",
            );
        return url && patterns;
    }
    match (&input.redis_url, input.lock_patterns.is_empty()) {
        (Some(_), false) => true,
        (Some(_), true) => given(
            "--redis.url",
            "names a server but no locks",
            "add --lock.pattern, such as --lock.pattern 'lock:*'",
        ),
        (None, false) => given(
            "--lock.pattern",
            "names locks but no server",
            "add --redis.url, such as --redis.url redis://127.0.0.1:6379",
        ),
        (None, true) if input.env.iter().any(|(name, _)| env::strip(name).is_some()) => true,
        (None, true) if any_misnamed(input, report) => false,
        (None, true) => given(
            "--config.file",
            "there is no configuration",
            "give this flag, or --redis.url and --lock.pattern",
        ),
    }
}

/// Whether the environment was meant to be the configuration, and is not for its names.
fn any_misnamed(input: &Input, report: &Report) -> bool {
    let mut any = false;
    for (name, _) in &input.env {
        if let Some((reason, fix)) = misnamed::check(name) {
            report.add(Some(name), "", reason, Some(fix));
            any = true;
        }
    }
    any
}
