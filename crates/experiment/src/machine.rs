//! `[machine]`: a machine of the catalogue by name.
//!
//! Before an experiment is checked, the sections of its machine are written where the experiment has no value. Any
//! value can therefore be overridden, and a resolved experiment shows all of them. A section of another kind replaces
//! the machine's section, and a topology of another kind also its classes of channels, its routing and its routers,
//! which fit its own topology. The delay model leaves out keys that it refuses, such as the routing. A network of the
//! machine completes the experiment's network of its name. `[nic]` is left out of experiments without ranks, which
//! refuse its keys.

use std::path::Path;

use config::{Entry, Fault, Node, Table, Value};
use mapping::{NameError, NamedMachine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::NetworkSpec;

use crate::node_name;
use crate::place::PlaceSpec;

/// Machine of the catalogue (`cutthrough list machines`), whose values fill the sections of the experiment where it has
/// no value. Values of `[nic]` apply to ranks that send and receive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = "[machine]\nname = \"lumi:groups=4\""))]
pub struct NamedMachineSpec {
    /// Name of the machine, with its parameters after a colon, such as "lumi" or "lumi:groups=4".
    #[schemars(extend("x-example" = "\"lumi:groups=4\""))]
    pub name: String,
}

/// Returns the fault of a name of a catalogue.
pub(crate) fn fault(path: String, error: NameError) -> Fault {
    Fault { path, message: error.message, written: error.written, allowed: error.allowed }
}

/// Writes the sections of the named machine where the experiment has no value, and the machine of placements by hosts.
/// The kinds of workloads and placements are there already.
pub(crate) fn fill(root: &mut Table) -> Result<(), Fault> {
    for (path, table) in tables(root, "placement") {
        if let Some(name) = text_at(table, "machine") {
            NamedMachine::find(name).map_err(|error| fault(format!("{path}.machine"), error))?;
        }
    }
    let Some(Entry { key_place, node: Node { value: Value::Table(written), .. }, .. }) = root.get("machine") else {
        return Ok(());
    };
    let (header, name) = (*key_place, written.get("name").map(|name| name.node.clone()));
    let Some((name, text)) = name.as_ref().and_then(|name| Some((name, name.as_text()?))) else { return Ok(()) };
    let wrong = |error: NameError| fault("machine.name".into(), error);
    let machine = NamedMachine::find(text).map_err(wrong)?;
    if let Some(mut sections) = Table::parse(&machine.text()) {
        if !has_ranks(root) {
            sections.remove("nic");
        }
        let replaces = has_other_topology(root, &sections) || (has_networks(root) && !machine.is_joined());
        if replaces {
            leave_out_what_fits_the_topology(&mut sections);
        } else {
            check_is_whole(text, &machine).map_err(wrong)?;
        }
        if has_delay_model(root) {
            leave_out_what_needs_packets(&mut sections);
        }
        let networks = sections.remove("network");
        root.complete(sections, header);
        if let Some(networks) = networks {
            node_name::fill_networks(root, networks.node, header);
        }
    }
    for (_, table) in tables(root, "placement") {
        let by_hosts = text_at(table, "strategy") == Some("hosts");
        if by_hosts && table.get("machine").is_none() && table.get("switches").is_none() {
            table.entries.push(Entry { key: "machine".into(), key_place: header, node: name.clone() });
        }
    }
    Ok(())
}

/// Returns the sections of the named machine. `None`: no machine is named, or none of the catalogue.
pub(crate) fn sections_of(root: &Table) -> Option<Table> {
    let Value::Table(written) = &root.get("machine")?.node.value else { return None };
    Table::parse(&NamedMachine::find(text_at(written, "name")?).ok()?.text())
}

fn has_networks(root: &Table) -> bool {
    root.get("network").is_some()
}

/// Returns whether the experiment has a topology of another kind than the machine.
fn has_other_topology(root: &Table, machine: &Table) -> bool {
    let kind = |table: &Table| match &table.get("topology")?.node.value {
        Value::Table(topology) => text_at(topology, "kind").map(str::to_owned),
        Value::Text(kind) => Some(kind.clone()),
        _ => None,
    };
    kind(root).is_some_and(|written| Some(written) != kind(machine))
}

fn leave_out_what_fits_the_topology(machine: &mut Table) {
    for section in ["topology", "network", "node", "relay", "routing", "router"] {
        machine.remove(section);
    }
    let link = machine.entries.iter_mut().find(|entry| entry.key == "link");
    if let Some(link) = link.and_then(|entry| entry.node.as_table()) {
        link.entries.retain(|entry| !matches!(entry.node.value, Value::Table(_)));
    }
}

fn has_delay_model(root: &Table) -> bool {
    let simulation = root.get("simulation").map(|entry| &entry.node.value);
    matches!(simulation, Some(Value::Table(own)) if text_at(own, "model") == Some("delay"))
}

/// Leaves out routes, buffers, and all bandwidths but that of the links from nodes to routers.
fn leave_out_what_needs_packets(machine: &mut Table) {
    machine.entries.retain(|entry| !matches!(&*entry.key, "routing" | "in_switch"));
    for Entry { key, node, .. } in &mut machine.entries {
        let Some(table) = node.as_table() else { continue };
        match &**key {
            "router" => keep_delays(table),
            "link" => {
                let class = table.entries.iter_mut().find(|entry| entry.key == "injection");
                let of_nodes = class.and_then(|class| class.node.as_table()?.remove("bandwidth"));
                let bandwidth = of_nodes.or_else(|| table.remove("bandwidth"));
                keep_delays(table);
                table.entries.extend(bandwidth);
            }
            _ => {}
        }
    }
}

fn keep_delays(table: &mut Table) {
    table.entries.retain_mut(|entry| match entry.node.as_table() {
        Some(class) => {
            class.entries.retain(|own| own.key == "delay");
            !class.entries.is_empty()
        }
        None => entry.key == "delay",
    });
}

/// Checks that a machine is no part of a partition, which only mappings know.
fn check_is_whole(name: &str, machine: &NamedMachine) -> Result<(), NameError> {
    let Some(used) = machine.used else { return Ok(()) };
    // A machine of the catalogue whose topology cannot be built is reported at its section.
    let Ok(network) = machine.topology()?.build(Path::new(".")) else { return Ok(()) };
    if network.nodes() == used {
        return Ok(());
    }
    let (own, nodes) = (name.split(':').next().unwrap_or(name).trim(), network.nodes());
    let message = format!(
        "a job of {used} nodes gets a part of a partition of {nodes}, and an experiment uses the whole partition: name \
         `{own}:{nodes}`"
    );
    Err(NameError { message, written: String::new(), allowed: Vec::new() })
}

/// Returns the first placement by hosts of a machine that has another network: the path of its key, and the message.
pub(crate) fn foreign_hosts<'a>(
    network: &NetworkSpec,
    placements: impl IntoIterator<Item = (String, &'a PlaceSpec)>,
) -> Option<(String, String)> {
    placements.into_iter().find_map(|(path, place)| {
        let PlaceSpec::Hosts(own) = place else { return None };
        let name = own.machine.as_ref().filter(|_| own.switches.is_none())?;
        let key = NamedMachine::find(name).ok()?.foreign_key(network)?;
        let message = format!(
            "the hosts of `{name}` are on nodes of its own network, and `topology.{key}` differs from it: name the routers \
             of the hosts with `switches`"
        );
        Some((format!("{path}.machine"), message))
    })
}

/// Writes the strategy of placements that have only the keys of a file. Placements by hosts have a path too.
pub(crate) fn fill_strategy(root: &mut Table) {
    for (_, table) in tables(root, "placement") {
        let own = |entry: &Entry| matches!(&*entry.key, "path" | "allocated_nodes");
        if let Some(Entry { key_place, node, .. }) = table.get("path").filter(|_| table.entries.iter().all(own)) {
            let node = Node { place: node.place, value: Value::Text("file".into()) };
            table.entries.push(Entry { key: "strategy".into(), key_place: *key_place, node });
        }
    }
}

/// Returns the tables of a section: of the experiment, and of each job, with their paths.
fn tables<'a>(root: &'a mut Table, section: &str) -> Vec<(String, &'a mut Table)> {
    let mut found = Vec::new();
    for entry in &mut root.entries {
        match &mut entry.node.value {
            Value::Table(table) if entry.key == section => found.push((section.to_owned(), table)),
            Value::List(jobs) if entry.key == "job" => {
                for (index, job) in jobs.iter_mut().enumerate() {
                    let own = job.as_table().and_then(|job| job.entries.iter_mut().find(|entry| entry.key == section));
                    let table = own.and_then(|entry| entry.node.as_table());
                    found.extend(table.map(|table| (format!("job[{index}].{section}"), table)));
                }
            }
            _ => {}
        }
    }
    found
}

fn text_at<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key)?.node.as_text()
}

/// Returns whether any workload has ranks that send and receive, as `WorkloadSpec::has_ranks` does for valid workloads.
fn has_ranks(root: &mut Table) -> bool {
    tables(root, "workload").into_iter().any(|(_, workload)| match text_at(workload, "kind") {
        Some("benchmark" | "program") => true,
        Some("application") => text_at(workload, "execution") == Some("message-driven"),
        _ => false,
    })
}
