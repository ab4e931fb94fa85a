//! The dashboards: what Grafana's linter asks of them and more (`rules`), every name in their queries against the
//! catalogue (`names`), each query on a real Prometheus that scraped a real exporter through real faults (`filled`), and
//! the overview over exporters that each see a part, or the same (`joined`).

mod board;
mod config;
mod filled;
mod joined;
mod names;
mod rules;
mod world;
