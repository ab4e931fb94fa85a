//! The `Authorization` header of basic authentication (RFC 7617).

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A name and a password as a client shows them. There is no `Debug`.
pub struct Shown {
    /// Up to the first colon.
    pub name: String,
    /// All after it.
    pub password: Vec<u8>,
}

/// What is shown, if it is in this form.
pub fn credentials(headers: &HeaderMap) -> Option<Shown> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    // With several, what is between here and the client may have looked at another one.
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let value = value.to_str().ok()?;
    let (scheme, coded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = STANDARD.decode(coded.trim()).ok()?;
    let colon = pair.iter().position(|b| *b == b':')?;
    let name = std::str::from_utf8(pair.get(..colon)?).ok()?.to_owned();
    Some(Shown { name, password: pair.get(colon + 1..)?.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &'static str) -> Option<(String, Vec<u8>)> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, value.parse().unwrap());
        credentials(&headers).map(|shown| (shown.name, shown.password))
    }

    #[test]
    fn name_and_password_are_told_apart_by_the_first_colon() {
        let pair = |n: &str, p: &str| Some((n.to_owned(), p.as_bytes().to_vec()));
        assert_eq!(read("Basic YTpiOmM="), pair("a", "b:c"));
        assert_eq!(read("bAsIc YTpiOmM="), pair("a", "b:c"));
        assert_eq!(read("Basic Og=="), pair("", ""));
    }

    #[test]
    fn anything_else_is_nothing() {
        for odd in [
            "",
            "Basic",
            "Basic ",
            "Basic YWI=",
            "Bearer YTpi",
            "Basic YTpi!",
            "Basic /zpi",
            "YTpi",
        ] {
            assert_eq!(read(odd), None, "{odd}");
        }
        let mut two = HeaderMap::new();
        two.append(AUTHORIZATION, "Basic YTpi".parse().unwrap());
        assert!(credentials(&two).is_some());
        two.append(AUTHORIZATION, "Basic YTpi".parse().unwrap());
        assert!(credentials(&two).is_none());
        assert!(credentials(&HeaderMap::new()).is_none());
    }
}
