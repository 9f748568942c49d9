//! PyTorch's host trace (`ExecutionTraceObserver`), the input of Chakra's converter: the calls of the framework, each
//! nested in its caller. It has no durations and no kernels. Its collective operations are the calls
//! `record_param_comms`. The calls around and below these belong to the operation too.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use units::shortened;

use super::error::ChakraError;
use super::groups;
use super::operations::operation_named;
use super::schema::{Attribute, Node, NodeType, Values};
use super::values::{READ, Visit, attribute, numbers, text, unread_inputs, whole};

/// Name of calls of the communication library.
const COMMUNICATION: &str = "record_param_comms";

/// Attribute of a call other than a collective operation, with the name of the call.
pub(super) const OTHER: &str = "left_out";

/// Keys of a node that are read, and `outputs`, which the reader of protobuf skips too.
const KEYS: [&str; 7] = ["id", "name", "ctrl_deps", "parent", "inputs", "outputs", "attrs"];

/// Visits the nodes of a trace.
pub(super) fn each(
    nodes: Vec<Value>,
    wrong: &dyn Fn(String) -> ChakraError,
    visit: &mut Visit<'_>,
) -> Result<(), ChakraError> {
    let mut backends = BTreeMap::new();
    for (place, node) in nodes.into_iter().enumerate() {
        let Value::Object(own) = node else { return Err(wrong(format!("entry {place} of the nodes is no object"))) };
        let entry = |reason: String| wrong(format!("entry {place} of the nodes: {reason}"));
        if own.contains_key("exclusive_dur") {
            let reason = "it is linked with a trace of devices: `chakra_converter` makes a trace with kernels of it";
            return Err(wrong(reason.to_owned()));
        }
        let node = node_of(own, &mut backends).map_err(entry)?;
        visit(node, 0.0)?;
    }
    Ok(())
}

/// Returns the node of a call. `backends` holds the names of process groups by the numbers of their communication
/// backends.
fn node_of(own: Map<String, Value>, backends: &mut BTreeMap<u64, String>) -> Result<Node, String> {
    let id = own.get("id").and_then(whole).ok_or("it has no `id`")?;
    let name = own.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let above = own.get("ctrl_deps").or_else(|| own.get("parent"));
    let above = above.map_or(Some(Vec::new()), numbers).ok_or("`ctrl_deps` is no number of a node")?;
    // The first call is nested in itself.
    let ctrl_deps = above.into_iter().filter(|&other| other != id).collect();
    let values = own.get("inputs").map(|inputs| inputs.get("values").unwrap_or(inputs)).and_then(Value::as_array);
    let mut node = Node { id, r#type: NodeType::Metadata as i32, ctrl_deps, name, ..Node::default() };
    let values = values.map_or(&[][..], Vec::as_slice);
    let unread = own.keys().filter(|key| !KEYS.contains(&key.as_str()) && !READ.contains(&key.as_str()));
    node.attr.extend(unread.map(|key| Attribute::flag(key, true)));
    node.attr.extend(own.get("inputs").into_iter().flat_map(unread_inputs));
    if groups::describes(&node.name) {
        let values = values.first().map_or_else(String::new, text);
        groups::backends(&values, backends)?;
        node.inputs = Some(Values { values });
    } else if node.name == COMMUNICATION {
        let mut attributes = BTreeMap::new();
        let entries = own.get("attrs").and_then(Value::as_array).into_iter().flatten();
        for (name, value) in entries.filter_map(|entry| Some((entry.get("name")?.as_str()?, entry.get("value")?))) {
            if attributes.insert(name, value).is_some() {
                return Err(format!("the attribute `{}` is there twice", shortened(name)));
            }
        }
        communicates(&mut node, values, &attributes, backends);
    }
    Ok(node)
}

/// Turns a node into a collective operation, if it is one.
fn communicates(
    node: &mut Node,
    values: &[Value],
    attributes: &BTreeMap<&str, &Value>,
    backends: &BTreeMap<u64, String>,
) {
    let called = attributes.get("collective_name").copied().or_else(|| values.iter().find(|value| value.is_string()));
    let called = called.map_or_else(|| "an operation without a name".to_owned(), text);
    if operation_named(&called).is_none() {
        return node.attr.push(Attribute::text(OTHER, &called));
    }
    node.r#type = NodeType::CommColl as i32;
    node.attr.push(Attribute::text("comm_type", &called));
    let tensors = values.first().map_or(0, bytes_of);
    let bytes = if tensors > 0 { tensors } else { counted(attributes) };
    node.attr.push(Attribute::number("comm_size", bytes));
    let listed =
        || values.iter().filter_map(Value::as_array).find_map(|list| list.first().filter(|own| own.is_string()));
    let of_backend = || values.iter().filter_map(whole).find_map(|number| backends.get(&number));
    let group = attributes.get("pg_name").copied().or_else(listed).and_then(|name| attribute("pg_name", name));
    node.attr.extend(group.or_else(|| Some(Attribute::text("pg_name", of_backend()?))));
}

/// Returns the bytes of a tensor `[id, storage, offset, elements, bytes of an element, device]`, or of all tensors in a
/// list.
fn bytes_of(value: &Value) -> u64 {
    let Value::Array(values) = value else { return 0 };
    match values.as_slice() {
        [_, _, Value::Number(_), elements, size, Value::String(_)] => {
            whole(elements).unwrap_or(0).saturating_mul(whole(size).unwrap_or(0))
        }
        list => list.iter().map(bytes_of).fold(0, u64::saturating_add),
    }
}

/// Returns the bytes stated by the attributes of newer traces: number of elements times size of their type.
fn counted(attributes: &BTreeMap<&str, &Value>) -> u64 {
    let elements = attributes.get("in_msg_nelems").copied().and_then(whole).unwrap_or(0);
    let size = match attributes.get("dtype").and_then(|kind| kind.as_str()).unwrap_or_default() {
        "Double" | "Long" | "ComplexFloat" => 8,
        "Half" | "BFloat16" | "Short" => 2,
        "Byte" | "Char" | "Bool" => 1,
        _ => 4,
    };
    elements.saturating_mul(size)
}
