//! What an experiment file may hold, read from its JSON Schema: a new key or kind is drawn as soon as it exists.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

/// What a value may be.
#[derive(Clone, Debug)]
pub enum Shape {
    Table(Vec<Key>),
    /// One of several tables: the key that distinguishes them, and the keys of each.
    Choice(String, Vec<(String, Vec<Key>)>),
    Words(Vec<String>),
    Boolean,
    Integer(i64, i64),
    Number(f64, f64),
    /// A quantity with a unit: time, size, bandwidth or depth.
    Quantity(String),
    Text,
    List(Box<Shape>, usize, usize),
    Either(Vec<Shape>),
    Any,
}

/// A key of a table.
#[derive(Clone, Debug)]
pub struct Key {
    pub name: String,
    pub shape: Shape,
    pub required: bool,
}

/// Nesting at which the walk of a type that contains itself ends.
const DEEPEST: usize = 14;

/// The shape of a whole file.
pub fn file_shape() -> Vec<Key> {
    let root = sim::schema();
    keys(&root, &root, 0)
}

fn resolved(root: &Json, schema: &Json) -> Json {
    let mut schema = schema.clone();
    while let Some(reference) = schema.as_object_mut().and_then(|own| own.remove("$ref")) {
        let target = root.pointer(reference.as_str().unwrap().trim_start_matches('#')).unwrap();
        for (key, value) in target.as_object().unwrap() {
            match schema.get_mut(key) {
                Some(Json::Object(own)) if key == "properties" => {
                    value.as_object().unwrap().iter().for_each(|(name, other)| {
                        own.entry(name).or_insert(other.clone());
                    });
                }
                Some(Json::Array(own)) if key == "required" => own.extend(value.as_array().unwrap().iter().cloned()),
                Some(_) => {}
                None => _ = schema.as_object_mut().unwrap().insert(key.clone(), value.clone()),
            }
        }
    }
    schema
}

fn keys(root: &Json, schema: &Json, depth: usize) -> Vec<Key> {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let key = |(name, own): (&String, &Json)| Key {
        name: name.clone(),
        shape: shape(root, own, depth + 1),
        required: required.contains(&name.as_str()),
    };
    let others = schema.get("additionalProperties").filter(|others| others.is_object());
    let other = |name: &&str| {
        others.map(|own| Key { name: (*name).to_owned(), shape: shape(root, own, depth + 1), required: false })
    };
    properties.map(key).chain(CLASSES.iter().filter_map(other)).collect()
}

/// Names of tables that may have any: classes of channels.
const CLASSES: [&str; 2] = ["injection", "ejection"];

fn kind_of(schema: &Json) -> &str {
    match &schema["type"] {
        Json::Array(kinds) => kinds.iter().filter_map(Json::as_str).find(|&kind| kind != "null").unwrap_or("null"),
        kind => kind.as_str().unwrap_or_default(),
    }
}

fn words(schema: &Json) -> Option<Vec<String>> {
    if let Some(only) = schema.get("const") {
        return Some(vec![only.as_str().unwrap_or_default().to_owned()]);
    }
    let all = schema.get("enum")?.as_array()?;
    Some(all.iter().filter_map(Json::as_str).map(str::to_owned).collect())
}

fn tag_of(schema: &Json) -> Option<String> {
    let properties = schema["properties"].as_object()?;
    properties.iter().find(|(_, own)| own.get("const").is_some()).map(|(name, _)| name.clone())
}

fn shape(root: &Json, schema: &Json, depth: usize) -> Shape {
    if depth > DEEPEST {
        return Shape::Any;
    }
    let schema = &resolved(root, schema);
    if let Some(branches) = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Json::as_array) {
        return either(root, branches, depth);
    }
    if let Some(words) = words(schema) {
        return Shape::Words(words);
    }
    let bound = |names: [&str; 2]| names.iter().find_map(|name| schema.get(*name).and_then(Json::as_f64));
    let (min, max) = (bound(["minimum", "exclusiveMinimum"]), bound(["maximum", "exclusiveMaximum"]));
    let format = schema["format"].as_str().unwrap_or_default();
    match kind_of(schema) {
        "object" => Shape::Table(keys(root, schema, depth)),
        "array" => {
            let length = |name: &str, other| schema[name].as_u64().map_or(other, |length| length as usize);
            let items = schema.get("items").map_or(Shape::Any, |items| shape(root, items, depth + 1));
            Shape::List(Box::new(items), length("minItems", 0), length("maxItems", 8))
        }
        "string"
            if ["a time", "a duration", "a size", "a bandwidth", "a depth", "a length", "a power"]
                .contains(&format) =>
        {
            Shape::Quantity(format.to_owned())
        }
        "string" => Shape::Text,
        "integer" => {
            let least = if format.starts_with('u') { 0 } else { -1000 };
            Shape::Integer(min.map_or(least, |min| min as i64), max.map_or(1 << 31, |max| max as i64))
        }
        "number" => Shape::Number(min.unwrap_or(0.0), max.unwrap_or(1e9)),
        "boolean" => Shape::Boolean,
        _ => Shape::Any,
    }
}

fn either(root: &Json, branches: &[Json], depth: usize) -> Shape {
    let branches: Vec<Json> =
        branches.iter().map(|branch| resolved(root, branch)).filter(|branch| kind_of(branch) != "null").collect();
    let (mut all_words, mut kinds, mut tag, mut shapes) = (Vec::new(), Vec::new(), String::new(), Vec::new());
    for branch in &branches {
        match (words(branch), tag_of(branch)) {
            (Some(words), _) => all_words.extend(words),
            (None, Some(own)) => {
                let name = branch["properties"][&own]["const"].as_str().unwrap_or_default().to_owned();
                let keys = keys(root, branch, depth).into_iter().filter(|key| key.name != own);
                kinds.push((name, keys.collect()));
                tag = own;
            }
            (None, None) => shapes.push(shape(root, branch, depth + 1)),
        }
    }
    if !kinds.is_empty() {
        // Words beside tables are short forms of kinds.
        return Shape::Choice(tag, kinds);
    }
    if !all_words.is_empty() {
        shapes.insert(0, Shape::Words(all_words));
    }
    if shapes.len() == 1 { shapes.remove(0) } else { Shape::Either(shapes) }
}

/// Levels of a factor, and what has to hold of other factors for the factor to exist.
#[derive(Clone, Debug, Default)]
pub struct Factor {
    pub levels: BTreeSet<String>,
    /// By choice on the way to the factor, the kinds that have it.
    pub needs: BTreeMap<String, BTreeSet<String>>,
}

/// The level of an optional section that is there.
pub const THERE: &str = "there";

/// Numbers that are factors beside kinds and sections, with their levels.
pub const COUNTS: &[(&str, &[i64])] =
    &[("topology.planes", &[2, 3]), ("topology.nodes_per_router", &[2]), ("placement.processes_per_node", &[2, 4])];

/// The factors of a design by path: all kinds of all choices, optional sections and some counts. What jobs have besides
/// has the paths of the file.
pub fn factors(file: &[Key]) -> BTreeMap<String, Factor> {
    let mut factors = BTreeMap::new();
    add_factors(file, "", &BTreeMap::new(), &mut factors);
    factors
}

fn add_factors(
    keys: &[Key],
    path: &str,
    needs: &BTreeMap<String, BTreeSet<String>>,
    factors: &mut BTreeMap<String, Factor>,
) {
    for key in keys {
        let own = path_of(path, &key.name);
        if NOT_DRAWN.contains(&own.as_str()) {
            continue;
        }
        add_factor(&key.shape, &own, key.required, needs, factors);
    }
}

fn add_factor(
    shape: &Shape,
    path: &str,
    required: bool,
    needs: &BTreeMap<String, BTreeSet<String>>,
    factors: &mut BTreeMap<String, Factor>,
) {
    let mut add = |level: &str| {
        let factor = factors.entry(path.to_owned()).or_default();
        factor.levels.insert(level.to_owned());
        for (choice, kinds) in needs {
            factor.needs.entry(choice.clone()).or_default().extend(kinds.iter().cloned());
        }
    };
    match shape {
        Shape::Choice(_, kinds) => {
            kinds.iter().filter(|(kind, _)| !is_not_drawn(path, kind)).for_each(|(kind, _)| add(kind));
            for (kind, keys) in kinds {
                let mut needs = needs.clone();
                needs.insert(path.to_owned(), BTreeSet::from([kind.clone()]));
                add_factors(keys, path, &needs, factors);
            }
        }
        Shape::Table(keys) => {
            if !required {
                add(THERE);
            }
            let mut needs = needs.clone();
            if !required {
                needs.insert(path.to_owned(), BTreeSet::from([THERE.to_owned()]));
            }
            add_factors(keys, path, &needs, factors);
        }
        Shape::Either(shapes) => {
            shapes.iter().filter(|shape| matches!(shape, Shape::Table(_) | Shape::Choice(..))).for_each(|shape| {
                add_factor(shape, path, required, needs, factors);
            });
        }
        Shape::List(items, ..) if path == "job" => {
            add(THERE);
            add_factor(items, path, true, &BTreeMap::new(), factors);
        }
        Shape::Boolean => add("true"),
        Shape::Integer(..) => {
            let counts = COUNTS.iter().filter(|(name, _)| *name == path).flat_map(|(_, counts)| counts.iter());
            counts.for_each(|count| add(&count.to_string()));
        }
        _ => {}
    }
}

/// Sections and keys that are not drawn: they make several points of one, stand for what other keys have, are of
/// several networks, which the tests of these draw, or need a folder of results.
pub const NOT_DRAWN: &[&str] = &[
    "sweep",
    "include",
    "exclude",
    "seeds",
    "title",
    "machine",
    "job.workload",
    "job.placement",
    "network",
    "relay",
    "node.name",
    "node.endpoints",
    "node.count",
    "nic.rails.stripe_over",
    "measure.checkpoint",
];

/// Kinds that are not drawn: a program that is called back is a function in Python, and hosts and forwarding tables
/// need a file for each network.
pub fn is_not_drawn(path: &str, kind: &str) -> bool {
    [("workload.program", "called-back"), ("placement", "hosts"), ("routing", "forwarding-tables")]
        .contains(&(path, kind))
}

/// The path of a key in a table.
pub fn path_of(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
