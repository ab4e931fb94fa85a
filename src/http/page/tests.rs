//! The pages of any view that proptest can think of.

use proptest::prelude::*;

use super::super::part::Part;
use super::ask::Ask;
use super::{groups, lock, row, status};
use crate::expose::tests::any_view;
use crate::expose::{Rendered, SelfFacts};
use crate::http::tests::support::only_our_tags;
use crate::observe::Mono;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_view_has_pages_of_our_own_markup(view in any_view::views()) {
        let own = SelfFacts::new(std::time::Duration::from_secs(2), 0.0);
        let snapshot = Rendered::new(std::sync::Arc::new(view), own);
        let now = Mono::from_secs_f64(1000.5);
        let ask = Ask::of(None);
        let page = status::render(&snapshot, "/metrics", &ask, now);
        only_our_tags(&page);
        let rows = row::all(snapshot.view(), &ask);
        // Of a group only those that need a look and have series.
        let is_shown = |r: &&row::Row<'_>| {
            r.lock.group.is_none() || (r.lock.tier.is_some() && r.needs_a_look())
        };
        let shown = rows.iter().filter(is_shown).count();
        prop_assert_eq!(page.matches("href=\"/locks/").count(), shown, "each lock once");
        for row in &rows {
            only_our_tags(&lock::render(&snapshot, row, &ask, now));
        }
        let part = Part { offset: 0, limit: 3 };
        for store in &snapshot.view().stores {
            for group in &store.groups {
                let page = groups::render(&snapshot, (store, group), part, &ask, now);
                only_our_tags(&page);
                prop_assert!(page.matches("href=\"/locks/").count() <= 3);
            }
        }
    }
}
