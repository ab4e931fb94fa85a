//! The metric of the drill itself, for node_exporter's textfile collector. It reads and writes no file.

use std::collections::BTreeMap;

use dlock_exporter::clock::wall_secs;

use crate::outcome::Outcome;

/// For node_exporter: now for scenarios whose every run passed, and for the others what the file said before.
pub fn render(before: &str, outcomes: &[Outcome]) -> String {
    const NAME: &str = "dlock_drill_last_pass_timestamp_seconds";
    let mut passes: BTreeMap<String, String> = before
        .lines()
        .filter_map(|line| {
            let rest = line.strip_prefix(NAME)?.strip_prefix("{scenario=\"")?;
            let (scenario, time) = rest.split_once("\"} ")?;
            Some((scenario.to_owned(), time.to_owned()))
        })
        .collect();
    let now = format!("{:.3}", wall_secs());
    for outcome in outcomes {
        let mut all = outcomes.iter().filter(|o| o.scenario == outcome.scenario);
        if all.all(Outcome::has_passed) {
            passes.insert(outcome.scenario.clone(), now.clone());
        }
    }
    let mut text = format!(
        "# HELP {NAME} When every expectation of the scenario last held, in seconds since the epoch on the drill's host.\n\
         # TYPE {NAME} gauge\n"
    );
    for (scenario, time) in passes {
        text.push_str(&format!("{NAME}{{scenario=\"{scenario}\"}} {time}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Expectation, Verdict};

    fn outcome(scenario: &str, verdict: Verdict) -> Outcome {
        let expectation = Expectation {
            what: String::new(),
            verdict,
            at: None,
            seconds: None,
            since: None,
            polls: None,
            within_seconds: None,
            slack_seconds: None,
            detail: None,
        };
        Outcome {
            scenario: scenario.into(),
            run: 1,
            seed: 0,
            poll_seconds: 1.0,
            fault_seconds: None,
            not_run: None,
            expectations: vec![expectation],
            events: Vec::new(),
        }
    }

    #[test]
    fn a_failure_keeps_the_last_pass_and_what_was_not_judged_is_none() {
        let before = "dlock_drill_last_pass_timestamp_seconds{scenario=\"kill\"} 17.5\nother 1\n";
        let mut partly = outcome("overwrite", Verdict::Pass);
        partly.expectations.extend(outcome("overwrite", Verdict::NotJudged).expectations);
        let outcomes = [
            outcome("kill", Verdict::Fail),
            outcome("pause", Verdict::Pass),
            outcome("pause", Verdict::Fail),
            outcome("replay", Verdict::NotJudged),
            outcome("partition", Verdict::Pass),
            partly,
        ];
        let text = render(before, &outcomes);
        let samples: Vec<&str> = text.lines().filter(|l| !l.starts_with('#')).collect();
        let [kill, partition] = samples[..] else { panic!("{text}") };
        assert_eq!(kill, "dlock_drill_last_pass_timestamp_seconds{scenario=\"kill\"} 17.5");
        assert!(partition.contains("{scenario=\"partition\"} "), "{text}");
    }
}
