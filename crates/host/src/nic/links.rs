//! Times of packets on the links of nodes.

/// Links of nodes into the network, one for each rail.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    /// Size of the largest packet, in bytes.
    pub packet: u32,
    /// Picoseconds of a tick.
    pub tick: u64,
    /// Time of the largest packet on a link, in ticks, with one network.
    pub pace: u64,
    /// By rail, the time of the largest packet on a link, in ticks. Empty with one network.
    pub paces: Vec<u64>,
}

impl Links {
    /// Returns the time of the largest packet on the link of a source, in ticks.
    #[inline]
    pub fn pace(&self, source: usize) -> u64 {
        match self.paces.len() {
            0 => self.pace,
            rails => self.paces[source % rails],
        }
    }

    /// Returns the time of bytes on the link of a source, in picoseconds: in whole ticks, as on links, rounded up.
    pub fn on_link(&self, source: usize, bytes: u64) -> u64 {
        let ticks = (u128::from(self.pace(source)) * u128::from(bytes)).div_ceil(u128::from(self.packet)) as u64;
        ticks.saturating_mul(self.tick)
    }
}
