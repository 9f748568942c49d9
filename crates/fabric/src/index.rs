//! Indices of a partition's flat arrays: one type for each kind, so that a packet is never taken for an input.

units::id! {
    /// Slot of a packet in the pool.
    PacketSlot(u32)
}
units::id! {
    /// Input of a partition: its port and virtual channel in one number.
    InputId(u32)
}
units::id! {
    /// Credit counter of a partition: its output and its slot there in one number.
    CreditId(u32)
}
units::id! {
    /// Credit counter of an output: its virtual channel, together with the next router's output if the rule counts
    /// credits per crosspoint.
    CreditSlot(u32)
}

impl PacketSlot {
    /// No packet.
    pub const NONE: Self = Self(u32::MAX);
}

impl CreditId {
    /// Returns the counter of a slot of the output whose first counter this is.
    #[inline(always)]
    pub fn at(self, slot: CreditSlot) -> Self {
        Self(self.0 | slot.0)
    }
}

impl InputId {
    /// Returns the input of a port, numbered in the partition, and a virtual channel of `vc_shift` bits. With the first
    /// port of a router and a candidate of its arbiters: the input of that candidate.
    #[inline(always)]
    pub fn new(port: usize, vc: usize, vc_shift: u32) -> Self {
        Self(((port << vc_shift) + vc) as u32)
    }

    /// Returns the port, numbered in the partition.
    #[inline(always)]
    pub fn port(self, vc_shift: u32) -> usize {
        (self.0 >> vc_shift) as usize
    }

    /// Returns the virtual channel.
    #[inline(always)]
    pub fn vc(self, vc_shift: u32) -> u32 {
        self.0 & ((1 << vc_shift) - 1)
    }

    /// Returns the number of the input among those of a router, whose first port is `base`: its candidate number.
    #[inline(always)]
    pub fn candidate(self, base: usize, vc_shift: u32) -> usize {
        self.index() - (base << vc_shift)
    }

    /// Returns the input of a candidate of a router, whose first input this is.
    #[inline(always)]
    pub fn plus(self, candidate: usize) -> Self {
        Self(self.0 + candidate as u32)
    }

    /// Returns the elements of this input in a flat array of `each` elements for each input.
    #[inline(always)]
    pub fn row(self, each: usize) -> std::ops::Range<usize> {
        self.index() * each..(self.index() + 1) * each
    }
}
