//! Routes, the status page, listening and serving, and the door before all of it. Answers from the last snapshot alone: nothing here reads a target,
//! waits for one, or can write anywhere.
//!
//! | path | |
//! |---|---|
//! | `/`, `/locks/{store}/{lock}` | status page, one lock's page |
//! | `/metrics` (configurable) | metrics text |
//! | `/api/v1/locks`, `/api/v1/locks/{store}/{lock}`, `/api/v1/workers`, `/api/v1/clocks` | JSON |
//! | `/api/v1/locks/{store}/{lock}/evidence`, `/api/v1/incidents`, `/api/v1/incidents/{id}` | JSON: what to record, what was |
//! | `/-/healthy`, `/-/ready` | for whoever watches the exporter |
//! | `POST /-/reload` | loads the configuration anew |

mod accept;
mod activity;
mod api;
mod body;
mod connection;
mod door;
mod fresh;
mod impatient;
mod incidents;
mod lifecycle;
pub mod listen;
mod metrics;
mod page;
mod part;
mod room;
mod router;
mod serve;
mod shared;
mod telemetry_path;

#[cfg(test)]
mod tests;

pub use door::Door;
pub use listen::bind;
pub use page::lanes;
pub use router::router;
pub use serve::serve;
pub use shared::{AppState, ReadyCheck, ReloadRequest, ShowRequest};
pub use telemetry_path::TelemetryPath;
