//! Verdicts on invented time: what must rise, what must stay quiet, and what each end is called.

mod adversary;
mod any_value;
mod cases;
mod cases_controls;
mod cases_expiry;
mod cases_gone;
mod cases_keys;
mod cases_renewal;
mod cases_servers;
mod clock_views;
mod clocks;
mod crowd;
mod cut;
mod ends;
mod events;
mod facts;
mod groups;
mod hints;
mod listed;
mod liveness;
mod readers;
mod renewal;
mod review;
pub mod sim;
mod sources;
mod spread;
mod stall;
