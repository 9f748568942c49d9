//! What happens inside: routers, links and credits.
//!
//! Switching is virtual cut-through at the granularity of packets: a packet moves only when all of it has room at the
//! next buffer, so following its head and its serialization time is exact to the flit; where channels differ in speed, its tail too.

pub mod catalogue;
mod desk;
mod fabric;
mod invariants;
mod packet;
mod partition;
mod partition_map;
mod plan;
pub mod routers;
mod tally;
mod watchdog;

pub use desk::{Desk, Mail};
pub use fabric::Fabric;
pub use partition::{Calls, Demand, Happening, Partition, Traffic};
pub use partition_map::{Grain, PartitionMap};
pub use plan::{FabricError, FabricSpec, LinkParameters, Plan};
pub use tally::{Batch, Tally};
pub use watchdog::{WaitingPacket, waiting_cycle};
