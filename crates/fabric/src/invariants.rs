//! Invariants of a network: the conservation laws, checked in debug builds and in tests. (The wheel checks that no
//! event lies in the past, `fabric/links.rs` and `fabric/credits.rs` that nothing is sent without credit, and
//! `fabric/spacing.rs` that packets keep their order on channels.)
//!
//! For every credit counter of the network, the depth of the buffer equals the sum of the credits of its output, the
//! credits on their way back, the bytes on the link and in the pipeline, and the bytes in the buffer. Every packet that
//! has entered and is not delivered is in one pool or in the mail.

use crate::catalogue::CreditRule;
use crate::context::{Mail, ReturningCredit};
use crate::event_kind;
use crate::fabric::{Fabric, Space, notify};
use crate::index::{CreditId, InputId, PacketSlot};
use crate::packet::Packet;
use crate::partition::Partition;
use crate::port::NO_PARTITION;
use crate::routers::Routers;
use crate::traffic::Traffic;

/// Totals over all partitions of a network.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Accounted bytes, by partition and credit counter. They have as many bits as counters of credits.
    credits: Vec<Vec<i32>>,
    /// Number of packets in pools and mail, without those at the heads of sources.
    packets: i64,
    /// First violation found so far.
    error: Option<String>,
}

units::record!(Ledger { credits, packets, error });

impl Ledger {
    /// Creates an empty ledger for `partitions` partitions.
    pub fn new(partitions: usize) -> Self {
        Self { credits: vec![Vec::new(); partitions], ..Self::default() }
    }

    fn add(&mut self, partition: u16, counter: CreditId, bytes: i32) {
        let Some(counters) = self.credits.get_mut(partition as usize) else { return };
        if counters.len() <= counter.index() {
            counters.resize(counter.index() + 1, 0);
        }
        counters[counter.index()] += bytes;
    }

    /// Adds the totals of other partitions.
    pub fn merge(&mut self, other: Self) {
        for (part, counters) in (0..).zip(other.credits) {
            (0..).zip(counters).for_each(|(counter, bytes)| self.add(part, CreditId(counter), bytes));
        }
        self.packets += other.packets;
        self.error = self.error.take().or(other.error);
    }

    fn refuse(&mut self, error: impl FnOnce() -> String) {
        self.error.get_or_insert_with(error);
    }

    /// Returns the number of packets in the network: in routers, on links and in the mail.
    pub fn packets(&self) -> i64 {
        self.packets
    }
}

impl Fabric {
    /// Returns the credit counter of an input's space, and its partition.
    fn counter_of(&self, space: Space) -> (u16, CreditId) {
        let input = &self.inputs[space.input.port(self.params.vc_shift)];
        (input.partition, input.counters.at(self.slot_of(space)))
    }

    /// Returns the space that a packet takes at an input, as its upstream output has counted it.
    fn space_of(&self, input: InputId, packet: &Packet) -> Space {
        let per_crosspoint = self.plan.credit_rule() == CreditRule::PerCrosspoint;
        Space { input, part: if per_crosspoint { u32::from(packet.out) } else { 0 } }
    }

    fn account(&self, part: u16, ledger: &mut Ledger) {
        for output in (0..self.outputs.len()).filter(|&output| self.has_credits(output)) {
            for (counter, credit) in self.counters_of(output) {
                if credit < 0 {
                    ledger.refuse(|| format!("output {output} of partition {part} has a credit of {credit}"));
                }
                ledger.add(part, counter, credit);
            }
        }
        for (kind, event) in self.wheel.events() {
            if kind == event_kind::CREDIT {
                ledger.add(part, CreditId(event.target), event.arg as i32);
            } else if kind == event_kind::TRAFFIC && event.arg == notify::DELIVERED {
                // Delivered packets are kept until their tail has come.
                ledger.packets -= 1;
            } else if kind == event_kind::ARRIVAL {
                let packet = &self.pool[PacketSlot(event.arg)];
                let (partition, counter) = self.counter_of(self.space_of(InputId(event.target), packet));
                ledger.add(partition, counter, packet.bytes as i32);
            }
        }
    }
}

impl<R: Routers, T: Traffic> Partition<R, T> {
    /// Adds the totals of this partition, with the number `part`, and of the mail that it has not taken in.
    pub fn account(&self, part: u16, mail: &Mail, ledger: &mut Ledger) {
        let fabric = self.fabric();
        fabric.account(part, ledger);
        for input in fabric.all_inputs() {
            let port = &fabric.inputs[input.port(fabric.params.vc_shift)];
            if port.partition == NO_PARTITION {
                continue;
            }
            let depth = fabric.classes[usize::from(port.class.0)].depth;
            for (part, bytes) in self.routers().held(input) {
                if bytes > u64::from(depth) {
                    ledger.refuse(|| format!("input {input} of partition {part} holds {bytes} B of {depth}"));
                }
                let (partition, counter) = fabric.counter_of(Space { input, part });
                ledger.add(partition, counter, bytes as i32);
            }
        }
        for (packet, input, _) in mail.packets() {
            let (partition, counter) = fabric.counter_of(fabric.space_of(input, packet));
            ledger.add(partition, counter, packet.bytes as i32);
        }
        for ReturningCredit { counter, bytes, .. } in mail.credits() {
            ledger.add(part, counter, bytes as i32);
        }
        let sources = self.heads().iter().filter(|head| head.packet != PacketSlot::NONE).count();
        ledger.packets += (fabric.pool.used() + mail.packets().count() - sources) as i64;
    }

    /// Checks that every counter of this partition, with the number `part`, adds up to the depth of its buffer.
    ///
    /// # Errors
    /// Says what is missing or too much, and where.
    pub fn check_credits(&self, part: u16, ledger: &Ledger) -> Result<(), String> {
        if let Some(error) = &ledger.error {
            return Err(error.clone());
        }
        let fabric = self.fabric();
        self.routers().check(fabric)?;
        self.check_sets()?;
        for output in (0..fabric.outputs.len()).filter(|&output| fabric.has_credits(output)) {
            let depth = fabric.plan.depth_beyond(&fabric.outputs[output], &fabric.classes);
            for (counter, _) in fabric.counters_of(output) {
                let found = ledger.credits[part as usize].get(counter.index()).copied().unwrap_or(0);
                if found != depth {
                    let source = fabric.source(output);
                    return Err(format!("of {depth} B of credit of {source:?}, {found} are accounted for"));
                }
            }
        }
        Ok(())
    }

    /// Checks that a partition without packets, apart from the heads of its sources, keeps nothing of others: no set of
    /// destinations, and no space that copies share.
    fn check_sets(&self) -> Result<(), String> {
        let fabric = self.fabric();
        let heads = || self.heads().iter().filter(|head| head.packet != PacketSlot::NONE);
        if fabric.pool.used() > heads().count() {
            return Ok(());
        }
        let wanted = heads().filter(|head| fabric.pool[head.packet].set().is_some()).count();
        let found = fabric.multicasts.sets.used();
        if found != wanted {
            return Err(format!("{found} sets of nodes are kept for {wanted} packets"));
        }
        if !fabric.multicasts.copies.is_empty() {
            return Err("copies of packets that have left share space".into());
        }
        Ok(())
    }

    /// Checks a partition whose sources have ended and whose packets have all been delivered: no packet is left, no
    /// event is pending, and no packet is counted as waiting.
    ///
    /// # Errors
    /// Says what is left, and where.
    pub fn check_empty(&self) -> Result<(), String> {
        let fabric = self.fabric();
        let left = fabric.pool.used();
        if left > 0 {
            return Err(format!("{left} packets are left in the pool"));
        }
        if !fabric.has_idle_units() {
            return Err("a combine unit still holds a partial sum or a result".into());
        }
        if fabric.multicasts.sets.used() > 0 {
            return Err(format!("{} sets of nodes are left", fabric.multicasts.sets.used()));
        }
        if !fabric.wheel.is_empty() {
            return Err("events are left in the wheel".into());
        }
        if let Some(input) = fabric.all_inputs().find(|&input| self.routers().held(input).any(|(_, bytes)| bytes > 0)) {
            return Err(format!("input {input} still holds bytes"));
        }
        if fabric.outputs.iter().any(|output| output.queued > 0) || fabric.waiting.iter().any(|&bytes| bytes > 0) {
            return Err("bytes are still counted as waiting for an output".into());
        }
        if !fabric.no_reservations_left() {
            return Err("credit is still reserved".into());
        }
        let mut ledger = Ledger::new(1);
        self.account(0, &Mail::default(), &mut ledger);
        self.check_credits(0, &ledger)
    }
}
