//! A table of what something costs as the locks grow, with the exponent that fits best: 1 is in proportion. It judges nothing.

/// Rows so far, each a cost in milliseconds at every size.
pub struct Growth {
    sizes: Vec<usize>,
    rows: Vec<(String, Vec<f64>)>,
}

impl Growth {
    /// For these numbers of locks.
    pub fn of(sizes: &[usize]) -> Self {
        Self { sizes: sizes.to_vec(), rows: Vec::new() }
    }

    /// What something took at the next larger size, in milliseconds.
    pub fn add(&mut self, what: &str, milliseconds: f64) {
        match self.rows.iter_mut().find(|(row, _)| row == what) {
            Some((_, costs)) => costs.push(milliseconds),
            None => self.rows.push((what.to_owned(), vec![milliseconds])),
        }
    }

    /// Prints it.
    pub fn print(&self) {
        let heads: Vec<String> = self.sizes.iter().map(|n| format!("{n} locks")).collect();
        println!("| milliseconds | {} | exponent |", heads.join(" | "));
        println!("|---|{}---|", "---|".repeat(self.sizes.len()));
        for (what, costs) in &self.rows {
            let cells: Vec<String> = costs.iter().map(|c| format!("{c:.2}")).collect();
            println!("| {what} | {} | {:.2} |", cells.join(" | "), self.exponent(costs));
        }
    }

    /// Slope of a line through the logarithms, by least squares.
    fn exponent(&self, costs: &[f64]) -> f64 {
        let points: Vec<(f64, f64)> =
            self.sizes.iter().zip(costs).map(|(n, c)| ((*n as f64).ln(), c.ln())).collect();
        let mean =
            |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
        let (x, y) = (mean(|p| p.0), mean(|p| p.1));
        let up: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
        up / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>()
    }
}
