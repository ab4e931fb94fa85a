//! The systemd unit as text: what systemd-analyze says of it and of each drop-in, the settings that must stay soft, its
//! flags, its user and modes, and the files of the Debian package. What it does when it runs is in `deploy_sandbox`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::support::repository;

const UNIT: &str = "dlock_exporter.service";
/// What the base unit may score at most; 10 is a unit without any sandbox.
const MOST: f64 = 2.0;

pub fn unit() -> String {
    std::fs::read_to_string(repository("deploy/systemd/dlock_exporter.service")).unwrap()
}

/// Names and texts of the drop-ins, in the order of their names.
pub fn drop_ins() -> Vec<(String, String)> {
    let dir = repository("deploy/systemd/dlock_exporter.service.d");
    let entries = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    let mut found: Vec<_> = entries
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    found.sort();
    assert!(found.len() >= 7, "{found:?}");
    found
}

/// The values that a text gives a setting, one after the other.
fn values<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    let lines = text.lines().filter(|l| !l.starts_with(['#', '[']));
    lines.filter_map(|l| l.split_once('=')).filter(|(k, _)| *k == key).map(|(_, v)| v).collect()
}

/// A root directory with the unit, these drop-ins, and what they name.
fn root(unit: &str, drop_ins: &[(&str, &str)]) -> TempDir {
    let root = TempDir::new().unwrap();
    let units = root.path().join("etc/systemd/system");
    let below = units.join("dlock_exporter.service.d");
    std::fs::create_dir_all(&below).unwrap();
    std::fs::write(units.join(UNIT), unit).unwrap();
    for target in ["sysinit", "basic", "shutdown", "network-online", "multi-user"] {
        std::fs::write(units.join(format!("{target}.target")), "[Unit]\n").unwrap();
    }
    for (name, text) in drop_ins {
        std::fs::write(below.join(name), text).unwrap();
    }
    for program in ["usr/bin/dlock_exporter", "bin/kill"] {
        let path = root.path().join(program);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    root
}

fn analyze(root: &Path, words: &[&str]) -> String {
    let at = format!("--root={}", root.display());
    let done = Command::new("systemd-analyze").args(words).arg(at).arg(UNIT).output();
    let Output { stdout, stderr, .. } =
        done.expect("systemd-analyze runs; Debian's package systemd brings it");
    String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap()
}

fn score(drop_ins: &[(&str, &str)]) -> f64 {
    let root = root(&unit(), drop_ins);
    let text = analyze(root.path(), &["security", "--offline=true", "--no-pager"]);
    let level = text.split_once("exposure level for dlock_exporter.service: ");
    let number = level.and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    number.unwrap_or_else(|| panic!("no score in {text}"))
}

#[test]
fn systemd_finds_nothing_wrong_with_the_unit_and_its_drop_ins() {
    let verify = ["verify", "--man=no"];
    let drop_ins = drop_ins();
    let all: Vec<_> = drop_ins.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    let sets = all.chunks(1).chain([&all[..], &[]]);
    for set in sets {
        let root = root(&unit(), set);
        assert_eq!(analyze(root.path(), &verify), "", "{set:?}");
    }
    let misspelt = unit().replace("RestrictRealtime=", "RestrictRealtim=");
    let said = analyze(root(&misspelt, &[]).path(), &verify);
    assert!(said.contains("Unknown key"), "verify finds what is wrong: {said:?}");
}

#[test]
fn exposure_is_what_the_readme_says() {
    let readme = std::fs::read_to_string(repository("deploy/README.md")).unwrap();
    let told = |name: &str| {
        let row = readme.lines().find(|l| l.starts_with(&format!("| `{name}` |")));
        let cell = row.and_then(|r| r.trim_end_matches([' ', '|']).rsplit('|').next());
        let number = cell.and_then(|c| c.trim().parse::<f64>().ok());
        number.unwrap_or_else(|| panic!("deploy/README.md has no row with a score of {name}"))
    };
    let base = score(&[]);
    assert!(base <= MOST, "{base}");
    assert_eq!(base, told(UNIT));
    let version = Command::new("systemd-analyze").arg("--version").output().unwrap().stdout;
    let version = String::from_utf8(version).unwrap();
    assert!(version.starts_with("systemd 252"), "the scores are those of systemd 252: {version}");
    let drop_ins = drop_ins();
    for (name, text) in &drop_ins {
        assert_eq!(score(&[(name, text)]), told(name), "{name}");
    }
    let all: Vec<_> = drop_ins.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    assert_eq!(score(&all), told("all of them"));
}

#[test]
fn what_must_stay_soft_is_soft() {
    let unit = unit();
    // What each would hide or break; `deploy_sandbox` shows most of it on the running unit.
    for (key, soft, why) in [
        ("ProtectProc", "default", "hides the processes of other users: the holders"),
        ("ProcSubset", "all", "hides /proc/stat: the exporter's own start time and CPU time"),
        ("PrivateUsers", "no", "capabilities of drop-ins would not count for the host"),
        ("PrivateNetwork", "no", "lock servers are elsewhere"),
        ("RestrictAddressFamilies", "AF_INET AF_INET6 AF_UNIX", "sockets of Redis and chronyd"),
    ] {
        assert_eq!(values(&unit, key), [soft], "{key}: the hardened value {why}");
    }
    for (key, why) in [
        ("PrivatePIDs", "pids in tokens and pid files are the host's"),
        ("DynamicUser", "secrets and groups are given to a user that has a name"),
        ("IPAddressDeny", "only the administrator knows where the lock servers are"),
        ("InaccessiblePaths", "pid files and sockets may be anywhere"),
    ] {
        assert!(values(&unit, key).is_empty(), "{key} must not be set: {why}");
    }
    // Any capability that is not in a drop-in of its own would be everybody's.
    assert_eq!(values(&unit, "CapabilityBoundingSet"), [""]);
    assert_eq!(values(&unit, "AmbientCapabilities"), [""]);
    // A filter that kills would end the exporter where it only tries something.
    assert_eq!(values(&unit, "SystemCallErrorNumber"), ["EPERM"]);
    assert_eq!(values(&unit, "NoNewPrivileges"), ["yes"]);
    assert_eq!(values(&unit, "LimitCORE"), ["0"], "passwords would be in a core");
}

#[test]
fn each_capability_has_a_drop_in_of_its_own_that_says_what_for() {
    let mut given = Vec::new();
    for (name, text) in drop_ins() {
        let bounding = values(&text, "CapabilityBoundingSet");
        assert_eq!(bounding, values(&text, "AmbientCapabilities"), "{name}: bounded and given");
        let comment: String = text.lines().filter(|l| l.starts_with('#')).collect();
        assert!(comment.len() > 100, "{name} says what it is for");
        for capability in bounding.iter().flat_map(|line| line.split(' ')) {
            assert!(comment.contains(capability), "{name} says why {capability}");
            given.push(format!("{name} {capability}"));
        }
        let netlink = values(&text, "RestrictAddressFamilies");
        assert_eq!(netlink.is_empty(), name != "taskstats.conf", "{name}");
    }
    assert_eq!(
        given,
        [
            "hidepid.conf CAP_SYS_PTRACE",
            "jvm.conf CAP_SYS_PTRACE",
            "jvm.conf CAP_DAC_READ_SEARCH",
            "taskstats.conf CAP_NET_ADMIN",
        ]
    );
}

#[test]
fn the_packaged_config_and_flags_are_accepted() {
    let unit = unit();
    let default = std::fs::read_to_string(repository("deploy/debian/default")).unwrap();
    let arguments = values(&default, "ARGS")[0].trim_matches('"');
    assert!(arguments.contains("127.0.0.1:"), "nobody from outside before somebody says so");
    let config = repository("deploy/debian/dlock.yml").display().to_string();
    let lines = [values(&unit, "ExecStart"), values(&unit, "ExecReload")].concat();
    let ours: Vec<_> = lines.iter().filter(|l| l.starts_with("/usr/bin/dlock_exporter ")).collect();
    assert_eq!(ours.len(), 2, "{lines:?}");
    for line in ours {
        let line =
            line.replace("/etc/dlock_exporter/dlock.yml", &config).replace("$ARGS", arguments);
        let words: Vec<_> = line.split(' ').skip(1).filter(|w| *w != "--config.check").collect();
        let mut command = Command::new(env!("CARGO_BIN_EXE_dlock_exporter"));
        let done = command.args(words).arg("--config.check").env_clear().output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{line}: {said}");
        assert_eq!(said.trim(), "the configuration has no mistakes");
    }
}

#[test]
fn user_and_modes_are_made_from_the_files() {
    let root = TempDir::new().unwrap();
    let at = format!("--root={}", root.path().display());
    let config = root.path().join("etc/dlock_exporter/dlock.yml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(&config, "").unwrap();
    for (part, words) in [("sysusers", &[][..]), ("tmpfiles", &["--create"])] {
        let dir = root.path().join(format!("usr/lib/{part}.d"));
        std::fs::create_dir_all(&dir).unwrap();
        let file = format!("deploy/systemd/{part}.d/dlock_exporter.conf");
        std::fs::copy(repository(&file), dir.join("dlock_exporter.conf")).unwrap();
        let mut command = Command::new(format!("systemd-{part}"));
        let done = command.args(words).arg(&at).arg("dlock_exporter.conf").output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "systemd-{part}: {said}");
    }
    let passwd = std::fs::read_to_string(root.path().join("etc/passwd")).unwrap();
    let entry = passwd.lines().find(|l| l.starts_with("dlock_exporter:")).unwrap();
    assert!(entry.ends_with(":/:/usr/sbin/nologin"), "no home, no login: {entry}");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(config.parent().unwrap()), 0o750);
    assert_eq!(mode(&config), 0o640);
}

#[test]
fn every_file_of_the_debian_package_is_there() {
    let manifest = std::fs::read_to_string(repository("Cargo.toml")).unwrap();
    let (_, deb) = manifest.split_once("[package.metadata.deb]").unwrap();
    let (_, list) = deb.split_once("assets = [\n").unwrap();
    let (list, _) = list.split_once("\n]").unwrap();
    let mut targets = Vec::new();
    for line in list.lines() {
        let fields: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
        let [source, target, mode] = fields[..] else { panic!("{line:?} is no asset") };
        assert!(["644", "755"].contains(&mode), "{line}");
        targets.push(target.to_owned());
        if source.starts_with("target/release/") {
            continue;
        }
        let (dir, name) = source.rsplit_once('/').unwrap_or((".", source));
        let (start, end) = name.split_once('*').unwrap_or((name, ""));
        let fits = |entry: std::fs::DirEntry| {
            let entry = entry.file_name().to_string_lossy().into_owned();
            if name.contains('*') {
                entry.starts_with(start) && entry.ends_with(end)
            } else {
                entry == name
            }
        };
        let found = std::fs::read_dir(repository(dir)).is_ok_and(|d| d.flatten().any(fits));
        assert!(found, "{source} of Cargo.toml's assets is not there");
    }
    for wanted in ["usr/bin/", "etc/dlock_exporter/dlock.yml", "usr/share/dlock_exporter/alerts/"] {
        assert!(targets.iter().any(|t| t == wanted), "{wanted} in {targets:?}");
    }
    let version = format!("dlock-exporter ({}-", env!("CARGO_PKG_VERSION"));
    let changelog = std::fs::read_to_string(repository("deploy/debian/changelog")).unwrap();
    assert!(changelog.starts_with(&version), "deploy/debian/changelog begins with this version");
    for script in ["postinst", "postrm"] {
        let text = std::fs::read_to_string(repository("deploy/debian").join(script)).unwrap();
        assert!(text.contains("\n#DEBHELPER#\n"), "{script} lacks cargo-deb's part");
    }
}
