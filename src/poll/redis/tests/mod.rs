//! Against a real redis-server.

mod acl;
mod ahead;
mod beside;
mod celery;
mod collections;
mod failure;
mod memory;
mod missed;
mod nodes;
mod owner_index;
mod parts;
mod reading;
mod registry;
mod sentinels;
pub(super) mod stores;
mod support;
mod unchanged;
mod wire;
