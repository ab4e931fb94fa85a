//! Whether a client takes gzip, by its `Accept-Encoding`.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT_ENCODING;

/// Whether gzip may be sent: named, or covered by `*`, and not with a quality of 0. What is not named is not taken.
pub fn gzip(headers: &HeaderMap) -> bool {
    let mut any = None;
    let mut named = None;
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|v| v.to_str().ok());
    for coding in values.flat_map(|v| v.split(',')) {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let wanted = parts.all(|p| !is_zero_quality(p));
        if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
            named = Some(named.unwrap_or(true) && wanted);
        } else if name == "*" {
            any = Some(wanted);
        }
    }
    named.or(any).unwrap_or(false)
}

/// A quality that is not a number counts as none wanted: plain text is what everybody can read.
fn is_zero_quality(part: &str) -> bool {
    match part.split_once('=') {
        Some((key, q)) if key.trim().eq_ignore_ascii_case("q") => {
            q.trim().parse::<f64>().is_ok_and(|q| q > 0.0).eq(&false)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualities_are_respected() {
        let takes = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for v in values {
                headers.append(ACCEPT_ENCODING, v.parse().unwrap());
            }
            gzip(&headers)
        };
        for yes in ["gzip", "deflate, GZIP;q=0.5", "*", "identity;q=0,*;q=0.1", "x-gzip"] {
            assert!(takes(&[yes]), "{yes}");
        }
        let no = ["", "identity", "gzip;q=0", "gzip; q=0.000, *", "*;q=0", "gzip;q=x", "gzipped"];
        for no in no {
            assert!(!takes(&[no]), "{no}");
        }
        assert!(takes(&["br", "gzip"]));
        assert!(!takes(&[]));
    }
}
