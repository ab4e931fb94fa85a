//! Workers on this host and clocks, on the status page and beside a lock's stall budget.

use super::support::{Setup, get, only_our_tags, words_of};
use crate::expose::example::{HOSTILE, lock_named};
use crate::view::{CgroupView, ClockStatus, Signal, WorkerHostView, WorkerView};

async fn page(setup: Setup, path: &str) -> String {
    let text = setup.start().await.ask(&get(path)).await.text();
    only_our_tags(&text);
    words_of(&text).lines().filter(|l| !l.is_empty()).map(|l| format!("{l}\n")).collect()
}

fn seen(setup: &mut Setup) -> &mut WorkerHostView {
    setup.view.workers[0].host.as_mut().expect("the example has a host part")
}

#[tokio::test]
async fn a_worker_shows_its_stalls_and_what_they_rest_on() {
    let text = page(Setup::example(), "/").await;
    for part in [
        "Workers 2",
        "at least 20.2 s stopped, 61 s ago",
        "at most 21.5 s unseen between two samples",
        "a runnable thread has not moved for 750 ms",
        "memory: some task 12 %, all 6 %",
        "cpu: some task 50 %, all 25 %",
        "1 process killed for want of memory",
        "throttled for 7.5 s in 90 periods",
        "longest pause 1.1 s",
        "2 threads are not looked at: too many",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("io: "), "nothing waited for I/O: {text}");
}

#[tokio::test]
async fn what_cannot_be_seen_of_a_worker_is_told_in_words() {
    let mut setup = Setup::example();
    setup.view.workers[0].coverage_lost = vec![("pressure", "unsupported"), ("jvm", "permission")];
    *seen(&mut setup) =
        WorkerHostView { cgroup: Some(CgroupView::default()), ..WorkerHostView::default() };
    let text = page(setup, "/").await;
    for part in [
        "pressure: its cgroup is the root, or this kernel keeps none (see the log; psi=1)",
        "jvm: refused (needs the same user, or CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH)",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    for part in ["at least 0", "killed", "throttled for", "longest pause"] {
        assert!(!text.contains(part), "{part} in {text}");
    }
}

#[tokio::test]
async fn sections_are_there_only_when_they_have_something() {
    let mut setup = Setup::example();
    setup.view.workers.clear();
    setup.view.clocks.clear();
    setup.view.host_clock_steps = (0, 0);
    setup.view.stores.iter_mut().flat_map(|s| &mut s.nodes).for_each(|n| n.facts = None);
    let text = page(setup, "/").await;
    assert!(!text.contains("Workers") && !text.contains("Clocks"), "{text}");
}

#[tokio::test]
async fn the_workers_are_bounded_the_worst_first() {
    let mut setup = Setup::example();
    let worker = setup.view.workers[0].clone();
    let of = |n: u32| {
        let mut worker = WorkerView { name: format!("w-{n}").into(), ..worker.clone() };
        let host = worker.host.as_mut().expect("a host part");
        host.worst_stall.as_mut().expect("a stall").lower_seconds = f64::from(n);
        worker
    };
    setup.view.workers = (0..203).map(of).collect();
    let text = page(setup, "/").await;
    assert!(text.contains("3 more are not shown"), "{text}");
    assert!(text.find("w-202").expect("the worst") < text.find("w-201").expect("the second"));
    assert!(!text.contains("w-2\n"), "the least are left out");
}

#[tokio::test]
async fn clocks_say_how_wrong_they_can_be_and_why_not() {
    let text = page(Setup::example(), "/").await;
    for part in [
        "This host's own clock was stepped: 1 backward.",
        "here this host's",
        "\nsynchronized\n",
        "250 µs behind",
        "16.5 ms",
        "10.0.0.1, stratum 3",
        "free running: its source was not heard of for long",
        "serves its own time as if it were true",
        "timeout: no answer from 10.0.0.7:323 &lt;b&gt;within&lt;/b&gt; 1 s",
        "3.0 ms behind, give or take 100 µs",
        "\n3.1 ms\n",
        "1 forward, the last by 3.5 s",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[tokio::test]
async fn a_clock_without_a_bound_says_none() {
    let mut setup = Setup::example();
    setup.view.clocks.truncate(1);
    let clock = &mut setup.view.clocks[0];
    (clock.status, clock.error_bound_seconds) = (Some(ClockStatus::Unsynchronized), None);
    clock.offset_seconds = None;
    let text = page(setup, "/").await;
    assert!(text.contains("not synchronized\n–\n–\n"), "{text}");
}

#[tokio::test]
async fn a_lock_shows_its_holders_worst_stall_beside_what_it_survives() {
    let mut setup = Setup::example();
    setup.view.workers[0].coverage_lost =
        vec![("pressure", "unsupported"), ("heartbeat", "unreachable")];
    lock_named(&mut setup.view, "orders")
        .signals
        .retain(|(s, _)| *s != Signal::LeaseShorterThanStall);
    lock_named(&mut setup.view, "orders").signals.push((Signal::LeaseShorterThanStall, Some(true)));
    let text = page(setup, "/locks/main/orders").await;
    let (_, after) = text.split_once("Longest stall it survives\n19.5 s\n").expect("the budget");
    for part in [
        "Worst stall of orders-1",
        "at least 20.2 s stopped",
        "10.0.0.6:6379: 20 s, 1.2 s earlier than on the primary",
    ] {
        assert!(after.contains(part), "{part} in {after}");
    }
    assert!(text.contains("Its holder was kept from running for longer than"), "{text}");
    assert!(
        text.contains("of the stalls of orders-1:\npressure: its cgroup is the root"),
        "{text}"
    );
    assert!(!text.contains("heartbeat: its source"), "told by the lock itself or not at all");
}

#[tokio::test]
async fn a_holder_that_ended_keeps_the_least_that_was_seen() {
    let mut setup = Setup::example();
    let host = setup.view.workers[0].host.as_mut().expect("a host part");
    host.worst_stall.as_mut().expect("a stall").upper = None;
    let text = page(setup, "/locks/main/orders").await;
    assert!(text.contains("at least 20.2 s stopped"), "{text}");
    assert!(text.contains("how long at most is not known") && !text.contains("at most 2"));
}

#[tokio::test]
async fn a_holder_that_is_not_on_this_host_has_no_stalls_there() {
    for (path, name) in [("/locks/main/unread", None), ("/locks/main/orders", Some("elsewhere-1"))]
    {
        let mut setup = Setup::example();
        if let Some(name) = name {
            lock_named(&mut setup.view, "orders").holders[0].worker = name.into();
        }
        let text = page(setup, path).await;
        assert!(!text.contains("Worst stall of"), "{path}: {text}");
    }
}

#[tokio::test]
async fn hostile_names_of_workers_and_clocks_are_text() {
    let mut setup = Setup::example();
    setup.view.workers[0].name = HOSTILE.into();
    setup.view.clocks[0].name = HOSTILE.into();
    lock_named(&mut setup.view, "orders").holders[0].worker = HOSTILE.into();
    lock_named(&mut setup.view, "orders").remaining_by_replica[0].0 = HOSTILE.into();
    let server = setup.start().await;
    for path in ["/", "/locks/main/orders"] {
        only_our_tags(&server.ask(&get(path)).await.text());
    }
}
