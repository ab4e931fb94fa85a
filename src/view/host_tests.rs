//! Views of invented processes.
