//! The runbooks of `alerts/runbooks`: every command in them run against the faults that they are for. What changes
//! something has to change it, and what reads has to show what the runbook promises. Their form is held by `form`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

mod config;
mod form;
mod odd;
mod page;
mod servers;
mod signs;
mod variables;
mod world;

use page::{Block, Kind, Page, page, runbooks};
use world::World;

use crate::support::{Flavor, RedisServer, not_tested};

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
const ACTIVE: [&str; 34] = [
    "DlockClockDown",
    "DlockClockUnsynchronized",
    "DlockExpiredUnderHolder",
    "DlockExporterDown",
    "DlockHeldTooLong",
    "DlockHoldCountCreep",
    "DlockHolderReplaced",
    "DlockHolderStale",
    "DlockHolderUnexpected",
    "DlockHolderUnobserved",
    "DlockLeaseAbsurd",
    "DlockLeaseLapsesInUse",
    "DlockLeaseMayBeShorterThanStall",
    "DlockLeaseShorterThanStall",
    "DlockLeaseWithoutTtl",
    "DlockLocksDropped",
    "DlockLocksLost",
    "DlockPermissionDenied",
    "DlockQuorumDegraded",
    "DlockReloadFailed",
    "DlockRenewalAfterLostLiveness",
    "DlockRenewalOverdue",
    "DlockReplicaDiverged",
    "DlockShapeUnexpected",
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
    if Flavor::default() == Flavor::Redis62 {
        return not_tested("the runbooks on Redis 6.2, which has no ACL DRYRUN");
    }
    let world = World::start();
    let missing = world.alerts_missing(&ACTIVE, Duration::from_secs(15));
    assert_eq!(missing, Vec::<&str>::new(), "alerts whose cause is there");
    let mut pages = runbooks();
    pages.push(page("README"));
    // Looking first, at all of it: what is changed later is then seen as it was. And at the signal first that is over by
    // itself after a minute.
    pages.sort_by_key(|page| page.name != "DlockRenewalOverdue");
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
    let here = page.name != "DlockHolderCgroupFrozen" || world.cgroup.is_some();
    if !here {
        not_tested(&format!("{}:{}: no cgroup can be frozen here", page.name, block.line));
    }
    here
}
