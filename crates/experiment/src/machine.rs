//! `[machine]`: a machine of the catalogue by name.
//!
//! Before an experiment is checked, the sections of its machine are written where the experiment has no value. Any
//! value can therefore be overridden, and a resolved experiment shows all of them. A section of another kind replaces
//! the machine's section. `[nic]` is left out of experiments without ranks, which refuse its keys.

use config::{Entry, Fault, Node, Table, Value};
use mapping::NamedMachine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// Writes the sections of the named machine where the experiment has no value, and the machine of placements by hosts.
pub(crate) fn fill(root: &mut Table) -> Result<(), Fault> {
    let Some(Entry { key_place, node: Node { value: Value::Table(written), .. }, .. }) = root.get("machine") else {
        return Ok(());
    };
    let (header, name) = (*key_place, written.get("name").map(|name| name.node.clone()));
    let Some((name, text)) = name.as_ref().and_then(|name| Some((name, name.as_text()?))) else { return Ok(()) };
    let wrong = |error: mapping::NameError| Fault {
        path: "machine.name".into(),
        message: error.message,
        written: error.written,
        allowed: error.allowed,
    };
    let machine = NamedMachine::find(text).map_err(wrong)?;
    if let Some(mut sections) = Table::parse(&machine.text()) {
        if !has_ranks(root) {
            sections.remove("nic");
        }
        root.complete(sections, header);
    }
    for table in tables(root, "placement") {
        let by_hosts = text_at(table, "strategy") == Some("hosts");
        if by_hosts && table.get("machine").is_none() && table.get("switches").is_none() {
            table.entries.push(Entry { key: "machine".into(), key_place: header, node: name.clone() });
        }
    }
    Ok(())
}

/// Writes the strategy of placements that have only the keys of a file. Placements by hosts have a path too.
pub(crate) fn fill_strategy(root: &mut Table) {
    for table in tables(root, "placement") {
        let own = |entry: &Entry| matches!(&*entry.key, "path" | "allocated_nodes");
        if let Some(Entry { key_place, node, .. }) = table.get("path").filter(|_| table.entries.iter().all(own)) {
            let node = Node { place: node.place, value: Value::Text("file".into()) };
            table.entries.push(Entry { key: "strategy".into(), key_place: *key_place, node });
        }
    }
}

/// Returns the tables of a section: of the experiment, and of each job.
fn tables<'a>(root: &'a mut Table, section: &str) -> Vec<&'a mut Table> {
    let mut found = Vec::new();
    for entry in &mut root.entries {
        match &mut entry.node.value {
            Value::Table(table) if entry.key == section => found.push(table),
            Value::List(jobs) if entry.key == "job" => {
                let tables = jobs.iter_mut().filter_map(Node::as_table);
                let own = tables.filter_map(|job| job.entries.iter_mut().find(|entry| entry.key == section));
                found.extend(own.filter_map(|entry| entry.node.as_table()));
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
    tables(root, "workload").into_iter().any(|workload| match text_at(workload, "kind") {
        Some("benchmark" | "program") => true,
        Some("application") => text_at(workload, "execution") == Some("message-driven"),
        _ => false,
    })
}
