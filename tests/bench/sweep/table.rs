//! The table of what was measured, and whether all of it is within its bounds.

use std::process::ExitCode;

/// Rows so far.
#[derive(Default)]
pub struct Table {
    rows: Vec<(String, f64, f64)>,
}

impl Table {
    /// Adds a row.
    pub fn add(&mut self, what: &str, measured: f64, bound: f64) {
        self.rows.push((what.to_owned(), measured, bound));
    }

    /// Prints it.
    pub fn finish(self) -> ExitCode {
        println!("| what | measured | bound |\n|---|---|---|");
        let mut code = ExitCode::SUCCESS;
        for (what, measured, bound) in self.rows {
            let is_over = measured > bound;
            let mark = if is_over { ", exceeded" } else { "" };
            let bound = if bound.is_finite() { bound.to_string() } else { String::new() };
            println!("| {what} | {measured:.2} | {bound}{mark} |");
            if is_over {
                code = ExitCode::FAILURE;
            }
        }
        code
    }
}
