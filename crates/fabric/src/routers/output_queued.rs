//! Output-queued routers with crosspoint buffers (Kumar, Kalé and Stunkel, section 2).
//!
//! A packet that arrives goes straight to the buffer of its (input, virtual channel, output): the switch has the
//! internal bandwidth for all inputs at once. Each output serves its crosspoints independently; there is no central
//! arbiter and no head-of-line blocking between outputs. The copies of a multicast packet go to the crosspoints of all
//! their outputs in one pass through the crossbar, and leave independently.
//!
//! Credits have one of three meanings:
//! - `row-counter`: the upstream output counts the packets in the whole row.
//! - `row-minimum`: the upstream output may have as many packets outstanding as the fullest crosspoint of the row has
//!   room, whatever crosspoint they turn out to need. A packet that arrives in a crosspoint that is not then the
//!   fullest returns its credit at once. A packet that makes the row's maximum rise returns its credit when the maximum
//!   falls. So one counter a link suffices, and it is exactly as generous as the guarantee allows. For a multicast
//!   packet, too, only the fullest crosspoint decides, once, so that in an otherwise empty row its credit returns with
//!   its last copy. The row counter returns it with the last copy in any case.
//! - `per-crosspoint`: the upstream output chooses the crosspoint too.

use std::cmp::Ordering;

use engine::Bits;

use crate::catalogue::{Arbitration, CreditRule, OutputQueuedSpec};
use crate::fabric::{Arrival, Buffers, Fabric, Leaving, Outgoing, QUEUED, Sent, Space};
use crate::footprint::{NetworkSize, bytes_of};
use crate::index::{InputId, PacketSlot};
use crate::packet::Ring;
use crate::prefetch::Prefetch;
use crate::profile::Profile;
use crate::routers::arbiter::{ArbitrationContext, Last, RequestTable};
use crate::routers::crosspoint::{Column, Crosspoint};
use crate::routers::{Arbiter, ArbiterFacts, Routers, SharedState, Sharing};

/// All output-queued routers of a partition.
#[derive(Clone, Debug)]
pub struct OutputQueued {
    arbitration: Arbitration,
    rule: CreditRule,
    /// Crosspoints of a row: the largest number of ports of a router.
    row: usize,
    vc_shift: u32,
    /// Crosspoints, by input (port, virtual channel), then output. Their contents are counted as the upstream output
    /// accounts for them.
    crosspoints: Vec<Crosspoint>,
    /// Rows of crosspoints, by input. Empty under `per-crosspoint`.
    rows: Vec<Row>,
    /// For each output, the inputs (port, virtual channel) that have packets for it.
    requests: RequestTable,
}
units::state!(OutputQueued { crosspoints, rows, requests; rebuilt arbitration, rule, row, vc_shift });

/// All crosspoints of an input and virtual channel.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    /// Bytes in all crosspoints. Under `row-counter` the bytes of a multicast packet count once.
    held: u64,
    /// Bytes in the fullest crosspoint. For `row-minimum` only.
    fullest: u32,
    /// Number of crosspoints that hold as much as the fullest. For `row-minimum` only. Otherwise every packet that
    /// leaves one of them would have to read the whole row.
    as_full: u32,
}
units::record!(Row { held, fullest, as_full });

/// Bytes in the fullest of some crosspoints, and the number of crosspoints that hold as much.
#[derive(Clone, Copy, Default)]
struct Fullest {
    held: u32,
    count: u32,
}

impl Fullest {
    #[inline(always)]
    fn and(self, held: u32) -> Self {
        match held.cmp(&self.held) {
            Ordering::Less => self,
            Ordering::Equal => Self { count: self.count + 1, ..self },
            Ordering::Greater => Self { held, count: 1 },
        }
    }
}

impl OutputQueued {
    /// Creates empty routers.
    pub fn new(fabric: &Fabric, spec: &OutputQueuedSpec) -> Self {
        let row = usize::from(fabric.plan.max_ports);
        let vc_shift = fabric.plan.vc_shift;
        let inputs = fabric.ports() << vc_shift;
        Self {
            arbitration: spec.arbitration,
            rule: spec.credits,
            row,
            vc_shift,
            crosspoints: vec![Crosspoint::default(); inputs * row],
            rows: vec![Row::default(); if spec.credits == CreditRule::PerCrosspoint { 0 } else { inputs }],
            requests: RequestTable::new(fabric.ports(), row << vc_shift),
        }
    }

    /// Sends the next packet of an output, if the link is free and one has credit.
    #[inline(always)]
    fn send<P: Profile>(&mut self, fabric: &mut Fabric, (router, base, out): (usize, usize, usize), now: u64) {
        let output = base + out;
        let port = &fabric.outputs[output];
        if port.queued == 0 {
            return;
        }
        if port.free_at > now {
            let free_at = port.free_at;
            fabric.wake_at(output, free_at);
            return;
        }
        let first = InputId::new(base, 0, self.vc_shift);
        let turn = ArbitrationContext { rule: self.arbitration, router, output };
        let column = Column { crosspoints: &self.crosspoints, row: self.row, first, output, out };
        let picked = self.requests.pick(fabric, turn, &column);
        match picked {
            Some((candidate, vc)) => {
                self.depart::<P>(fabric, Departure { output, candidate, input: first.plus(candidate), out, vc }, now)
            }
            None => fabric.block(output),
        }
    }

    /// Removes the first packet from a crosspoint and sends it.
    #[inline(always)]
    fn depart<P: Profile>(&mut self, fabric: &mut Fabric, departure: Departure, now: u64) {
        let Departure { output, candidate, input, out, vc } = departure;
        let crosspoint = &mut self.crosspoints[input.index() * self.row + out];
        let (packet, bytes, is_empty) = crosspoint.queue.pop(&mut fabric.pool);
        self.requests.serve(output, candidate, is_empty);
        let Sent { time, more } = fabric.transmit::<QUEUED, P>(output, Outgoing { packet, bytes, vc }, now);
        if more {
            fabric.wake_at(output, now + time);
        }
        let space = Space { input, part: out as u32 };
        fabric.release_buffer::<P>(self, space, Leaving { packet, bytes, time, tail_in: 0 }, now);
    }

    /// Puts a packet into a crosspoint, and returns the bytes that the crosspoint then holds. `counts` is false for a
    /// further copy of the packet before it there.
    #[inline(always)]
    fn insert<P: Profile>(&mut self, fabric: &mut Fabric, arrival: &Arrival, counts: bool) -> u32 {
        let Arrival { router, base, packet, out, bytes, .. } = *arrival;
        let out = usize::from(out);
        let candidate = arrival.candidate(self.vc_shift);
        let input = InputId::new(base as usize, candidate, self.vc_shift);
        let was_empty = self.requests.add(arrival.output(), candidate);
        let crosspoint = &mut self.crosspoints[input.index() * self.row + out];
        fabric.activate::<P>(router as usize, out);
        if was_empty && fabric.holds_only_queued() {
            // Written without being read: there are many crosspoints, and most are not in a near cache.
            *crosspoint = Crosspoint { queue: Ring::of(&mut fabric.pool, packet), held: bytes };
            return bytes;
        }
        crosspoint.queue.push(&mut fabric.pool, packet, was_empty);
        // A row counter counts for the whole row.
        crosspoint.held += if self.rule == CreditRule::RowCounter || !counts { 0 } else { bytes };
        crosspoint.held
    }

    /// Counts a packet of `bytes` bytes that takes `added` bytes in a row, and returns the credit that the packet
    /// turns out not to have needed to the upstream output. `own` describes the fullest of the packet's crosspoints.
    #[inline(always)]
    fn occupy<P: Profile>(
        &mut self,
        fabric: &mut Fabric,
        input: InputId,
        (own, bytes, added): (Fullest, u32, u64),
        now: u64,
    ) {
        let row = &mut self.rows[input.index()];
        row.held += added;
        let rise = own.held.saturating_sub(row.fullest);
        row.as_full = if rise > 0 { 0 } else { row.as_full } + if own.held >= row.fullest { own.count } else { 0 };
        row.fullest += rise;
        if rise < bytes {
            fabric.return_credit::<P>(Space { input, part: 0 }, bytes - rise, now);
        }
    }
}

impl OutputQueued {
    /// Frees the bytes of a space whose credits are counted exactly.
    #[inline(never)]
    fn shrink_exactly(&mut self, space: Space, bytes: u32) -> u32 {
        let (input, out) = (space.input, space.part as usize);
        match self.rule {
            CreditRule::RowCounter => self.rows[input.index()].held -= u64::from(bytes),
            _ => self.crosspoints[input.index() * self.row + out].held -= bytes,
        }
        bytes
    }
}

/// Departure of a packet: the output, the candidate number for the arbiter, the input, the output port, and the virtual
/// channel.
#[derive(Clone, Copy)]
struct Departure {
    output: usize,
    candidate: usize,
    input: InputId,
    out: usize,
    vc: u8,
}

impl Buffers for OutputQueued {
    fn number(&self, space: Space) -> u32 {
        space.input.0 * self.row as u32 + space.part
    }

    fn space(&self, number: u32) -> Space {
        let row = self.row as u32;
        Space { input: InputId(number / row), part: number % row }
    }

    #[inline(always)]
    fn dequeue_bytes(&mut self, space: Space, bytes: u32) -> u32 {
        if self.rule != CreditRule::RowMinimum {
            return self.shrink_exactly(space, bytes);
        }
        let (input, out) = (space.input, space.part as usize);
        let crosspoint = &mut self.crosspoints[input.index() * self.row + out];
        let before = crosspoint.held;
        crosspoint.held = before - bytes;
        let row = &mut self.rows[input.index()];
        row.held -= u64::from(bytes);
        if before < row.fullest {
            return 0;
        }
        row.as_full -= 1;
        if row.as_full > 0 {
            return 0;
        }
        // Usually all that is left in the row is in this crosspoint.
        let left = if row.held == u64::from(before - bytes) {
            Fullest::default().and(before - bytes)
        } else {
            let all = &self.crosspoints[input.row(self.row)];
            all.iter().fold(Fullest::default(), |fullest, crosspoint| fullest.and(crosspoint.held))
        };
        row.as_full = left.count;
        std::mem::replace(&mut row.fullest, left.held) - left.held
    }
}

impl Prefetch for OutputQueued {}

impl Routers for OutputQueued {
    #[inline(always)]
    fn tries_bypass(&mut self, _arrivals: usize) -> bool {
        true
    }

    #[inline(always)]
    fn enqueue<P: Profile>(&mut self, fabric: &mut Fabric, arrival: &Arrival, now: u64) {
        let held = self.insert::<P>(fabric, arrival, true);
        let (input, bytes) = (arrival.input(self.vc_shift), arrival.bytes);
        if self.rule == CreditRule::RowMinimum {
            self.occupy::<P>(fabric, input, (Fullest { held, count: 1 }, bytes, u64::from(bytes)), now);
        } else if self.rule == CreditRule::RowCounter {
            self.rows[input.index()].held += u64::from(bytes);
        }
    }

    fn enqueue_copies<P: Profile>(&mut self, fabric: &mut Fabric, copies: &[Arrival], now: u64) {
        let Some(first) = copies.first() else { return };
        let (input, bytes) = (first.input(self.vc_shift), first.bytes);
        if self.rule != CreditRule::RowMinimum {
            for copy in copies {
                self.insert::<P>(fabric, copy, true);
            }
            self.rows[input.index()].held += u64::from(bytes);
            return fabric.share_space(copies.iter().map(|copy| copy.packet));
        }
        let (mut fullest, mut added) = (Fullest::default(), 0);
        // Copies for one output on several classes are in the crosspoint once.
        for alike in copies.chunk_by(|one, other| one.out == other.out) {
            let mut held = 0;
            for (number, copy) in alike.iter().enumerate() {
                held = self.insert::<P>(fabric, copy, number == 0).max(held);
            }
            fullest = fullest.and(held);
            if alike.len() > 1 {
                fabric.share_space(alike.iter().map(|copy| copy.packet));
            }
            added += u64::from(bytes);
        }
        self.occupy::<P>(fabric, input, (fullest, bytes, added), now);
    }

    #[inline(always)]
    fn bypass<P: Profile>(&mut self, fabric: &mut Fabric, arrival: &Arrival, now: u64) -> bool {
        let Arrival { packet, class, bytes, .. } = *arrival;
        let output = arrival.output();
        if !fabric.may_bypass::<P>(output, bytes, now) {
            return false;
        }
        let Some(to) = fabric.ready_vc(output, packet, (class, bytes)) else { return false };
        self.requests.bypass(output, arrival.candidate(self.vc_shift));
        fabric.send_on::<P>(arrival, to, now);
        true
    }

    fn side_woken<P: Profile>(&mut self, _fabric: &mut Fabric, _port: usize, _side: usize) {}

    #[inline(never)]
    fn serve<P: Profile>(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        let base = fabric.routers[router].base as usize;
        for word in 0..if P::PLAIN { 1 } else { fabric.params.words } {
            for bit in Bits(fabric.take_active::<P>(router, word)) {
                self.send::<P>(fabric, (router, base, word * 64 + bit), now);
            }
        }
    }

    fn heads<'a>(&'a self, fabric: &'a Fabric, input: InputId) -> impl Iterator<Item = PacketSlot> + 'a {
        let row = &self.crosspoints[input.row(self.row)];
        row.iter().filter_map(|crosspoint| crosspoint.queue.packets(&fabric.pool).next())
    }

    fn held(&self, input: InputId) -> impl Iterator<Item = (u32, u64)> + '_ {
        let row = &self.crosspoints[input.row(self.row)];
        let bytes = row.iter().map(|crosspoint| u64::from(crosspoint.held));
        let whole = match self.rule {
            CreditRule::RowMinimum => bytes.clone().max(),
            CreditRule::RowCounter => Some(self.rows[input.index()].held),
            CreditRule::PerCrosspoint => None,
        };
        let each = (0..).zip(bytes).take(if whole.is_none() { self.row } else { 0 });
        whole.map(|bytes| (0, bytes)).into_iter().chain(each)
    }
}

impl SharedState for OutputQueued {
    fn sharing(&self) -> Sharing {
        let output = Some(ArbiterFacts::of_inputs(self.arbitration));
        Sharing { output, input: None, router: None, has_sides: false }
    }

    fn last_served(&self, arbiter: Arbiter) -> Option<usize> {
        self.requests.last_served(arbiter)
    }

    fn set_last_served(&mut self, arbiter: Arbiter, candidate: Option<usize>) {
        self.requests.set_last_served(arbiter, candidate);
    }
}

impl OutputQueued {
    /// Returns the bytes of the queues of a network, without packets.
    pub(crate) fn bytes(size: &NetworkSize) -> u64 {
        bytes_of::<Crosspoint>(size.inputs() * size.max_ports)
            + bytes_of::<Row>(size.inputs())
            + RequestTable::<Last>::bytes(size.ports, size.max_ports << size.vc_shift())
    }
}
