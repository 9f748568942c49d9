//! Model of a message's latency without contention: equation 1 of Bhatele, "Scalable topology aware object mapping for
//! large supercomputers".

use units::{Bandwidth, Bytes, Time};

/// Two terms of equation 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageLatency {
    /// Term of the distance: the time of a flit on each link.
    pub distance: Time,
    /// Term of the length: the time of the message on one link.
    pub length: Time,
}

/// Returns the terms of equation 1, L_f / B * D + L / B: a message of L bytes over D links of bandwidth B, where the
/// sender of a link has to have received a flit of L_f bytes before it forwards it. `None` if a time is too long to
/// represent.
pub fn message_latency(flit: Bytes, bandwidth: Bandwidth, links: u32, length: Bytes) -> Option<MessageLatency> {
    let (hop, _) = bandwidth.serialization(flit)?;
    let (length, _) = bandwidth.serialization(length)?;
    Some(MessageLatency { distance: Time(hop.0.checked_mul(u64::from(links))?), length })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_hops_cost_a_quarter_of_a_kilobyte() {
        // Section 1: with flits of 32 bytes, a message of 1024 bytes and 8 links the first term is a quarter of the
        // second.
        for bandwidth in ["425 MB/s", "1 Gb/s", "3.8 GB/s"] {
            let bandwidth: Bandwidth = bandwidth.parse().unwrap();
            let latency = message_latency(Bytes(32), bandwidth, 8, Bytes(1024)).unwrap();
            let ratio = latency.distance.0 as f64 / latency.length.0 as f64;
            assert!((ratio - 0.25).abs() < 1e-3, "{ratio}");
        }
        assert_eq!(message_latency(Bytes(u64::MAX), Bandwidth(1), 2, Bytes(1)), None);
    }
}
