//! Which part of a long list a client wants: `offset` and `limit` of the query.

/// A part of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Items before it.
    pub offset: usize,
    /// Items in it at most.
    pub limit: usize,
}

impl Part {
    /// What the query says; `limit` items from the first on where it says nothing, never more than `most`. Other keys are
    /// left alone, as everywhere; `None` if one of the two is no number.
    pub fn of(query: Option<&str>, limit: usize, most: usize) -> Option<Self> {
        let mut part = Self { offset: 0, limit };
        for (key, value) in query.unwrap_or("").split('&').filter_map(|pair| pair.split_once('=')) {
            match key {
                "offset" => part.offset = value.parse().ok()?,
                "limit" => part.limit = value.parse().ok()?,
                _ => {}
            }
        }
        part.limit = part.limit.min(most);
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_bounded_and_mistakes_are_told() {
        let of = |query| Part::of(query, 10, 50);
        assert_eq!(of(None), Some(Part { offset: 0, limit: 10 }));
        assert_eq!(of(Some("x&y=1&offset=7")), Some(Part { offset: 7, limit: 10 }));
        assert_eq!(of(Some("limit=999&offset=0")), Some(Part { offset: 0, limit: 50 }));
        for wrong in ["limit=", "limit=-1", "offset=1e3", "offset=99999999999999999999999"] {
            assert_eq!(of(Some(wrong)), None, "{wrong}");
        }
    }
}
