//! Keys of `[nic]` and `[node.memory]`, and their conversion to parameters of executors, which are in picoseconds.
//!
//! A doc comment here is the documentation of its key in the command line's help, the reference and error messages. A
//! range on a quantity is in its smallest unit (ps, B, b/s).

mod collectives;
mod loggp;
mod memory;
mod network;
mod parts;
mod rails;

pub use collectives::NicCollectivesSpec;
pub use loggp::{ChargedBytes, LoggpNicSpec};
pub use memory::MemorySpec;
pub use network::NetworkNicSpec;
pub use parts::{
    BusOwner, BusSpec, CopyEnds, CopySpec, Directions, DmaSpec, Matcher, MatchingSpec, PioSpec, RegistrationSpec,
};
pub use rails::{ConnectionsSpec, RailsSpec, StripeOver};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

use crate::context::{ForwardingParams, MessageOrder, NicParams, ProtocolParams, Rendezvous};
use crate::processor::ProgressMode;
use crate::rails::RailParams;

/// Rule of keys for ranks that send and receive messages through a network interface.
pub const RANKS: [&str; 1] = ["requires ranks that send and receive"];

/// Overheads and protocols of a node's processors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
// Refusing other keys makes the schema of a kind one table of all keys, which the validator reads.
#[schemars(extend("additionalProperties" = false))]
pub struct HostSpec {
    /// Send overhead: time from the start of a send until its message is handed over. It adds to the message's latency
    /// at the sender.
    pub send_overhead: Time,
    /// Receive overhead: time from a message's arrival to the end of its receive. It adds to the message's latency at
    /// the receiver.
    pub receive_overhead: Time,
    /// Time of a call that polls without waiting (a test or a non-blocking probe), whether or not it finds a message.
    /// Default: 0.
    #[schemars(extend("x-rules" = RANKS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_overhead: Option<Time>,
    /// Whether overheads occupy the processor of their rank, which then does one thing at a time. Otherwise overheads
    /// are latency. Default: `false` for the kind "ideal", `true` for all others.
    #[schemars(extend("x-rules" = ["requires ranks that send and receive if nic.occupies = true"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occupies: Option<bool>,
    /// When the progress engine of a rank runs: receives messages, and reads and answers rendezvous requests. Default:
    /// "calls" if overheads occupy processors, otherwise "independent".
    #[schemars(extend("x-rules" = [
        "requires overheads that occupy processors if nic.progress = calls",
        "requires overheads that occupy processors if nic.progress = interrupt"
    ]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressMode>,
    /// Processor time of an interrupt of a calculation. Default: 0.
    #[schemars(extend("x-rules" = ["requires nic.progress = interrupt"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupt_cost: Option<Time>,
    /// Eager limit. Larger messages use the rendezvous protocol, whose control messages pay both overheads. Default: no
    /// limit (all messages are eager).
    #[schemars(extend("x-rules" = RANKS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eager_limit: Option<Bytes>,
    /// Side that moves the data in the rendezvous protocol. Default: "write".
    #[schemars(extend("x-rules" = ["requires nic.eager_limit: only larger messages use the protocol"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rendezvous: Option<Rendezvous>,
    /// Order in which the interface sends the messages of its node. Default: "round-robin".
    #[schemars(extend("x-rules" = RANKS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_order: Option<MessageOrder>,
    /// Eager credits: number of eager messages that a rank may have sent to one peer on another node and that the peer
    /// has not received. `without_credit` determines what happens to further messages. A control message returns a
    /// credit. Default: no limit.
    #[schemars(range(min = 1), extend("x-rules" = RANKS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eager_credits: Option<u32>,
    /// Protocol of an eager message that finds no credit. Default: "wait".
    #[schemars(extend("x-rules" = ["requires nic.eager_credits"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_credit: Option<WithoutCreditSpec>,
    /// Size of a control message: of the rendezvous protocol, or a credit. Default: 32 B, or the packet size if that is
    /// less.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1, "x-rules" = ["requires nic.eager_limit or nic.eager_credits"]))]
    pub control_size: Option<Bytes>,
    /// Rails (planes of `topology.planes`) that messages take. Default: round-robin, with messages above 16 KiB
    /// striped.
    #[schemars(extend("x-rules" = RANKS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rails: Option<RailsSpec>,
    /// Times of collective operations on the processor of the interface.
    #[schemars(extend("x-rules" = ["requires workload.collectives = nic"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collectives: Option<NicCollectivesSpec>,
}

impl HostSpec {
    /// Returns `nic` with the overheads and protocols of these keys.
    pub fn params(&self, nic: NicParams) -> NicParams {
        NicParams {
            send_overhead: self.send_overhead.0,
            receive_overhead: self.receive_overhead.0,
            poll_overhead: self.poll_overhead.map_or(0, |time| time.0),
            eager_limit: self.eager_limit.map(|limit| limit.0),
            control: self.control().0.min(u64::from(nic.packet)) as u32,
            protocol: ProtocolParams {
                order: self.message_order.unwrap_or_default(),
                rendezvous: self.rendezvous.unwrap_or_default(),
                eager_credits: self.eager_credits,
                asks_without_credit: self.without_credit == Some(WithoutCreditSpec::Rendezvous),
                ..nic.protocol
            },
            ..nic
        }
    }

    /// Returns the times of collective operations on the processor of the interface.
    pub fn forwarding(&self) -> ForwardingParams {
        self.collectives.clone().unwrap_or_default().params((self.send_overhead, self.receive_overhead))
    }

    /// Returns the size of a control message, before it is limited to the packet size.
    pub fn control(&self) -> Bytes {
        self.control_size.unwrap_or(Bytes(32))
    }

    /// Returns the parameters of `count` rails of a node.
    pub fn rails(&self, count: u32) -> RailParams {
        self.rails.clone().unwrap_or_default().params(count)
    }

    /// Returns whether there are control messages.
    pub fn has_control(&self) -> bool {
        self.eager_limit.is_some() || self.eager_credits.is_some()
    }

    /// Returns the number of control messages of a message of `bytes` bytes.
    pub fn controls(&self, bytes: u64) -> u64 {
        match self.eager_limit.is_some_and(|limit| bytes > limit.0) {
            true if self.rendezvous == Some(Rendezvous::Read) => 3,
            true => 2,
            false => u64::from(self.eager_credits.is_some()),
        }
    }
}

/// Protocol of an eager message that finds no credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WithoutCreditSpec {
    /// The message waits at the sender until a credit returns. All later messages to that rank wait behind it.
    Wait,
    /// The message uses the rendezvous protocol. Its data are copied like those of other eager messages, not
    /// registered.
    Rendezvous,
}
