//! The one way to a configuration: file or flags, the environment over them, then the readers. Either all of it is
//! right or every mistake is told. Opens the files that are named and nothing else.

use super::cursor::Cursor;
use super::input::Input;
use super::layers;
use super::mistake::{Mistakes, Report};
use super::model::Config;
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
    if !start(input, report) {
        return None;
    }
    let merged = layers::merge(input, report)?;
    let top = Cursor::top(&merged, &schema::TOP, report)?;
    read::config(&top)
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
