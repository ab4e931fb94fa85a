//! Whose turn it is when not everybody can be read at each tick: those that look stalled and those that have waited
//! longest take turns, so that neither starves the other.

/// One candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its place in the list that it comes from.
    pub at: usize,
    /// The tick in which it was read last; 0 if it never was.
    pub last: u64,
    /// Whether it looks stalled.
    pub urgent: bool,
}

/// Puts the candidates in the order in which they are to be read.
pub fn order(mut turns: Vec<Turn>) -> Vec<usize> {
    turns.sort_by_key(|t| (t.last, t.at));
    let (urgent, rest): (Vec<Turn>, Vec<Turn>) = turns.into_iter().partition(|t| t.urgent);
    let (mut urgent, mut rest) = (urgent.into_iter(), rest.into_iter());
    let mut out = Vec::with_capacity(urgent.len() + rest.len());
    loop {
        let before = out.len();
        out.extend(urgent.next().map(|t| t.at));
        out.extend(rest.next().map(|t| t.at));
        if out.len() == before {
            return out;
        }
    }
}
