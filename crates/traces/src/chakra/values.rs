//! JSON values in traces.

use serde_json::{Map, Value};

use super::error::ChakraError;
use super::schema::{Attribute, Node};

/// Visitor of a node and its duration in microseconds.
pub(super) type Visit<'a> = dyn FnMut(Node, f64) -> Result<(), ChakraError> + 'a;

/// Converts a value to an attribute. `None` if no attribute has such a value.
pub(super) fn attribute(name: &str, value: &Value) -> Option<Attribute> {
    match value {
        Value::Bool(flag) => Some(Attribute::flag(name, *flag)),
        Value::String(text) => Some(Attribute::text(name, text)),
        Value::Number(number) => Some(match (number.as_u64(), number.as_i64()) {
            (Some(whole), _) => Attribute::number(name, whole),
            (_, Some(whole)) => Attribute::signed(name, whole),
            _ => Attribute::real(name, number.as_f64()?),
        }),
        Value::Array(values) if !values.is_empty() => {
            let flags: Option<Vec<bool>> = values.iter().map(Value::as_bool).collect();
            flags.map_or_else(|| Some(unread(name, value)), |flags| Some(Attribute::flags(name, flags)))
        }
        Value::Array(_) | Value::Object(_) => Some(unread(name, value)),
        Value::Null => None,
    }
}

/// Attributes that are read. Others are counted.
pub(super) const READ: [&str; 13] = [
    "comm_type",
    "comm_size",
    "comm_tag",
    "comm_src",
    "comm_dst",
    "pg_name",
    "involved_dim",
    "is_cpu_op",
    "root_rank",
    "root",
    "num_ops",
    "stream",
    "tid",
];

/// Keys of the inputs of a node, of which the values are read.
const INPUTS: [&str; 4] = ["values", "shapes", "types", "strides"];

/// Returns the keys of a node's inputs that have no meaning, as attributes to be counted.
pub(super) fn unread_inputs(inputs: &Value) -> impl Iterator<Item = Attribute> + '_ {
    let keys = inputs.as_object().into_iter().flat_map(Map::keys);
    keys.filter(|key| !INPUTS.contains(&key.as_str())).map(|key| Attribute::flag(&format!("inputs.{key}"), true))
}

/// Keeps a value of another shape than is read as text, so that the reader of the attribute refuses it.
fn unread(name: &str, value: &Value) -> Attribute {
    Attribute::text(name, &value.to_string())
}

/// A whole number from 0 on, which protobuf writes as text.
pub(super) fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Parses node numbers: a list or a single number.
pub(super) fn numbers(value: &Value) -> Option<Vec<u64>> {
    match value {
        Value::Array(values) => values.iter().map(whole).collect(),
        Value::Null => Some(Vec::new()),
        one => Some(vec![whole(one)?]),
    }
}

/// Returns a text as it is, and any other value in JSON.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
