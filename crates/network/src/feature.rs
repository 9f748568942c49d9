//! Features of network models.

/// Property of a network model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Messages are divided into packets, and credits protect buffers. Without packets, messages are carried whole.
    Packets,
    /// Messages are flows that share channels at rates: they are handed over whole, and times are whole picoseconds.
    /// Requires `Packets`, whose sizes count.
    Flows,
    /// Messages are handed over whole, and the arrivals of the first packet of each and of the rest are reported. Times
    /// are those of packets. Requires `Packets`.
    Messages,
    /// Messages cross routers: their delays count.
    Routers,
    /// Messages take routes through routers. Without routes there is no routing, no load of a channel, no deadlock and
    /// no operation in switches.
    Routes,
    /// Queues of routers can be sampled.
    Queues,
    /// The bandwidth of links into nodes limits receivers.
    ReceiverLinks,
    /// Partitions may be divided over several processes.
    Processes,
}
