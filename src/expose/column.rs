//! The lines of one family while they come in: checked as they come for order and for being there twice, and put right at
//! the end if need be. It knows no metric.

use std::cmp::Ordering;

use super::catalogue::Family;
use super::line::{self, At};

/// More steps back than this for each line, and sorting them as a whole is cheaper.
const STEPS: usize = 8;

/// HELP, TYPE and the lines of a family.
#[derive(Default)]
pub struct Column {
    text: Vec<u8>,
    /// Where the lines begin.
    first: usize,
    /// Where the last line begins, and where its labels end.
    last: (usize, usize),
    /// Not each line comes after the one before it.
    is_unordered: bool,
}

impl Column {
    /// One more line.
    pub fn add<const N: usize>(
        &mut self,
        at: &At,
        family: &Family<N>,
        values: [&str; N],
        value: f64,
    ) {
        if self.text.is_empty() {
            write_header(&mut self.text, family);
            self.first = self.text.len();
        }
        let begin = self.text.len();
        let labels = line::write(&mut self.text, at, family, values, value);
        if begin > self.first && !self.is_unordered {
            let of = |from, to| self.text.get(from..to).unwrap_or_default();
            let order = line::compare(of(self.last.0, self.last.1), of(begin, labels));
            self.is_unordered = order != Ordering::Less;
        }
        self.last = (begin, labels);
    }

    /// Nothing if no line came; else all of them, in the order of their label values. Of two lines of the same series the
    /// first that came stays.
    pub fn into_text(self) -> Vec<u8> {
        if !self.is_unordered {
            return self.text;
        }
        let (header, lines) = self.text.split_at_checked(self.first).unwrap_or_default();
        let mut lines: Vec<(&[u8], &[u8])> = lines
            .split_inclusive(|b| *b == b'\n')
            .map(|whole| (line::labels(whole), whole))
            .collect();
        sort(&mut lines);
        lines.dedup_by(|later, first| line::compare(later.0, first.0).is_eq());
        let mut out = Vec::with_capacity(self.text.len());
        out.extend_from_slice(header);
        lines.iter().for_each(|(_, whole)| out.extend_from_slice(whole));
        out
    }
}

fn write_header<const N: usize>(out: &mut Vec<u8>, family: &Family<N>) {
    let (name, kind) = (family.name.as_bytes(), family.kind.as_str().as_bytes());
    // No text of the catalogue has anything to escape; a test sees to it.
    for part in
        [b"# HELP ", name, b" ", family.help.as_bytes(), b"\n# TYPE ", name, b" ", kind, b"\n"]
    {
        out.extend_from_slice(part);
    }
}

/// Lines come from sorted views, and are out of place by a few at most; equal ones keep their order.
fn sort(lines: &mut [(&[u8], &[u8])]) {
    let mut left = lines.len().saturating_mul(STEPS);
    for i in 1..lines.len() {
        let mut at = i;
        while let Some([before, this]) = at.checked_sub(1).and_then(|from| lines.get(from..=at))
            && line::compare(before.0, this.0).is_gt()
        {
            let Some(rest) = left.checked_sub(1) else {
                lines.sort_by(|a, b| line::compare(a.0, b.0));
                return;
            };
            left = rest;
            lines.swap(at - 1, at);
            at -= 1;
        }
    }
}

#[cfg(test)]
#[path = "column_tests.rs"]
mod tests;
