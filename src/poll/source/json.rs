//! One scalar out of a JSON document by its pointer (RFC 6901), without building the document: what a hostile endpoint
//! sends is skipped, not stored. Errors never quote the document.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::observe::node::FailReason;

/// The text of a number, string or boolean. A later one of two equal names counts, as in most readers.
pub fn scalar(document: &[u8], pointer: &str) -> Result<String, (FailReason, String)> {
    let missing =
        || (FailReason::Missing, format!("the JSON has nothing at {pointer:?}; check the pointer"));
    scalar_or_null(document, pointer)?.ok_or_else(missing)
}

/// The same, and `None` where the document itself says `null`.
pub fn scalar_or_null(
    document: &[u8],
    pointer: &str,
) -> Result<Option<String>, (FailReason, String)> {
    let steps: Vec<String> = match pointer.strip_prefix('/') {
        Some(rest) => rest.split('/').map(|s| s.replace("~1", "/").replace("~0", "~")).collect(),
        None if pointer.is_empty() => Vec::new(),
        None => {
            return Err((FailReason::Other, format!("JSON pointer {pointer:?} must begin with /")));
        }
    };
    let mut reader = serde_json::Deserializer::from_slice(document);
    let found =
        Step(&steps).deserialize(&mut reader).and_then(|found| reader.end().map(|()| found));
    match found {
        Ok(Found::Scalar(text)) => Ok(Some(text)),
        Ok(Found::Null) => Ok(None),
        Ok(Found::Nothing) => Err((
            FailReason::Missing,
            format!("the JSON has nothing at {pointer:?}; check the pointer"),
        )),
        Ok(Found::Compound) => Err((
            FailReason::Protocol,
            format!("the JSON at {pointer:?} is neither a number nor a text"),
        )),
        Err(e) => {
            let at = format!("line {} column {}", e.line(), e.column());
            Err((FailReason::Protocol, format!("not JSON, or cut off: wrong at {at}")))
        }
    }
}

enum Found {
    Scalar(String),
    Compound,
    Null,
    Nothing,
}

/// The steps that are still to go.
#[derive(Clone, Copy)]
struct Step<'a>(&'a [String]);

impl Step<'_> {
    /// A scalar is the end of the way, or it has none of the names that are still asked for.
    fn leaf(self, text: impl fmt::Display) -> Found {
        if self.0.is_empty() { Found::Scalar(text.to_string()) } else { Found::Nothing }
    }
}

impl<'de> DeserializeSeed<'de> for Step<'_> {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Found, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Step<'_> {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, v: bool) -> Result<Found, E> {
        Ok(self.leaf(v))
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<Found, E> {
        Ok(self.leaf(v))
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<Found, E> {
        Ok(self.leaf(v))
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<Found, E> {
        Ok(self.leaf(v))
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<Found, E> {
        Ok(self.leaf(v))
    }

    fn visit_unit<E: Error>(self) -> Result<Found, E> {
        Ok(if self.0.is_empty() { Found::Null } else { Found::Nothing })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        let next = self.0.split_first();
        let mut found = if next.is_some() { Found::Nothing } else { Found::Compound };
        while let Some(name) = map.next_key::<std::borrow::Cow<'_, str>>()? {
            match next {
                Some((step, rest)) if *step == name => found = map.next_value_seed(Step(rest))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Found, A::Error> {
        let Some((step, rest)) = self.0.split_first() else {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Found::Compound);
        };
        let wanted = index(step);
        let mut at = 0;
        let mut found = Found::Nothing;
        loop {
            if Some(at) == wanted {
                match seq.next_element_seed(Step(rest))? {
                    Some(f) => found = f,
                    None => return Ok(found),
                }
            } else if seq.next_element::<IgnoredAny>()?.is_none() {
                return Ok(found);
            }
            at += 1;
        }
    }
}

/// An index as RFC 6901 writes it, which is without a sign and without zeros before it.
fn index(step: &str) -> Option<usize> {
    let is_plain = step == "0" || !step.starts_with(['0', '+']);
    step.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn finds_scalars_only() {
        let doc = br#"{"a":{"b/c":[1,{"t":"x"},true],"~":-5},"n":null,"f":1.5,"a2":{},"":7}"#;
        for (pointer, want) in [
            ("/a/b~1c/0", Ok("1")),
            ("/a/b~1c/1/t", Ok("x")),
            ("/a/b~1c/2", Ok("true")),
            ("/a/~0", Ok("-5")),
            ("/f", Ok("1.5")),
            ("/", Ok("7")),
            ("/n", Err(FailReason::Missing)),
            ("/a/b~1c/3", Err(FailReason::Missing)),
            ("/a/b~1c/00", Err(FailReason::Missing)),
            ("/a/b~1c/+0", Err(FailReason::Missing)),
            ("/f/x", Err(FailReason::Missing)),
            ("/nope", Err(FailReason::Missing)),
            ("/a", Err(FailReason::Protocol)),
            ("/a/b~1c", Err(FailReason::Protocol)),
            ("", Err(FailReason::Protocol)),
            ("a", Err(FailReason::Other)),
        ] {
            let got = scalar(doc, pointer).map_err(|(reason, _)| reason);
            assert_eq!(got.as_deref(), want.as_deref(), "{pointer}");
        }
        assert_eq!(scalar(b"17", "").unwrap(), "17");
        assert_eq!(scalar_or_null(doc, "/n"), Ok(None));
        assert!(matches!(scalar_or_null(doc, "/n/x"), Err((FailReason::Missing, _))));
    }

    #[test]
    fn broken_or_endless_json_is_a_protocol_failure_and_not_quoted() {
        let deep = "[".repeat(100_000);
        for doc in ["{\"secret\":", "{} x", "", &deep] {
            let (reason, detail) = scalar(doc.as_bytes(), "/secret").unwrap_err();
            assert_eq!(reason, FailReason::Protocol);
            assert!(!detail.contains("secret"), "{detail}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_do_no_harm(doc: Vec<u8>, pointer: String) {
            let _ = scalar(&doc, &pointer);
        }
    }
}
