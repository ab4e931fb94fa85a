//! Bounds of stalls on invented time: single cases, and a model of the kernel whose true stalls must lie in between.

mod cases;
mod kernel;
mod model;
mod random;
