//! Traces in JSON: `workload_graph` for Chakra's feeder, nodes in protobuf's JSON form, and PyTorch's host trace.

use std::collections::BTreeSet;
use std::path::Path;

use formats::json::Unique;
use serde_json::{Map, Value};
use units::shortened;

use super::error::ChakraError;
use super::pytorch;
use super::schema::{Attribute, Node, NodeType, Values};
use super::values::{READ, Visit, attribute, numbers, text, unread_inputs, whole};

/// Header of a file: its content besides nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Head {
    /// Number of ranks stated in the file.
    pub ranks: Option<u64>,
    /// Whether it is a host trace, without devices.
    pub of_host: bool,
    /// Keys beside the list of nodes that are not read.
    pub left_out: BTreeSet<String>,
}

/// Keys beside the nodes that are read, and what PyTorch and Chakra write about the recording itself.
const HEAD: [&str; 9] =
    ["workload_graph", "nodes", "ngpus", "schema", "version", "pid", "time", "start_ts", "finish_ts"];

/// Visits the nodes of a file.
///
/// # Errors
/// Text that is not a trace in JSON, and nodes that `visit` refuses.
pub(super) fn read(path: &Path, visit: &mut Visit<'_>) -> Result<Head, ChakraError> {
    let wrong = |reason: String| ChakraError::Json { file: path.display().to_string(), reason };
    let text = super::files::text_of(path, units::input::CHAKRA_JSON)?;
    let mut head = Head::default();
    let (mut is_empty, mut has_list) = (true, false);
    for value in serde_json::Deserializer::from_str(&text).into_iter::<Unique>() {
        let Unique(value) = value.map_err(|error| wrong(format!("it cannot be read as JSON: {error}")))?;
        is_empty = false;
        let Value::Object(mut own) = value else {
            return Err(wrong("an object with `workload_graph` or `nodes` is expected".to_owned()));
        };
        let lists = ["workload_graph", "nodes"].iter().filter(|&&key| own.contains_key(key)).count();
        if has_list && lists > 0 || lists > 1 {
            return Err(wrong("the list of its nodes (`workload_graph` or `nodes`) is there twice".to_owned()));
        }
        has_list |= lists > 0;
        if lists > 0 {
            let keys = own.keys().filter(|key| !HEAD.contains(&key.as_str()));
            head.left_out.extend(keys.map(|key| shortened(key)));
        }
        if let Some(graph) = own.remove("workload_graph") {
            head.ranks = own.get("ngpus").and_then(whole);
            each(list(graph, "workload_graph").map_err(&wrong)?, &wrong, visit)?;
        } else if let Some(nodes) = own.remove("nodes") {
            let nodes = list(nodes, "nodes").map_err(&wrong)?;
            if own.contains_key("schema") {
                head.of_host = true;
                pytorch::each(nodes, &wrong, visit)?;
            } else {
                each(nodes, &wrong, visit)?;
            }
        } else if own.contains_key("id") || own.contains_key("type") {
            each(vec![Value::Object(own)], &wrong, visit)?;
        } else if !own.contains_key("version") && !own.contains_key("attr") {
            return Err(wrong("there is no `workload_graph` and no `nodes` in it".to_owned()));
        }
    }
    if is_empty { Err(wrong("it is empty".to_owned())) } else { Ok(head) }
}

fn list(value: Value, key: &str) -> Result<Vec<Value>, String> {
    match value {
        Value::Array(values) => Ok(values),
        _ => Err(format!("`{key}` is no list")),
    }
}

fn each(nodes: Vec<Value>, wrong: &dyn Fn(String) -> ChakraError, visit: &mut Visit<'_>) -> Result<(), ChakraError> {
    for (place, node) in nodes.into_iter().enumerate() {
        let Value::Object(own) = node else { return Err(wrong(format!("entry {place} of the nodes is no object"))) };
        let (node, micros) = node_of(own).map_err(|reason| wrong(format!("entry {place} of the nodes: {reason}")))?;
        visit(node, micros)?;
    }
    Ok(())
}

/// Returns a node and its duration in microseconds. Keys are those of the feeder's JSON, or of protobuf's.
fn node_of(own: Map<String, Value>) -> Result<(Node, f64), String> {
    let (mut node, mut micros) = (Node::default(), 0.0);
    let mut given = BTreeSet::new();
    for (key, value) in own {
        let wrong = || format!("`{key}` is {value}, which is not allowed");
        let name = canonical(&key);
        if !given.insert(name.clone()) {
            return Err(format!("`{name}` is there twice, once as `{key}`"));
        }
        match name.as_str() {
            "id" => node.id = whole(&value).ok_or_else(wrong)?,
            "name" => value.as_str().ok_or_else(wrong)?.clone_into(&mut node.name),
            "node_type" => node.r#type = type_of(&value).ok_or_else(wrong)?,
            "ctrl_deps" => node.ctrl_deps = numbers(&value).ok_or_else(wrong)?,
            "data_deps" => node.data_deps = numbers(&value).ok_or_else(wrong)?,
            "runtime" => micros = real(&value).filter(|&time| time >= 0.0).ok_or_else(wrong)?,
            "inputs" => {
                let values = value.get("values").map_or(String::new(), text);
                node.inputs = Some(Values { values });
                node.attr.extend(unread_inputs(&value));
            }
            "attr" => {
                let all = value.as_array().ok_or_else(wrong)?;
                for entry in all {
                    let name = entry.get("name").and_then(Value::as_str).ok_or("an entry of `attr` has no name")?;
                    // An attribute without a value that is read is counted as left out.
                    let without = || (!READ.contains(&name)).then(|| Attribute::flag(name, true));
                    node.attr.extend(named(entry).or_else(without));
                }
            }
            // Fields of the schema that the reader of protobuf skips too.
            "start_time_micros" | "outputs" => {}
            name => node.attr.extend(attribute(name, &value)),
        }
    }
    // Protobuf omits values of 0.
    if !given.contains("id") && node.r#type == 0 {
        return Err("it has neither `id` nor `type`".to_owned());
    }
    Ok((node, micros))
}

/// Parses an entry of a list of attributes: a name, and a value whose key may state its type.
fn named(entry: &Value) -> Option<Attribute> {
    let own = entry.as_object()?;
    let name = own.get("name")?.as_str()?;
    let (key, value) =
        own.iter().find(|(key, _)| !["name", "type", "docString", "doc_string"].contains(&key.as_str()))?;
    let number = || value.as_str().and_then(|text| text.parse::<u64>().ok());
    match snake(key).as_str() {
        "bool_list" => attribute(name, value.get("values")?),
        typed if typed.contains("int") || typed.contains("fixed") => {
            number().map_or_else(|| attribute(name, value), |number| Some(Attribute::number(name, number)))
        }
        _ => attribute(name, value),
    }
}

/// Returns the name by which a key of a node is read: in snake case, the feeder's where protobuf has another.
fn canonical(key: &str) -> String {
    let name = snake(key);
    match name.as_str() {
        "type" => "node_type".to_owned(),
        "duration_micros" => "runtime".to_owned(),
        "attrs" => "attr".to_owned(),
        _ => name,
    }
}

/// Converts a key to snake case.
fn snake(key: &str) -> String {
    let mut found = String::new();
    let mut before = '_';
    for letter in key.chars() {
        if letter.is_ascii_uppercase() && before.is_ascii_lowercase() {
            found.push('_');
        }
        found.push(letter.to_ascii_lowercase());
        before = letter;
    }
    found
}

fn real(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// Parses a node type, given by number or by name.
fn type_of(value: &Value) -> Option<i32> {
    match value.as_str() {
        Some(name) => NodeType::named(name).map(|kind| kind as i32).or_else(|| name.parse().ok()),
        None => value.as_i64().and_then(|number| i32::try_from(number).ok()),
    }
}
