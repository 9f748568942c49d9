//! Traffic patterns, as the experiment file names them.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use units::KeyError;

use crate::patterns::{
    adversarial, bit_complement, bit_reversal, exchange, hotspot, matrix, neighbor, random_permutation, shift, shuffle,
    tornado, transpose, uniform,
};
use crate::{Pattern, Shape};
use schemars::{JsonSchema, Schema};
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// Traffic pattern: its name (`"uniform"`), or a table with its keys (`{ kind = "shift", offset = 5 }`).
// `remote = "Self"` makes the derived functions read and write the table only; the traits below add the bare name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Pattern", transform = allow_bare_names)]
#[schemars(extend("x-otherwise" = "any other pattern is kind = \"matrix\" with the bytes between nodes"))]
pub enum PatternSpec {
    /// Each task sends to every other task with equal probability.
    Uniform(uniform::UniformSpec),
    /// Task s of N sends to task N - 1 - s: the inverted bits of s, where N is a power of two.
    BitComplement {},
    /// Task s sends to the task whose number has the bits of s in reverse order.
    BitReversal {},
    /// Task s sends to the task with the two halves of its bits exchanged; on a square grid, with exchanged coordinates.
    Transpose {},
    /// Task s sends to the task whose number has the bits of s rotated left by one.
    Shuffle {},
    /// Each task sends almost half-way around each dimension of a torus or mesh, or else around the task numbers.
    Tornado {},
    /// Each task sends to the next task in each dimension of a torus or mesh, or else in the numbering of the tasks.
    #[serde(alias = "neighbour")]
    #[schemars(extend("x-aliases" = ["neighbour"]))]
    Neighbor {},
    /// Task s sends to task s + `offset`, or to the corresponding task of the group that is a number of groups further.
    Shift(shift::ShiftSpec),
    /// Each task sends to random tasks of the group `offset` groups further, or else as the worst permutation says.
    Adversarial(adversarial::AdversarialSpec),
    /// Each message goes to one of the task's neighbours in a periodic grid of tasks.
    Exchange(exchange::ExchangePatternSpec),
    /// Each task has one partner, drawn once from the experiment's seed; no task is its own partner.
    RandomPermutation {},
    /// A fraction of the messages goes to a few tasks; the rest is uniform.
    Hotspot(hotspot::HotspotSpec),
    /// Weights of pairs of tasks, read from a CSV file.
    Matrix(matrix::MatrixSpec),
}

impl PatternSpec {
    /// Builds the pattern for the tasks of a machine. `seed` is that of the experiment. Paths in the experiment file
    /// are relative to the folder `base`.
    ///
    /// # Errors
    /// [`KeyError`] if the pattern does not fit the number of tasks, a key is out of range, or a file cannot be
    /// used.
    pub fn build(&self, shape: &Shape, seed: u64, base: &Path) -> Result<Arc<dyn Pattern>, KeyError> {
        let tasks = shape.tasks;
        Ok(match self {
            Self::Uniform(spec) => Arc::new(uniform::Uniform::new(spec, tasks)?),
            Self::BitComplement {} => Arc::new(bit_complement::build(tasks)?),
            Self::BitReversal {} => Arc::new(bit_reversal::build(tasks)?),
            Self::Transpose {} => Arc::new(transpose::build(tasks)?),
            Self::Shuffle {} => Arc::new(shuffle::build(tasks)?),
            Self::Tornado {} => Arc::new(tornado::build(shape)?),
            Self::Neighbor {} => Arc::new(neighbor::build(shape)?),
            Self::Shift(spec) => Arc::new(shift::build(spec, shape)?),
            Self::Adversarial(spec) => adversarial::build(spec, shape)?,
            Self::Exchange(spec) => Arc::new(exchange::Exchange::new(spec, tasks)?),
            Self::RandomPermutation {} => Arc::new(random_permutation::build(tasks, seed)?),
            Self::Hotspot(spec) => Arc::new(hotspot::Hotspot::new(spec, tasks)?),
            Self::Matrix(spec) => Arc::new(matrix::Matrix::read(spec, tasks, base)?),
        })
    }

    /// Returns whether the pattern needs `Shape::worst`.
    pub fn needs_worst(&self, shape: &Shape) -> bool {
        matches!(self, Self::Adversarial(_)) && adversarial::needs_worst(shape)
    }

    /// Returns the pattern's name, as the experiment file writes it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Uniform(_) => uniform::KIND,
            Self::BitComplement {} => bit_complement::KIND,
            Self::BitReversal {} => bit_reversal::KIND,
            Self::Transpose {} => transpose::KIND,
            Self::Shuffle {} => shuffle::KIND,
            Self::Tornado {} => tornado::KIND,
            Self::Neighbor {} => neighbor::KIND,
            Self::Shift(_) => shift::KIND,
            Self::Adversarial(_) => adversarial::KIND,
            Self::Exchange(_) => exchange::KIND,
            Self::RandomPermutation {} => random_permutation::KIND,
            Self::Hotspot(_) => hotspot::KIND,
            Self::Matrix(_) => matrix::KIND,
        }
    }
}

impl Default for PatternSpec {
    /// Returns the pattern `uniform` over the other tasks.
    fn default() -> Self {
        Self::Uniform(uniform::UniformSpec::default())
    }
}

impl Serialize for PatternSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for PatternSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrTable)
    }
}

/// Visitor that reads a pattern from its bare name, as a table without further keys, or from a table.
struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = PatternSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a pattern: a name such as \"uniform\", or a table such as { kind = \"shift\", offset = 5 }")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<PatternSpec, E> {
        PatternSpec::deserialize(MapDeserializer::new(std::iter::once(("kind", name))))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PatternSpec, A::Error> {
        PatternSpec::deserialize(MapAccessDeserializer::new(map))
    }
}

/// Line of `cutthrough list patterns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternEntry {
    /// Name, as the experiment file writes it.
    pub name: String,
    /// Description of the pattern, in one sentence.
    pub summary: String,
}

/// Returns all patterns, in the order of their definition. The summaries are the documentation of the variants of
/// [`PatternSpec`].
pub fn list() -> Vec<PatternEntry> {
    let schema = schemars::schema_for!(PatternSpec);
    let variants = schema.get("oneOf").and_then(|variants| variants.as_array()).into_iter().flatten();
    variants
        .filter_map(|variant| {
            Some(PatternEntry {
                name: variant.pointer("/properties/kind/const")?.as_str()?.to_owned(),
                summary: variant.get("description")?.as_str()?.to_owned(),
            })
        })
        .collect()
}

/// Adds the bare names to the schema, for patterns that require no key but `kind`.
fn allow_bare_names(schema: &mut Schema) {
    let Some(variants) = schema.get_mut("oneOf").and_then(|variants| variants.as_array_mut()) else { return };
    let names: Vec<_> = variants
        .iter()
        .filter(|variant| variant.pointer("/required/1").is_none())
        .filter_map(|variant| variant.pointer("/properties/kind/const").cloned())
        .collect();
    variants.insert(0, schemars::json_schema!({ "type": "string", "enum": names }).to_value());
}
