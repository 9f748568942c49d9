//! Memory that has to be known to the interface before data go from it or to it without a copy, and the cache of what is known.
//!
//! What is registered is a buffer. A buffer that a rank has registered stays so until so many others have been (least recently
//! used first), as in the caches of MPI libraries; a message that is longer than what was registered of its buffer registers it
//! again. A rule says which messages are in the same one; by one of the rules programs name buffers, by tags.

use workload::program::Context;

use crate::recent::Recent;

/// Which messages of a rank are in the same buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BufferRule {
    /// Those that it sends to a rank; those that it receives from a rank.
    #[default]
    ByPeer,
    /// Those that it sends; those that it receives.
    One,
    /// Those under a tag of a communicator, sent and received: the tag names the buffer.
    ByTag,
    /// No two.
    Fresh,
}

/// At which end of a message memory has to be known to the interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RegisteredEnds {
    /// At both.
    #[default]
    Both,
    /// Where it is received: what sends it copies or writes the data (programmed input and output).
    Receiver,
}

/// What it takes to have memory known to the interface, of messages that go from memory to memory (rendezvous), at both ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegistrationParams {
    /// The time of a registration, in picoseconds,
    pub time: u64,
    /// and of each page of it.
    pub per_page: u64,
    /// Bytes of a page; 0 if nothing has to be registered.
    pub page: u64,
    /// How many buffers of a rank stay registered.
    pub cached: u32,
    /// Which messages are in the same buffer.
    pub buffers: BufferRule,
    /// At which end.
    pub ends: RegisteredEnds,
}

impl RegistrationParams {
    /// Nothing has to be registered.
    pub const NONE: Self =
        Self { time: 0, per_page: 0, page: 0, cached: 0, buffers: BufferRule::ByPeer, ends: RegisteredEnds::Both };
}

/// A message at one of its ends, as far as it determines the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferUse {
    /// The rank at the other end.
    pub peer: u32,
    /// Whether the message is received here.
    pub receives: bool,
    pub tag: u32,
    pub context: Context,
}

impl BufferUse {
    /// The buffer's number among those of its rank.
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

impl Registrations {
    /// Nothing registered, of so many ranks.
    pub fn new(params: RegistrationParams, ranks: usize) -> Self {
        let most = if params.page == 0 || params.buffers == BufferRule::Fresh { 0 } else { params.cached };
        Self { params, cache: Recent::new(ranks, most), made: 0, spared: 0 }
    }

    /// A rank, by its number here, sends or receives so many bytes: the time of registering their memory.
    pub fn register(&mut self, rank: u32, of: BufferUse, bytes: u64) -> u64 {
        let RegistrationParams { time, per_page, page, buffers, ends, .. } = self.params;
        if page == 0 || (ends == RegisteredEnds::Receiver && !of.receives) {
            return 0;
        }
        let key = of.key(buffers);
        let pages = bytes.div_ceil(page);
        match self.cache.use_key(rank as usize, key, pages) {
            Some(known) if known >= pages => {
                // The buffer stays registered in its whole length.
                self.cache.use_key(rank as usize, key, known);
                self.spared += 1;
                0
            }
            _ => {
                self.made += 1;
                time.saturating_add(pages.saturating_mul(per_page))
            }
        }
    }

    /// Registrations that have been made, and messages that have needed none.
    pub fn counts(&self) -> (u64, u64) {
        (self.made, self.spared)
    }
}
