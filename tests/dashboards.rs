//! The dashboards: what Grafana's linter asks of them and more (`rules`), every name in their queries against the
//! catalogue (`names`), and each query on a real Prometheus that scraped a real exporter through real faults (`filled`).

mod board;
mod filled;
mod names;
mod rules;
mod world;
