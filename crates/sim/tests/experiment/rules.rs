//! Every rule between keys, broken: a file is drawn for each rule that the reference states, and is refused at its key.

use std::collections::BTreeSet;

use serde_json::Value as Json;
use sim::{SectionDoc, reference, schema};
use toml::{Table, Value};

use super::generated::right_value;
use super::{BASE, load};

const RELATIONS: [&str; 5] = ["requires", "excludes", "at most", "below", "above"];

/// A rule as the reference states it.
struct Drawn {
    section: SectionDoc,
    /// Path of the key that the rule is beside.
    key: String,
    /// Values of the key to try.
    values: Vec<Value>,
    /// The rule, without its reason.
    text: String,
    /// What other rules of the key require.
    required: Vec<String>,
}

fn drawn() -> Vec<Drawn> {
    let mut all = Vec::new();
    for section in reference().into_iter().filter(|section| !section.section.starts_with("sweep")) {
        let of_section = section.kind.clone().map(|(tag, kind)| (format!("{}.{tag}", section.section), kind.into()));
        let of_section: (String, Value) =
            of_section.unwrap_or_else(|| (section.section.clone(), filled(&section).into()));
        let rules = section.rules.iter().map(|rule| (of_section.0.clone(), vec![of_section.1.clone()], rule));
        let of_keys = section.keys.iter().filter(|key| !key.rules.is_empty()).flat_map(|key| {
            let path = format!("{}.{}", section.section, key.key);
            let words = key.values.iter().map(|word| word.name.clone().into());
            let values: Vec<Value> = match key.value.as_str() {
                "word" => words.collect(),
                "word or time" => vec!["20 us".into()],
                _ => vec![right_value(key)],
            };
            key.rules.iter().map(move |rule| (path.clone(), values.clone(), rule))
        });
        for (key, values, rule) in rules.chain(of_keys) {
            let text = rule.trim_end_matches('.').split(": ").next().unwrap();
            let text = text[..1].to_lowercase() + &text[1..];
            all.push(Drawn { section: section.clone(), key, values, text, required: Vec::new() });
        }
    }
    let required: Vec<Vec<String>> = all.iter().map(|rule| required_beside(rule, &all)).collect();
    all.iter_mut().zip(required).for_each(|(rule, required)| rule.required = required);
    all
}

/// What other rules of a rule's key, and of its sections, require.
fn required_beside(rule: &Drawn, all: &[Drawn]) -> Vec<String> {
    let others = all.iter().filter(|other| rule.key.starts_with(&other.key) && other.text != rule.text);
    others
        .filter_map(|other| other.text.strip_prefix("requires "))
        .map(|terms| terms.split(" if ").next().unwrap().to_owned())
        .collect()
}

/// The table of a section with its required keys.
fn filled(section: &SectionDoc) -> Table {
    let kind = section.kind.clone().map(|(tag, kind)| (tag, kind.into()));
    let required = section.keys.iter().filter(|key| key.required).map(|key| (key.key.clone(), right_value(key)));
    kind.into_iter().chain(required).collect()
}

/// A value for the key or the section `path`.
fn sample(path: &str) -> Value {
    let sections = reference();
    if let Some(section) = sections.iter().find(|section| section.section == path) {
        return filled(section).into();
    }
    let (parent, name) = path.rsplit_once('.').unwrap();
    let of_section = sections.iter().filter(|section| section.section == parent);
    right_value(of_section.flat_map(|section| &section.keys).find(|key| key.key == name).expect(path))
}

fn set(file: &mut Table, path: &str, value: Value) {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    if rest.is_empty() {
        file.insert(first.to_owned(), value);
        return;
    }
    let entry = file.entry(first).or_insert(Value::Table(Table::new()));
    let entry = if entry.is_array() { &mut entry[0] } else { entry };
    if !entry.is_table() {
        *entry = Value::Table(Table::new());
    }
    set(entry.as_table_mut().unwrap(), rest, value);
}

fn workload(kind: &str) -> Value {
    Value::Table(format!("kind = '{kind}'").parse().unwrap())
}

/// Replaces the workload by jobs that have it.
fn set_jobs(file: &mut Table, count: usize) {
    let workload = file.remove("workload").unwrap();
    let job = |number| {
        let name = Value::from(format!("job{number}"));
        Value::Table([("name".to_owned(), name), ("workload".to_owned(), workload.clone())].into_iter().collect())
    };
    file.insert("job".to_owned(), (0..count).map(job).collect::<Vec<_>>().into());
}

/// Replaces the topology by networks that have it.
fn set_networks(file: &mut Table) {
    let Some(topology) = file.remove("topology") else { return };
    file.remove("routing");
    let network = |name: &str| {
        Value::Table(
            [("name".to_owned(), name.into()), ("topology".to_owned(), topology.clone())].into_iter().collect(),
        )
    };
    file.insert("network".to_owned(), vec![network("name"), network("other")].into());
}

/// Makes a term true or false in a file in which its keys are missing.
fn make(file: &mut Table, term: &str, holds: bool) {
    match (term.trim_matches('`'), holds) {
        ("ranks that send and receive", true) => _ = file.insert("workload".to_owned(), workload("benchmark")),
        ("ranks that send and receive", false) => {
            file.insert("workload".to_owned(), BASE.parse::<Table>().unwrap()["workload"].clone());
        }
        ("overheads that occupy processors", holds) => set(file, "nic.occupies", holds.into()),
        ("several jobs", true) => set_jobs(file, 2),
        ("several networks", true) => set_networks(file),
        (_, false) => {}
        (term @ "nic.pio.buffer", true) if !file.contains_key("nic") => {
            make(file, "ranks that send and receive", true);
            set(file, "nic.kind", "loggp".into());
            set(file, "nic.pio", sample("nic.pio"));
            set(file, term, sample(term));
        }
        (term, true) => match term.split_once(" = ") {
            Some((path, value)) => set(file, path, value_of(value)),
            None => set(file, term, sample(term)),
        },
    }
}

fn value_of(text: &str) -> Value {
    format!("value = {text}").parse::<Table>().unwrap()["value"].clone()
}

/// A value below another one, of the type of a key's value.
fn two_values(value: &Value) -> [Value; 2] {
    match value.as_str() {
        Some(text) if text.ends_with('B') => ["1 KiB".into(), "2 KiB".into()],
        Some(_) => ["10 us".into(), "20 us".into()],
        None => [2.into(), 3.into()],
    }
}

impl Drawn {
    /// Draws files that break the rule.
    fn files(&self) -> Vec<Table> {
        let path = &self.section.section;
        let mut files = Vec::new();
        for (value, nic) in self.values.iter().flat_map(|value| [(value, None), (value, Some("loggp"))]) {
            let mut file: Table = BASE.parse().unwrap();
            if path.starts_with("nic") || path.starts_with("node") {
                make(&mut file, "ranks that send and receive", true);
            }
            if path == "job" {
                set_jobs(&mut file, 1);
            } else if path == "network" {
                set_networks(&mut file);
            } else {
                set(&mut file, path, filled(&self.section).into());
            }
            if let Some(kind) = nic.filter(|_| path.starts_with("nic.") || path == "nic" && self.key != "nic.kind") {
                set(&mut file, "nic.kind", kind.into());
            }
            set(&mut file, &self.key, value.clone());
            // Met or not: what the rules beside this key require. The rule's own terms are broken afterwards.
            let mut met = file.clone();
            self.required.iter().for_each(|term| make(&mut met, term, true));
            for mut file in [file, met] {
                self.break_in(&mut file, value);
                files.push(file);
            }
        }
        files
    }

    fn break_in(&self, file: &mut Table, value: &Value) {
        let (rule, condition) = self.text.split_once(" if ").unwrap_or((&self.text, ""));
        if !condition.is_empty() {
            make(file, condition, true);
        }
        let relation = RELATIONS.into_iter().find(|word| rule.starts_with(word)).unwrap();
        let terms = rule[relation.len() + 1..].split(" or ");
        let [less, more] = two_values(value);
        match relation {
            "requires" => terms.for_each(|term| make(file, term, false)),
            "excludes" => terms.take(1).for_each(|term| make(file, term, true)),
            _ => {
                let (own, other) = if relation == "above" { (less, more) } else { (more, less) };
                set(file, &self.key, own);
                terms.for_each(|term| set(file, term.trim_matches('`'), other.clone()));
            }
        }
    }

    /// Returns whether a file is refused at the key of the rule, by the rule.
    fn is_refused(&self, file: &Table) -> bool {
        let Err(error) = load(&file.to_string()) else { return false };
        let path = self.key.replace("job.", "job.job0.").replace("network.", "network.name.");
        let compared =
            self.text.starts_with("at most") || self.text.starts_with("below") || self.text.starts_with("above");
        let says = if compared { format!("it must be {}", self.text) } else { format!("`{path}` {}", self.text) };
        error.key == path && error.position.is_some() && error.message.contains(&says)
    }
}

/// Returns the annotations of a schema.
fn annotations(schema: &Json, found: &mut BTreeSet<String>) {
    if let Some(rules) = schema.get("x-rules") {
        found.extend(rules.as_array().unwrap().iter().map(|rule| rule.as_str().unwrap().to_owned()));
    }
    let below =
        schema.as_object().into_iter().flat_map(|own| own.values()).chain(schema.as_array().into_iter().flatten());
    below.for_each(|schema| annotations(schema, found));
}

#[test]
fn every_rule_between_keys_refuses_a_file() {
    // Would catch an annotation that is misspelt, names a key or a fact that there is not, or is beside a key that the
    // check does not reach.
    let all = drawn();
    for rule in &all {
        // Kinds that are refused themselves hide the rules of keys that they share with others.
        let alike = all.iter().filter(|other| (&other.key, &other.text) == (&rule.key, &rule.text));
        let is_refused = alike.flat_map(Drawn::files).any(|file| rule.is_refused(&file));
        let errors = || -> String {
            rule.files().iter().map(|file| format!("{file}{:?}\n", load(&file.to_string()).err())).collect()
        };
        assert!(is_refused, "{} {}\n{}", rule.key, rule.text, errors());
    }
    let mut written = BTreeSet::new();
    annotations(&schema(), &mut written);
    let plain = |text: &str| text.split(": ").next().unwrap().replace(['`', '"'], "");
    let written: BTreeSet<String> = written.iter().map(|text| plain(text)).collect();
    assert_eq!(all.iter().map(|rule| plain(&rule.text)).collect::<BTreeSet<_>>(), written);
    assert!(written.len() > 20, "{written:?}");
}
