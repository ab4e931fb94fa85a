//! Flags, their defaults and what they refuse.

use super::*;

fn parse(args: &[&str]) -> Result<Cli, clap::Error> {
    Cli::parse_args(std::iter::once("dlock_exporter").chain(args.iter().copied()))
}

fn refused(args: &[&str]) -> String {
    match parse(args) {
        Ok(_) => panic!("{args:?} was accepted"),
        Err(error) => error.to_string(),
    }
}

fn listen(text: &str) -> ListenAddress {
    text.parse().unwrap()
}

#[test]
fn has_the_defaults_of_the_documentation() {
    let cli = parse(&[]).unwrap();
    assert_eq!(cli.listen, [listen(":10121")]);
    assert_eq!(cli.telemetry_path, "/metrics");
    assert_eq!(cli.procfs, PathBuf::from("/proc"));
    assert_eq!(cli.cgroupfs, PathBuf::from("/sys/fs/cgroup"));
    assert_eq!((cli.log_level, cli.log_format), (LogLevel::Info, LogFormat::Logfmt));
    assert!(!cli.config_check && cli.config_file.is_none() && cli.lock_patterns.is_empty());
}

#[test]
fn takes_repeated_flags_and_hands_them_on() {
    let cli = parse(&[
        "--web.listen-address=:1",
        "--web.listen-address",
        "[::1]:2",
        "--redis.url=redis://h",
        "--lock.pattern=a:*",
        "--lock.pattern=b:*",
        "--log.level=trace",
        "--log.format=json",
    ])
    .unwrap();
    assert_eq!(cli.listen, [listen(":1"), listen("[::1]:2")]);
    assert_eq!(cli.log_level.as_str(), "trace");
    let input = cli.input(vec![("A".into(), "b".into())]);
    assert_eq!(input.redis_url.as_deref(), Some("redis://h"));
    assert_eq!(input.lock_patterns, ["a:*", "b:*"]);
    assert_eq!(input.env, [("A".to_owned(), "b".to_owned())]);
    assert!(input.file.is_none());
}

#[test]
fn reads_and_prints_listen_addresses() {
    for text in [":10121", "localhost:80", "[::1]:0", "127.0.0.1:65535"] {
        assert_eq!(listen(text).to_string(), text);
    }
    for bad in [
        "",
        "10121",
        "host",
        "::1:80",
        "[::1]",
        "[x]:1",
        ":65536",
        ":+1",
        ":-1",
        "a b:1",
        "http://x:1",
    ] {
        assert!(bad.parse::<ListenAddress>().is_err(), "{bad}");
    }
}

#[test]
fn resolves_listen_addresses() {
    let any = listen(":7").resolve().unwrap();
    assert!(matches!(any.as_slice(), [a] if a.ip().is_unspecified() && a.port() == 7), "{any:?}");
    assert_eq!(listen("127.0.0.1:7").resolve().unwrap(), ["127.0.0.1:7".parse().unwrap()]);
    assert_eq!(listen("[::1]:7").resolve().unwrap(), ["[::1]:7".parse().unwrap()]);
    assert!(listen("localhost:7").resolve().unwrap().iter().all(|a| a.ip().is_loopback()));
}

#[test]
fn refuses_what_cannot_be_meant() {
    assert!(refused(&["--web.telemetry-path=metrics"]).contains("write `/metrics`"));
    assert!(refused(&["--web.telemetry-path=/"]).contains("taken"));
    assert!(refused(&["--web.telemetry-path=/api/x"]).contains("taken"));
    assert!(refused(&["--log.level=loud"]).contains("info"));
    assert!(refused(&["--config.fil=x"]).contains("--config.file"));
    assert!(refused(&["--web.listen-address=9"]).contains("write `:9`"));
}

#[test]
fn prints_version_and_help() {
    let version = refused(&["--version"]);
    let expected = concat!("dlock_exporter version ", env!("CARGO_PKG_VERSION"), " (revision: ");
    assert!(version.starts_with(expected), "{version}");
    let help = refused(&["--help"]);
    for part in
        ["Configuration:", "Start without a file:", "Web:", "Host:", "Logging:", "Examples:"]
    {
        assert!(help.contains(part), "{part} is missing in\n{help}");
    }
}

#[test]
fn every_flag_of_the_command_is_documented() {
    use clap::CommandFactory;
    for flag in Cli::command().get_arguments() {
        assert!(flag.get_help().is_some(), "{} has no help", flag.get_id());
    }
}
