//! Calls as rows of numbers, as `cutthrough.programs.calling` writes them.

use mpi::collectives::{Algorithm, Collective, Operation, algorithms};
use mpi::program::calls::{ANY_SIZE, Calls, CallsBuilder};
use mpi::program::{Action, Burst, Context, ScriptCall};

/// Number of columns of a row. The columns of a point-to-point call are: the code of the call; the peer rank or the
/// request (-1 for any rank); bytes (-1 for any) or picoseconds; the tag (-1 for any); the number of operations of a
/// burst (0: not a burst); its stride. The columns of a collective operation are: the code; the communicator; bytes;
/// the root; operation and algorithm (packed); members and time of combining (packed).
const COLUMNS: usize = 6;

/// Decoded row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// Call that the simulator carries out.
    Step(ScriptCall),
    /// Query of the current time.
    Time,
}

/// Iterates over 64-bit numbers given as bytes in the machine's order.
fn longs(bytes: &[u8]) -> impl Iterator<Item = i64> + '_ {
    bytes.chunks_exact(8).map(|word| i64::from_ne_bytes(std::array::from_fn(|at| word[at])))
}

/// Decodes rows.
pub fn rows(bytes: &[u8]) -> Result<Vec<Row>, String> {
    let numbers: Vec<i64> = longs(bytes).collect();
    numbers.as_chunks::<COLUMNS>().0.iter().map(row).collect()
}

fn row(&[code, peer, amount, tag, count, last]: &[i64; COLUMNS]) -> Result<Row, String> {
    // For messages, the communicator is stored above the stride.
    let (stride, number) = (last & 0xffff_ffff, last >> 32);
    let context = || {
        let number = u32::try_from(number).ok().and_then(Context::new);
        number.ok_or_else(|| "there is no such communicator".to_owned())
    };
    let amount = u64::try_from(amount).unwrap_or(ANY_SIZE);
    let small = |number: i64, what: &str| u32::try_from(number).map_err(|_| format!("{number} is not {what}"));
    let open = |number: i64, what: &str| if number == -1 { Ok(None) } else { small(number, what).map(Some) };
    let step = match code {
        0 => ScriptCall::Do(Action::Calc { time: amount }),
        1 => burst(
            Action::send(small(peer, "a rank")?, amount, small(tag, "a tag")?).within(context()?),
            (small(count, "a number of operations")?, small(stride, "a stride")?),
        ),
        2 => burst(
            Action::recv(open(peer, "a rank")?, amount, open(tag, "a tag")?).within(context()?),
            (small(count, "a number of operations")?, small(stride, "a stride")?),
        ),
        3 => ScriptCall::Wait(small(peer, "a request")?),
        4 => ScriptCall::WaitAll,
        5 => ScriptCall::WaitAny,
        6 => ScriptCall::Test,
        7 => return Ok(Row::Time),
        8 => ScriptCall::End,
        9 | 10 => {
            let call = collective((count, last), amount, (small(peer, "a communicator")?, small(tag, "a member")?))?;
            if code == 9 { ScriptCall::Collective(call) } else { ScriptCall::StartCollective(call) }
        }
        11 | 12 => {
            let (from, tag) = (open(peer, "a rank")?, open(tag, "a tag")?);
            ScriptCall::Do(Action::Probe { from, tag, context: context()?, waits: code == 11 })
        }
        _ => return Err(format!("{code} is no call")),
    };
    Ok(Row::Step(step))
}

/// Decodes a collective operation from the last two numbers of its row. Bytes 0 and 1 of the first are the numbers of
/// the operation and, from 1 on, of the algorithm (0: selected at run time); above them are the bytes of a segment. The
/// lower 32 bits of the second are the members of the communicator, the upper 32 the time in picoseconds a byte.
fn collective((which, of): (i64, i64), bytes: u64, (communicator, root): (u32, u32)) -> Result<Collective, String> {
    let absent = || format!("{which} is no collective operation");
    let operation =
        usize::try_from(which & 0xff).ok().and_then(|number| Operation::ALL.get(number)).ok_or_else(absent)?;
    let algorithm = match usize::try_from(which >> 8 & 0xff).map_err(|_| absent())? {
        0 => Algorithm::Auto,
        number => *Algorithm::ALL.get(number - 1).ok_or_else(absent)?,
    };
    let segment = u64::try_from(which >> 16).map_err(|_| absent())?;
    let time_per_byte = u64::try_from(of >> 32).unwrap_or(0);
    // Segments with an algorithm selected at run time have been refused before.
    let call = Collective::new(*operation, algorithm, bytes);
    Ok(Collective { communicator, root, segment, time_per_byte, ..call })
}

/// Returns names in the order of their numbers: of operations, each with the algorithms that serve it where nodes are
/// not known; and of algorithms.
pub fn names() -> (Vec<(&'static str, Vec<&'static str>)>, Vec<&'static str>) {
    let serving = |operation: Operation| {
        let named = algorithms(operation).filter(|&algorithm| algorithm != Algorithm::Hierarchical);
        named.map(Algorithm::name).collect()
    };
    let operations = Operation::ALL.map(|operation| (operation.name(), serving(operation)));
    (operations.into(), Algorithm::ALL.map(Algorithm::name).into())
}

fn burst(first: Action, (count, stride): (u32, u32)) -> ScriptCall {
    if count == 0 { ScriptCall::Do(first) } else { ScriptCall::Burst(Burst { first, count, stride }) }
}

/// Decodes the calls of all ranks. `counts` is the number of calls of each rank; `groups` are the ranks of
/// communicators, numbered from 1 on.
pub fn calls(counts: &[u8], bytes: &[u8], groups: Vec<Vec<u32>>) -> Result<Calls, String> {
    let mut rows = rows(bytes)?.into_iter();
    let counts: Vec<i64> = longs(counts).collect();
    let mut builder =
        CallsBuilder::new(u32::try_from(counts.len()).map_err(|_| "there are too many ranks".to_owned())?);
    for ranks in groups {
        builder.communicator(ranks).map_err(|error| error.to_string())?;
    }
    for (rank, &count) in (0..).zip(&counts) {
        let own = rows.by_ref().take(usize::try_from(count).unwrap_or(0));
        for (number, row) in own.enumerate() {
            // A query of the time has no effect.
            let Row::Step(step) = row else { continue };
            builder.push(rank, step).map_err(|error| format!("rank {rank}, call {number}: {error}"))?;
        }
    }
    Ok(builder.build())
}
