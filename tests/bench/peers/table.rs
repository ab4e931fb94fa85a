//! The table of ratios: theirs over ours, round by round, and their median. It knows no program.

use super::support::repository;

const BEGIN: &str = "<!-- written by UPDATE=1 tests/bench/compare -->\n";
const END: &str = "<!-- end -->";

/// Rows so far.
#[derive(Default)]
pub struct Table {
    rows: Vec<(String, String)>,
    missing: Vec<String>,
}

impl Table {
    /// A row of one ratio of each round.
    pub fn add(&mut self, what: &str, mut ratios: Vec<f64>) {
        ratios.sort_by(f64::total_cmp);
        let [least, most] = [ratios.first(), ratios.last()].map(|r| short(*r.unwrap()));
        let median = short(median(&ratios));
        let text = format!("{median} ({least} to {most}, {} rounds)", ratios.len());
        println!("{what}: {text}");
        self.rows.push((what.to_owned(), text));
    }

    /// What could not be measured, and why.
    pub fn missing(&mut self, what: String) {
        println!("not measured: {what}");
        self.missing.push(what);
    }

    /// Prints all.
    pub fn print(&self) {
        println!("\n{}", self.text());
    }

    /// Puts it where the README has it.
    pub fn write_readme(&self) {
        let path = repository("README.md");
        let text = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = text.split_once(BEGIN).expect("the README has a place for the table");
        let (_, after) = rest.split_once(END).expect("the place has an end");
        std::fs::write(path, format!("{before}{BEGIN}{}{END}{after}", self.text())).unwrap();
    }

    fn text(&self) -> String {
        let mut text = "| theirs / ours | median |\n|---|---|\n".to_owned();
        for (what, ratio) in &self.rows {
            text += &format!("| {what} | {ratio} |\n");
        }
        for what in &self.missing {
            text += &format!("\nNot measured: {what}.\n");
        }
        text
    }
}

/// Of sorted numbers.
fn median(sorted: &[f64]) -> f64 {
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    (low + high) / 2.0
}

/// Two digits that mean something.
fn short(ratio: f64) -> String {
    match ratio {
        r if r >= 10.0 => format!("{r:.0}"),
        r if r >= 1.0 => format!("{r:.1}"),
        r => format!("{r:.2}"),
    }
}
