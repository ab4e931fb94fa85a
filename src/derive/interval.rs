//! An interval of seconds that contains something not known exactly: an offset between two clocks and its error. Only
//! widens, shifts and intersects; what the numbers mean is said where they are made.

/// An interval of seconds, ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// No less than this.
    pub lo: f64,
    /// No more than this.
    pub hi: f64,
}

impl Interval {
    /// From `mid - half` to `mid + half`.
    pub fn around(mid: f64, half: f64) -> Self {
        Self { lo: mid - half, hi: mid + half }
    }

    /// From microseconds.
    pub fn from_micros((lo, hi): (i64, i64)) -> Self {
        Self { lo: lo as f64 / 1e6, hi: hi as f64 / 1e6 }
    }

    /// Wider by `by` at both ends.
    pub fn widened(self, by: f64) -> Self {
        Self { lo: self.lo - by, hi: self.hi + by }
    }

    /// What contains the difference of what the two contain.
    pub fn minus(self, other: Self) -> Self {
        Self { lo: self.lo - other.hi, hi: self.hi - other.lo }
    }

    /// What both contain; `None` if nothing.
    pub fn intersect(self, other: Self) -> Option<Self> {
        let both = Self { lo: self.lo.max(other.lo), hi: self.hi.min(other.hi) };
        (both.lo <= both.hi).then_some(both)
    }

    /// Its middle.
    pub fn middle(self) -> f64 {
        self.lo + (self.hi - self.lo) / 2.0
    }

    /// Half its width.
    pub fn half(self) -> f64 {
        (self.hi - self.lo) / 2.0
    }

    /// The value in it that is farthest from zero, without its sign.
    pub fn worst(self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_and_the_intersection_contain_what_they_must() {
        let (a, b) = (Interval::around(0.2, 0.1), Interval::around(-0.1, 0.05));
        let d = a.minus(b);
        assert!((d.lo - 0.15).abs() < 1e-12 && (d.hi - 0.45).abs() < 1e-12);
        assert_eq!(a.intersect(b), None);
        let both = a.intersect(Interval { lo: 0.25, hi: 9.0 }).unwrap();
        assert!((both.lo, both.hi) == (0.25, a.hi));
        assert!((Interval { lo: -3.0, hi: 2.0 }.worst() - 3.0).abs() < 1e-12);
    }
}
