//! Every key wrong in every way, generated from the reference: a new key is covered as soon as it exists.

use sim::{ExperimentError, KeyDoc, SectionDoc, reference, schema};
use toml::{Table, Value};

use super::{BASE, load};

/// A section of a kind with its required keys, in an experiment that is otherwise the base.
struct Case {
    section: SectionDoc,
    file: Table,
}

impl Case {
    fn new(section: SectionDoc) -> Self {
        let mut case = Self { section, file: BASE.parse().unwrap() };
        let is_of = |kind: &&str| case.section.section.starts_with(&format!("workload.{kind}"));
        if let Some(kind) = ["benchmark", "program"].into_iter().find(is_of) {
            let ranks = Table::from_iter([("kind".to_owned(), Value::from(kind))]);
            case.file.insert("workload".to_owned(), ranks.into());
        }
        let of_ranks =
            case.section.section == "nic" && case.section.kind.as_ref().is_some_and(|(_, kind)| kind != "ideal");
        if of_ranks || case.section.section.starts_with("nic.") || case.section.section.starts_with("node.") {
            let ranks = Table::from_iter([("kind".to_owned(), Value::from("benchmark"))]);
            case.file.insert("workload".to_owned(), ranks.into());
            // Some parts go with messages that wait for their receivers.
            let keys = [("kind", "loggp"), ("eager_limit", "16 KiB")];
            let nic = Table::from_iter(keys.map(|(key, value)| (key.to_owned(), Value::from(value))));
            case.file.insert("nic".to_owned(), nic.into());
        }
        if case.section.section.starts_with("router.multicast") {
            let router: Table = "kind = 'input-queued'".parse().unwrap();
            case.file.insert("router".to_owned(), router.into());
        }
        let is_collective = case.section.kind.as_ref().is_some_and(|(_, kind)| kind == "collective");
        if case.section.section == "workload.fanout" {
            let workload: Table = "kind = 'collective'\nload = 0.1".parse().unwrap();
            case.file.insert("workload".to_owned(), workload.into());
        }
        if case.section.section == "workload.late" {
            let workload: Table = "kind = 'collective'\nload = 0.1\nfanout = { mean = 2 }".parse().unwrap();
            case.file.insert("workload".to_owned(), workload.into());
        }
        if case.section.section == "in_switch.elements" {
            case.file.insert("in_switch".to_owned(), "verify = true".parse::<Table>().unwrap().into());
        }
        if case.section.section == "in_switch.streaming" {
            let small = "low_latency = { max_message = '4 KiB' }".parse::<Table>().unwrap();
            case.file.insert("in_switch".to_owned(), small.into());
        }
        if case.section.section.starts_with("cost.") {
            let layout = "routers_per_rack = 1\nracks_per_row = 1".parse::<Table>().unwrap();
            case.file.insert("layout".to_owned(), layout.into());
        }
        if case.section.section == "nic.collectives" {
            let workload =
                "kind = 'program'\ncollectives = 'nic'\nprogram = { kind = 'collective', operation = 'allreduce' }";
            case.file.insert("workload".to_owned(), workload.parse::<Table>().unwrap().into());
        }
        let mut table = Table::new();
        if case.section.section == "workload" && is_collective {
            table.insert("fanout".to_owned(), "mean = 2".parse::<Table>().unwrap().into());
        }
        if case.section.section == "job" {
            case.file.remove("placement");
            table.extend(case.file.remove("workload").map(|workload| ("workload".to_owned(), workload)));
            case.file.insert("job".to_owned(), vec![Value::Table(Table::new())].into());
        }
        if case.section.section == "network" {
            table.extend(case.file.remove("topology").map(|topology| ("topology".to_owned(), topology)));
            case.file.remove("routing");
            case.file.insert("network".to_owned(), vec![Value::Table(Table::new())].into());
        }
        if case.section.section == "relay" {
            case.file.remove("routing");
            let network = case.file.remove("topology").map(|topology| ("topology".to_owned(), topology));
            let network = Table::from_iter(network.into_iter().chain([("name".to_owned(), "name".into())]));
            case.file.insert("network".to_owned(), vec![Value::Table(network)].into());
        }
        if let Some((tag, kind)) = case.section.kind.clone() {
            table.insert(tag, kind.into());
        }
        for key in case.section.keys.iter().filter(|key| key.required) {
            table.insert(key.key.clone(), right_value(key));
        }
        if case.section.section == "workload.fanout" {
            table.insert("mean".to_owned(), 2.0.into());
        }
        if case.section.section == "topology.wires" {
            table.insert("up".to_owned(), 2.into());
        }
        if !case.section.section.is_empty() {
            *case.table() = table;
        }
        load(&case.file.to_string()).unwrap_or_else(|error| panic!("{error}"));
        case
    }

    /// The path of the section; one that takes any name gets a name.
    fn path(&self) -> String {
        match &*self.section.section {
            list @ ("job" | "network") => format!("{list}[0]"),
            section => section.replace("NAME", "up"),
        }
    }

    fn table(&mut self) -> &mut Table {
        if let list @ ("job" | "network") = &*self.section.section {
            return self.file[list][0].as_table_mut().unwrap();
        }
        let path = self.path();
        path.split('.').filter(|part| !part.is_empty()).fold(&mut self.file, |table, part| {
            table.entry(part).or_insert(Value::Table(Table::new())).as_table_mut().unwrap()
        })
    }

    fn error_with(&self, key: &str, value: Value) -> Option<ExperimentError> {
        let mut other = Self { section: self.section.clone(), file: self.file.clone() };
        other.table().insert(key.to_owned(), value);
        load(&other.file.to_string()).err()
    }

    /// The error has to be there, to name the key, and to show its line.
    fn assert_refused(&self, key: &str, value: Value) -> ExperimentError {
        // A table of a list has its name, unless that is at fault.
        let named = |list: &str| Some(format!("{list}.{}", self.file[list][0].get("name")?.as_str()?));
        let section = match &*self.section.section {
            list @ ("job" | "network") if key != "name" => named(list).expect("a name"),
            _ => self.path(),
        };
        let path = [section.as_str(), key].join(".").trim_start_matches('.').to_owned();
        let error = self.error_with(key, value.clone()).unwrap_or_else(|| panic!("{path} = {value} was taken"));
        assert!(error.key == path || error.key.starts_with(&format!("{path}[")), "{path} = {value}: {error}");
        let position = error.position.as_ref().unwrap_or_else(|| panic!("no line: {error}"));
        let named = position.text.contains(key) || path.ends_with(position.text.trim_matches(['[', ']']));
        assert!(named, "{path} = {value}: {error}");
        error
    }
}

fn cases() -> Vec<Case> {
    let sections = reference().into_iter().filter(|section| !section.section.starts_with("sweep"));
    sections.map(Case::new).collect()
}

/// Numbers in the words of a range.
fn bounds(range: &str) -> Vec<f64> {
    range.split(' ').filter_map(|word| word.parse().ok()).collect()
}

/// Type of a key's value, apart from the table that it may be instead.
fn without_table(key: &KeyDoc) -> &str {
    key.value.strip_suffix(" or table of number").unwrap_or(&key.value)
}

pub fn right_value(key: &KeyDoc) -> Value {
    let range = key.range.as_deref().map(bounds).unwrap_or_default();
    let number = range.first().map_or(4, |&min| min as i64);
    match without_table(key) {
        // What happens in a period takes less than one.
        "time" if key.key == "period" => "1 us".into(),
        "time" => "20 ns".into(),
        "duration" => "10 min".into(),
        "size" => "256 B".into(),
        "bandwidth" => "10 Gb/s".into(),
        "depth" => "4 packets".into(),
        "length" => "2 m".into(),
        "power" => "12 W".into(),
        "string" if key.doc.starts_with("Name of the machine") => "tpu-v4".into(),
        "string" => "name".into(),
        "word" => key.values[0].name.clone().into(),
        "whole number" => number.into(),
        "number" => range.first().map_or(0.5, |&least| least.max(0.5)).into(),
        "true or false" => true.into(),
        "list of whole number" => vec![Value::from(number); 2].into(),
        "list of list of whole number" => vec![Value::from(vec![Value::from(number); 2]); 2].into(),
        "list of number" => vec![Value::from(0.5); 2].into(),
        "list of string" => vec![Value::from("name"); 2].into(),
        "list of size" => vec![Value::from("256 B"); 2].into(),
        "list of time" => vec![Value::from("20 ns"); 2].into(),
        "list of table" => Value::Array(Vec::new()),
        other => panic!("add a right value of {other} for {}", key.key),
    }
}

/// Values of types that a key does not take.
fn wrong_types(key: &KeyDoc) -> Vec<Value> {
    let text = Value::from("no such word or number");
    let (whole, fraction, boolean) = (Value::from(7), Value::from(1.5), Value::from(true));
    let mut wrong = match without_table(key) {
        "string" => vec![whole, fraction, boolean],
        "whole number" => vec![text, fraction, boolean],
        "number" => vec![text, boolean],
        "true or false" => vec![text, whole, fraction],
        "list of string" => vec![text, whole.clone(), boolean, vec![whole].into()],
        list if list.starts_with("list of") => vec![text.clone(), whole, boolean, vec![text].into()],
        _ => vec![text, whole, fraction, boolean],
    };
    if !key.value.contains("list of") {
        wrong.push(vec![Value::from(1)].into());
    }
    if without_table(key) == key.value {
        wrong.push(Value::Table(Table::new()));
    }
    wrong.push(Value::Datetime("2024-01-01".parse().unwrap()));
    wrong
}

#[test]
fn every_key_of_a_wrong_type_is_refused() {
    for case in cases() {
        for key in &case.section.keys {
            for value in wrong_types(key) {
                case.assert_refused(&key.key, value);
            }
        }
    }
}

#[test]
fn every_quantity_without_a_unit_or_with_an_unknown_one_is_refused() {
    let mut quantities = 0;
    for case in cases() {
        for key in case.section.keys.iter().filter(|key| {
            ["time", "duration", "size", "bandwidth", "depth", "length", "power"]
                .iter()
                .any(|dimension| key.value.contains(dimension))
        }) {
            quantities += 1;
            for text in ["7", "7 parsecs", "ns", "", "-3 ns", "0.0001 ps", "99999999999999999999 s"] {
                case.assert_refused(&key.key, text.into());
            }
        }
    }
    assert!(quantities > 10, "the dimensions' names have changed");
}

#[test]
fn every_value_out_of_range_is_refused() {
    let mut ranges = 0;
    for case in cases() {
        for key in &case.section.keys {
            let Some(range) = &key.range else { continue };
            ranges += 1;
            for value in outside(key, range) {
                let error = case.assert_refused(&key.key, value);
                let says = ["must be", "must have", "0"].iter().any(|words| error.message.contains(words));
                assert!(says, "{error}");
            }
        }
    }
    assert!(ranges > 10, "the words of ranges have changed");
}

fn numbers(range: &str, min: Option<f64>, max: Option<f64>) -> impl Iterator<Item = f64> {
    let below = min.map(|min| if range.contains("greater") { min } else { min - 0.5 });
    let above = max.map(|max| if range.contains("less") { max } else { max + (max * 1e-9).max(0.5) });
    below.into_iter().chain(above)
}

fn outside(key: &KeyDoc, range: &str) -> Vec<Value> {
    let bounds = bounds(range);
    let (min, max) = (bounds.first().copied(), bounds.get(1).copied());
    match without_table(key) {
        "whole number" => whole_numbers(min, max),
        "list of whole number" => whole_numbers(min, max).into_iter().map(|value| vec![value].into()).collect(),
        "list of list of whole number" => {
            whole_numbers(min, max).into_iter().map(|value| vec![Value::from(vec![value])].into()).collect()
        }
        "number" => numbers(range, min, max).map(Value::from).collect(),
        "list of number" => numbers(range, min, max).map(|value| vec![Value::from(value)].into()).collect(),
        "time" => {
            let below = (!range.starts_with("at most")).then(|| Value::from("0 ns"));
            below.into_iter().chain((!range.starts_with("greater")).then(|| "1001 s".into())).collect()
        }
        "size" | "depth" => vec!["0 B".into()],
        "duration" => vec!["0 s".into()],
        "length" => vec!["1001 m".into()],
        "bandwidth" => vec!["0 b/s".into()],
        other => panic!("say what is outside the range of {other} for {}", key.key),
    }
}

fn whole_numbers(min: Option<f64>, max: Option<f64>) -> Vec<Value> {
    let below = min.map(|min| min as i64 - 1);
    let above = max.map(|max| max as i64 + 1);
    below.into_iter().chain(above).map(Value::from).collect()
}

#[test]
fn every_misspelt_key_is_refused_with_the_right_one() {
    for case in cases() {
        for key in case.section.keys.iter().filter(|key| key.key.len() > 3) {
            let misspelt = format!("{}q", key.key);
            let error = case.assert_refused(&misspelt, right_value_or_word(key));
            let meant = format!("did you mean `{}`?", key.key);
            assert_eq!(error.help.as_deref(), Some(meant.as_str()), "{error}");
        }
    }
}

fn right_value_or_word(key: &KeyDoc) -> Value {
    if key.value.contains(" or ") { "auto".into() } else { right_value(key) }
}

#[test]
fn every_key_with_a_right_value_is_taken() {
    // Would catch checks above that pass because a section is refused for another reason.
    for case in cases() {
        for key in case.section.keys.iter().filter(|key| !key.value.contains(" or ")) {
            if let Some(error) = case.error_with(&key.key, right_value(key)) {
                // Values may still contradict each other, which is another error than a wrong one.
                assert!(!error.message.contains("must be") && !error.message.contains("unknown"), "{error}");
            }
        }
    }
}

#[test]
fn every_missing_key_or_section_is_named() {
    // A named machine has the first two. There is one workload, or there are jobs.
    assert_eq!(schema()["required"], serde_json::json!([]));
    for section in ["topology", "link", "workload"] {
        let mut file: Table = BASE.parse().unwrap();
        file.remove(section);
        let error = load(&file.to_string()).expect_err(section);
        assert_eq!(error.message, format!("missing section [{section}]"));
    }
    for case in cases() {
        for key in case.section.keys.iter().filter(|key| key.required) {
            let mut other = Case { section: case.section.clone(), file: case.file.clone() };
            other.table().remove(&key.key);
            let error = load(&other.file.to_string()).expect_err(&key.key);
            assert_eq!(error.key, format!("{}.{}", case.path(), key.key), "{error}");
            assert!(error.position.is_some() && error.message.starts_with("missing key"), "{error}");
        }
    }
}

#[test]
fn every_key_is_documented() {
    for section in reference() {
        assert!(!section.doc.is_empty(), "{section:?}");
        for key in &section.keys {
            assert!(!key.doc.is_empty(), "{} in {section:?}", key.key);
            assert!(key.value != "any value" || section.section.starts_with("sweep"), "{key:?}");
        }
    }
}
