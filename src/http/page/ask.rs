//! What a reader asks of a page in its query: a part of the locks, and whether it may reload itself. Other keys are left
//! alone. What is asked is kept in the links to the same page; that it stands still, in the links to every page.

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Seconds until a page loads itself anew.
pub const REFRESH_SECONDS: u64 = 10;

/// What is kept in a link to the same page.
const KEPT: [&str; 5] = ["q", "page", "offset", "limit", "refresh"];

/// Characters of a filter that count; no name that is shown is longer.
const LONGEST: usize = 300;

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// The page stands still.
    pub is_still: bool,
    /// Only what has this in its name, its key or the name of its holder; lower case.
    pub filter: String,
    /// Which part of the list, from 1 on.
    pub page: usize,
    kept: Vec<(&'static str, String)>,
}

impl Ask {
    /// What a query says. A page that is no number is the first one: the reader sees which it is.
    pub fn of(query: Option<&str>) -> Self {
        let mut ask = Self { page: 1, ..Self::default() };
        for (key, value) in query.unwrap_or("").split('&').filter_map(|pair| pair.split_once('=')) {
            let Some(key) = KEPT.iter().find(|k| **k == key) else { continue };
            let plus = value.replace('+', " ");
            let value = percent_decode_str(&plus).decode_utf8_lossy();
            let value: String = value.trim().chars().take(LONGEST).collect();
            match *key {
                "refresh" => ask.is_still = value == "off",
                "q" => ask.filter = value.to_lowercase(),
                "page" => ask.page = value.parse().unwrap_or(1).max(1),
                _ => {}
            }
            ask.kept.retain(|(k, _)| k != key);
            if !value.is_empty() && (*key != "refresh" || ask.is_still) {
                ask.kept.push((key, value));
            }
        }
        ask
    }

    /// What the filter was asked for as, for its field.
    pub fn filter_text(&self) -> &str {
        self.kept.iter().find(|(k, _)| *k == "q").map_or("", |(_, v)| v)
    }

    /// A link to this page with another value of a key, or without it; safe in an attribute.
    pub fn here(&self, key: &'static str, value: Option<&str>) -> String {
        let others = self.kept.iter().filter(|(k, _)| *k != key).map(|(k, v)| (*k, v.as_str()));
        let pairs: Vec<String> = others
            .chain(value.map(|v| (key, v)))
            .map(|(k, v)| format!("{k}={}", utf8_percent_encode(v, NON_ALPHANUMERIC)))
            .collect();
        format!("?{}", pairs.join("&amp;"))
    }

    /// What a link to another page ends with.
    pub fn tail(&self) -> &'static str {
        if self.is_still { "?refresh=off" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_query_is_taken_as_forms_write_it() {
        let ask = Ask::of(Some("q=Job+%41%2F1&page=3&x=1&refresh=off"));
        assert_eq!((ask.filter.as_str(), ask.page, ask.is_still), ("job a/1", 3, true));
        assert_eq!(ask.filter_text(), "Job A/1");
        assert_eq!(ask.here("page", Some("4")), "?q=Job%20A%2F1&amp;refresh=off&amp;page=4");
        assert_eq!(ask.here("refresh", None), "?q=Job%20A%2F1&amp;page=3");
        assert_eq!((Ask::of(None).page, Ask::of(None).is_still), (1, false));
        for odd in ["page=0", "page=-1", "page=x", "page=", "refresh=on", "q="] {
            let ask = Ask::of(Some(odd));
            assert_eq!((ask.page, ask.tail(), ask.filter.as_str()), (1, "", ""), "{odd}");
        }
    }

    proptest! {
        #[test]
        fn a_link_has_nothing_that_ends_an_attribute(query: String) {
            let link = Ask::of(Some(&query)).here("page", Some("2"));
            prop_assert!(link.bytes().all(|b| b.is_ascii_alphanumeric() || b"?=&;%".contains(&b)), "{}", link);
        }
    }
}
