//! Sizes of packets and messages.

use units::{Bytes, KeyError};

use super::build_context::BuildContext;

/// Largest size of packets and messages, in bytes: sizes are counted in 32 bits.
pub(super) const LARGEST: u64 = 1 << 30;

/// Returns the size of a workload's packets in bytes: `given`, or the default.
pub(super) fn packet_size(given: Option<Bytes>, context: &BuildContext<'_>) -> Result<u32, KeyError> {
    check_size("packet_size", given.unwrap_or(context.packet))
}

/// Checks a size of packets or messages. Returns it in bytes.
pub(super) fn check_size(key: &str, size: Bytes) -> Result<u32, KeyError> {
    if !(1..=LARGEST).contains(&size.0) {
        let message = format!("{size} is out of range: 1 B to 1 GiB are allowed");
        return Err(KeyError::new(format!("workload.{key}"), message));
    }
    Ok(size.0 as u32)
}
