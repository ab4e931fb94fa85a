//! Redis and Valkey.
mod ability;
mod batch;
pub mod codec;
mod conn;
mod dial;
mod facts;
mod failure;
mod glob;
mod handshake;
mod info;
mod keys;
mod pack;
mod role;
mod slot;
mod tls;
