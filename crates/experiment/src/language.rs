//! The language of experiment files: their schema, and what follows from one section for another.

use std::sync::LazyLock;

use config::{Axis, Entry, Fact, Fault, Language, Node, SectionDoc, Table, TableShape, Value};
use routing::RoutingSpec;
use serde_json::Value as Json;
use topology::NetworkSpec;

use crate::spec::ExperimentSpec;
use crate::{machine, nic_presets, node_name, searched};

/// Point of a sweep: one combination of its values.
pub type Point = config::Point<ExperimentSpec>;

/// Keys whose values may name files.
pub const FILE_KEYS: [&str; 8] =
    ["path", "file", "graph", "next_graphs", "selection", "groups", "switches", "topology"];

/// Facts that rules beside keys name.
const FACTS: [Fact<ExperimentSpec>; 4] = [
    Fact {
        phrase: "ranks that send and receive",
        help: "workloads of kind \"benchmark\" and \"program\", and message-driven applications, have them",
        holds: ExperimentSpec::has_ranks,
    },
    Fact {
        phrase: "overheads that occupy processors",
        help: "set `nic.occupies = true`; overheads that are latency take no processor",
        holds: |spec| spec.nic.occupies(),
    },
    Fact { phrase: "several jobs", help: "", holds: |spec| spec.jobs.len() > 1 },
    Fact { phrase: "several networks", help: "they are [[network]] tables", holds: |spec| !spec.networks.is_empty() },
];

/// Experiment files.
#[derive(Clone, Copy, Debug)]
pub struct ExperimentLanguage;

impl Language for ExperimentLanguage {
    type Spec = ExperimentSpec;

    const FILE_KEYS: &'static [&'static str] = &FILE_KEYS;

    const FACTS: &'static [Fact<ExperimentSpec>] = &FACTS;

    fn shape() -> &'static TableShape {
        static SHAPE: LazyLock<TableShape> = LazyLock::new(config::shape_of::<ExperimentSpec>);
        &SHAPE
    }

    fn missing(root: &Table) -> Option<&'static str> {
        // Sections of the machine come from the file or from a named machine. A file has one workload, or jobs with one
        // workload each.
        let is_missing = |section: &&str| root.get(section).is_none();
        let workload = Some("workload").filter(|_| root.get("job").is_none());
        let network = ["topology", "link"].into_iter().filter(|_| root.get("network").is_none());
        network.chain(workload).find(is_missing)
    }

    fn fill_kinds(root: &mut Table) -> Result<(), Fault> {
        spell_topology(root, "")?;
        for (index, network) in tables_of(root, "network").into_iter().enumerate() {
            spell_topology(network, &format!("network[{index}]."))?;
        }
        machine::fill_strategy(root);
        // Whether there are ranks, and hosts, follows from kinds.
        ["workload", "placement", "job"]
            .into_iter()
            .for_each(|section| config::fill_section(Self::shape(), section, root));
        machine::fill(root)?;
        node_name::fill(root)?;
        config::fill_section(Self::shape(), "network", root);
        fill_routing(root);
        tables_of(root, "network").into_iter().for_each(fill_routing);
        Ok(())
    }

    fn implied(root: &Table, section: &str) -> Vec<String> {
        if section == "network" { node_name::networks(root) } else { Vec::new() }
    }

    fn fill(root: &mut Table) {
        nic_presets::fill(root);
    }

    fn prune(root: &mut Table, axes: &mut Vec<Axis>) -> bool {
        searched::leave_out_loads(root, axes)
    }

    fn contradiction(spec: &ExperimentSpec) -> Option<(String, String)> {
        spec.contradiction()
    }
}

/// Returns the JSON Schema of an experiment file.
pub fn schema() -> Json {
    config::schema::<ExperimentSpec>()
}

/// Returns the documentation of all sections and their kinds, in the order of their definition.
pub fn reference() -> Vec<SectionDoc> {
    config::reference(ExperimentLanguage::shape())
}

/// Writes a topology that is given by its short name, such as `torus:4x4`, as its table. Options and sweeps that set a
/// key of the topology make the name the `kind` of a table; these keys override those of the name. `at` precedes the
/// paths of keys.
fn spell_topology(root: &mut Table, at: &str) -> Result<(), Fault> {
    let Some(entry) = root.entries.iter_mut().find(|entry| entry.key == "topology") else { return Ok(()) };
    let place = entry.node.place;
    // A kind without settings is no short name: the check of the section names the keys that it requires.
    let name = match &entry.node.value {
        Value::Table(table) => table.get("kind").and_then(|kind| kind.node.as_text()),
        _ => entry.node.as_text(),
    };
    let Some(text) = name.filter(|name| name.contains(':')) else { return Ok(()) };
    let wrong = |path: String, message: String| Fault { path, message, written: String::new(), allowed: Vec::new() };
    let spec = text.parse::<NetworkSpec>().map_err(|error| {
        let path = if error.key == "kind" { format!("{at}topology") } else { format!("{at}topology.{}", error.key) };
        wrong(path, error.message)
    })?;
    let json = serde_json::to_value(&spec).map_err(|error| wrong(format!("{at}topology"), error.to_string()))?;
    let written = std::mem::replace(&mut entry.node, Node::from_json(&json, place));
    if let (Some(table), Value::Table(mut over)) = (entry.node.as_table(), written.value) {
        over.remove("kind");
        table.overlay(over);
    }
    Ok(())
}

/// Returns the tables of a list.
fn tables_of<'a>(root: &'a mut Table, key: &str) -> Vec<&'a mut Table> {
    let lists = root.entries.iter_mut().filter(|entry| entry.key == key);
    let items = lists.filter_map(|entry| match &mut entry.node.value {
        Value::List(items) => Some(items),
        _ => None,
    });
    items.flatten().filter_map(Node::as_table).collect()
}

/// Writes the default routing of the topology into a `[routing]` section without a kind, unless only another
/// routing has its keys.
fn fill_routing(root: &mut Table) {
    let kind = match root.get("topology").map(|entry| &entry.node.value) {
        Some(Value::Table(topology)) => topology.get("kind").and_then(|entry| entry.node.as_text()),
        _ => None,
    };
    let Some(default) = kind.map(RoutingSpec::default_of) else { return };
    let Some(entry) = root.entries.iter_mut().find(|entry| entry.key == "routing") else { return };
    let (key_place, place) = (entry.key_place, entry.node.place);
    let Some(written) = entry.node.as_table().filter(|written| written.get("kind").is_none()) else { return };
    let keys = serde_json::to_value(default).ok();
    let kind = keys.as_ref().and_then(|keys| keys.get("kind")?.as_str());
    let only = config::only_kind(ExperimentLanguage::shape(), "routing", written);
    if only.is_some_and(|only| kind != Some(only)) {
        return;
    }
    for (key, value) in keys.iter().filter_map(Json::as_object).flatten() {
        if let (Some(text), None) = (value.as_str(), written.get(key)) {
            let node = Node { place, value: Value::Text(text.to_owned()) };
            written.entries.push(Entry { key: key.clone(), key_place, node });
        }
    }
}
