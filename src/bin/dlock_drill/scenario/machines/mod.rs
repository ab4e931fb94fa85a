//! Scenarios of what locks and workers stand on: servers, hosts and JVMs. Those that break a server have servers and an
//! exporter of their own; the others go by the shared ones.

mod clock_step;
mod eviction;
mod failover;
mod gc_storm;
mod memory_pressure;
mod own;
mod pid_reuse;
mod quorum;

use super::Scenario;

/// All of them, in the order that they are told in.
pub fn all() -> Vec<&'static dyn Scenario> {
    vec![
        &pid_reuse::PidReuse,
        &clock_step::ClockStep,
        &gc_storm::GcStorm,
        &memory_pressure::MemoryPressure,
        &failover::Failover,
        &quorum::Quorum,
        &eviction::Eviction,
    ]
}
