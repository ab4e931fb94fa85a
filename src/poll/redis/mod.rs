//! Redis and Valkey.
pub mod codec;
mod conn;
mod dial;
mod failure;
mod info;
mod pack;
mod tls;
