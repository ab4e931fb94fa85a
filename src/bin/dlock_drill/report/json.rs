//! The report for pipelines. Names are stable; fields may be added. What is not known is `null`.
//!
//! ```json
//! {
//!   "tool": "dlock_drill", "version": "0.1.0",
//!   "taken": 1790000000.25,             // seconds since the epoch on this host's clock
//!   "exporter": "http://locks-host:10121",
//!   "results": [{
//!     "kind": "criterion",              // or "scenario"
//!     "name": "pause",
//!     "about": "after a pause longer than the lease ...",
//!     "verdict": "pass",                // "fail", "not_judged": exit status 0, 1, 2
//!     "store": "main", "lock": "orders",
//!     "poll_seconds": 2.0,              // the exporter's poll interval
//!     "run": null, "seed": null,        // of a scenario
//!     "fault_seconds": 4.2,             // when the fault was seen, since the beginning
//!     "not_run": null,                  // why it was not run, or not to its end
//!     "expectations": [{
//!       "what": "another worker acquires only after the lease is over on the server",
//!       "verdict": "pass",              // "fail", "not_judged"
//!       "needed": true,                 // nothing passes without it; what is not needed can only fail
//!       "seconds": 7.1, "polls": 3.55,  // when it was seen, since the fault, or `since`
//!       "since": null,                  // what `seconds` counts from, if that is not the fault
//!       "within_seconds": null,         // the latest that it may be
//!       "slack_seconds": null,          // what a busy machine is given beyond that (--slack)
//!       "detail": "the lease of orders-1 was seen to run out on the server ..."
//!     }],
//!     "missing": [],                    // what would have to be configured or done for what could not be judged
//!     "events": [{ "seconds": 4.2, "what": "orders-1 is stopped" }],
//!     "recorded": [{ "id": "...", "summary": "..." }]   // incidents of the exporter, as in /api/v1/incidents
//!   }]
//! }
//! ```

use serde::Serialize;

use super::Report;

#[derive(Serialize)]
struct Document<'a> {
    tool: &'static str,
    version: &'static str,
    taken: f64,
    exporter: &'a str,
    results: &'a [Report],
}

/// All results in one document. `taken` is this host's wall clock.
pub fn render(
    results: &[Report],
    exporter: &str,
    taken: f64,
) -> Result<Vec<u8>, serde_json::Error> {
    let version = env!("CARGO_PKG_VERSION");
    let document = Document { tool: "dlock_drill", version, taken, exporter, results };
    let mut bytes = serde_json::to_vec_pretty(&document)?;
    bytes.push(b'\n');
    Ok(bytes)
}
