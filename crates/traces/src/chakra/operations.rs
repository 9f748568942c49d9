//! Collective operations by their numbers and names in traces.

use mpi::collectives::Operation;

/// Returns the operation with a number in the schema.
pub(super) fn operation_of(number: u64) -> Result<Operation, String> {
    Ok(match number {
        0 => Operation::Allreduce,
        1 => Operation::Reduce,
        2 => Operation::Allgather,
        3 => Operation::Gather,
        4 => Operation::Scatter,
        5 => Operation::Broadcast,
        6 => Operation::Alltoall,
        7 | 8 => Operation::ReduceScatter,
        9 => Operation::Barrier,
        _ => return Err(format!("`comm_type` is {number}, which is unknown: 0 to 9 are allowed")),
    })
}

/// Returns the operation named in a kernel or a call, such as `ncclDevKernel_AllReduce_Sum_f32_RING_LL` or
/// `_allgather_base`.
pub(super) fn operation_named(name: &str) -> Option<Operation> {
    // Longer names precede the names that they contain.
    const NAMES: [(&str, Operation); 10] = [
        ("allreduce", Operation::Allreduce),
        ("allgather", Operation::Allgather),
        ("reducescatter", Operation::ReduceScatter),
        ("alltoall", Operation::Alltoall),
        ("broadcast", Operation::Broadcast),
        ("bcast", Operation::Broadcast),
        ("barrier", Operation::Barrier),
        ("gather", Operation::Gather),
        ("scatter", Operation::Scatter),
        ("reduce", Operation::Reduce),
    ];
    let plain: String =
        name.chars().filter(|&letter| letter != '_').map(|letter| letter.to_ascii_lowercase()).collect();
    NAMES.into_iter().find(|(own, _)| plain.contains(own)).map(|(_, operation)| operation)
}
