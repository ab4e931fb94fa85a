//! The runbooks of `alerts/runbooks`: one for each alert, of the form that an engineer finds her way in at night, without
//! a command that must not be given, and every command run against the faults that they are for. What changes something
//! has to change it, and what reads has to show what the runbook promises.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use regex::Regex;

mod config;
mod page;
mod servers;
mod variables;
mod world;

use page::{Block, Kind, Page, page, runbooks};
use world::World;

use crate::support::{RedisServer, not_tested, repository, shipped};

const SECTIONS: [&str; 7] =
    ["What it means", "Confirm", "Record", "Do", "Do not", "Prove it fixed", "False positives"];

/// What a block may ask a server for, and what a change may do to it.
const READS: [&str; 16] = [
    "--scan",
    "ACL DRYRUN",
    "ACL LIST",
    "CLIENT LIST",
    "EXISTS",
    "GET",
    "INFO",
    "LATENCY LATEST",
    "OBJECT IDLETIME",
    "PEXPIRETIME",
    "PING",
    "PTTL",
    "ROLE",
    "SLOWLOG LEN",
    "TIME",
    "TYPE",
];
const CHANGES: [&str; 5] = ["ACL SETUSER", "EVAL", "GET", "HKEYS", "REPLICAOF"];

/// Commands of blocks that are not run here, and why.
const ELSEWHERE: [(&str, &str); 3] = [
    ("systemctl ", "there need not be a systemd, and its units are the reader's"),
    ("journalctl ", "the journal of those units and of the kernel"),
    ("mv /var/lib/redis/", "the data directory of a server that systemd runs"),
];

#[test]
fn each_alert_has_a_runbook_and_each_runbook_an_alert() {
    let alerts: BTreeSet<_> = shipped::alert_names().into_iter().map(|(name, _)| name).collect();
    let pages: BTreeSet<_> = runbooks().into_iter().map(|page| page.name).collect();
    assert_eq!(alerts, pages);
    for file in shipped::rule_files() {
        let text = std::fs::read_to_string(&file).expect("a rule file can be read");
        let mut name = String::new();
        for line in text.lines().map(str::trim) {
            if let Some(alert) = line.trim_start_matches("- ").strip_prefix("alert: ") {
                alert.clone_into(&mut name);
            } else if let Some(url) = line.strip_prefix("runbook_url: ") {
                assert!(url.ends_with(&format!("/alerts/runbooks/{name}.md")), "{name}: {url}");
            }
        }
    }
}

#[test]
fn each_runbook_has_the_same_sections_and_is_short() {
    for page in runbooks() {
        let (name, lines) = (&page.name, page.text.lines().count());
        let first = page.text.lines().next().unwrap_or_default();
        let says = first.strip_prefix(&format!("# {name}: ")).unwrap_or_default();
        assert!(says.len() > 20 && says.ends_with('.'), "{name} begins with {first:?}");
        assert_eq!(page.sections(), SECTIONS, "{name}");
        assert!((40..=90).contains(&lines), "{name} has {lines} lines");
        for (number, line) in (1..).zip(page.text.lines()) {
            assert!(line.chars().count() <= 124, "{name}:{number} is too long");
        }
        for section in ["Confirm", "Record", "Prove it fixed"] {
            let count = page.blocks.iter().filter(|b| b.section == section).count();
            assert!(count > 0, "{name}: no command under {section}");
        }
        let reads = |b: &&Block| matches!(b.section.as_str(), "Confirm" | "Record");
        for block in page.blocks.iter().filter(reads) {
            assert_ne!(block.kind, Kind::Changes, "{name}:{}", block.line);
        }
        let link = Regex::new(r"\]\(([^)#]+)\)").expect("a good pattern");
        for found in link.captures_iter(&page.text) {
            let file = repository("alerts/runbooks").join(&found[1]);
            assert!(file.exists(), "{name}: {} is not there", &found[1]);
        }
    }
}

#[test]
fn no_block_does_what_must_not_be_done() {
    let call =
        Regex::new(r"redis-cli (?:\$(?:REDIS|REPLICA|node) )?(?:-x )?([^\s;]+)(?: +([^\s;]+))?");
    let call = call.expect("a good pattern");
    let loud = Regex::new(r"\b(KEYS \*|MONITOR|FLUSH[A-Z]+|CONFIG SET|SHUTDOWN|SWAPDB|DEBUG)\b");
    let loud = loud.expect("a good pattern");
    let posts =
        Regex::new(r#"-X |--data|\bkill\b|> *"?[/$]|amtool .*add"#).expect("a good pattern");
    let mut pages = runbooks();
    pages.push(page("README"));
    for page in &pages {
        if page.name != "README" {
            let text = page.without("Do not");
            assert!(!loud.is_match(&text), "{}: {:?}", page.name, loud.find(&text));
        }
        for block in page.blocks.iter().filter(|b| b.kind != Kind::Elsewhere) {
            let at = format!("{}:{}", page.name, block.line);
            for found in call.captures_iter(&block.script) {
                let one = &found[1];
                let two = format!("{one} {}", found.get(2).map_or("", |m| m.as_str()));
                let known = |list: &[&str]| list.iter().any(|c| *c == one || *c == two);
                let may = known(&READS) || block.kind == Kind::Changes && known(&CHANGES);
                assert!(may, "{at}: {}", &found[0]);
            }
            let calls = block.script.matches("redis-cli ").count();
            assert_eq!(calls, call.captures_iter(&block.script).count(), "{at}: not understood");
            if block.kind == Kind::Reads {
                let writes = posts.find(&block.script).map(|m| m.as_str());
                assert_eq!(writes, None, "{at} changes something");
            }
            // A key is deleted only where the owner was compared in the same script.
            let deletes = block.script.matches("'DEL'").count();
            let compares = block.script.matches("== ARGV[1]").count()
                + block.script.matches("'HEXISTS', KEYS[1], ARGV[1]) == 1").count();
            assert_eq!(deletes, compares, "{at}: deletes without comparing");
        }
    }
}

#[test]
fn every_variable_is_explained() {
    let used = Regex::new(r"\$\{?([A-Z]+)\b").expect("a good pattern");
    let readme = page("README");
    for block in runbooks().into_iter().flat_map(|page| page.blocks) {
        for name in used.captures_iter(&block.script).map(|found| found[1].to_owned()) {
            assert!(readme.text.contains(&format!("`{name}`")), "README does not explain {name}");
        }
    }
}

#[test]
fn what_is_not_run_is_known() {
    for page in runbooks().into_iter().chain([page("README")]) {
        for block in page.blocks.iter().filter(|b| b.kind == Kind::Elsewhere) {
            for line in block.script.lines() {
                let known = ELSEWHERE.iter().any(|(begin, _)| line.starts_with(begin));
                assert!(known, "{}:{}: {line}", page.name, block.line);
            }
        }
    }
}

#[test]
fn a_release_by_hand_spares_another_owner() {
    let server = RedisServer::start();
    let releases: Vec<_> = runbooks()
        .into_iter()
        .flat_map(|page| page.blocks)
        .filter(|block| block.script.contains("'DEL'"))
        .map(|block| block.script)
        .collect();
    let readme = page("README").blocks;
    let string = readme.iter().find(|b| b.script.contains("'GET', KEYS[1]")).expect("it is there");
    assert!(releases.len() >= 4 && releases.iter().all(|r| *r == string.script));
    let hash = readme.iter().find(|b| b.script.contains("'HEXISTS'")).expect("it is there");

    let mut v = variables::Variables::new(std::path::Path::new("/nowhere"));
    v.node("REDIS", &server);
    // What `printf %s mine | sha256sum | cut -c1-12` prints.
    v.set("FINGERPRINT", "3fd30542fe3f");
    v.set("KEY", "lock:a");
    server.cmd(&["SET", "lock:a", "yours"]);
    let spared = v.run(&string.script);
    assert!(spared.ok && spared.output.contains("another one"), "{}", spared.output);
    assert_eq!(server.number(&["EXISTS", "lock:a"]), 1);
    server.cmd(&["SET", "lock:a", "mine"]);
    assert_eq!(v.run(&string.script).output.trim(), "1");
    assert_eq!(server.number(&["EXISTS", "lock:a"]), 0);

    v.set("KEY", "lock:b");
    server.cmd(&["HSET", "lock:b", "yours", "1"]);
    assert!(v.run(&hash.script).output.contains("another one"));
    assert_eq!(server.number(&["EXISTS", "lock:b"]), 1);
    server.cmd(&["DEL", "lock:b"]);
    server.cmd(&["HSET", "lock:b", "mine", "1"]);
    assert_eq!(v.run(&hash.script).output.trim(), "1");
    assert_eq!(server.number(&["EXISTS", "lock:b"]), 0);
}

/// Alerts whose cause is there in the world below: they fire, or wait for their `for`.
const ACTIVE: [&str; 28] = [
    "DlockClockDown",
    "DlockClockUnsynchronized",
    "DlockExpiredUnderHolder",
    "DlockExporterDown",
    "DlockHeldTooLong",
    "DlockHolderReplaced",
    "DlockHolderStale",
    "DlockHolderUnobserved",
    "DlockLeaseMayBeShorterThanStall",
    "DlockLeaseShorterThanStall",
    "DlockLeaseWithoutTtl",
    "DlockLocksDropped",
    "DlockLocksLost",
    "DlockPermissionDenied",
    "DlockReloadFailed",
    "DlockRenewalAfterLostLiveness",
    "DlockRenewalOverdue",
    "DlockReplicaDiverged",
    "DlockStoreClockFrozen",
    "DlockStoreClockStepped",
    "DlockStoreDown",
    "DlockStoreEvictsLocks",
    "DlockStoreNotDurable",
    "DlockStoreReplicaLinkDown",
    "DlockStoreRestartUnsafe",
    "DlockStoreTwoPrimaries",
    "DlockStoreUnwatched",
    "DlockUnheld",
];

#[test]
fn the_commands_do_what_the_runbooks_say() {
    let mut world = World::start();
    world.prometheus.wait_until("alerts of the faults", Duration::from_secs(15), |p| {
        let active: BTreeSet<_> = p.alerts().into_iter().map(|a| a.name).collect();
        ACTIVE.iter().all(|name| active.contains(*name)).then_some(())
    });
    let mut pages = runbooks();
    pages.push(page("README"));
    // Looking first, at all of it: what is changed later is then seen as it was.
    let mut wrong = look(&world, &pages);
    // A refused configuration first of all changes: others reload too.
    pages.sort_by_key(|page| page.name != "DlockReloadFailed");
    world.mend_config();
    for page in &pages {
        wrong.extend(change(&world, page));
    }
    assert!(wrong.is_empty(), "{} blocks are not right:\n{}", wrong.len(), wrong.join("\n\n"));
}

/// What is wrong with the blocks that read, before anything is changed. Several at once: some wait.
fn look(world: &World, pages: &[Page]) -> Vec<String> {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let one_after_another = || {
        while let Some(page) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
            let v = world.variables(&page.name);
            let reads = |b: &&Block| b.kind == Kind::Reads && b.section != "Prove it fixed";
            for block in page.blocks.iter().filter(reads).filter(|b| possible(world, page, b)) {
                if let Some(what) = v.expect(block, Duration::from_secs(4)) {
                    let what = format!("{}:{} {what}", page.name, block.line);
                    wrong.lock().expect("no thread panics with it").push(what);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(one_after_another);
        }
    });
    wrong.into_inner().expect("no thread panics with it")
}

/// What is wrong with the blocks of one runbook that change something, and with what then proves it.
fn change(world: &World, page: &Page) -> Vec<String> {
    let mut v = world.variables(&page.name);
    let mut wrong = Vec::new();
    for block in page.blocks.iter().filter(|b| possible(world, page, b)) {
        if page.name == "README" {
            world.aim(&mut v, if block.script.contains("HKEYS") { "hash" } else { "spare" });
        }
        let within = match block.kind {
            Kind::Changes => Duration::ZERO,
            Kind::Reads if block.section == "Prove it fixed" => Duration::from_secs(10),
            _ => continue,
        };
        let what = v.expect(block, within);
        wrong.extend(what.map(|what| format!("{}:{} {what}", page.name, block.line)));
    }
    wrong
}

/// Whether this machine can have the fault.
fn possible(world: &World, page: &Page, block: &Block) -> bool {
    let here = page.name != "DlockHolderCgroupFrozen" || world.has_cgroup();
    if !here {
        not_tested(&format!("{}:{}: no cgroup can be frozen here", page.name, block.line));
    }
    here
}
