//! Temporary buffers that MPI libraries allocate in each call, and the part of them that a rank writes to new pages.
//!
//! The buffers are those of Open MPI's component `coll/base` and of libbine. Both allocate them by `malloc` and free
//! them at the end of the call. In the GNU C library (`mallopt(3)`), a block of more than 32 MiB is always mapped and
//! unmapped. Smaller blocks come from the heap, whose free end is returned to the kernel if it exceeds twice the
//! largest block that has been unmapped. The pages of returned memory fault again in the next call. Buffers into which
//! a rank only receives are left out: interfaces that register them do not fault page by page.

use super::call::Collective;
use super::table::{Algorithm, Operation};

/// Largest block that the GNU C library takes from the heap, in bytes.
const LARGEST_OF_HEAP: u64 = 32 << 20;
/// Smallest sum of blocks of which the heap returns memory, in bytes. A process has unmapped blocks of a few hundred
/// KiB before, in its initialization (an assumption).
const LEAST_RETURNED: u64 = 512 << 10;
/// Unused memory at the end of the heap that the GNU C library does not return, in bytes.
const PAD: u64 = 128 << 10;

/// Buffers of one member that exist at once.
struct Buffers {
    /// Size of the buffer that the member fills with its own data, in bytes.
    written: u64,
    /// Sizes of the buffers into which it receives, in bytes.
    received: [u64; 2],
}

/// Returns the bytes of new pages that a member writes in its temporary buffers in each call. `own` is the number of
/// the member in a group of `members` members.
pub(super) fn new_bytes(call: &Collective, own: u32, members: u32) -> u64 {
    let Buffers { written, received: [first, second] } = buffers(call, own, members);
    if written > LARGEST_OF_HEAP {
        return written;
    }
    let in_heap = [written, first, second].into_iter().filter(|&bytes| bytes <= LARGEST_OF_HEAP);
    let (sum, largest) = in_heap.fold((0, 0), |(sum, largest), bytes| (sum + bytes, bytes.max(largest)));
    if sum > LEAST_RETURNED && sum + PAD > 2 * largest { written } else { 0 }
}

/// Returns the buffers of a member, of the algorithms that write any.
fn buffers(call: &Collective, own: u32, members: u32) -> Buffers {
    use {Algorithm as A, Operation as O};
    let bytes = call.operation.buffer(call.bytes, members);
    let part = bytes / u64::from(members.max(1));
    let own_data = if members > 1 { bytes } else { 0 };
    match (call.operation, call.algorithm) {
        (O::Reduce, A::Rabenseifner | A::RabenseifnerDoubling | A::Bine | A::BineDoubling | A::BineBandwidth)
            if own != call.root =>
        {
            Buffers { written: own_data, received: [bytes, 0] }
        }
        (O::ReduceScatter, A::Ring) => Buffers { written: own_data, received: [part, part] },
        (
            O::ReduceScatter,
            A::RecursiveHalving
            | A::RecursiveDistanceDoubling
            | A::BinePermute
            | A::BineSend
            | A::BineBlocks
            | A::BineTwo
            | A::BineDatatype,
        ) => Buffers { written: own_data, received: [bytes, 0] },
        _ => Buffers { written: 0, received: [0; 2] },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(which: (Operation, Algorithm), bytes: u64, own: u32) -> u64 {
        new_bytes(&Collective::new(which.0, which.1, bytes), own, 32)
    }

    #[test]
    fn pages_are_new_by_the_rules_of_the_library_of_c() {
        // Would catch a buffer that is forgotten or counted for a member that has none, and a block of the heap that stays.
        use {Algorithm as A, Operation as O};
        const KIB: u64 = 1 << 10;
        const MIB: u64 = 1 << 20;
        // Two blocks of equal size are returned, unless they are small.
        assert_eq!(bytes((O::ReduceScatter, A::RecursiveHalving), 128 * KIB, 3), 0);
        assert_eq!(bytes((O::ReduceScatter, A::RecursiveHalving), MIB, 3), MIB);
        assert_eq!(bytes((O::ReduceScatter, A::BinePermute), 64 * MIB, 3), 64 * MIB);
        // A ring keeps its buffer in the heap, because the blocks of parts are small beside it.
        assert_eq!(bytes((O::ReduceScatter, A::Ring), 32 * MIB, 3), 0);
        assert_eq!(bytes((O::ReduceScatter, A::Ring), 64 * MIB, 3), 64 * MIB);
        // An allreduce writes into the result, and receives into its temporary buffer.
        assert_eq!(bytes((O::Allreduce, A::RecursiveDoubling), 64 * MIB, 3), 0);
        // The root of a reduction has a receive buffer.
        assert_eq!(bytes((O::Reduce, A::RabenseifnerDoubling), 8 * MIB, 0), 0);
        assert_eq!(bytes((O::Reduce, A::RabenseifnerDoubling), 8 * MIB, 1), 8 * MIB);
        assert_eq!(bytes((O::Broadcast, A::Binomial), 64 * MIB, 1), 0);
        let alone = Collective::new(O::ReduceScatter, A::Ring, 64 * MIB);
        assert_eq!(new_bytes(&alone, 0, 1), 0);
    }
}
