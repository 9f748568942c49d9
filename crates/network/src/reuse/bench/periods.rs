//! Steady states: while long messages are sent, the events of an episode recur after a fixed time, the period, until a
//! message ends or the next one is released. Whole periods are then skipped.
//!
//! Events are credits that come back, space that is freed, and packets that come to a router or to a node. A packet is
//! identified by its message and its *lag*: the number of packets of the message that the source has sent from this
//! packet on. The states before and after a period are equal, except for the unsent bytes of messages, under two
//! conditions. First, the log ends with n equal periods of T ticks, and n > r + d / T + 2: all packets under way were
//! sent in the last r periods, and each decision causes its last event within d ticks. Second, the bytes in buffers and
//! queues and the pointers of arbiters are equal before and after the period. The reasons are:
//!
//! - *Packets.* Each router has packets of the same lags of each message, and each of its queues the same bytes.
//! - *Order.* Queues are FIFO, and packets enter them in the same order in each period.
//! - *Times.* All events that earlier decisions cause have occurred, within the log.
//!
//! The period then recurs for as long as no message ends or is released, and all packets are whole.

use fabric::{LoggedEvent, LoggedKind};

use super::traffic::BenchTraffic;

/// Number of events before a period is sought.
const FEWEST: usize = 256;

/// Largest number of events that are kept.
const MOST: usize = 1 << 20;

/// Number of events that are logged in any case. Further events are limited to one for two packet-hops that are
/// simulated or skipped. The limit is checked when the log is cleared. A packet-hop causes about three events. Logging
/// them takes a quarter of the time in which the packet-hop is simulated.
const FREE: u64 = 1 << 18;

/// Event. Events of an instant are in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Happened {
    /// Ticks since the event before it.
    after: u64,
    kind: LoggedKind,
    /// Place of [`LoggedEvent`].
    place: u32,
    /// Message and lag of the packet. For credits and space: bytes, and 0.
    what: (u32, u32),
}

/// Period of a steady state.
#[derive(Clone, Debug)]
pub(super) struct Period {
    /// Number of shorter periods that it consists of.
    parts: u64,
    /// Number of events of each.
    events: usize,
    /// Its length.
    pub ticks: u64,
    /// By message, the packets that are delivered in a period. As many are drawn, since lags stay equal.
    pub packets: Vec<u64>,
}

impl Period {
    /// Returns the period of `count` of these periods.
    pub fn times(self, count: u64) -> Self {
        let packets = self.packets.into_iter().map(|packets| packets * count).collect();
        Self { parts: self.parts * count, ticks: self.ticks * count, packets, ..self }
    }
}

/// Events of the present phase of the traffic.
#[derive(Debug, Default)]
pub(super) struct PeriodLog {
    /// Whether events are logged.
    pub is_on: bool,
    /// Events that have been logged.
    spent: u64,
    /// Packet-hops that were simulated and skipped.
    hops: u64,
    /// Phase of the traffic. `None`: the simulation has been changed.
    phase: Option<u64>,
    /// Events of this phase.
    all: Vec<Happened>,
    /// Time of the last event, in ticks.
    last: u64,
    /// Number of events at which a period is next sought.
    due: usize,
    /// Events of the present instant.
    pub logged: Vec<LoggedEvent>,
    /// Longest borders ([`find_borders`]). Kept to avoid allocation.
    borders: Vec<u32>,
}

impl PeriodLog {
    /// Returns whether the limit of logged events allows a further phase.
    pub fn may_log(&self) -> bool {
        self.spent <= FREE + self.hops / 2
    }

    /// Forgets all events, since another simulation goes on.
    pub fn reset(&mut self) {
        (self.is_on, self.phase) = (false, None);
    }

    /// Counts packet-hops that are simulated or skipped.
    pub fn count(&mut self, hops: u64) {
        self.hops += hops;
    }

    /// Appends the events of an instant to the log. If a new phase has begun in this instant, the log is cleared instead.
    pub fn take_in(&mut self, traffic: &BenchTraffic, now: u64) {
        if self.phase != Some(traffic.phase) {
            self.phase = Some(traffic.phase);
            self.is_on = traffic.is_long() && self.may_log();
            (self.last, self.due) = (now, FEWEST);
            self.all.clear();
            self.logged.clear();
            return;
        }
        if self.logged.is_empty() {
            return;
        }
        let begin = self.all.len();
        self.spent += self.logged.len() as u64;
        self.all.extend(self.logged.drain(..).map(|LoggedEvent { kind, place, what }| {
            let what = match kind {
                LoggedKind::Credit | LoggedKind::Free => (what, 0),
                LoggedKind::Arrival | LoggedKind::Delivery => traffic.lag_of(what),
            };
            Happened { after: 0, kind, place, what }
        }));
        self.all[begin..].sort_unstable();
        self.all[begin].after = now - std::mem::replace(&mut self.last, now);
        if self.all.len() > MOST {
            self.is_on = false;
            (self.all, self.borders) = (Vec::new(), Vec::new());
        }
    }

    /// Searches for a period of the last events. `None`: the log has not doubled since the last search, or has no period.
    /// The rest of the state is still to be compared. `longest`: longest time from a decision to its last event, in ticks.
    pub fn find(&mut self, traffic: &BenchTraffic, longest: u64) -> Option<Period> {
        if !self.is_on || self.all.len() < self.due {
            return None;
        }
        self.due = 2 * self.all.len();
        find_borders(&self.all, &mut self.borders);
        let mut before = 0;
        for len in (1..=self.all.len()).rev() {
            let events = len - self.borders[len - 1] as usize;
            if events != before
                && 3 * events <= len
                && let Some(period) = self.period(events, len, (traffic, longest))
            {
                return Some(period);
            }
            before = events;
        }
        None
    }

    /// Returns the period of the last `events` events. `None`: the last `len` events contain too few repetitions of it.
    fn period(&self, events: usize, len: usize, (traffic, longest): (&BenchTraffic, u64)) -> Option<Period> {
        let own = &self.all[self.all.len() - events..];
        // It begins with an instant.
        if own[0].after == 0 {
            return None;
        }
        let ticks: u64 = own.iter().map(|own| own.after).sum();
        let mut packets = vec![0; traffic.messages.len()];
        let delivered = own.iter().filter(|own| own.kind == LoggedKind::Delivery);
        delivered.for_each(|own| packets[own.what.0 as usize] += 1);
        let mut reach = 0;
        for (message, &packets) in packets.iter().enumerate() {
            let lag: u64 = traffic.longest_lag(message);
            if packets == 0 && lag > 0 {
                return None;
            }
            reach = reach.max(lag.div_ceil(packets.max(1)));
        }
        let periods = (len / events) as u64;
        // Interfaces let packets wait.
        let longest = longest + traffic.longest_wait(self.last);
        (periods > reach + longest / ticks + 2).then_some(Period { parts: 1, events, ticks, packets })
    }

    /// Returns whether the last events are a further period.
    pub fn goes_on(&self, period: &Period) -> bool {
        let count = period.events * (period.parts as usize + 1);
        let Some(begin) = self.all.len().checked_sub(count) else { return false };
        let mut parts = self.all[begin..].chunks_exact(period.events);
        let first = parts.next();
        self.is_on && parts.all(|own| Some(own) == first)
    }
}

/// Computes the failure function of Knuth, Morris and Pratt (1977) on the reversed list: `borders[n - 1]` is the length
/// of the longest shorter list that both begins and ends the last n items. Their shortest period is n less this length.
fn find_borders<T: PartialEq>(all: &[T], borders: &mut Vec<u32>) {
    borders.clear();
    borders.resize(all.len(), 0);
    let item = |place: usize| &all[all.len() - 1 - place];
    let mut border = 0;
    for place in 1..all.len() {
        while border > 0 && item(place) != item(border) {
            border = borders[border - 1] as usize;
        }
        border += usize::from(item(place) == item(border));
        borders[place] = border as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_tell_the_shortest_period_of_each_end() {
        // Would catch a period that is not the shortest, and one that reaches further back than the items agree.
        let mut borders = Vec::new();
        let periods = |text: &str, borders: &mut Vec<u32>| -> Vec<usize> {
            find_borders(text.as_bytes(), borders);
            borders.iter().enumerate().map(|(place, &border)| place + 1 - border as usize).collect()
        };
        assert_eq!(periods("xyabab", &mut borders), [1, 2, 2, 2, 5, 6]);
        assert_eq!(periods("aaaa", &mut borders), [1; 4]);
        assert_eq!(periods("baab", &mut borders), [1, 2, 3, 3]);
    }
}
