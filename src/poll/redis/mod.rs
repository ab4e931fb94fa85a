//! Redis and Valkey.
mod ability;
pub mod codec;
mod conn;
mod dial;
mod failure;
mod glob;
mod handshake;
mod info;
mod keys;
mod pack;
mod tls;
