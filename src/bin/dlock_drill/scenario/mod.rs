//! The scenarios: one file each, and this list. A scenario injects one fault on a stage and says what the exporter must show
//! for it, as its documents define it, and by when.

mod kill;
mod machines;
mod overwrite;
mod partition;
mod pause;
mod renewal;
mod replay;

use std::future::Future;
use std::pin::Pin;

use crate::failure::Failure;
use crate::stage::{Ended, Stage};
use crate::world::Run;

/// A scenario at work.
pub type Act<'a> = Pin<Box<dyn Future<Output = Result<(), Ended>> + Send + 'a>>;

/// One fault, and what must follow from it.
pub trait Scenario: Sync {
    /// Its name: lower case and hyphens.
    fn name(&self) -> &'static str;

    /// One line: what is done, and what the exporter must say.
    fn about(&self) -> &'static str;

    /// Whether it uses the shared server and exporter. One that does not starts its own, and has no lock in the config fragment.
    fn is_shared(&self) -> bool {
        true
    }

    /// Runs it. Expectations that do not hold are recorded on the stage; what ends it early is an error.
    fn run<'a>(&'a self, stage: &'a mut Stage) -> Act<'a>;
}

/// All of them, in the order that they are told in.
pub fn all() -> Vec<&'static dyn Scenario> {
    let mut all: Vec<&'static dyn Scenario> = vec![
        &kill::Kill,
        &pause::Pause,
        &partition::Partition,
        &partition::LateRestore,
        &replay::Replay,
        &renewal::RenewalPaused,
        &renewal::RenewalOutlives,
        &overwrite::Overwrite,
    ];
    all.extend(machines::all());
    all
}

/// What the scenario of that name does.
pub fn about(name: &str) -> &'static str {
    all().iter().find(|s| s.name() == name).map_or("", |s| s.about())
}

/// Those that are named, or all.
pub fn chosen(names: &[String]) -> Result<Vec<&'static dyn Scenario>, Failure> {
    let all = all();
    if names.is_empty() {
        return Ok(all);
    }
    names
        .iter()
        .map(|name| {
            all.iter().find(|s| s.name() == name).copied().ok_or_else(|| {
                let known: Vec<&str> = all.iter().map(|s| s.name()).collect();
                Failure::new(format!(
                    "there is no scenario {name:?}; there are {}",
                    known.join(", ")
                ))
            })
        })
        .collect()
}

/// The n-th run of each of them.
pub fn round(scenarios: &[&'static dyn Scenario], number: u32) -> Vec<Run> {
    scenarios.iter().map(|&scenario| Run { scenario, number }).collect()
}
