//! The container image and the compose file, as far as they can be judged without an engine: by hadolint, by the schema,
//! by rules of our own, and by starting what the containers would start with the very files that are mounted into them.
//! No image is built here.

use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    ExporterSetup, Group, Metrics, RedisServer, acl_line_of_the_readme, copy_program, free_port,
    manifests, repository, request, wait_until,
};

const PORT: &str = "10121";

fn container(name: &str) -> PathBuf {
    repository("deploy/container").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(container(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The instructions of the Dockerfile, continued lines joined, comments left out.
fn instructions() -> Vec<(String, String)> {
    let text = text("Dockerfile");
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim_start().starts_with('#')).collect();
    let joined = lines.join("\n").replace("\\\n", " ");
    let split = |l: &str| l.split_once(' ').map(|(a, b)| (a.to_owned(), b.trim().to_owned()));
    joined.lines().filter_map(split).collect()
}

/// Name and tag of an image; panics unless the tag names one version.
fn pinned(image: &str) -> (&str, &str) {
    let (name, tag) = image.rsplit_once(':').unwrap_or_else(|| panic!("{image} has no tag"));
    let numbers = tag.trim_start_matches('v').split(['.', '-']);
    let count = numbers.take_while(|n| n.bytes().all(|b| b.is_ascii_digit())).count();
    assert!(count >= 3, "{image}: the tag does not name one version");
    (name, tag)
}

#[test]
fn hadolint_finds_nothing() {
    let mut hadolint = manifests::installed("hadolint");
    hadolint.args(["--no-color", "--failure-threshold", "style"]).arg(container("Dockerfile"));
    manifests::output(&mut hadolint);
}

#[test]
fn the_image_holds_one_program_for_a_user_that_is_a_number() {
    let all = instructions();
    let stages: Vec<&str> =
        all.iter().filter(|(word, _)| word == "FROM").map(|(_, rest)| rest.as_str()).collect();
    let [build, last] = stages[..] else { panic!("not two stages: {stages:?}") };
    let image = build.strip_suffix(" AS build").expect("the first stage is named");
    let (_, tag) = pinned(image);
    assert_eq!(last, "scratch");

    let begin = all.iter().rposition(|(word, _)| word == "FROM").expect("there is a stage");
    let last = &all[begin..];
    let of = |word: &str| -> Vec<&str> {
        last.iter().filter(|(w, _)| w == word).map(|(_, rest)| rest.as_str()).collect()
    };
    assert_eq!(of("USER"), ["65532:65532"]);
    assert_eq!(of("EXPOSE"), [PORT]);
    assert_eq!(of("STOPSIGNAL"), ["SIGTERM"]);
    assert!(of("RUN").is_empty() && of("ADD").is_empty() && of("VOLUME").is_empty(), "{last:?}");
    for word in ["ENTRYPOINT", "CMD"] {
        let [form] = of(word)[..] else { panic!("not one {word}") };
        // The other form needs a shell.
        assert!(form.starts_with('['), "{word} {form}");
    }

    // The toolchain is one that the crate takes, and the versions agree.
    let cargo = std::fs::read_to_string(repository("Cargo.toml")).expect("Cargo.toml can be read");
    let value = |key: &str| {
        let line = cargo.lines().find(|l| l.starts_with(&format!("{key} = ")));
        line.and_then(|l| l.split('"').nth(1)).unwrap_or_else(|| panic!("no {key}")).to_owned()
    };
    let number =
        |v: &str| -> Vec<u32> { v.split(['.', '-']).map_while(|part| part.parse().ok()).collect() };
    assert!(number(tag) >= number(&value("rust-version")), "{tag} is too old");
    let label = format!("org.opencontainers.image.version=\"{}\"", value("version"));
    assert!(of("LABEL").iter().any(|l| l.contains(&label)), "no label {label}");
}

#[test]
fn the_build_context_is_what_the_build_copies() {
    let ignore = text("Dockerfile.dockerignore");
    let lines: Vec<&str> = ignore.lines().filter(|l| !l.starts_with('#')).collect();
    let (first, rest) = lines.split_first().expect("it has lines");
    assert_eq!(*first, "*", "it begins with nothing");
    let mut let_in: Vec<&str> = rest.iter().filter_map(|l| l.strip_prefix('!')).collect();
    let_in.sort_unstable();
    let copied =
        instructions().into_iter().filter(|(w, rest)| w == "COPY" && !rest.contains("--from"));
    let mut copied: Vec<String> = copied
        .flat_map(|(_, rest)| {
            let words: Vec<String> = rest.split_whitespace().map(str::to_owned).collect();
            words[..words.len() - 1].to_vec()
        })
        .collect();
    copied.sort_unstable();
    assert_eq!(copied, let_in);
    for name in copied {
        assert!(repository(&name).exists(), "{name} is copied and not there");
    }
}

#[test]
fn the_files_of_the_image_are_enough() {
    let directory = TempDir::new().expect("a temporary directory can be made");
    let root = directory.path().join("image");
    let program = root.join("usr/bin/dlock_exporter");
    std::fs::create_dir_all(root.join("usr/bin")).expect("room");
    // What a runtime adds.
    for place in ["proc", "etc"] {
        std::fs::create_dir_all(root.join(place)).expect("room");
    }
    std::fs::copy("/etc/hosts", root.join("etc/hosts")).expect("room");
    copy_program(env!("CARGO_BIN_EXE_dlock_exporter"), &program);
    // The Dockerfile's own line, for this root.
    let (_, run) = instructions()
        .into_iter()
        .find(|(word, _)| word == "RUN")
        .expect("the build runs something");
    let line = run
        .split("&&")
        .find(|part| part.trim().starts_with("ldd "))
        .expect("it collects libraries");
    let line = line.replace("/image", &root.display().to_string());
    manifests::output(Command::new("bash").args(["-o", "pipefail", "-c", &line]));
    for path in [directory.path(), &root] {
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).expect("an own directory");
    }

    let server = RedisServer::start();
    server.cmd(&["SET", "lock:orders", "token", "PX", "60000"]);
    let (url, port) = (server.url().replace("127.0.0.1", "localhost"), free_port());
    let mut command = Command::new("chroot");
    command.args(["--userspec=65532:65532".as_ref(), root.as_os_str()]);
    command.args(["/usr/bin/dlock_exporter", "--redis.url", &url, "--lock.pattern", "lock:*"]);
    command.args(["--web.listen-address", &format!("127.0.0.1:{port}")]);
    let mut group = Group::start("the image", &mut command, &directory.path().join("log"));
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    wait_until("the lock is seen from within the image", Duration::from_secs(15), || {
        assert!(group.ended().is_none(), "{}", group.log_tail());
        let answer = request(address, "GET", "/metrics", Duration::from_secs(2)).ok()?;
        let metrics = Metrics::parse(&answer.body).ok()?;
        (metrics.value("dlock_lock_held", &[("lock", "lock:orders")]) == Some(1.0)).then_some(())
    });
    let status = std::fs::read_to_string(format!("/proc/{}/status", group.pid())).expect("it runs");
    assert!(status.contains("Uid:\t65532\t65532\t65532\t65532"), "{status}");
    group.signal(Signal::TERM);
    assert!(group.wait(Duration::from_secs(15)).success(), "{}", group.log_tail());
}

fn compose() -> Value {
    manifests::document(&container("compose.yml"))
}

fn services(compose: &Value) -> impl Iterator<Item = (&String, &Value)> {
    compose["services"].as_object().expect("services").iter()
}

#[test]
fn the_compose_file_is_one() {
    manifests::must_be_valid("compose", &[container("compose.yml")]);
}

#[test]
fn every_service_is_pinned_and_hardened() {
    let compose = compose();
    let mut built = 0;
    for (name, service) in services(&compose) {
        pinned(service["image"].as_str().unwrap_or_else(|| panic!("{name} has no image")));
        assert_eq!(service["read_only"], true, "{name}: root is not read-only");
        assert_eq!(manifests::texts(&service["cap_drop"]), ["ALL"], "{name}");
        assert_eq!(
            manifests::texts(&service["security_opt"]),
            ["no-new-privileges:true"],
            "{name}"
        );
        assert!(service["privileged"].is_null(), "{name}");
        let health = &service["healthcheck"];
        assert!(
            health["disable"] == true || health["test"].is_array(),
            "{name}: neither a health check nor the word that it has none"
        );
        for port in manifests::texts(&service["ports"]) {
            assert!(port.starts_with("127.0.0.1:"), "{name}: {port} is open to everybody");
        }
        // What touches the host is one service, and only if asked for.
        if name == "holders" {
            assert_eq!(manifests::texts(&service["profiles"]), ["holders"]);
            let capabilities = manifests::texts(&service["cap_add"]);
            assert_eq!(capabilities, manifests::capabilities_of_the_readme());
            for namespace in ["pid", "cgroup", "uts"] {
                assert_eq!(service[namespace], "host", "{namespace}");
            }
            assert_eq!(service["user"], "0:0", "another user would not get the capabilities");
        } else {
            assert!(service["cap_add"].is_null() && service["pid"].is_null(), "{name}");
        }
        if !service["build"].is_null() {
            built += 1;
            let version = env!("CARGO_PKG_VERSION");
            assert_eq!(service["image"], format!("dlock_exporter:{version}"), "{name}");
            let dockerfile = service["build"]["dockerfile"].as_str().expect("a Dockerfile");
            let context = service["build"]["context"].as_str().expect("a context");
            assert!(container(context).join(dockerfile).exists());
        }
    }
    assert_eq!(built, 2);
}

#[test]
fn what_is_mounted_is_there_and_cannot_be_written() {
    let compose = compose();
    let named = compose["volumes"].as_object().expect("volumes");
    for (name, service) in services(&compose) {
        for volume in manifests::texts(&service["volumes"]) {
            let parts: Vec<&str> = volume.split(':').collect();
            if let [volume, _] = parts[..] {
                assert!(named.contains_key(volume), "{name}: {volume} is writable and no volume");
                continue;
            }
            let [from, _, "ro"] = parts[..] else { panic!("{name}: {volume}") };
            assert!(container(from).exists(), "{name}: {from} is not there");
        }
    }
    for (name, secret) in compose["secrets"].as_object().expect("secrets") {
        let file = secret["file"].as_str().unwrap_or_else(|| panic!("{name} is no file"));
        assert!(container(file).exists(), "{name}: {file}");
    }
}

#[test]
fn ports_and_names_fit_together() {
    let compose = compose();
    assert_eq!(
        manifests::texts(&compose["services"]["exporter"]["ports"]),
        [format!("127.0.0.1:{PORT}:{PORT}")]
    );
    // Prometheus asks the services by their names, and finds Alertmanager.
    let prometheus = manifests::document(&container("prometheus.yml"));
    let all = prometheus.to_string();
    let service = |name: &str| !compose["services"][name].is_null();
    for target in [format!("exporter:{PORT}"), "alertmanager:9093".into()] {
        assert!(all.contains(&target), "{target} is no target");
        assert!(service(target.split(':').next().unwrap_or_default()), "{target}");
    }
    let jobs = prometheus["scrape_configs"].as_array().expect("scrape configs");
    let workers = jobs.iter().find(|j| j["job_name"] == "dlock-workers").expect("the job");
    let found = &workers["dns_sd_configs"][0];
    assert_eq!((&found["names"][0], &found["port"]), (&"holders".into(), &10121.into()));
    assert!(service("holders"));
    // What the example for hosts limits is limited here too.
    let example = manifests::document(&repository("deploy/prometheus/prometheus.yml"));
    let example = example["scrape_configs"].as_array().expect("scrape configs").clone();
    for job in jobs.iter().filter(|j| j["job_name"] != "prometheus") {
        let same = example.iter().find(|e| e["job_name"] == job["job_name"]).expect("the same job");
        for (key, value) in
            same.as_object().expect("a job").iter().filter(|(k, _)| k.contains("limit"))
        {
            assert_eq!(&job[key], value, "{key} of {}", job["job_name"]);
        }
    }
    // The rules are where the config looks for them, and everything else is as promtool wants it.
    let mounts = manifests::texts(&compose["services"]["prometheus"]["volumes"]);
    let rules = mounts.iter().find(|m| m.starts_with("../../alerts:")).expect("the rules");
    let inside = rules.split(':').nth(1).expect("a place");
    assert_eq!(prometheus["rule_files"][0], format!("{inside}/*.yml"));
    manifests::output(
        Command::new("promtool")
            .args(["check", "config", "--syntax-only"])
            .arg(container("prometheus.yml")),
    );
}

#[test]
fn the_users_of_redis_are_the_readmes_and_the_password_is_the_mounted_one() {
    let readme = acl_line_of_the_readme();
    let (_, rights) = readme.split_once("PASSWORD ").expect("the line has a password");
    let acl = text("users.acl");
    let line = acl.lines().find(|l| l.starts_with("user dlock ")).expect("the user dlock");
    // Redis 7.4 has one command more.
    let expected =
        format!("user dlock on >{} {rights} +client|no-touch", text("redis.pass").trim());
    assert_eq!(line, expected);
}

/// Redis as the compose file starts it, but for the place and the port.
fn redis(directory: &TempDir, port: u16) -> Group {
    let compose = compose();
    let words = compose["services"]["redis"]["command"].as_array().expect("a list").clone();
    let words = words.iter().map(|w| w.as_str().expect("words"));
    let acl = directory.path().join("users.acl");
    // The Debian that the tests run on has Redis 7.0, which does not know the newest command.
    std::fs::write(&acl, text("users.acl").replace(" +client|no-touch", "")).expect("room");
    let mut words: Vec<String> = words
        .map(|w| match w {
            "/etc/redis/users.acl" => acl.display().to_string(),
            "/data" => directory.path().display().to_string(),
            other => other.to_owned(),
        })
        .collect();
    words.extend(["--port".into(), port.to_string(), "--bind".into(), "127.0.0.1".into()]);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    Group::start("redis", &mut command, &directory.path().join("redis.log"))
}

/// A worker of the compose file.
fn worker(directory: &TempDir, name: &str, port: u16) -> Group {
    let compose = compose();
    let words = compose["services"][name]["command"].as_array().expect("a list").clone();
    let words: Vec<String> = words
        .iter()
        .map(|w| match w.as_str().expect("words") {
            "/worker.py" => repository("deploy/container/worker.py").display().to_string(),
            "redis:6379" => format!("127.0.0.1:{port}"),
            other => other.to_owned(),
        })
        .collect();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    Group::start(name, &mut command, &directory.path().join(name))
}

#[test]
fn the_mounted_files_work_together() {
    let directory = TempDir::new().expect("a temporary directory can be made");
    let port = free_port();
    let mut server = redis(&directory, port);
    wait_until("Redis answers", Duration::from_secs(10), || {
        assert!(server.ended().is_none(), "{}", server.log_tail());
        std::net::TcpStream::connect(("127.0.0.1", port)).ok()
    });
    // What the health check asks.
    let ping = Command::new("redis-cli").args(["-p", &port.to_string(), "ping"]).output();
    assert_eq!(ping.expect("redis-cli starts").stdout, b"PONG\n");
    let _workers = ["orders-1", "payments-1"].map(|name| worker(&directory, name, port));

    let exporter = |file: &str| {
        ExporterSetup::file(&text(file))
            .env("DLOCK__STORES__MAIN__URL", &format!("redis://127.0.0.1:{port}"))
            .env(
                "DLOCK__STORES__MAIN__PASSWORD_FILE",
                &container("redis.pass").display().to_string(),
            )
            .env("DLOCK__POLL_INTERVAL", "500ms")
            .start()
    };
    let mut store = exporter("dlock.yml");
    let mut holders = exporter("holders.yml");
    for name in ["orders", "payments"] {
        let worker = format!("{name}-1");
        store.wait_for(&format!("{worker} is alive by its beat"), Duration::from_secs(20), |m| {
            let alive = [("worker", worker.as_str()), ("source", "heartbeat")];
            m.value("dlock_worker_alive", &alive) == Some(1.0)
        });
        holders.wait_for(
            &format!("{worker} is alive by its process"),
            Duration::from_secs(20),
            |m| {
                let alive = [("worker", worker.as_str()), ("source", "process")];
                m.value("dlock_worker_alive", &alive) == Some(1.0)
            },
        );
    }
    store.wait_for("a lock held for a renewal", Duration::from_secs(20), |m| {
        m.value("dlock_lease_renewals_total", &[("lock", "orders")]).is_some_and(|n| n >= 1.0)
    });
    // Nothing that either half sends is refused to the user that the file makes.
    for half in [&store, &holders] {
        let m = half.metrics();
        assert_eq!(m.sum("dlock_store_up", &[]), 1.0);
        let denied = m.lines("dlock_store_permission_denied");
        assert_eq!(m.sum("dlock_store_permission_denied", &[]), 0.0, "{denied}");
    }
    // The other half has the locks' series.
    assert!(holders.metrics().all("dlock_lock_held", &[]).is_empty());
}
