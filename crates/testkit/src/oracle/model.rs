//! What is simulated: a network, the jobs that use it, and what becomes of them.

use routing::Routing;
use routing::trees::Trees;
use topology::Topology;
use units::NodeId;

use super::mutant::Mutant;

/// Bandwidth and delay of a class of channels.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Bandwidth in bits per second.
    pub bandwidth: u64,
    /// Delay in picoseconds: from a head at one end to the head at the other, and of a credit on its way back.
    pub delay: u64,
}

/// Order in which the packets that wait for an output are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbitration {
    /// The candidate after the one served last.
    RoundRobin,
    /// The packet that was generated first.
    OldestFirst,
}

/// Buffer space that a credit of an output-queued router stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credits {
    /// Room in a row of crosspoints, as deep as one of them.
    RowCounter,
    /// Room in every crosspoint of a row.
    RowMinimum,
    /// Room in one crosspoint.
    PerCrosspoint,
}

/// Architecture of the routers.
#[derive(Clone, Copy, Debug)]
pub enum Architecture {
    /// A crosspoint buffer for each input, virtual channel and output.
    OutputQueued(Credits, Arbitration),
    /// A FIFO for each input and virtual channel.
    InputQueued(Arbitration),
    /// A queue for each input, virtual channel and output; iSLIP with this number of rounds, or until no more matches
    /// are found.
    VirtualOutputQueued(Option<u8>),
    /// A FIFO for each input and virtual channel, a crossbar, a buffer for each output and virtual channel.
    InputOutputQueued {
        /// Arbitration of crossing and leaving packets.
        arbitration: Arbitration,
        /// Ratio of the crossbar's bandwidth to the link's.
        speedup: u64,
        /// Depth of an output's buffer in bytes.
        output_buffer: u64,
    },
    /// Queues at the inputs, then a buffer for each input, virtual channel and output.
    InputCrosspointQueued {
        /// Arbitration of crossing and leaving packets.
        arbitration: Arbitration,
        /// Whether an input has one queue for each virtual channel, rather than one for each virtual channel and
        /// output.
        fifo: bool,
        /// Depth of a crosspoint in bytes.
        crosspoint: u64,
    },
    /// A queue for each output and class of virtual channels in one shared memory, besides a buffer for each input and
    /// virtual channel.
    SharedBuffer {
        /// Arbitration between the classes of an output.
        arbitration: Arbitration,
        /// Shared memory of the outputs in bytes.
        memory: u64,
        /// Dynamic threshold: maximum ratio of a queue's length to the free memory.
        alpha: f64,
    },
}

/// Receive buffer of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveBuffer {
    /// Depth in bytes.
    pub depth: u64,
    /// Drain rate in bits per second.
    pub drain: u64,
}

/// Combine unit of a router. A packet comes to it by a separate port, as fast as the fastest link.
#[derive(Clone, Copy, Debug)]
pub struct CombineUnit {
    /// Length of a cycle in picoseconds.
    pub cycle: u64,
    /// Cycles for the header of a packet.
    pub header_cycles: u64,
    /// Bytes of a word.
    pub word: u64,
    /// Words that are combined in a cycle.
    pub words_per_cycle: u64,
    /// Partial sums of a group.
    pub window: u32,
}

/// Groups of nodes whose allreduces routers combine.
#[derive(Clone, Copy, Debug)]
pub struct Groups<'a> {
    /// Tables of the groups' trees: one tree for each group.
    pub trees: &'a Trees,
    /// Unit of every router.
    pub units: CombineUnit,
}

/// Router.
#[derive(Clone, Debug)]
pub struct RouterModel {
    /// Architecture. The kind is that of all routers.
    pub architecture: Architecture,
    /// Depth of the buffer at an input in bytes, by class of channels: the initial credit.
    pub buffers: Vec<u64>,
    /// Delay in picoseconds, from a head at an input to the head ready to leave.
    pub delay: u64,
}

/// Network to be simulated. Times are in picoseconds and sizes in bytes.
#[derive(Clone, Debug)]
pub struct Network<'a> {
    /// The topology, with all its planes.
    pub topology: &'a dyn Topology,
    /// The routing: one path for each pair of nodes.
    pub routing: &'a dyn Routing,
    /// Links by class of channels.
    pub links: Vec<Link>,
    /// The routers, in the order of their numbers.
    pub routers: Vec<RouterModel>,
    /// Number of virtual channels of a link. `None`: one for each class of the routing.
    pub vcs: Option<u8>,
    /// Whether a packet frees its buffer as its tail leaves, rather than as its head leaves.
    pub frees_at_tail: bool,
    /// Size of the largest packet in bytes.
    pub packet: u64,
    /// Receive buffer of every node. `None`: nodes take any packet at once.
    pub receive_buffer: Option<ReceiveBuffer>,
    /// Groups whose allreduces routers combine. `None`: no groups.
    pub groups: Option<Groups<'a>>,
    /// Mistake of the simulator. `None`: none.
    pub mutant: Option<Mutant>,
}

impl Network<'_> {
    /// Returns the number of channels of all planes.
    pub fn channels(&self) -> usize {
        topology::Channels::new(self.topology).count() as usize
    }
}

/// Flow: data that a node sends to one node, or to several as a multicast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The receivers: at least one.
    pub to: Vec<NodeId>,
    /// Size in bytes.
    pub bytes: u64,
}

/// Window of outstanding bytes of each flow from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Size in bytes.
    pub bytes: u64,
    /// Size of an acknowledgement in bytes. `None`: acknowledgements take the time of the idle path.
    pub ack: Option<u64>,
}

/// Job: phases that follow one another, each of which begins when the previous one has ended everywhere.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// Begin of the first phase, in picoseconds.
    pub start: u64,
    /// Flows by phase and node.
    pub phases: Vec<Vec<Vec<Flow>>>,
    /// Bytes of an allreduce of every group, which begins with the first phase. `None`: none.
    pub allreduce: Option<u64>,
    /// Pacer of the flows. `None`: no pacer.
    pub window: Option<Window>,
}

/// Result of a job in a simulation that ran until the network was empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Arrival time of the last tail, in picoseconds from the begin of the phase, by phase and node; 0 if no packet
    /// arrived.
    pub arrivals: Vec<Vec<u64>>,
    /// Bytes sent by channel.
    pub channel_bytes: Vec<u64>,
    /// Number of packets delivered; each copy of a multicast counts.
    pub packets: u64,
    /// Number of transmissions by routers, to combine units too.
    pub hops: u64,
}
