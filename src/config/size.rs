//! The getter for numbers of bytes with a unit, such as `64MiB`.

use config::ValueKind;

use super::cursor::{Cursor, described};
use super::mistake::quoted;
use super::schema::Kind;

const UNITS: [(&str, u64); 8] = [
    ("B", 1),
    ("kB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

impl Cursor<'_> {
    /// A number of bytes within the bounds of the schema.
    pub(super) fn size(&self, key: &str) -> Option<u64> {
        let (spec, value) = self.get(key)?;
        let Kind::Size(least, most) = spec.kind else { return None };
        let fix = "write it as `512KiB`, `64MiB` or `1GiB`";
        let text = match &value.kind {
            ValueKind::String(text) => text.trim(),
            ValueKind::I64(n) => {
                self.wrong(key, format!("`{n}` has no unit"), fix);
                return None;
            }
            other => {
                self.wrong(
                    key,
                    format!("must be a number of bytes, not {}", described(other)),
                    fix,
                );
                return None;
            }
        };
        if text.parse::<u64>().is_ok() {
            self.wrong(key, format!("{} has no unit", quoted(text)), fix);
            return None;
        }
        let Some(bytes) = parse(text) else {
            self.wrong(key, format!("{} is not a number of bytes", quoted(text)), fix);
            return None;
        };
        let bound = |text| parse(text);
        if bound(least).is_some_and(|b| bytes < b) || bound(most).is_some_and(|b| bytes > b) {
            let fix = format!("it must be from {least} to {most}");
            self.wrong(key, format!("{} is out of range", quoted(text)), fix);
            return None;
        }
        Some(bytes)
    }
}

fn parse(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(end)?;
    let (_, factor) = UNITS.iter().find(|(u, _)| u.eq_ignore_ascii_case(unit.trim()))?;
    // What is beyond any bound stays a number, so that it is told as out of range.
    Some(number.parse::<u64>().ok()?.saturating_mul(*factor))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes_have_a_unit() {
        assert_eq!(parse("64MiB"), Some(64 << 20));
        assert_eq!(parse("1 gib"), Some(1 << 30));
        assert_eq!(parse("5kB"), Some(5000));
        assert_eq!(parse("99999999999TiB"), Some(u64::MAX));
        for wrong in ["", "64", "MiB", "1.5MiB", "-1MiB", "64M", "64 MiB MiB", "64µB"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
