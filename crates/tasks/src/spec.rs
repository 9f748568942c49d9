//! Task graphs by name: generators with their keys, or a file.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use units::{Draw, LocatedError};

use super::generators::matmul::MatmulSpec;
use super::generators::mesh::MeshSpec;
use super::generators::milc::MilcSpec;
use super::generators::namd::NamdSpec;
use super::generators::openatom::OpenAtomSpec;
use super::generators::random::RandomSpec;
use super::generators::stencil::StencilSpec;
use super::limits::summable;
use super::{GraphFormat, TaskGraph, read_graph};
use units::NamedStream;

/// Task graph in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphFileSpec {
    /// Path of the file, relative to the experiment file.
    pub path: PathBuf,
    /// Format. Default: according to the file's extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<GraphFormat>,
}

/// Task graph: messages between the tasks of an application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum GraphSpec {
    /// Grid of one to four dimensions with nearest neighbours.
    Stencil(StencilSpec),
    /// Three-dimensional matrix multiplication.
    Matmul(MatmulSpec),
    /// Lattice QCD on a grid of four dimensions.
    Milc(MilcSpec),
    /// NAMD: patches and computes.
    Namd(NamdSpec),
    /// OpenAtom: GSpace, RealSpace and PairCalculators.
    #[serde(rename = "openatom")]
    OpenAtom(OpenAtomSpec),
    /// Unstructured mesh.
    Mesh(MeshSpec),
    /// Random partners.
    Random(RandomSpec),
    /// Graph in a file.
    File(GraphFileSpec),
}

impl GraphSpec {
    /// All kinds, each with an example of its shorthand and the key of a first setting that is written without a key.
    pub const KINDS: [(&'static str, &'static str, &'static str); 8] = [
        ("stencil", "stencil:16x16x16", "dims"),
        ("matmul", "matmul:8", "n"),
        ("milc", "milc:8x8x8x8", "dims"),
        ("namd", "namd:6x6x4", "patches"),
        ("openatom", "openatom:water-32", "system"),
        ("mesh", "mesh:10000", "points"),
        ("random", "random:1000", "tasks"),
        ("file", "file:graph.metis", "path"),
    ];

    /// Builds the graph. Paths are relative to `base`. Random generators use the seed.
    ///
    /// # Errors
    /// If a key is out of range, or a file is wrong.
    pub fn build(&self, base: &Path, seed: u64) -> Result<TaskGraph, LocatedError> {
        let graph = match self {
            Self::Stencil(spec) => spec.build(),
            Self::Matmul(spec) => spec.build(),
            Self::Milc(spec) => spec.build(),
            Self::Namd(spec) => spec.build(),
            Self::OpenAtom(spec) => spec.build(),
            Self::Mesh(spec) => spec.build(seed),
            Self::Random(spec) => spec.build(seed),
            Self::File(spec) => read_graph(&base.join(&spec.path), &spec.path.display().to_string(), spec.format),
        };
        graph.and_then(summable)
    }
}

/// Returns the graph with its tasks renumbered at random, by a seed.
pub fn shuffled(graph: &TaskGraph, seed: u64) -> TaskGraph {
    let mut number: Vec<u32> = (0..graph.tasks()).collect();
    let mut draw = NamedStream::new(seed, "shuffled-tasks");
    for last in (1..number.len()).rev() {
        number.swap(last, draw.below(last as u32 + 1) as usize);
    }
    graph.renumbered(&number)
}

/// Parses `kind:VALUE,key=value`, such as `stencil:16x16x16,periodic=false`, or the path of a file.
impl FromStr for GraphSpec {
    type Err = LocatedError;

    fn from_str(text: &str) -> Result<Self, LocatedError> {
        let text = text.trim();
        let (kind, settings) = text.split_once(':').unwrap_or((text, ""));
        if let Some(&(kind, _, first)) = Self::KINDS.iter().find(|(known, ..)| *known == kind) {
            return from_settings(kind, first, settings);
        }
        let path = Path::new(text);
        if path.is_file() || GraphFormat::of(path).is_some() || text.contains('/') {
            return Ok(Self::File(GraphFileSpec { path: path.to_owned(), format: None }));
        }
        let nearest = Self::KINDS.iter().map(|(known, ..)| (strsim::damerau_levenshtein(kind, known), known)).min();
        let hint = nearest
            .filter(|(far, _)| 2 * far <= kind.chars().count())
            .map_or(String::new(), |(_, known)| format!("; did you mean `{known}`?"));
        let hint = if hint.is_empty() { "." } else { hint.as_str() };
        let examples = Self::KINDS.map(|(_, example, _)| example).join("`, `");
        let message =
            format!("`{}` is no file and no kind of graph{hint} Write for example `{examples}`", text.escape_debug());
        Err(LocatedError::key("graph", message))
    }
}

fn from_settings(kind: &str, first: &str, settings: &str) -> Result<GraphSpec, LocatedError> {
    let mut table = Map::new();
    table.insert("kind".into(), Value::from(kind));
    if kind == "file" {
        table.insert(first.into(), Value::from(settings));
    } else {
        for (place, setting) in settings.split(',').filter(|setting| !setting.is_empty()).enumerate() {
            let (key, value) = match setting.split_once('=') {
                Some((key, value)) => (key.trim(), value.trim()),
                None if place == 0 => (first, setting.trim()),
                None => {
                    let message = format!("`{}` has no `=`; settings are key=value", setting.escape_debug());
                    return Err(LocatedError::key("graph", message));
                }
            };
            let list = matches!(key, "dims" | "patches");
            if table.insert(key.into(), value_of(value, list)).is_some() {
                return Err(LocatedError::key("graph", format!("`{key}` is given twice")));
            }
        }
    }
    serde_json::from_value(Value::Object(table)).map_err(|error| {
        let words = in_words(&error.to_string());
        LocatedError::key("graph", format!("`{kind}:{}`: {words}", settings.escape_debug()))
    })
}

/// Returns an error message of the deserializer without names of types.
fn in_words(complaint: &str) -> String {
    let words = [
        ("invalid type: string \"\", expected", "there is nothing, expected"),
        ("invalid type: floating point", "not allowed:"),
        ("invalid type: ", "not allowed: "),
        ("invalid value: ", "not allowed: "),
        ("missing field", "missing:"),
        ("expected u64", "expected a whole number from 0"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected f64", "expected a number"),
        ("expected a sequence", "expected numbers with `x` between them"),
    ];
    words.iter().fold(complaint.to_owned(), |text, (of_types, plain)| text.replace(of_types, plain))
}

/// Parses the value of a setting: a number, true or false, numbers with `x` between them, or a word.
fn value_of(text: &str, list: bool) -> Value {
    let number = |text: &str| text.parse::<u64>().map(Value::from).or_else(|_| text.parse::<f64>().map(Value::from));
    if list {
        return text.split('x').map(|part| number(part).unwrap_or_else(|_| Value::from(part))).collect();
    }
    match text {
        "true" => Value::from(true),
        "false" => Value::from(false),
        _ => number(text).unwrap_or_else(|_| Value::from(text)),
    }
}
