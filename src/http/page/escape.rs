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

/// Characters in a row that are kept together; what is longer may be broken anywhere, as the last resort.
const WORD: usize = 32;

/// Escaped text that may be broken after a separator inside a name (`_-/:.`), where browsers would not or not
/// everywhere; else only between words. What is not plain ASCII is isolated: letters that run from right to left would
/// turn what stands beside the name around.
pub struct Broken<'a>(pub &'a str);

impl fmt::Display for Broken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = self.0.is_ascii();
        if !is_plain {
            f.write_str("<bdi>")?;
        }
        let mut start = 0;
        let mut run = 0;
        let mut chars = self.0.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            run = if c.is_whitespace() { 0 } else { run + 1 };
            // Of several separators in a row the last one, so that none of them begins a line.
            let next = chars.peek().map(|(_, c)| *c);
            let is_end =
                is_separator(c) && next.is_some_and(|n| !is_separator(n) && !n.is_whitespace());
            if next.is_some() && (is_end || run == WORD) {
                let end = at + c.len_utf8();
                write!(f, "{}<wbr>", Escaped(self.0.get(start..end).unwrap_or_default()))?;
                (start, run) = (end, 0);
            }
        }
        write!(f, "{}", Escaped(self.0.get(start..).unwrap_or_default()))?;
        if is_plain { Ok(()) } else { f.write_str("</bdi>") }
    }
}

fn is_separator(c: char) -> bool {
    matches!(c, '_' | '-' | '/' | ':' | '.')
}

/// A sentence of ours in which a word between backticks is shown as code.
pub struct Prose<'a>(pub &'a str);

impl fmt::Display for Prose<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, part) in self.0.split('`').enumerate() {
            if n % 2 == 1 {
                write!(f, "<code>{}</code>", Escaped(part))?;
            } else {
                write!(f, "{}", Escaped(part))?;
            }
        }
        Ok(())
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

    #[test]
    fn names_break_after_their_separators() {
        let cases = [
            ("lock:orders_1", "lock:<wbr>orders_<wbr>1"),
            ("a/b.c-d", "a/<wbr>b.<wbr>c-<wbr>d"),
            ("rediss://x", "rediss://<wbr>x"),
            ("auth - no: it", "auth - no: it"),
            ("tail:", "tail:"),
            ("", ""),
            ("a<b/c", "a&lt;b/<wbr>c"),
        ];
        for (text, out) in cases {
            assert_eq!(Broken(text).to_string(), out);
        }
        let long = "x".repeat(WORD + 1);
        assert_eq!(Broken(&long).to_string(), format!("{}<wbr>x", "x".repeat(WORD)));
        let umlauts = "ü".repeat(WORD);
        assert_eq!(Broken(&umlauts).to_string(), format!("<bdi>{umlauts}</bdi>"));
        assert_eq!(Broken("קוד/1").to_string(), "<bdi>קוד/<wbr>1</bdi>");
    }

    #[test]
    fn code_in_a_sentence() {
        assert_eq!(Prose("set `a<b` now").to_string(), "set <code>a&lt;b</code> now");
    }

    proptest! {
        #[test]
        fn a_broken_text_is_the_same_text(text: String) {
            let out = Broken(&text).to_string().replace("<wbr>", "");
            let inner = out.strip_prefix("<bdi>").and_then(|o| o.strip_suffix("</bdi>"));
            prop_assert_eq!(inner.is_none(), text.is_ascii());
            prop_assert_eq!(inner.unwrap_or(&out), Escaped(&text).to_string());
        }

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
