//! Libraries of npm.
