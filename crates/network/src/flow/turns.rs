//! Turns of a node's messages, and the bytes that wait for channels at routers.
//!
//! A node sends a packet of each of its messages in turn. A message whose way is slower than that leaves bytes behind
//! in the buffers of routers: it is *split* into two flows, one on the node's channel, and one through the network,
//! which drains the buffers. When its buffers are full the node *waits* for it, and all of its messages have the rate
//! at which they drain. When they are empty the message is one flow again.

use super::paths::PathSet;
use super::rates::{ChannelState, NONE, PathPart};
use super::run::{FlowEvent, FlowRun};

/// Relative difference below which rates are equal: buffers are not filled while a message passes.
const EQUAL: f64 = 1e-3;

/// Number of times that a message is split in a network of several routers. The rates of competing messages, and its
/// part of the buffers, rise and fall for as long as it lasts: without a limit, the cost of a run would grow with the
/// sizes of messages. From then on its buffers count as full whenever it is slower than its turns.
pub(super) const MOST_SPLITS: u32 = 4;

/// Largest number of settlements of an instant in which messages are split.
const MOST_ROUNDS: u32 = 4;

impl FlowRun {
    /// Computes rates anew, and the times at which flows end and buffers are full or empty.
    pub(super) fn settle(&mut self) {
        for _ in 0..MOST_ROUNDS {
            self.compute_rates();
            self.touched.sort_unstable();
            self.touched.dedup();
            let touched = std::mem::take(&mut self.touched);
            let found = touched.iter().filter(|&&source| self.check_turns(source)).count();
            self.touched = touched;
            self.touched.clear();
            if found == 0 {
                break;
            }
        }
        self.compute_rates();
        self.touched.clear();
        self.moved.sort_unstable();
        self.moved.dedup();
        let mut moved = std::mem::take(&mut self.moved);
        moved.drain(..).for_each(|place| self.expect(place));
        self.moved = moved;
    }

    /// Returns the channel of a source.
    fn channel_of(&self, source: u32) -> u32 {
        self.plan.channels().ports() + source
    }

    /// Splits the messages of a source whose way is slower than their turns, or ends its waiting. Returns whether it
    /// has changed anything.
    fn check_turns(&mut self, source: u32) -> bool {
        let channel = self.channel_of(source);
        let ChannelState { limits, factor, .. } = self.rates.channels[channel as usize];
        let capacity = limits.capacity * factor.min(1.0);
        let mut own = std::mem::take(&mut self.own);
        own.clear();
        own.extend(self.rates.flows_of(channel));
        own.sort_unstable();
        own.dedup();
        let rates = own.iter().map(|&flow| self.rates.flows[flow as usize].rate);
        let (sum, most) = rates.fold((0.0, 0.0_f64), |(sum, most), rate| (sum + rate, most.max(rate)));
        let turn = most + capacity - sum;
        let mut is_changed = false;
        match self.waits[source as usize] {
            NONE => {
                for &flow in &own {
                    let message = &self.messages[flow as usize / 2];
                    if message.is_split
                        || message.copies != NONE
                        || self.rates.flows[flow as usize].rate >= turn * (1.0 - EQUAL)
                    {
                        continue;
                    }
                    is_changed = true;
                    if message.splits >= self.most_splits || self.rates.room(flow) <= message.held {
                        self.wait(flow / 2);
                        break;
                    }
                    self.split(flow / 2);
                }
            }
            // A message alone does not need turns.
            place
                if own.len() > 1
                    && self.messages[place as usize].splits < self.most_splits
                    && (sum >= capacity * (1.0 - EQUAL) || self.has_room(place)) =>
            {
                self.resume(source);
                if self.messages[place as usize].held > 0.0 {
                    self.split(place);
                }
                is_changed = true;
            }
            _ => {}
        }
        self.own = own;
        is_changed
    }

    /// Returns whether other messages have left a message buffers for another packet.
    fn has_room(&self, place: u32) -> bool {
        let held = self.messages[place as usize].held;
        held > 0.0 && self.rates.room(2 * place) > held + f64::from(self.plan.packet())
    }

    /// Divides a message into a flow on the node's channel and one through the network.
    fn split(&mut self, place: u32) {
        let mut paths = std::mem::take(&mut self.found);
        self.rates.read(2 * place, &mut paths);
        self.progress(2 * place);
        self.rates.end(2 * place);
        self.restart(2 * place, &paths, PathPart::Node);
        self.restart(2 * place + 1, &paths, PathPart::Network);
        let message = &mut self.messages[place as usize];
        let left = message.flows[0].left;
        (message.flows[1].left, message.flows[1].since) = (left + message.held, self.now);
        (message.held, message.is_split) = (0.0, true);
        message.splits += 1;
        // Bytes that wait when the message has left its node make one more.
        debug_assert!(message.splits <= self.most_splits.saturating_add(1), "a message is split without end");
        self.found = paths;
    }

    /// Makes one flow of a message of two, of which some bytes stay in buffers.
    fn join(&mut self, place: u32) {
        let mut paths = std::mem::take(&mut self.found);
        self.rates.read(2 * place + 1, &mut paths);
        self.rates.read_limits(2 * place, &mut paths);
        for flow in [2 * place, 2 * place + 1] {
            self.progress(flow);
            self.rates.end(flow);
        }
        self.restart(2 * place, &paths, PathPart::Whole);
        let message = &mut self.messages[place as usize];
        let [node, network] = &mut message.flows;
        (message.held, message.is_split) = ((network.left - node.left).max(0.0), false);
        network.is_open = false;
        network.rates += 1;
        self.found = paths;
    }

    /// Starts a flow of a message that is on its way.
    fn restart(&mut self, flow: u32, paths: &PathSet, part: PathPart) {
        self.rates.start(flow, paths, part);
        self.rates.flows[flow as usize].number = self.rates.flows[(flow & !1) as usize].number;
        let own = &mut self.messages[flow as usize / 2].flows[flow as usize % 2];
        own.is_open = true;
        own.rates += 1;
    }

    /// Handles the time at which the buffers of a split message are full or empty.
    pub(super) fn meet(&mut self, place: u32) {
        let [node, network] = [0, 1].map(|part| self.rates.flows[2 * place as usize + part].rate);
        self.join(place);
        if node > network {
            self.wait(place);
        } else {
            self.messages[place as usize].held = 0.0;
        }
    }

    /// Lets a source wait for a message.
    fn wait(&mut self, place: u32) {
        let source = self.messages[place as usize].source;
        if self.waits[source as usize] != NONE {
            self.resume(source);
        }
        self.waits[source as usize] = place;
        self.rates.set_waiting(self.channel_of(source), 2 * place, true);
    }

    /// Ends the waiting of a source.
    fn resume(&mut self, source: u32) {
        let place = std::mem::replace(&mut self.waits[source as usize], NONE);
        self.rates.set_waiting(self.channel_of(source), 2 * place, false);
    }

    /// Ends the flow of a message that waits in buffers, on the node's channel: the bytes that are left there get a
    /// flow.
    pub(super) fn leave_node(&mut self, place: u32) {
        let message = &self.messages[place as usize];
        let (source, is_held) = (message.source, message.held > 0.0);
        if self.waits[source as usize] == place {
            self.resume(source);
        }
        if is_held {
            self.split(place);
        }
    }

    /// Computes the time at which the buffers of a split message are full or empty.
    fn expect(&mut self, place: u32) {
        let message = &self.messages[place as usize];
        if !message.is_split || !message.flows.iter().all(|own| own.is_open) {
            return;
        }
        let [node, network] = [0, 1].map(|part| self.rates.flows[2 * place as usize + part].rate);
        let left = |part: usize| {
            let own = &message.flows[part];
            let passed = (self.now - own.since) as f64 * self.plan.tick().0 as f64;
            own.left - self.rates.flows[2 * place as usize + part].rate * passed
        };
        let waiting = (left(1) - left(0)).max(0.0);
        let growth = node - network;
        let until = match () {
            () if growth > node * EQUAL => (self.rates.room(2 * place + 1) - waiting).max(0.0) / growth,
            () if growth < -network * EQUAL => waiting / -growth,
            () => return,
        };
        // Turns are of packets: nothing changes sooner than in the time of one.
        let capacity = self.rates.channels[self.channel_of(message.source) as usize].limits.capacity;
        let until = until.max(f64::from(self.plan.packet()) / capacity);
        let ticks = (until / self.plan.tick().0 as f64).ceil() as u64;
        let rates = message.flows[0].rates.wrapping_add(message.flows[1].rates);
        self.handover.events.push(
            self.now.saturating_add(ticks),
            place.into(),
            FlowEvent::Meets { message: place, rates },
        );
    }
}
