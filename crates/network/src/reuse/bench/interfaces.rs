//! Interfaces in steady states.
//!
//! All packets of a steady state have one size, so that each part spends the same time on each packet. A packet passes
//! bus and gap. Neither of them holds back the other, or the link. The time from which a part is free is a maximum of
//! sums of service times and of the times at which packets come. It grows by the same time in each period in two cases:
//! it grows by the same time as those of the packets, or the part has no break, and packets come no less often.
//!
//! - *Sending.* Packets pass bus and gap ahead of the link, as soon as their bytes have come to the interface. The link
//!   waits for each packet (the times of the last part and of the generation grow equally), or for none (that of the
//!   part grows less, and has a head start).
//! - *Receiving.* Packets come at equal times of each period.
//!
//! The generation times of packets under way have to have grown in the same way (`BenchTraffic::grow_by`). Packets may
//! wait in the network for longer than a period, so that the events do not show when the growth of these times changes.

use super::BenchMessage;
use crate::reuse::paths::NONE;

/// Returns whether a message passes only parts that messages of other links and directions do not pass.
pub(super) fn is_simple(message: &BenchMessage) -> bool {
    message.buses == [NONE; 2]
}

/// Times of the interfaces at the ends of messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct InterfaceTimes {
    /// Tick at which the next packet of its source may be generated.
    pub generated_at: u64,
    /// By end, the times from which bus and gap are free, in picoseconds. `None`: packets pass no such part.
    pub free_at: [[Option<u64>; 2]; 2],
    /// By end, the times for which a packet occupies bus and gap, in picoseconds.
    pub services: [[u64; 2]; 2],
    /// Longest time in which the bytes of a packet of its source come to the interface, in picoseconds.
    pub stream: u64,
}

/// Lags behind the clock by which the times of the interfaces at the ends of messages grow in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lags {
    /// Lag of the generation of packets, which is the growth of latencies, in ticks. Latencies grow if packets leave more
    /// slowly than they are generated.
    pub latency: u64,
    /// By end, the lags of bus and gap, in picoseconds. Negative if they run ahead.
    pub parts: [[i64; 2]; 2],
}

impl InterfaceTimes {
    /// Returns the lags after a period of `ticks` ticks that began at the times `before`. In it, `packets` packets have
    /// left and arrived by the links, on which a leaving packet takes `pace` ticks. `None`: further periods may have
    /// other lags.
    pub fn lags(&self, before: &Self, (packets, pace): ([u64; 2], u64), (ticks, tick): (u64, u64)) -> Option<Lags> {
        let generated = self.generated_at - before.generated_at;
        let arrived = if packets[1] > 0 { ticks * tick } else { 0 };
        // Rounded times of streams do not grow equally.
        let is_rated = self.stream > 0 && packets[0] > 0;
        let coming = if is_rated { self.stream * packets[0] + 1 } else { 0 };
        let (last, sending) = self.growths((before, 0), packets[0], (coming, !is_rated), [0, 1])?;
        let (_, receiving) = self.growths((before, 1), packets[1], (arrived, true), [1, 0])?;
        let waits_for_none = generated == packets[0] * pace && last < generated * tick;
        if last != generated * tick && !waits_for_none {
            return None;
        }
        let lag = |growth: Option<u64>| growth.map_or(0, |growth| (ticks * tick).cast_signed() - growth.cast_signed());
        Some(Lags { latency: ticks.checked_sub(generated)?, parts: [sending, receiving].map(|end| end.map(lag)) })
    }

    /// Returns the growths of the times of bus and gap at an end since `before`, first that of the part that packets pass
    /// last. The times of `packets` packets that come have grown by `coming`, or by less. `None`: they may grow
    /// differently in the next period.
    fn growths(
        &self,
        (before, end): (&Self, usize),
        packets: u64,
        (mut coming, mut is_exact): (u64, bool),
        order: [usize; 2],
    ) -> Option<(u64, [Option<u64>; 2])> {
        let (mut growths, mut last) = ([None; 2], 0);
        for part in order {
            let Some((now, before)) = self.free_at[end][part].zip(before.free_at[end][part]) else { continue };
            let growth = now - before;
            let has_no_break = growth == packets * self.services[end][part] && growth >= coming;
            let follows = is_exact && growth == coming;
            if !has_no_break && !follows {
                return None;
            }
            (coming, is_exact, last) = (growth, true, growth);
            growths[part] = Some(growth);
        }
        Some((last, growths))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lags after a period of 40 ticks of 10 ps with 4 packets, each of which takes 8 ticks on the link. The
    /// next one is generated `generated` ticks later, and bus and gap are free `grown` picoseconds later, by end. They are
    /// occupied by a packet for `services`, and its bytes come in the time `stream`.
    fn lags(generated: u64, grown: [[Option<u64>; 2]; 2], services: [u64; 2], stream: u64) -> Option<Lags> {
        let services = [services; 2];
        let times = |generated_at, free_at| InterfaceTimes { generated_at, free_at, services, stream };
        let before = times(700, grown.map(|end| end.map(|part| part.map(|_| 5000))));
        let after = grown.map(|end| end.map(|part| part.map(|growth| 5000 + growth)));
        times(700 + generated, after).lags(&before, ([4; 2], 8), (40, 10))
    }

    const NONE: [Option<u64>; 2] = [None; 2];

    #[test]
    fn times_of_sending_parts_lag_behind_the_link_or_the_network() {
        // Would catch a lag of a part that is moved by the lag of the link, and a part that is taken for another one.
        let of = |latency, sending| Some(Lags { latency, parts: [sending, [0; 2]] });
        let sending = |bus, gap| [[Some(bus), Some(gap)], NONE];
        assert_eq!(lags(32, [NONE; 2], [0; 2], 0), of(8, [0; 2]), "no parts");
        assert_eq!(lags(32, sending(200, 200), [50, 0], 0), of(8, [200, 200]), "the link is slower");
        assert_eq!(lags(40, sending(200, 400), [50, 100], 0), of(0, [200, 0]), "the gap is slower");
        assert_eq!(lags(36, sending(360, 360), [90, 0], 0), of(4, [40, 40]), "the network is slower");
        assert_eq!(lags(32, sending(200, 200), [50, 0], 49), of(8, [200, 200]), "bytes come faster");
    }

    #[test]
    fn times_of_receiving_parts_follow_the_arrivals_or_run_ahead() {
        // Would catch a backlog that is forgotten.
        let of = |receiving| Some(Lags { latency: 8, parts: [[0; 2], receiving] });
        let receiving = |bus, gap| [NONE, [Some(bus), Some(gap)]];
        assert_eq!(lags(32, receiving(400, 400), [50, 90], 0), of([0, 0]));
        assert_eq!(lags(32, receiving(440, 400), [110, 90], 0), of([-40, 0]), "the bus is slower");
        assert_eq!(lags(32, receiving(440, 440), [20, 110], 0), of([-40, -40]), "the bus follows the gap");
    }

    #[test]
    fn times_that_may_grow_differently_in_the_next_period_have_no_lags() {
        // Would catch periods that are skipped while a part catches up, or falls behind.
        let sending = |bus, gap| [[Some(bus), Some(gap)], NONE];
        assert_eq!(lags(36, sending(200, 200), [50, 0], 0), None, "the link has waited, and does so no more");
        assert_eq!(lags(32, sending(360, 360), [90, 0], 0), None, "the link will wait");
        assert_eq!(lags(32, sending(200, 80), [50, 20], 0), None, "the gap ends earlier work");
        assert_eq!(lags(32, sending(210, 210), [50, 0], 0), None, "the bus has had a break");
        assert_eq!(lags(32, sending(200, 200), [50, 0], 50), None, "bytes come no faster than the bus passes them");
        let receiving = |bus, gap| [NONE, [Some(bus), Some(gap)]];
        assert_eq!(lags(32, receiving(440, 400), [100, 90], 0), None, "the bus has waited for its first packet");
        assert_eq!(lags(32, receiving(360, 400), [90, 90], 0), None, "the bus ends earlier work");
        assert_eq!(lags(48, [NONE; 2], [0; 2], 0), None, "packets are generated faster than they leave");
    }
}
