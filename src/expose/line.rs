//! One sample as a line of the text format 0.0.4, as the `prometheus` crate would write it byte for byte; a test holds the
//! two against each other. It knows no metric, and leaves nothing out.

use std::cmp::Ordering;
use std::io::Write;

use super::catalogue::Family;

/// Numbers from here on are written by the standard library, as it has no exponents.
const LONG: f64 = 1e15;

/// Of a number with more than 25 bits behind the point, the 5 that its last digit is a multiple of alone fill 18 digits; no
/// shortest form has more than 17.
const SHORT: f64 = (1u64 << 25) as f64;

/// The labels `store` and `lock` of the lock whose samples come now, written once for all of them.
#[derive(Default)]
pub struct At {
    /// Where both values are: they stay there as long as this is set, so that what lies there is them.
    place: [(usize, usize); 2],
    text: Vec<u8>,
}

fn place(text: &str) -> (usize, usize) {
    (text.as_ptr().addr(), text.len())
}

impl At {
    /// Samples of this lock come; both texts must outlive them.
    pub fn set(&mut self, store: &str, lock: &str) {
        self.place = [place(store), place(lock)];
        self.text.clear();
        self.text.extend_from_slice(b"store=\"");
        write_escaped(&mut self.text, store);
        self.text.extend_from_slice(b"\",lock=\"");
        write_escaped(&mut self.text, lock);
    }

    /// No more of it.
    pub fn clear(&mut self) {
        self.place = [(0, 0); 2];
    }

    /// What is written of the first two labels, if they are its own.
    fn of<const N: usize>(&self, family: &Family<N>, values: &[&str; N]) -> Option<&[u8]> {
        let [store, lock, ..] = values.as_slice() else { return None };
        let is_it = family.is_of_lock && self.place == [place(store), place(lock)];
        is_it.then_some(&self.text)
    }
}

/// Appends the line of a sample; `values` are in the order of the family's labels. Tells where its labels end.
pub fn write<const N: usize>(
    out: &mut Vec<u8>,
    at: &At,
    family: &Family<N>,
    values: [&str; N],
    value: f64,
) -> usize {
    let labels;
    if N == 0 {
        labels = out.len();
        out.extend_from_slice(family.name.as_bytes());
        out.push(b' ');
    } else {
        out.extend_from_slice(family.opening.as_bytes());
        // There is no value before the first one, and so no quote to close and no comma.
        let (mut done, mut skip) = (0, 2);
        if let Some(text) = at.of(family, &values) {
            out.extend_from_slice(text);
            (done, skip) = (2, 0);
        }
        for (between, value) in family.between.iter().zip(values).skip(done) {
            out.extend_from_slice(between.as_bytes().get(skip..).unwrap_or_default());
            write_escaped(out, value);
            skip = 0;
        }
        labels = out.len() + 1;
        out.extend_from_slice(b"\"} ");
    }
    write_number(out, value);
    out.push(b'\n');
    labels
}

/// A label value with its backslashes, quotes and line ends escaped.
fn write_escaped(out: &mut Vec<u8>, text: &str) {
    // Without a way out of the loop it is done many bytes at a time.
    let is_odd = |b: &u8| (*b == b'\\') | (*b == b'"') | (*b == b'\n');
    if !text.as_bytes().iter().fold(false, |odd, b| odd | is_odd(b)) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    for b in text.bytes() {
        match b {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'"' => out.extend_from_slice(b"\\\""),
            b'\n' => out.extend_from_slice(b"\\n"),
            other => out.push(other),
        }
    }
}

/// A number in the fewest digits that give it back, without an exponent.
fn write_number(out: &mut Vec<u8>, value: f64) {
    // Most are 0, 1 and counts. Zero with a sign is none of them.
    if value.abs() < LONG && value.trunc() == value && (value != 0.0 || value.is_sign_positive()) {
        out.extend_from_slice(itoa::Buffer::new().format(value as i64).as_bytes());
        return;
    }
    // What lies in the middle between two shortest ones is rounded up by the standard library, and by others to the even
    // one. It has few digits, and so few bits behind the point.
    let may_be_between = (value * SHORT).trunc() == value * SHORT;
    if value.is_finite() && value.abs() < LONG && !may_be_between {
        let mut buffer = zmij::Buffer::new();
        let shortest = buffer.format_finite(value);
        // Very small ones have an exponent.
        if !shortest.bytes().any(|b| b == b'e') {
            out.extend_from_slice(shortest.as_bytes());
            return;
        }
    }
    // Writing to a Vec cannot fail.
    let _ = write!(out, "{value}");
}

/// A line up to its last label value; of a family without labels, nothing.
pub fn labels(line: &[u8]) -> &[u8] {
    // No number has a brace.
    let end = line.iter().rposition(|b| *b == b'}').unwrap_or(0);
    line.get(..end).unwrap_or_default()
}

/// Which of two lines of one family comes first by its label values, given their [`labels`]; equal if they are of the same
/// series. Both have the same name and label names, so that they part within a value or not at all.
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let Some(at) = first_difference(a, b) else { return Ordering::Equal };
    let same = a.get(..at).unwrap_or_default();
    let is_escaped = same.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 1;
    let rank = |line: &[u8]| match (line.get(at), is_escaped) {
        (Some(b'n'), true) => Some(b'\n'),
        (Some(b'\\'), false) => match line.get(at + 1) {
            Some(b'n') => Some(b'\n'),
            other => other.copied(),
        },
        // The value is over, and comes before all that begin with it.
        (Some(b'"') | None, false) => None,
        (other, _) => other.copied(),
    };
    rank(a).cmp(&rank(b))
}

/// Lines have much in common at their beginning, which is gone over in steps.
fn first_difference(a: &[u8], b: &[u8]) -> Option<usize> {
    let (steps_a, steps_b) = (a.as_chunks::<16>().0, b.as_chunks::<16>().0);
    let steps = steps_a.iter().zip(steps_b).take_while(|(a, b)| a == b).count();
    let from = steps * 16;
    let (a, b) = (a.get(from..).unwrap_or_default(), b.get(from..).unwrap_or_default());
    a.iter().zip(b).position(|(a, b)| a != b).map(|at| from + at)
}

#[cfg(test)]
mod tests;
