//! The door before everything that the exporter serves: TLS, certificates of clients, passwords, and what is said of a
//! file with mistakes. A real Prometheus comes through it, and nobody else does.

mod changes;
mod client;
mod raw;

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::support::{Exporter, ExporterSetup, Metrics, PrometheusSetup, free_port, wait_until};
use crate::tls::Authority;
use client::{get, get_as, plain, secret, tls, trusting};

const SOON: Duration = Duration::from_secs(20);

/// A directory with a web configuration, and an exporter whose only store is down: what it serves is the same.
struct Door {
    dir: TempDir,
}

impl Door {
    fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("web.yml")
    }

    fn write(&self, text: &str) {
        fs::write(self.file(), text).unwrap();
    }

    fn setup(&self) -> ExporterSetup {
        let url = format!("redis://127.0.0.1:{}", free_port());
        ExporterSetup::default()
            .arguments(&["--redis.url", &url, "--lock.pattern", "lock:*"])
            .arguments(&["--web.config.file", self.file().to_str().unwrap()])
    }

    fn open(&self) -> Exporter {
        let exporter = self.setup().spawn();
        wait_until("it listens", SOON, || std::net::TcpStream::connect(exporter.address()).ok());
        exporter
    }
}

/// bcrypt of a password; few rounds, as these builds are slow.
fn hash(password: &str, cost: u32) -> String {
    bcrypt::hash(password, cost).unwrap()
}

const REFUSED: &str = "dlock_exporter_config_last_reload_successful";

#[test]
fn prometheus_comes_in_with_a_password_or_a_certificate_and_nobody_without() {
    let (by_password, by_certificate) = (Door::new(), Door::new());
    let dir = by_password.dir.path();
    let (ours, theirs) = (Authority::new(dir, "ours"), Authority::new(dir, "theirs"));
    let (crt, key) = ours.signs("server", "127.0.0.1");
    let (known, other) =
        (ours.signs("known", "prometheus.test"), ours.signs("other", "other.test"));
    let stranger = theirs.signs("stranger", "prometheus.test");
    let tls = format!("tls_server_config:\n  cert_file: {crt}\n  key_file: {key}\n");
    by_password
        .write(&format!("{tls}basic_auth_users: {{ prometheus: '{}' }}\n", hash("s3cret", 4)));
    by_certificate.write(&format!(
        "{tls}  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: {}\n  client_allowed_sans: [prometheus.test]\n",
        ours.file.display()
    ));
    let (first, second) = (by_password.open(), by_certificate.open());
    assert!(first.log().contains("tls=true"), "{}", first.log());

    let ca = ours.file.display().to_string();
    let job = |name: &str, exporter: &Exporter, own: Option<&(String, String)>, more: &str| {
        let own = own.map_or(String::new(), |(c, k)| format!(", cert_file: {c}, key_file: {k}"));
        format!(
            "- {{ job_name: {name}, scheme: https, tls_config: {{ ca_file: {ca}{own} }}{more}, static_configs: [{{ targets: ['{}'] }}] }}\n",
            exporter.address()
        )
    };
    let user =
        |password: &str| format!(", basic_auth: {{ username: prometheus, password: {password} }}");
    let config = "global: { scrape_interval: 1s, scrape_timeout: 1s }\nscrape_configs:\n"
        .to_owned()
        + &job("password", &first, None, &user("s3cret"))
        + &job("http1", &first, None, &(user("s3cret") + ", enable_http2: false"))
        + &job("certificate", &second, Some(&known), "")
        + &job("wrong_password", &first, None, &user("guess"))
        + &job("no_password", &first, None, "")
        + &job("no_certificate", &second, None, "")
        + &job("other_name", &second, Some(&other), "")
        + &job("other_authority", &second, Some(&stranger), "");
    let mut prometheus = PrometheusSetup::new(&[]).config(config).start();
    prometheus.wait_until("all have been scraped", SOON, |p| {
        (p.query("count(count_over_time(up[1m]) > 1) == 8").len() == 1).then_some(())
    });
    let up = |value: u8| {
        let mut jobs: Vec<_> = prometheus
            .query(&format!("up == {value}"))
            .into_iter()
            .map(|s| s.labels["job"].clone())
            .collect();
        jobs.sort();
        jobs
    };
    assert_eq!(up(1), ["certificate", "http1", "password"], "{}\n{}", first.log(), second.log());
    assert_eq!(up(0).len(), 5);
    assert_eq!(prometheus.query("dlock_exporter_build_info").len(), 3);
    let all = first.log() + &second.log();
    assert!(!all.contains("s3cret") && !all.contains("guess") && !all.contains("$2b$"), "{all}");
}

#[test]
fn http2_is_spoken_where_it_is_not_switched_off() {
    let door = Door::new();
    let ours = Authority::new(door.dir.path(), "ours");
    let (crt, key) = ours.signs("server", "127.0.0.1");
    let text = format!("tls_server_config: {{ cert_file: {crt}, key_file: {key} }}\n");
    door.write(&text);
    let exporter = door.open();
    let curl = || {
        let asked = Command::new("curl")
            .args(["--silent", "--fail", "--max-time", "10", "--output", "/dev/null", "--cacert"])
            .arg(&ours.file)
            .args(["--http2", "--write-out", "%{http_version} %{http_code}"])
            .arg(format!("https://{}/metrics", exporter.address()))
            .output()
            .expect("curl can be started");
        String::from_utf8(asked.stdout).unwrap()
    };
    assert_eq!(curl(), "2 200");
    door.write(&format!(
        "{text}http_server_config: {{ http2: false, headers: {{ X-Frame-Options: deny }} }}\n"
    ));
    wait_until("HTTP/2 is switched off", SOON, || (curl() == "1.1 200").then_some(()));
    let config = trusting(&ours.file, None);
    let answer = secret(exporter.address(), &config, &get("/nowhere")).unwrap();
    assert_eq!((answer.status, answer.header("x-frame-options")), (404, Some("deny")));
    // Whoever forgot the s is told so.
    let hint = plain(exporter.address(), &get("/metrics"));
    assert!(hint.status == 400 && hint.body.contains("https://"), "{}", hint.body);
}

#[test]
fn a_file_that_changes_is_in_force_and_one_with_mistakes_is_told_and_is_not() {
    let door = Door::new();
    let (old, new) =
        (Authority::new(door.dir.path(), "old"), Authority::new(door.dir.path(), "new"));
    // Both put the files at the same place.
    let (crt, key) = old.signs("server", "127.0.0.1");
    let text = format!("tls_server_config: {{ cert_file: {crt}, key_file: server.key }}\n");
    door.write(&text);
    let exporter = door.open();
    let (by_old, by_new) = (trusting(&old.file, None), trusting(&new.file, None));
    let ask = |config, request: &str| secret(exporter.address(), config, request);
    assert_eq!(ask(&by_old, &get("/metrics")).unwrap().status, 200);
    assert!(ask(&by_new, &get("/metrics")).is_err());

    // A connection that is open when the certificate is renewed is served, and ends.
    let mut kept = tls(exporter.address(), &by_old);
    let request = get("/-/healthy").replace("close", "keep-alive");
    kept.write_all(request.as_bytes()).unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"Healthy.\n") {
        let mut one = [0];
        kept.read_exact(&mut one).unwrap();
        seen.push(one[0]);
    }
    new.signs("server", "127.0.0.1");
    wait_until("the new certificate", SOON, || ask(&by_new, &get("/metrics")).ok());
    assert!(ask(&by_old, &get("/metrics")).is_err());
    assert_eq!(kept.read_to_end(&mut Vec::new()).unwrap(), 0);

    let metrics = |request: &str| {
        let answer = ask(&by_new, request).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        Metrics::parse(&answer.body).unwrap()
    };
    // The key goes, the file has a mistake: everything stays, and both are told.
    fs::rename(&key, format!("{key}.away")).unwrap();
    door.write(&format!("{text}basic_auth_users: {{ alice: s3cret }}\n"));
    wait_until("the refusal shows", SOON, || {
        metrics(&get("/metrics")).is(REFUSED, &[], 0.0).then_some(())
    });
    let page = ask(&by_new, &get("/")).unwrap().body;
    assert!(page.contains("basic_auth_users.alice") && !page.contains("s3cret"), "{page}");
    let post = get("/-/reload").replacen("GET", "POST", 1);
    let reload = ask(&by_new, &post).unwrap();
    assert_eq!(reload.status, 500);
    assert!(reload.body.contains("key_file") && reload.body.contains("alice"), "{}", reload.body);
    let log = exporter.log();
    for each in ["tls_server_config.key_file", "basic_auth_users.alice"] {
        let told = log
            .lines()
            .filter(|l| l.contains(each) && l.contains("alice") | l.contains("cannot be read"))
            .count();
        // When it was found, and to whoever asked for the reload.
        assert_eq!(told, 2, "{each}:\n{log}");
    }

    fs::rename(format!("{key}.away"), &key).unwrap();
    door.write(&format!("{text}basic_auth_users: {{ alice: '{}' }}\n", hash("s3cret", 4)));
    wait_until("the password is asked", SOON, || {
        (ask(&by_new, &get("/metrics")).unwrap().status == 401).then_some(())
    });
    wait_until("the end of the refusal shows", SOON, || {
        metrics(&get_as("/metrics", "alice", "s3cret")).is(REFUSED, &[], 1.0).then_some(())
    });
    assert_eq!(ask(&by_new, &post).unwrap().status, 401);
}

#[test]
fn a_web_config_with_mistakes_does_not_start_and_is_told_with_those_of_the_other() {
    let door = Door::new();
    door.write("tls_server_config: { cert_file: nowhere }\nbasic_auth_users: { alice: x }\n");
    for check in [false, true] {
        let setup = ExporterSetup::file("poll_interval: 5\nstores: { a: { url: 'redis://x' } }\n");
        let setup = setup.arguments(&["--web.config.file", door.file().to_str().unwrap()]);
        let setup = if check { setup.arguments(&["--config.check"]) } else { setup };
        let mut exporter = setup.spawn();
        assert_eq!(exporter.wait(SOON).code(), Some(2));
        for told in [
            "poll_interval",
            "tls_server_config.cert_file",
            "tls_server_config.key_file",
            "basic_auth_users.alice",
        ] {
            assert!(exporter.log().contains(told), "{told}:\n{}", exporter.log());
        }
    }
    door.write("");
    let mut good = door.setup().arguments(&["--config.check"]).spawn();
    assert!(good.wait(SOON).success(), "{}", good.log());
}
