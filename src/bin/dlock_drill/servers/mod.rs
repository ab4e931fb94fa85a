//! What faults of servers, hosts and JVMs are made of: private servers, replicas and sentinels, a clock that is stepped, a
//! JVM that collects, a cramped cgroup, a process id that comes again. All of it is the drill's own and ends with its owner.
//! It must not judge, and must not touch a server, a process or a cgroup that the drill did not make.

pub mod cgroup;
pub mod clock;
pub mod jvm;
pub mod pids;
pub mod redis;
pub mod sentinel;
pub mod wait;
