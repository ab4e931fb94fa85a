//! The judges on invented systems: right ones, wrong ones, and what an exporter shows of them with its polls.

mod any;
mod cases;
mod exporter;
mod restarts;
mod sim;
