//! Documentation of the experiment file, for the command line and the documentation.

use std::borrow::Cow;

use mpi::collectives::{Algorithm, Operation, algorithms};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::errors::Parts;

/// Lists of `cutthrough list`, each with the section whose kinds it names.
const KINDS: [(&str, &str); 8] = [
    ("topologies", "topology"),
    ("routers", "router"),
    ("routings", "routing"),
    ("patterns", "workload.pattern"),
    ("benchmarks", "workload.benchmark"),
    ("programs", "workload.program"),
    ("pacers", "workload.pacer"),
    ("nics", "nic"),
];

/// JSON: the variants of each kind of part that an experiment file can name, each with its summary and keys.
#[pyfunction]
pub fn catalogue() -> String {
    let sections = sim::reference();
    let mut lists = Map::new();
    for (name, path) in KINDS {
        let of_kind = sections.iter().filter(|section| section.section == path);
        let entries = of_kind.filter_map(|section| {
            let (_, kind) = section.kind.as_ref()?;
            let keys: Vec<&str> = section.keys.iter().map(|key| key.key.as_str()).collect();
            Some(json!({ "name": kind, "summary": summary(&section.doc), "keys": keys }))
        });
        lists.insert(name.to_owned(), Value::Array(entries.collect()));
    }
    lists.insert("injections".to_owned(), Value::Array(words(&sections, "workload", "injection")));
    lists.insert("collectives".to_owned(), Value::Array(collectives(&sections)));
    Value::Object(lists).to_string()
}

/// Returns the collective operations, each with the algorithms that serve it.
fn collectives(sections: &[sim::SectionDoc]) -> Vec<Value> {
    let mut operations = words(sections, "workload.program", "operation");
    operations.dedup();
    let serving = |name: &str| {
        let operation = Operation::ALL.into_iter().find(|operation| operation.name() == name);
        operation.into_iter().flat_map(algorithms).map(Algorithm::name).collect::<Vec<_>>()
    };
    for operation in &mut operations {
        operation["keys"] = json!(operation["name"].as_str().map(serving));
    }
    operations
}

/// Converts a timeline in JSON to a file for Perfetto. `title` is the name shown there.
///
/// # Errors
/// `ValueError` if the text is not a timeline.
#[pyfunction]
pub fn perfetto(timeline: &str, title: &str) -> PyResult<Cow<'static, [u8]>> {
    let timeline = serde_json::from_str(timeline).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(sim::perfetto::trace(&timeline, title).into())
}

/// Returns the two terms of a message's latency by equation 1 of Bhatele, in nanoseconds: the term of its distance and
/// the term of its length. The message has `length` bytes and crosses `links` links of `bytes_per_s` bytes per second,
/// with flits of `flit` bytes. `None` if a time is too long to count.
#[pyfunction]
pub fn message_latency(flit: u64, bytes_per_s: u64, links: u32, length: u64) -> Option<(f64, f64)> {
    let bandwidth = units::Bandwidth(bytes_per_s.checked_mul(8)?);
    let latency =
        apps::benchmarks::latency::message_latency(units::Bytes(flit), bandwidth, links, units::Bytes(length))?;
    Some((latency.distance.as_ns(), latency.length.as_ns()))
}

/// Returns a bandwidth, written as in experiment files (`400 Gb/s`), in bits per second.
#[pyfunction]
pub fn bits_per_second(text: &str) -> PyResult<u64> {
    let parsed = text.parse::<units::Bandwidth>();
    parsed.map(|bandwidth| bandwidth.0).map_err(|error| {
        let message = error.to_string();
        Parts { message: &message, key: "link.bandwidth", ..Parts::default() }
            .raise(format!("error: bandwidth: {message}"))
    })
}

/// JSON: the documentation of every section of the experiment file and of its keys.
#[pyfunction]
pub fn reference() -> String {
    json!(sim::reference()).to_string()
}

/// The JSON Schema of the results of a point.
#[pyfunction]
pub fn result_schema() -> String {
    sim::result_schema().to_string()
}

/// The JSON Schema of the experiment file.
#[pyfunction]
pub fn schema() -> String {
    sim::schema().to_string()
}

/// Returns the words that a key accepts.
fn words(sections: &[sim::SectionDoc], section: &str, key: &str) -> Vec<Value> {
    let of_section = sections.iter().filter(|found| found.section == section);
    let keys = of_section.flat_map(|found| &found.keys).filter(|found| found.key == key);
    keys.flat_map(|found| &found.values)
        .map(|word| json!({ "name": word.name, "summary": summary(&word.doc) }))
        .collect()
}

/// Returns the first paragraph on one line.
fn summary(doc: &str) -> String {
    let first = doc.split("\n\n").next().unwrap_or("");
    first.split_whitespace().collect::<Vec<_>>().join(" ")
}
