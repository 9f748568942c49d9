//! DMA engines: each fetches the data of one message at a time from memory into the interface, which has room for it. A
//! message takes the engine that is free first.

use super::server::{PerByte, Stream};

/// DMA engines of an interface, which fetch the data to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DmaParams {
    /// Number of engines. 0: the interface reads memory without engines.
    pub engines: u32,
    /// Time from the start of an engine on a message until its first byte comes, in picoseconds.
    pub setup: u64,
    /// Time of a byte.
    pub per_byte: PerByte,
}

impl DmaParams {
    /// No engines.
    pub const NONE: Self = Self { engines: 0, setup: 0, per_byte: PerByte::FREE };
}

/// Times from which the engines of all interfaces are free, interface by interface.
#[derive(Clone, Debug, Default)]
pub(crate) struct Engines {
    free_at: Vec<u64>,
    /// Largest number of engines of an interface.
    most: usize,
}
units::state!(Engines { free_at; rebuilt most });

impl Engines {
    /// Creates the idle engines of some interfaces, of at most `most` engines each.
    pub fn new(most: u32, interfaces: usize) -> Self {
        Self { free_at: vec![0; interfaces * most as usize], most: most as usize }
    }

    /// Fetches a message that has been handed over to an interface. Returns the stream in which its bytes come.
    pub fn fetch(&mut self, dma: &DmaParams, interface: usize, (bytes, handed_at): (u64, u64)) -> Stream {
        let first = interface * self.most;
        let own = self.free_at[first..first + dma.engines as usize].iter_mut();
        let Some(free_at) = own.min_by_key(|free_at| **free_at) else { return Stream::whole(handed_at) };
        let from = handed_at.max(*free_at).saturating_add(dma.setup);
        *free_at = from.saturating_add(dma.per_byte.time(bytes));
        Stream { from, per_byte: dma.per_byte }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_fetch_a_message_each() {
        // Would catch a setup that is paid by all at once, an engine that serves two messages, and engines of another
        // interface.
        let dma = DmaParams { engines: 2, setup: 1000, per_byte: PerByte::of(3) };
        let mut engines = Engines::new(3, 2);
        let mut from = |node| engines.fetch(&dma, node, (100, 20)).from;
        assert_eq!([from(0), from(0), from(0), from(1)], [1020, 1020, 2320, 1020]);
    }
}
