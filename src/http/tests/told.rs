//! What the pages show of what sources tell: fencing tokens, side effects, claims.

use super::support::{Setup, get, only_our_tags, words_of};
use crate::expose::example::lock_named;
use crate::view::{EffectsView, FencingView, Signal, ToldView};

async fn page(setup: Setup, path: &str) -> String {
    let page = setup.start().await.ask(&get(path)).await.text();
    only_our_tags(&page);
    page
}

/// The rows of the section on a lock's page, one line of words each.
fn rows(page: &str) -> Vec<String> {
    let (_, section) = page.split_once("Fencing and side effects").unwrap();
    let (table, _) = section.split_once("</table>").unwrap();
    let rows = table.split("<tr role=\"row\"").skip(2);
    rows.map(|r| {
        words_of(&format!("<tr{r}"))
            .split('\n')
            .filter(|w| !w.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    })
    .collect()
}

#[tokio::test]
async fn a_locks_page_has_a_row_for_each_resource() {
    let page = page(Setup::example(), "/locks/main/orders").await;
    let wanted = ["issued, by the counter 34 1 – – –", "db 33 0 2 – –", "mail – – – 120 1"];
    assert_eq!(rows(&page), wanted);
    assert!(words_of(&page).contains("Says that it holds it: orders-1"), "{page}");
    assert_eq!(page.matches("<b class=\"down\">1</b>").count(), 2, "one regression, one duplicate");
}

#[tokio::test]
async fn a_lock_of_which_nothing_is_told_has_no_such_section() {
    let mut setup = Setup::example();
    lock_named(&mut setup.view, "orders").told = ToldView::default();
    setup.view.workers.iter_mut().for_each(|w| w.claims.clear());
    let page = page(setup, "/locks/main/orders").await;
    assert!(!page.contains("Fencing and side effects"), "{page}");
}

#[tokio::test]
async fn a_token_of_a_lock_that_was_not_read_is_not_told_as_now() {
    let page = page(Setup::example(), "/locks/main/unread").await;
    assert_eq!(rows(&page)[0], "issued, by the counter – 1 – – –", "what was counted stays");
}

/// The example, in which no signal of this lock is up.
fn without_signals() -> Setup {
    let mut setup = Setup::example();
    setup.view.stores.truncate(1);
    for lock in &mut setup.view.stores[0].locks {
        lock.signals.retain(|(signal, _)| *signal == Signal::Unheld);
    }
    setup
}

#[tokio::test]
async fn what_fell_or_was_repeated_lately_is_shown_first_and_not_as_an_alarm() {
    let text = page(without_signals(), "/").await;
    assert!(text.contains("No signal is up"), "{text}");
    let (_, rest) = text.split_once("Needs a look <small>1</small>").unwrap();
    let (first, others) = rest.split_once("</table>").unwrap();
    assert!(
        first.contains("<tr role=\"row\"><th scope=\"row\"") && !first.contains("flagged"),
        "{first}"
    );
    let words = words_of(first);
    for said in [
        "the last fencing token issued went down 10 min ago",
        "1 side effect on mail beyond one for each request, the last 61 s ago",
    ] {
        assert!(words.contains(said), "{said} in {words}");
    }
    assert!(first.contains("<b>orders</b>") && !others.contains("<b>orders</b>"), "once");
}

#[tokio::test]
async fn what_a_signal_tells_comes_before_it() {
    let mut setup = without_signals();
    lock_named(&mut setup.view, "nightly").signals = vec![(Signal::Unheld, Some(true))];
    let text = page(setup, "/").await;
    assert!(text.find("<b>nightly</b>") < text.find("<b>orders</b>"), "{text}");
    assert!(!text.contains("No signal is up"), "{text}");
}

#[tokio::test]
async fn names_of_resources_are_text() {
    let mut setup = Setup::example();
    let hostile = || std::sync::Arc::from("</td><script>");
    lock_named(&mut setup.view, "orders").told = ToldView {
        fencing: Some(FencingView {
            accepted: vec![(hostile(), Some(1))],
            regressions: vec![(hostile(), 1)],
            rejections: vec![(hostile(), 1)],
            fell: Some((hostile(), 1.0)),
            ..FencingView::default()
        }),
        effects: vec![EffectsView {
            resource: hostile(),
            total: 2,
            duplicates: Some(1),
            duplicated_seconds: Some(1.0),
        }],
    };
    let server = setup.start().await;
    for path in ["/", "/locks/main/orders"] {
        only_our_tags(&server.ask(&get(path)).await.text());
    }
}
