//! Text form of a single call. See [`super::text`].

use units::{Bytes, Time};

use crate::collectives::{Algorithm, Collective, Operation};
use crate::program::{Action, Burst, Context, ScriptCall};

/// Size of a receive that accepts a message of any size, in bytes.
pub const ANY_SIZE: u64 = u64::MAX;

/// First words of a line, other than the names of collective operations.
const WORDS: &str = "ranks, communicator, rank, calc, isend, irecv, wait, waitall, waitany, test, poll, probe, iprobe, after, start, or a collective operation";

/// Parses the words of a line.
///
/// # Errors
/// A description of the syntax error.
pub fn step(words: &[&str]) -> Result<ScriptCall, String> {
    match words {
        ["calc", time @ ..] => Ok(ScriptCall::Do(Action::Calc { time: quantity::<Time>(time)?.0 })),
        ["isend", rest @ ..] => {
            let (size, rest) = until(rest, "to")?;
            let (to, rest) = rank(rest)?;
            let (tag, rest) = tag(rest)?;
            let (context, rest) = context(rest)?;
            let to = to.ok_or("a send is to a rank, not to `any`")?;
            let tag = tag.ok_or("`tag any` is for receives")?;
            burst(Action::send(to, quantity::<Bytes>(size)?.0, tag).within(context), rest)
        }
        ["irecv", rest @ ..] => {
            let (size, rest) = until(rest, "from")?;
            let bytes = if size.is_empty() { ANY_SIZE } else { quantity::<Bytes>(size)?.0 };
            let (from, rest) = rank(rest)?;
            let (tag, rest) = tag(rest)?;
            let (context, rest) = context(rest)?;
            burst(Action::recv(from, bytes, tag).within(context), rest)
        }
        ["wait", request] => Ok(ScriptCall::Wait(number(request, "a request: they are counted from 0")?)),
        ["waitall"] => Ok(ScriptCall::WaitAll),
        ["waitany"] => Ok(ScriptCall::WaitAny),
        ["test"] => Ok(ScriptCall::Test),
        ["poll"] => Ok(ScriptCall::Do(Action::Poll)),
        ["probe", "from", rest @ ..] => probe(rest, true),
        ["iprobe", "from", rest @ ..] => probe(rest, false),
        [word @ ("probe" | "iprobe"), ..] => Err(format!("`{word}`: `from RANK` is missing")),
        ["after", request] => Ok(ScriptCall::After(number(request, "a request: they are counted from 0")?)),
        ["start", "calc", rest @ ..] => {
            let (time, unit) = match rest {
                [time @ .., "on", unit] => (time, number(unit, "a unit: 0 is the processor")?),
                _ => (rest, 0),
            };
            Ok(ScriptCall::StartCalc { time: quantity::<Time>(time)?.0, unit })
        }
        ["start", rest @ ..] => Ok(ScriptCall::StartCollective(collective(rest)?)),
        [word, ..] if operation_of(word).is_some() => Ok(ScriptCall::Collective(collective(words)?)),
        _ => Err(format!("`{}` is no call; a line begins with one of {WORDS}", words.join(" "))),
    }
}

/// List of words.
type Words<'a> = &'a [&'a str];

/// Splits `words` at `word`, which is dropped.
fn until<'a>(words: Words<'a>, word: &str) -> Result<(Words<'a>, Words<'a>), String> {
    let place = words.iter().position(|&other| other == word).ok_or_else(|| format!("`{word} RANK` is missing"))?;
    Ok((&words[..place], &words[place + 1..]))
}

fn rank<'a>(words: Words<'a>) -> Result<(Option<u32>, Words<'a>), String> {
    match words {
        ["any", rest @ ..] => Ok((None, rest)),
        [rank, rest @ ..] => Ok((Some(number(rank, "a rank")?), rest)),
        [] => Err("a rank is missing".to_owned()),
    }
}

fn tag<'a>(words: Words<'a>) -> Result<(Option<u32>, Words<'a>), String> {
    match words {
        ["tag", "any", rest @ ..] => Ok((None, rest)),
        ["tag", tag, rest @ ..] => Ok((Some(number(tag, "a tag")?), rest)),
        _ => Ok((Some(0), words)),
    }
}

/// Parses the communicator of a message.
fn context<'a>(words: Words<'a>) -> Result<(Context, Words<'a>), String> {
    match words {
        ["in", text, rest @ ..] => {
            let what = "the number of a communicator";
            let context = Context::new(number(text, what)?).ok_or_else(|| format!("`{text}` is not {what}"))?;
            Ok((context, rest))
        }
        _ => Ok((Context::WORLD, words)),
    }
}

/// Parses a probe, after `from`.
fn probe(words: Words<'_>, waits: bool) -> Result<ScriptCall, String> {
    let (from, rest) = rank(words)?;
    let (tag, rest) = tag(rest)?;
    let (context, rest) = context(rest)?;
    match rest {
        [] => Ok(ScriptCall::Do(Action::Probe { from, tag, context, waits })),
        _ => Err(format!("`{}`: nothing may stand here", rest.join(" "))),
    }
}

/// Parses the optional `times N stride S` after an operation.
fn burst(first: Action, words: Words<'_>) -> Result<ScriptCall, String> {
    let (count, stride) = match words {
        [] => return Ok(ScriptCall::Do(first)),
        ["times", count] => (count, "0"),
        ["times", count, "stride", stride] => (count, *stride),
        _ => return Err(format!("`{}`: `times N stride S` may stand here, and nothing else", words.join(" "))),
    };
    let (count, stride) = (number(count, "a number of operations")?, number(stride, "a stride from 0")?);
    Ok(ScriptCall::Burst(Burst { first, count, stride }))
}

/// Keywords after the size of a collective operation.
const KEYS: [&str; 5] = ["in", "by", "root", "segment", "per-byte"];

/// Parses a collective operation.
fn collective(words: Words<'_>) -> Result<Collective, String> {
    let [word, rest @ ..] = words else { return Err("the name of a collective operation is missing".to_owned()) };
    let all = || Operation::ALL.map(Operation::name).join(", ");
    let operation = operation_of(word).ok_or_else(|| format!("there is no `{word}`: {} are allowed", all()))?;
    let end = rest.iter().position(|word| KEYS.contains(word)).unwrap_or(rest.len());
    let bytes = if operation == Operation::Barrier && end == 0 { 0 } else { quantity::<Bytes>(&rest[..end])?.0 };
    let mut call = Collective::new(operation, Algorithm::Linear, bytes);
    let mut algorithm = None;
    let mut rest = &rest[end..];
    while let [key, value, others @ ..] = rest {
        rest = others;
        match *key {
            "in" => call.communicator = number(value, "the number of a communicator")?,
            "by" => algorithm = Some(algorithm_of(value).ok_or_else(|| no_algorithm(value))?),
            "root" => call.root = number(value, "the number of a member")?,
            // A quantity is one word or two.
            "segment" | "per-byte" => {
                let unit = others.first().filter(|word| !KEYS.contains(word));
                let words: Vec<&str> = std::iter::once(*value).chain(unit.copied()).collect();
                match *key {
                    "segment" => call.segment = quantity::<Bytes>(&words)?.0,
                    _ => call.time_per_byte = quantity::<Time>(&words)?.0,
                }
                rest = &others[usize::from(unit.is_some())..];
            }
            _ => return Err(format!("`{key}` may not stand here: `in`, `by`, `root`, `segment` and `per-byte` may")),
        }
    }
    if let [word] = rest {
        return Err(format!("`{word}` has no value"));
    }
    call.algorithm = algorithm.ok_or_else(|| format!("`by ALGORITHM` is missing: {} are allowed", algorithms()))?;
    Ok(call)
}

fn operation_of(word: &str) -> Option<Operation> {
    Operation::ALL.into_iter().find(|operation| operation.name() == word)
}

fn algorithm_of(word: &str) -> Option<Algorithm> {
    Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == word)
}

/// Returns the names of all algorithms.
fn algorithms() -> String {
    Algorithm::ALL.map(Algorithm::name).join(", ")
}

/// Returns the error message for an unknown algorithm, with the most similar name.
fn no_algorithm(word: &str) -> String {
    let likeness = |name: &str| strsim::jaro_winkler(name, word);
    let nearest = Algorithm::ALL.map(Algorithm::name).into_iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let hint = nearest.filter(|name| likeness(name) > 0.8).map(|name| format!("; did you mean `{name}`?"));
    format!("there is no algorithm `{word}`: {} are allowed{}", algorithms(), hint.unwrap_or_default())
}

/// Parses a number. `what` is its name in error messages.
///
/// # Errors
/// The text is not a number.
pub fn number<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is not {what}"))
}

fn quantity<T: std::str::FromStr<Err: std::fmt::Display>>(words: Words<'_>) -> Result<T, String> {
    words.join(" ").parse().map_err(|error: T::Err| error.to_string())
}

/// Returns the line of a call.
pub fn line_of(step: &ScriptCall) -> String {
    match *step {
        ScriptCall::Do(action) => of_action(action),
        ScriptCall::Burst(Burst { first, count, stride }) => {
            format!("{} times {count} stride {stride}", of_action(first))
        }
        ScriptCall::Wait(request) => format!("wait {request}"),
        ScriptCall::WaitAll => "waitall".to_owned(),
        ScriptCall::WaitAny => "waitany".to_owned(),
        ScriptCall::Test => "test".to_owned(),
        ScriptCall::Collective(call) => of_collective(call),
        ScriptCall::StartCollective(call) => format!("start {}", of_collective(call)),
        ScriptCall::StartCalc { time, unit: 0 } => format!("start calc {time} ps"),
        ScriptCall::StartCalc { time, unit } => format!("start calc {time} ps on {unit}"),
        ScriptCall::After(request) => format!("after {request}"),
        ScriptCall::End | ScriptCall::Fail => String::new(),
    }
}

fn of_action(action: Action) -> String {
    let line = in_world(action);
    match action.context().filter(|&context| context != Context::WORLD) {
        Some(context) => format!("{line} in {}", context.number()),
        None => line,
    }
}

/// Returns the line of an action without its communicator.
fn in_world(action: Action) -> String {
    let any = |known: Option<u32>| known.map_or("any".to_owned(), |number| number.to_string());
    match action {
        Action::Calc { time } | Action::Kernel { time } => format!("calc {time} ps"),
        Action::Poll => "poll".to_owned(),
        // Part of a collective operation, which never stands in a file.
        Action::Group(call) => call.operation.name().to_owned(),
        Action::OnNic(_) => String::new(),
        Action::Probe { from, tag, waits, .. } => {
            format!("{} from {} tag {}", if waits { "probe" } else { "iprobe" }, any(from), any(tag))
        }
        Action::Send { to, bytes, tag, .. } => format!("isend {bytes} B to {to} tag {tag}"),
        Action::Recv { from, bytes: ANY_SIZE, tag, .. } => format!("irecv from {} tag {}", any(from), any(tag)),
        Action::Recv { from, bytes, tag, .. } => format!("irecv {bytes} B from {} tag {}", any(from), any(tag)),
    }
}

fn of_collective(call: Collective) -> String {
    let Collective { communicator, operation, algorithm, bytes, root, segment, time_per_byte, .. } = call;
    let mut line = operation.name().to_owned();
    if operation != Operation::Barrier {
        line += &format!(" {bytes} B");
    }
    if communicator != 0 {
        line += &format!(" in {communicator}");
    }
    line += &format!(" by {}", algorithm.name());
    if operation.has_root() {
        line += &format!(" root {root}");
    }
    if segment > 0 {
        line += &format!(" segment {segment} B");
    }
    if time_per_byte > 0 {
        line += &format!(" per-byte {time_per_byte} ps");
    }
    line
}
