//! Memory registration for zero-copy transfers, and the registration cache.
//!
//! The unit of registration is a buffer. A buffer that a rank has registered stays registered until `cached` other
//! buffers have been (least recently used first), as in the registration caches of MPI libraries. A message that is
//! longer than the registered part of its buffer registers it again. `BufferRule` says which messages are in the same
//! buffer; under one of the rules programs name buffers, by tags.

use mpi::program::Context;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::local_ranks::LocalRank;
use crate::recent::Recent;

/// Messages of a rank that share a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "BuffersSpec")]
pub enum BufferRule {
    /// All messages that the rank sends to one peer; all messages that it receives from one peer.
    #[default]
    ByPeer,
    /// All messages that the rank sends; all messages that it receives.
    One,
    /// All messages under one tag of a communicator, sent or received. The program names its buffers by tags.
    ByTag,
    /// No two messages.
    Fresh,
}

/// Ends of a message at which memory is registered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "RegisteredEndsSpec")]
pub enum RegisteredEnds {
    /// Sender and receiver.
    #[default]
    Both,
    /// Receiver only. The sender's processor writes the data to the interface, which reads no memory.
    Receiver,
}

/// Cost of memory registration, for rendezvous messages, at both ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegistrationParams {
    /// Time of a registration, in picoseconds.
    pub time: u64,
    /// Additional time of each page of a registration, in picoseconds.
    pub per_page: u64,
    /// Size of a page in bytes. 0: nothing has to be registered.
    pub page: u64,
    /// Number of buffers of a rank that stay registered.
    pub cached: u32,
    /// Rule that assigns messages to buffers.
    pub buffers: BufferRule,
    /// Ends of a message at which memory must be registered.
    pub ends: RegisteredEnds,
}

impl RegistrationParams {
    /// No registration.
    pub const NONE: Self =
        Self { time: 0, per_page: 0, page: 0, cached: 0, buffers: BufferRule::ByPeer, ends: RegisteredEnds::Both };
}

/// One end of a message, as far as it determines the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferUse {
    /// Rank at the other end.
    pub peer: u32,
    /// Whether the message is received here.
    pub receives: bool,
    pub tag: u32,
    pub context: Context,
}

impl BufferUse {
    /// Returns the number of the buffer among those of its rank.
    fn key(self, rule: BufferRule) -> u64 {
        let Self { peer, receives, tag, context } = self;
        match rule {
            BufferRule::ByPeer => u64::from(peer) << 1 | u64::from(receives),
            BufferRule::One | BufferRule::Fresh => u64::from(receives),
            BufferRule::ByTag => u64::from(context.bits()) << 32 | u64::from(tag),
        }
    }
}

/// Registrations of an executor's ranks.
#[derive(Debug)]
pub(crate) struct Registrations {
    params: RegistrationParams,
    cache: Recent,
    made: u64,
    spared: u64,
}
units::state!(Registrations { cache, made, spared; rebuilt params });

impl Registrations {
    /// Creates an empty cache for `ranks` ranks.
    pub fn new(params: RegistrationParams, ranks: usize) -> Self {
        let most = if params.page == 0 || params.buffers == BufferRule::Fresh { 0 } else { params.cached };
        Self { params, cache: Recent::new(ranks, most), made: 0, spared: 0 }
    }

    /// Registers the memory of `bytes` bytes that a local rank sends or receives. Returns the time in picoseconds. 0:
    /// the memory is registered already.
    pub fn register(&mut self, rank: LocalRank, of: BufferUse, bytes: u64) -> u64 {
        let RegistrationParams { time, per_page, page, buffers, ends, .. } = self.params;
        if page == 0 || (ends == RegisteredEnds::Receiver && !of.receives) {
            return 0;
        }
        let key = of.key(buffers);
        let pages = bytes.div_ceil(page);
        match self.cache.use_key(rank.index(), key, pages) {
            Some(known) if known >= pages => {
                // The buffer stays registered in its whole length.
                self.cache.use_key(rank.index(), key, known);
                self.spared += 1;
                0
            }
            _ => {
                self.made += 1;
                time.saturating_add(pages.saturating_mul(per_page))
            }
        }
    }

    /// Returns the number of registrations made, and of messages that needed none.
    pub fn counts(&self) -> (u64, u64) {
        (self.made, self.spared)
    }
}
