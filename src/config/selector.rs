//! The metric selector of an HTTP source: `name` or `name{label="value",...}`, as in a Prometheus exposition. Equality
//! only; it is not PromQL.

/// One sample of an exposition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricSelector {
    /// The metric's name.
    pub name: String,
    /// Labels that it must have, with their values.
    pub labels: Vec<(String, String)>,
}

impl MetricSelector {
    /// Reads a selector; the error is a phrase such as "a label's value must be in double quotes".
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (name, rest) = word(text, true).ok_or("a metric's name comes first")?;
        let mut selector = Self { name: name.to_owned(), labels: Vec::new() };
        let Some(mut rest) = rest.trim_start().strip_prefix('{') else {
            return match rest.trim() {
                "" => Ok(selector),
                _ => Err("only `{` may follow the metric's name".into()),
            };
        };
        loop {
            rest = rest.trim_start();
            if let Some(end) = rest.strip_prefix('}') {
                return match end.trim() {
                    "" => Ok(selector),
                    _ => Err("nothing may follow `}`".into()),
                };
            }
            let (label, after) = word(rest, false).ok_or("a label's name must follow, or `}`")?;
            let after =
                after.trim_start().strip_prefix('=').ok_or("`=` must follow a label's name")?;
            let (value, after) = quoted(after.trim_start())?;
            if selector.labels.iter().any(|(l, _)| l == label) {
                return Err("a label is there twice".into());
            }
            selector.labels.push((label.to_owned(), value));
            rest = after.trim_start();
            match rest.strip_prefix(',') {
                Some(after) => rest = after,
                None if rest.starts_with('}') => {}
                None => return Err("`,` or `}` must follow a label's value".into()),
            }
        }
    }
}

fn word(text: &str, colons: bool) -> Option<(&str, &str)> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || (colons && c == ':');
    let end = text.find(|c| !part(c)).unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end)?;
    (!word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit())).then_some((word, rest))
}

fn quoted(text: &str) -> Result<(String, &str), String> {
    let inner = text.strip_prefix('"').ok_or("a label's value must be in double quotes")?;
    let mut value = String::new();
    let mut chars = inner.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((value, inner.get(at + 1..).unwrap_or_default())),
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, c @ ('"' | '\\'))) => value.push(c),
                _ => return Err("a `\\` may only stand before `\\`, `\"` and `n`".into()),
            },
            c => value.push(c),
        }
    }
    Err("the closing double quote is missing".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_labels_and_escapes() {
        let plain = MetricSelector::parse(" up ").unwrap();
        assert_eq!(plain, MetricSelector { name: "up".into(), labels: vec![] });
        let full = MetricSelector::parse(r#"job:beat{ a="x\"\\\n" , b = "}," ,}"#).unwrap();
        assert_eq!(full.name, "job:beat");
        assert_eq!(
            full.labels,
            [("a".into(), "x\"\\\n".into()), ("b".to_owned(), "},".to_owned())]
        );
        assert_eq!(MetricSelector::parse("x{}").unwrap().labels, []);
    }

    #[test]
    fn refuses_what_is_not_a_selector() {
        for bad in [
            "",
            "1x",
            "x y",
            "x{",
            "x{a}",
            "x{a=1}",
            "x{a=\"1}",
            "x{a=\"1\"b=\"2\"}",
            "x{a:b=\"1\"}",
            "x{a=\"1\"} y",
            "x{a=\"\\t\"}",
            "x{a=\"1\",a=\"2\"}",
            "x{,}",
            "x{a=~\"1\"}",
        ] {
            assert!(MetricSelector::parse(bad).is_err(), "{bad}");
        }
    }
}
