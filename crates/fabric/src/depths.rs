//! Depths of the buffers that credits stand for, as given in the experiment file or by default.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::ChannelClass;
use units::{Capacity, Time};

/// Depths of buffers: one for all classes of channels, or a table by class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Depths {
    /// One depth for all classes.
    Uniform(Capacity),
    /// Depths by the names of classes of channels. Classes that are left out have the default.
    ByClass(BTreeMap<String, Capacity>),
}

impl Depths {
    /// Returns the depth of the buffers behind the channels of a class, if it is given.
    pub fn of_class(&self, class: &str) -> Option<Capacity> {
        match self {
            Self::Uniform(depth) => Some(*depth),
            Self::ByClass(depths) => depths.get(class).copied(),
        }
    }

    /// Returns the classes that have a depth in the table.
    pub fn classes(&self) -> impl Iterator<Item = &str> {
        let depths = match self {
            Self::Uniform(_) => None,
            Self::ByClass(depths) => Some(depths),
        };
        depths.into_iter().flat_map(|depths| depths.keys().map(String::as_str))
    }

    /// Returns the key of the experiment file that gives a class's depth, under `[router]`.
    pub(crate) fn key_of(&self, class: &str) -> String {
        match self {
            Self::Uniform(_) => "buffer".to_owned(),
            Self::ByClass(_) => format!("buffer.{class}"),
        }
    }

    /// Fills in the depths of the classes for which none is given. `all` has all classes in their order. Returns the
    /// keys that were left out. Nodes take packets without credit: ejection channels have no depth.
    pub(crate) fn complete<'a>(
        given: &mut Option<Self>,
        all: impl Iterator<Item = (&'a str, Capacity)>,
    ) -> Vec<String> {
        let with_credits = all.filter(|(name, _)| !ChannelClass::is_ejection_name(name));
        let mut depths: BTreeMap<String, Capacity> =
            with_credits.map(|(name, depth)| (name.to_owned(), depth)).collect();
        match given {
            Some(Self::Uniform(_)) => Vec::new(),
            Some(Self::ByClass(given)) => {
                depths.retain(|name, _| !given.contains_key(name));
                let keys = depths.keys().map(|name| format!("buffer.{name}")).collect();
                given.append(&mut depths);
                keys
            }
            None => {
                let first = depths.values().next().copied();
                let uniform = first.filter(|first| depths.values().all(|depth| depth == first));
                *given = Some(uniform.map_or(Self::ByClass(depths), Self::Uniform));
                vec!["buffer".to_owned()]
            }
        }
    }
}

/// Delay of a router and depths of its buffers, given or by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Pipeline delay, from a packet's head at the input to its head ready to leave.
    pub delay: Time,
    /// By class of channels, the depth of the buffer that a credit stands for.
    pub buffers: Vec<Capacity>,
    /// Key and depth of the buffer behind the inputs, if there is one.
    pub inner: Option<(&'static str, Capacity)>,
}

impl From<Capacity> for Depths {
    fn from(depth: Capacity) -> Self {
        Self::Uniform(depth)
    }
}
