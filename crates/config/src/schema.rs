//! Schema of a file: the JSON Schema of the Rust types, and its conversion into the shapes that the validator and the
//! reference walk.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::LazyLock;

use schemars::{JsonSchema, SchemaGenerator, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use units::{Bandwidth, Bytes, Capacity, Duration, Length, Power, QuantityError, Time};

use super::rule::Rule;

/// The whole file: the experiment of a point, and the values of other points.
#[derive(JsonSchema)]
#[schemars(rename = "FileSpec")]
#[allow(dead_code, reason = "only its schema is used; the loader expands the sweep into points")]
struct FileSpec<T> {
    #[serde(flatten)]
    point: T,
    /// File, or list of files, that this file starts from, relative to its folder. Entries of this file override
    /// theirs. A later file overrides an earlier one, table by table; lists, `[sweep]` and tables of another kind are
    /// replaced.
    #[serde(default)]
    #[schemars(extend("x-example" = "[\"machine.toml\", \"workload.toml\"]"))]
    include: Option<IncludeSpec>,
    /// Paths of keys and sections of included files to remove, so that they have their defaults. Requires `include`.
    /// Each of them must be in an included file.
    #[serde(default)]
    #[schemars(extend("x-example" = "[\"measure.max_time\", \"nic\"]"))]
    exclude: Option<Vec<String>>,
    /// Number of seeds that each point is run with: `seed`, `seed` + 1 and so on, as a sweep of `seed`. Results are
    /// means over the seeds, with confidence intervals.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 10_000), extend("x-example" = "10"))]
    seeds: u32,
    /// Values that keys take in turn, by the paths of keys, such as `"workload.load" = [0.1, 0.2]`. Several keys give
    /// every combination; the last key changes fastest.
    #[serde(default)]
    sweep: SweepSpec,
}

/// Files that a file starts from.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum IncludeSpec {
    /// One file.
    One(String),
    /// Several files. A later file overrides an earlier one.
    Several(Vec<String>),
}

/// Values that keys take in turn.
#[derive(JsonSchema, Default, Serialize, Deserialize)]
#[serde(default)]
#[schemars(extend("x-example" = SWEEP))]
struct SweepSpec {
    /// Groups of keys that change together, such as a topology and its routing. Groups change more slowly than the
    /// other keys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    zip: Vec<ZipSpec>,
    #[serde(flatten)]
    keys: BTreeMap<String, AxisSpec>,
}

/// Keys that change together, one step at a time. All have an equal number of values. Groups combine with one another
/// and with the other keys of the sweep.
#[derive(JsonSchema, Serialize, Deserialize)]
#[schemars(extend("x-example" = ZIP))]
struct ZipSpec {
    /// Name of each step. Tables and plots show it instead of the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-example" = "[\"torus\", \"dragonfly\"]"))]
    label: Option<Vec<String>>,
    #[serde(flatten)]
    keys: BTreeMap<String, AxisSpec>,
}

fn one() -> u32 {
    1
}

/// Values that one key takes in turn.
#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(untagged)]
enum AxisSpec {
    /// List of values.
    Values(#[schemars(length(min = 1))] Vec<Json>),
    /// Range of equidistant values.
    Range(RangeSpec),
}

/// Equidistant values, exact in decimals: `{ from = 0.1, to = 1.0, step = 0.1 }` ends with 1.0.
#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = RANGE))]
struct RangeSpec {
    /// First value.
    from: Json,
    /// Last value, if a whole number of steps leads to it. Otherwise a limit that is not reached.
    to: Json,
    /// Distance between two values. Greater than 0.
    step: Json,
}

/// Examples of sections, as written in a file.
const SWEEP: &str = r#"[sweep]
"workload.pattern" = ["uniform", { kind = "shift", offset = 5 }]
"workload.load" = { from = 0.1, to = 0.9, step = 0.2 }"#;

const RANGE: &str = r#"[sweep]
"workload.load" = { from = 0.1, to = 1.0, step = 0.1 }"#;

const ZIP: &str = r#"[[sweep.zip]]
label = ["torus", "dragonfly"]
topology = [{ kind = "torus", dims = [6, 6] }, { kind = "dragonfly", h = 2 }]
"routing.kind" = ["dimension-order", "ugal-l"]"#;

/// Property of the schema for an example: the value of a key, or the lines of a table.
const EXAMPLE: &str = "x-example";

/// Property of the schema for what to do if none of the kinds fits.
const OTHERWISE: &str = "x-otherwise";

/// Returns the JSON Schema of a file whose points are `T`.
pub fn schema<T: JsonSchema>() -> Json {
    schema_for!(FileSpec<T>).to_value()
}

/// Returns the shape of a file whose points are `T`.
pub fn shape_of<T: JsonSchema>() -> TableShape {
    let root = schema::<T>();
    Converter { root: &root }.table(&root, 0)
}

/// A file without keys but those of this crate.
#[derive(JsonSchema)]
struct Nothing {}

/// Returns the shape of the key `name`, which every file may have.
pub(crate) fn own_key(name: &str) -> Option<&'static Key> {
    static SHAPE: LazyLock<TableShape> = LazyLock::new(shape_of::<Nothing>);
    SHAPE.keys.iter().find(|key| key.name == name)
}

/// Shape of a value: the values that a key accepts.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Table(TableShape),
    /// One of several tables, distinguished by the value of a key.
    Choice(Choice),
    Quantity(Quantity),
    Text,
    /// One of several words.
    Names(Vec<Name>),
    Integer(Bounds<i128>),
    Number(Bounds<f64>),
    Boolean,
    List(ListShape),
    Either(Vec<Shape>),
    /// Any value. It is checked where it is used.
    Any,
}

/// Keys of a table, with the values that they accept.
#[derive(Clone, Debug, Default)]
pub struct TableShape {
    pub(crate) doc: String,
    /// Lines of a file with the table. Empty if its keys suffice as examples.
    pub(crate) example: String,
    /// Rules of the kind that has the table.
    pub(crate) rules: Vec<Rule>,
    pub(crate) keys: Vec<Key>,
    /// Shape of the values of keys with other names. `None` if other keys are refused.
    pub(crate) others: Option<Box<Shape>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub name: String,
    pub doc: String,
    pub shape: Shape,
    /// Example value as TOML. Empty if the shape suffices as an example.
    pub example: String,
    pub required: bool,
    pub default: Option<Json>,
    pub rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// Key that distinguishes the kinds.
    pub tag: String,
    pub kinds: Vec<Kind>,
    /// What to do if no kind fits. Empty if nothing can be done.
    pub otherwise: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub name: Name,
    /// Table of the kind's keys, including the key that selects the kind.
    pub table: TableShape,
}

#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub name: String,
    /// Alternative names, from the schema's `x-aliases`.
    pub aliases: Vec<String>,
    pub doc: String,
}

impl Name {
    pub fn is(&self, written: &str) -> bool {
        self.name == written || self.aliases.iter().any(|alias| alias == written)
    }
}

/// A quantity with a unit. Its bounds are in the smallest unit.
#[derive(Clone, Debug)]
pub(crate) struct Quantity {
    pub what: String,
    pub example: String,
    pub bounds: Bounds<u64>,
    pub parse: fn(&str) -> Result<u64, QuantityError>,
    pub written: fn(u64) -> String,
}

#[derive(Clone, Debug)]
pub(crate) struct ListShape {
    pub items: Box<Shape>,
    pub min: usize,
    pub max: usize,
}

/// Bounds of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds<T> {
    pub min: Option<Bound<T>>,
    pub max: Option<Bound<T>>,
}

/// Bound of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound<T> {
    pub value: T,
    /// Whether the bound itself is allowed.
    pub inclusive: bool,
}

impl<T: PartialOrd + Copy> Bounds<T> {
    pub fn allow(&self, value: T) -> bool {
        self.min.is_none_or(|min| value > min.value || min.inclusive && value == min.value)
            && self.max.is_none_or(|max| value < max.value || max.inclusive && value == max.value)
    }

    fn of(schema: &Json, read: fn(&Json) -> Option<T>) -> Self {
        let bound = |inclusive: &str, exclusive: &str| {
            let of = |key, inclusive| schema.get(key).and_then(read).map(|value| Bound { value, inclusive });
            of(exclusive, false).or(of(inclusive, true))
        };
        Self { min: bound("minimum", "exclusiveMinimum"), max: bound("maximum", "exclusiveMaximum") }
    }
}

/// Returns the quantities that the schema names by `format`. Their words and examples are in the types of `units`.
fn quantities() -> &'static [Quantity] {
    static ALL: LazyLock<Vec<Quantity>> = LazyLock::new(|| {
        vec![
            quantity::<Time>(|text| Time::from_str(text).map(|time| time.0), |time| Time(time).to_string()),
            quantity::<Duration>(
                |text| Duration::from_str(text).map(|duration| duration.0),
                |duration| Duration(duration).to_string(),
            ),
            quantity::<Length>(
                |text| Length::from_str(text).map(|length| length.0),
                |length| Length(length).to_string(),
            ),
            quantity::<Power>(|text| Power::from_str(text).map(|power| power.0), |power| Power(power).to_string()),
            quantity::<Bytes>(|text| Bytes::from_str(text).map(|size| size.0), |size| Bytes(size).to_string()),
            quantity::<Bandwidth>(
                |text| Bandwidth::from_str(text).map(|bandwidth| bandwidth.0),
                |bandwidth| Bandwidth(bandwidth).to_string(),
            ),
            quantity::<Capacity>(
                |text| {
                    Capacity::from_str(text).map(|depth| match depth {
                        Capacity::Packets(packets) => u64::from(packets),
                        Capacity::Bytes(bytes) => bytes.0,
                    })
                },
                |depth| depth.to_string(),
            ),
        ]
    });
    &ALL
}

fn quantity<T: JsonSchema>(parse: fn(&str) -> Result<u64, QuantityError>, written: fn(u64) -> String) -> Quantity {
    let schema = T::json_schema(&mut SchemaGenerator::default()).to_value();
    let example = schema.pointer("/examples/0");
    let (what, example) = (text(schema.get("format")), text(example));
    Quantity { what, example, bounds: Bounds { min: None, max: None }, parse, written }
}

fn text(value: Option<&Json>) -> String {
    value.and_then(Json::as_str).unwrap_or_default().to_owned()
}

/// Returns a doc comment as one line.
fn doc(schema: &Json) -> String {
    text(schema.get("description")).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Converter from a JSON Schema, whose definitions are in its root, to shapes.
struct Converter<'a> {
    root: &'a Json,
}

impl Converter<'_> {
    /// Maximum nesting, deeper than any file needs. It ends the walk of a recursive type.
    const DEEPEST: usize = 16;

    fn shape(&self, schema: &Json, depth: usize) -> Shape {
        if depth > Self::DEEPEST {
            return Shape::Any;
        }
        let schema = &self.without_reference(schema);
        let branches = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Json::as_array);
        if let Some(branches) = branches {
            return self.branches(schema, branches, depth);
        }
        if let Some(names) = names(schema) {
            return Shape::Names(names);
        }
        match kind_of(schema) {
            "object" => Shape::Table(self.table(schema, depth)),
            "array" => Shape::List(ListShape {
                items: Box::new(schema.get("items").map_or(Shape::Any, |items| self.shape(items, depth + 1))),
                min: schema.get("minItems").and_then(Json::as_u64).map_or(0, |min| min as usize),
                max: schema.get("maxItems").and_then(Json::as_u64).map_or(usize::MAX, |max| max as usize),
            }),
            "string" => text_shape(schema),
            "integer" => Shape::Integer(integer_bounds(schema)),
            "number" => Shape::Number(Bounds::of(schema, Json::as_f64)),
            "boolean" => Shape::Boolean,
            _ => Shape::Any,
        }
    }

    fn table(&self, schema: &Json, depth: usize) -> TableShape {
        let required: Vec<&str> =
            schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect();
        let key = |(name, schema): (&String, &Json)| {
            let default = schema.get("default").filter(|default| !default.is_null()).cloned();
            let required = required.contains(&name.as_str());
            let (shape, example) = (self.shape(schema, depth + 1), text(schema.get(EXAMPLE)));
            let rules = Rule::all_of(schema);
            Key { name: name.clone(), doc: doc(schema), shape, example, required, default, rules }
        };
        let keys = schema.get("properties").and_then(Json::as_object).into_iter().flatten().map(key).collect();
        let others = schema.get("additionalProperties").filter(|others| others.is_object());
        let others = others.map(|others| Box::new(self.shape(others, depth + 1)));
        let rules = Rule::all_of(schema);
        TableShape { doc: doc(schema), example: text(schema.get(EXAMPLE)), rules, keys, others }
    }

    /// Replaces a reference by its definition. Keys beside the reference override the definition's; the properties of
    /// both are merged.
    fn without_reference(&self, schema: &Json) -> Json {
        let mut schema = schema.clone();
        for _ in 0..Self::DEEPEST {
            let Some(beside) = schema.as_object_mut() else { break };
            let Some(reference) = beside.remove("$ref") else { break };
            let pointer = reference.as_str().map(|reference| reference.trim_start_matches('#')).unwrap_or_default();
            let target = self.root.pointer(pointer).and_then(Json::as_object).cloned().unwrap_or_default();
            for (key, value) in target {
                match (key.as_str(), beside.get_mut(&key), value) {
                    ("properties", Some(Json::Object(own)), Json::Object(others)) => {
                        others.into_iter().for_each(|(name, other)| _ = own.entry(name).or_insert(other));
                    }
                    ("required", Some(Json::Array(own)), Json::Array(others)) => own.extend(others),
                    (_, Some(_), _) => {}
                    (_, None, value) => _ = beside.insert(key, value),
                }
            }
        }
        schema
    }

    /// Converts alternatives. Bounds beside them apply to each of them. Alternatives that are tables become a choice.
    fn branches(&self, schema: &Json, branches: &[Json], depth: usize) -> Shape {
        let resolved: Vec<Json> = branches
            .iter()
            .map(|branch| with_bounds_of(schema, self.without_reference(branch)))
            .filter(|branch| kind_of(branch) != "null")
            .collect();
        let mut words = Vec::new();
        let mut tables = Vec::new();
        let mut shapes = Vec::new();
        for branch in &resolved {
            match (names(branch), kind_of(branch)) {
                (Some(names), _) => words.extend(names),
                (None, "object") if tag(branch).is_some() => tables.push(branch),
                _ => shapes.push(self.shape(branch, depth + 1)),
            }
        }
        if let Some(tag) = tables.first().and_then(|table| tag(table)) {
            let kinds = tables.iter().map(|table| self.kind(tag, table, depth)).collect();
            let otherwise = text(schema.get(OTHERWISE));
            shapes.insert(0, Shape::Choice(Choice { tag: tag.to_owned(), kinds, otherwise }));
        }
        if !words.is_empty() {
            shapes.insert(0, Shape::Names(words));
        }
        if shapes.len() == 1 { shapes.remove(0) } else { Shape::Either(shapes) }
    }

    fn kind(&self, tag: &str, schema: &Json, depth: usize) -> Kind {
        let name = text(schema["properties"][tag].get("const"));
        let mut table = self.table(schema, depth);
        // The choice checks the kind, which may be an alias.
        table.keys.iter_mut().filter(|key| key.name == tag).for_each(|key| key.shape = Shape::Text);
        Kind { name: Name { name, aliases: aliases(schema), doc: doc(schema) }, table }
    }
}

/// Returns the key with a fixed value, which identifies a variant.
fn tag(schema: &Json) -> Option<&str> {
    let mut properties = schema.get("properties")?.as_object()?.iter();
    properties.find(|(_, property)| property.get("const").is_some()).map(|(name, _)| name.as_str())
}

fn names(schema: &Json) -> Option<Vec<Name>> {
    let name = |name: &Json| Name { name: text(Some(name)), aliases: aliases(schema), doc: doc(schema) };
    match schema.get("const") {
        Some(only) => Some(vec![name(only)]),
        None => Some(schema.get("enum")?.as_array()?.iter().map(name).collect()),
    }
}

fn aliases(schema: &Json) -> Vec<String> {
    let aliases = schema.get("x-aliases").and_then(Json::as_array).into_iter().flatten();
    aliases.filter_map(Json::as_str).map(str::to_owned).collect()
}

/// Returns the type of a schema's values; of several types, the first that is not null.
fn kind_of(schema: &Json) -> &str {
    match schema.get("type") {
        Some(Json::String(kind)) => kind,
        Some(Json::Array(kinds)) => {
            kinds.iter().filter_map(Json::as_str).find(|&kind| kind != "null").unwrap_or("null")
        }
        _ => "",
    }
}

fn with_bounds_of(schema: &Json, mut branch: Json) -> Json {
    for bound in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] {
        if let (Some(value), Some(branch)) = (schema.get(bound), branch.as_object_mut()) {
            branch.insert(bound.to_owned(), value.clone());
        }
    }
    branch
}

fn text_shape(schema: &Json) -> Shape {
    let format = text(schema.get("format"));
    match quantities().iter().find(|quantity| quantity.what == format) {
        Some(quantity) => Shape::Quantity(Quantity { bounds: Bounds::of(schema, Json::as_u64), ..quantity.clone() }),
        None => Shape::Text,
    }
}

/// Returns the bounds of an integer: the schema's, or those of the machine's integer type. The bounds of 64 bits are
/// those of TOML.
fn integer_bounds(schema: &Json) -> Bounds<i128> {
    let given = Bounds::of(schema, |bound| bound.as_i64().map(i128::from).or(bound.as_u64().map(i128::from)));
    let format = text(schema.get("format"));
    let bits = format.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().ok().filter(|&bits: &u32| bits < 64);
    let largest = |bits: u32| (1_i128 << bits) - 1;
    let (min, max) = match (format.starts_with('u'), bits) {
        (true, bits) => (Some(0), bits.map(largest)),
        (false, bits) => (bits.map(|bits| -largest(bits - 1) - 1), bits.map(|bits| largest(bits - 1))),
    };
    let itself = |value| Bound { value, inclusive: true };
    Bounds { min: given.min.or(min.map(itself)), max: given.max.or(max.map(itself)) }
}
