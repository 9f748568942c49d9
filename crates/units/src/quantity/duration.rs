//! Durations of the wall clock, which are written in other units than times of a simulation.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Dimension, QuantityError, Text};

static DURATION: Dimension = Dimension {
    what: "a duration",
    example: "10 min",
    smallest: "milliseconds",
    units: &[("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)],
};

quantity! {
    /// A duration of the wall clock, in milliseconds.
    Duration, DURATION
}
