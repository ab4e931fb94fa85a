//! The poller of clocks against bytes from a real daemon, hostile bytes, scripted servers and real chronyds.

mod codec;
mod daemons;
mod own_socket;
mod scripted;
mod support;
