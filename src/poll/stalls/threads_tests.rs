//! Rules of single threads on invented counters.

use super::*;

const MS: u64 = 1_000_000;

fn span(ms: u64) -> Span {
    Span { sent: Mono(ms * MS), done: Mono((ms + 1) * MS) }
}

/// A sleeping thread that began at boot: on a CPU, waiting (ms), slices.
fn thread(tid: u32, on_cpu: u64, waited: u64, slices: u64) -> Seen {
    let counters =
        Counters { on_cpu: on_cpu * MS, waited: waited * MS, slices, longest_wait: None };
    Seen { tid, start_ticks: 0, state: ProcessState::Sleeping, counters }
}

fn running(seen: Seen) -> Seen {
    Seen { state: ProcessState::Running, ..seen }
}

fn longest(seen: Seen, ms: u64) -> Seen {
    let counters = Counters { longest_wait: Some(ms * MS), ..seen.counters };
    Seen { counters, ..seen }
}

fn look(ms: u64, threads: &[Seen]) -> Look {
    Look { span: span(ms), threads: threads.to_vec(), beyond_cap: 0, all_waited: None }
}

fn second(first: &[Seen], then: &[Seen]) -> (Rise, Threads) {
    let mut table = Table::default();
    let (_, none) = table.take(&look(10_000, first));
    assert_eq!(none, None);
    let (rise, each) = table.take(&look(10_500, then));
    (rise, each.unwrap())
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn extremes_are_of_one_thread_and_not_of_the_sum() {
    let (rise, each) = second(
        &[thread(1, 100, 50, 7), thread(2, 0, 0, 1)],
        &[thread(1, 110, 250, 11), thread(2, 100, 30, 2)],
    );
    assert_eq!((rise.on_cpu, rise.waited, rise.slices), (110 * MS, 230 * MS, 5));
    assert_eq!(each.since, span(10_000));
    assert_eq!((each.most_waited, each.mean_wait), (ms(200), ms(50)));
    assert_eq!(each.busiest, ms(210));
    assert_eq!((each.longest_wait, each.wait_limit), (None, None));
}

#[test]
fn a_wait_booked_without_a_slice_is_one_wait() {
    let (_, each) = second(&[thread(1, 1, 50, 7)], &[thread(1, 1, 90, 7)]);
    assert_eq!((each.most_waited, each.mean_wait), (ms(40), ms(40)));
}

#[test]
fn a_thread_that_waits_still_may_have_booked_one_part_more() {
    let (_, each) = second(&[thread(1, 1, 50, 7)], &[running(thread(1, 1, 90, 8))]);
    assert_eq!((each.most_waited, each.mean_wait), (ms(40), ms(20)));
}

#[test]
fn threads_count_from_their_beginning_or_not_at_all() {
    let young = Seen { start_ticks: 1_010, ..thread(2, 20, 30, 3) };
    let (rise, each) = second(&[thread(1, 0, 0, 1)], &[thread(1, 0, 0, 1), young]);
    assert_eq!((rise.waited, each.most_waited), (30 * MS, ms(30)));
    // It was there before and not looked at: what it waited lately is not known.
    let old = Seen { start_ticks: 900, ..thread(2, 20, 30, 3) };
    let (rise, each) = second(&[thread(1, 0, 0, 1)], &[thread(1, 0, 0, 1), old]);
    assert_eq!((rise.waited, each.most_waited), (0, ms(0)));
    // A number that another thread had.
    let (rise, _) = second(&[Seen { start_ticks: 900, ..thread(2, 500, 500, 50) }], &[young]);
    assert_eq!(rise.waited, 30 * MS);
}

#[test]
fn threads_that_nobody_saw_widen_the_limits() {
    let mut table = Table::default();
    let first =
        Look { all_waited: Some(1_000 * MS), ..look(10_000, &[longest(thread(1, 0, 0, 1), 9)]) };
    table.take(&first);
    let then = longest(thread(1, 5, 20, 3), 15);
    let then = Look { all_waited: Some(1_320 * MS), ..look(10_500, &[then]) };
    let each = table.take(&then).1.unwrap();
    assert_eq!((each.most_waited, each.wait_limit), (ms(300), Some(ms(300))));
    // Of the others nothing longer than this is sure.
    assert_eq!((each.mean_wait, each.longest_wait), (ms(10), Some(ms(15))));
}

#[test]
fn the_kernels_maxima_are_limits_and_exact_when_they_rise() {
    let first = [longest(thread(1, 0, 0, 1), 90), longest(thread(2, 0, 0, 1), 700)];
    let then = [longest(thread(1, 9, 40, 3), 90), longest(thread(2, 0, 0, 1), 700)];
    let mut table = Table::default();
    table.take(&Look { all_waited: Some(0), ..look(10_000, &first) });
    let each = table.take(&Look { all_waited: Some(40 * MS), ..look(10_500, &then) }).1.unwrap();
    assert_eq!((each.longest_wait, each.wait_limit), (None, Some(ms(90))));
    // One whose maximum is not known could have waited all its time at once.
    let then = [longest(thread(1, 9, 40, 3), 90), thread(2, 0, 10, 2)];
    let each = table.take(&Look { all_waited: Some(50 * MS), ..look(11_000, &then) }).1.unwrap();
    assert_eq!(each.wait_limit, None);
}

#[test]
fn a_runnable_thread_that_does_not_move_is_told_from_when_it_was_seen_so() {
    let stuck = running(thread(1, 5, 5, 5));
    let mut table = Table::default();
    table.take(&look(10_000, &[stuck]));
    let at = |table: &mut Table, ms, seen| table.take(&look(ms, &[seen])).1.unwrap();
    assert_eq!(at(&mut table, 10_500, stuck).unmoved_runnable, Some(ms(499)));
    assert_eq!(at(&mut table, 11_000, stuck).unmoved_runnable, Some(ms(999)));
    assert_eq!(at(&mut table, 11_500, stuck).runnable, 1);
    let moved = running(thread(1, 5, 1_700, 6));
    assert_eq!(at(&mut table, 12_000, moved).unmoved_runnable, None);
    let asleep = thread(1, 5, 1_700, 6);
    assert_eq!(at(&mut table, 12_500, asleep).unmoved_runnable, None);
    assert_eq!(at(&mut table, 13_000, moved).unmoved_runnable, None);
}

#[test]
fn only_time_since_the_earlier_look_counts_as_busy() {
    // It was waiting already: how much of these 400 ms is of this time, nobody knows.
    let (_, each) = second(&[running(thread(1, 0, 0, 1))], &[thread(1, 30, 400, 2)]);
    assert_eq!(each.busiest, ms(30));
    let first = [running(longest(thread(1, 0, 0, 1), 100))];
    let (_, each) = second(&first, &[longest(thread(1, 30, 400, 9), 100)]);
    assert_eq!(each.busiest, ms(330), "no single wait was over 100 ms");
    let (_, each) = second(&[thread(1, 0, 0, 1)], &[thread(1, 900, 400, 2)]);
    assert_eq!(each.busiest, ms(501), "not longer than the time itself");
}

#[test]
fn state_d_counts_from_the_last_look_with_other_counters() {
    let kept = |seen: Seen| Seen { state: ProcessState::DiskSleep, ..seen };
    let mut table = Table::default();
    let mut since = |ms: u64, threads: &[Seen]| {
        table.take(&look(ms, threads)).1.and_then(|each| each.kept_since)
    };
    let (spinner, other) = (|n| running(thread(2, n, 0, 3)), thread(1, 5, 0, 2));
    assert_eq!(since(10_000, &[thread(1, 1, 0, 1), spinner(10)]), None);
    let looks = [span(10_000).sent, span(11_000).sent];
    assert_eq!(since(10_500, &[kept(other), spinner(500)]), Some(looks[0]));
    assert_eq!(since(11_000, &[kept(other), spinner(900)]), Some(looks[0]));
    // It ran in between: this is another one.
    assert_eq!(since(11_500, &[kept(thread(1, 6, 0, 3)), spinner(1300)]), Some(looks[1]));
    assert_eq!(since(12_000, &[thread(1, 6, 0, 3), spinner(1700)]), None);
}
