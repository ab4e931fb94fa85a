//! Text into HTML and into URL paths. Everything that is not written in this directory's own source goes through here.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Kept as they are in a path segment; everything else is encoded, `/` too.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'~');

/// Displays a text so that it is only ever text: in an element or in a quoted attribute.
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
            let (plain, special) = rest.split_at(at);
            f.write_str(plain)?;
            let mut chars = special.chars();
            f.write_str(match chars.next() {
                Some('&') => "&amp;",
                Some('<') => "&lt;",
                Some('>') => "&gt;",
                Some('"') => "&quot;",
                _ => "&#39;",
            })?;
            rest = chars.as_str();
        }
        f.write_str(rest)
    }
}

/// A text as one segment of a path. A dot is encoded too, as a segment of dots alone would mean another path.
pub fn segment(text: &str) -> impl fmt::Display + '_ {
    utf8_percent_encode(text, SEGMENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn markup_becomes_text() {
        let escaped = Escaped("<a href='x' t=\"&\">ü</a>").to_string();
        assert_eq!(escaped, "&lt;a href=&#39;x&#39; t=&quot;&amp;&quot;&gt;ü&lt;/a&gt;");
        assert_eq!(Escaped("").to_string(), "");
    }

    #[test]
    fn a_segment_stays_one() {
        assert_eq!(segment("a/b c?#..").to_string(), "a%2Fb%20c%3F%23%2E%2E");
        assert_eq!(segment("lock-1_x~").to_string(), "lock-1_x~");
    }

    proptest! {
        #[test]
        fn nothing_special_survives(text: String) {
            let out = Escaped(&text).to_string();
            prop_assert!(!out.contains(['<', '>', '"', '\'']));
            let back = out.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"")
                .replace("&#39;", "'").replace("&amp;", "&");
            prop_assert_eq!(back, text);
        }
    }
}
