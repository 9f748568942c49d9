//! Keys that differ by class of routers, and the sets of equal routers that they make.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{RouterClasses, Topology};
use units::{Capacity, RouterId, Time};

use crate::catalogue::{InputCrosspointQueuedSpec, InputOutputQueuedSpec, RouterSpec, SharedBufferSpec, SizeKeys};
use crate::depths::Depths;

/// Exceptions by class of routers.
pub type RouterClassSpecs = BTreeMap<String, RouterClassSpec>;

/// Exceptions for one class of routers. A key that is left out has the value that `[router]` gives, else the default
/// that follows from the delay of these routers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[router.spine]\ndelay = \"300 ns\""))]
pub struct RouterClassSpec {
    /// Depth of the input buffers of these routers, as `router.buffer`: one depth, or a table of depths by class of
    /// channels. Default: `router.buffer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Depths>,
    /// Pipeline delay of these routers. Default: `router.delay`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// Number of ports of these switches. Default: `router.ports`.
    #[schemars(range(min = 1, max = 65535))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<u16>,
    /// Depth of an output's buffer in these routers. Input-output-queued routers only. Default: `router.output_buffer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_buffer: Option<Capacity>,
    /// Bandwidth of the crossbar at a port of these routers, as a multiple of the link's. Input-output-queued routers
    /// only. Default: `router.speedup`.
    #[schemars(range(min = 1, max = 64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speedup: Option<u8>,
    /// Depth of a crosspoint buffer in these routers. Input-crosspoint-queued routers only. Default:
    /// `router.crosspoint_buffer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crosspoint_buffer: Option<Capacity>,
    /// Shared memory of each of these routers. Shared-buffer routers only. Default: `router.memory`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Capacity>,
    /// Threshold of the shared memory in these routers. Shared-buffer routers only. Default: `router.alpha`.
    #[schemars(range(min = 0.001, max = 1000.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
}

impl RouterClassSpec {
    /// Returns the names of the keys that are given.
    pub fn given(&self) -> impl Iterator<Item = &'static str> + use<> {
        let all = [
            ("buffer", self.buffer.is_some()),
            ("delay", self.delay.is_some()),
            ("ports", self.ports.is_some()),
            ("output_buffer", self.output_buffer.is_some()),
            ("speedup", self.speedup.is_some()),
            ("crosspoint_buffer", self.crosspoint_buffer.is_some()),
            ("memory", self.memory.is_some()),
            ("alpha", self.alpha.is_some()),
        ];
        all.into_iter().filter_map(|(key, is_given)| is_given.then_some(key))
    }
}

/// Replaces a value if another is given.
fn replace<T>(value: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *value = given;
    }
}

/// Replaces an optional value if another is given.
fn replace_some<T>(value: &mut Option<T>, given: Option<T>) {
    if given.is_some() {
        *value = given;
    }
}

impl RouterSpec {
    /// Returns the keys that may differ by class of routers.
    pub fn class_keys(&self) -> &'static [&'static str] {
        match self {
            Self::OutputQueued(_) | Self::InputQueued(_) | Self::VirtualOutputQueued(_) => {
                &["buffer", "delay", "ports"]
            }
            Self::InputOutputQueued(_) => &["buffer", "delay", "ports", "output_buffer", "speedup"],
            Self::InputCrosspointQueued(_) => &["buffer", "delay", "ports", "crosspoint_buffer"],
            Self::SharedBuffer(_) => &["buffer", "delay", "ports", "memory", "alpha"],
        }
    }

    /// Returns the class of routers and the name of the first exception that the architecture has no key for.
    pub fn foreign_class_key(&self) -> Option<(&str, &'static str)> {
        let allowed = self.class_keys();
        let foreign = |own: &RouterClassSpec| own.given().find(|key| !allowed.contains(key));
        self.common().classes.iter().find_map(|(class, own)| Some((class.as_str(), foreign(own)?)))
    }

    /// Returns the keys of the routers of a class, without exceptions.
    pub fn of_class(&self, class: &str) -> Self {
        let mut made = self.clone();
        let keys = made.size_keys();
        let given = std::mem::take(keys.classes).remove(class).unwrap_or_default();
        replace_some(keys.buffer, given.buffer);
        replace_some(keys.delay, given.delay);
        replace_some(keys.ports, given.ports);
        match &mut made {
            Self::InputOutputQueued(spec) => {
                replace(&mut spec.output_buffer, given.output_buffer);
                replace(&mut spec.speedup, given.speedup);
            }
            Self::InputCrosspointQueued(spec) => replace(&mut spec.crosspoint_buffer, given.crosspoint_buffer),
            Self::SharedBuffer(spec) => {
                replace_some(&mut spec.memory, given.memory);
                replace(&mut spec.alpha, given.alpha);
            }
            Self::OutputQueued(_) | Self::InputQueued(_) | Self::VirtualOutputQueued(_) => {}
        }
        made
    }

    /// Returns the values of the keys that may differ by class of routers, without exceptions.
    pub fn as_class(&self) -> RouterClassSpec {
        let keys = self.common();
        let mut made = RouterClassSpec {
            buffer: keys.buffer.cloned(),
            delay: keys.delay,
            ports: keys.ports,
            ..Default::default()
        };
        match self {
            Self::InputOutputQueued(spec) => {
                made.output_buffer = Some(spec.output_buffer);
                made.speedup = Some(spec.speedup);
            }
            Self::InputCrosspointQueued(spec) => made.crosspoint_buffer = Some(spec.crosspoint_buffer),
            Self::SharedBuffer(spec) => {
                made.memory = spec.memory;
                made.alpha = Some(spec.alpha);
            }
            Self::OutputQueued(_) | Self::InputQueued(_) | Self::VirtualOutputQueued(_) => {}
        }
        made
    }

    /// Returns the keys that are equal for all classes of routers, with defaults for the others.
    #[must_use]
    pub fn without_class_keys(&self) -> Self {
        let mut made = self.clone();
        let SizeKeys { buffer, delay, ports, classes } = made.size_keys();
        (*buffer, *delay, *ports, *classes) = (None, None, None, RouterClassSpecs::new());
        match &mut made {
            Self::InputOutputQueued(spec) => {
                let plain = InputOutputQueuedSpec::default();
                (spec.output_buffer, spec.speedup) = (plain.output_buffer, plain.speedup);
            }
            Self::InputCrosspointQueued(spec) => {
                spec.crosspoint_buffer = InputCrosspointQueuedSpec::default().crosspoint_buffer;
            }
            Self::SharedBuffer(spec) => (spec.memory, spec.alpha) = (None, SharedBufferSpec::default().alpha),
            Self::OutputQueued(_) | Self::InputQueued(_) | Self::VirtualOutputQueued(_) => {}
        }
        made
    }

    /// Returns the path of the key that gives a value of the routers of a class.
    pub(crate) fn path_of(&self, class: &str, key: &str) -> String {
        let name = key.split('.').next().unwrap_or(key);
        match self.common().classes.get(class).is_some_and(|own| own.given().any(|given| given == name)) {
            true => format!("router.{class}.{key}"),
            false => format!("router.{key}"),
        }
    }
}

/// Routers of a network in sets of equal keys.
#[derive(Clone, Debug)]
pub struct RouterSets {
    /// For each set, the first of its classes (empty if routers have no classes), and its keys.
    sets: Vec<(String, RouterSpec)>,
    /// Set of each class of routers.
    of_class: Vec<u16>,
    classes: RouterClasses,
    /// Keys of all routers, with their exceptions.
    all: RouterSpec,
}

impl RouterSets {
    /// Groups the routers of a topology by their keys.
    pub fn new(router: &RouterSpec, topology: &dyn Topology) -> Self {
        let classes = RouterClasses::default();
        let mut made = Self { sets: Vec::new(), of_class: Vec::new(), classes, all: router.clone() };
        if !router.common().classes.is_empty() {
            made.classes = RouterClasses::of(topology);
        }
        let Self { sets, of_class, classes, .. } = &mut made;
        for name in classes.names() {
            let keys = router.of_class(name);
            let known = sets.iter().position(|(_, known)| *known == keys);
            of_class.push(known.unwrap_or(sets.len()) as u16);
            if known.is_none() {
                sets.push((name.clone(), keys));
            }
        }
        if sets.is_empty() {
            sets.push((String::new(), router.of_class("")));
        }
        made
    }

    /// Returns the number of sets: at least 1.
    pub fn count(&self) -> usize {
        self.sets.len()
    }

    /// Returns the number of a router's set.
    pub fn number(&self, router: RouterId) -> usize {
        self.of_class.get(self.classes.class(router)).copied().unwrap_or(0).into()
    }

    /// Returns the keys of a router.
    pub fn keys(&self, router: RouterId) -> &RouterSpec {
        &self.sets[self.number(router)].1
    }

    /// Returns the path of the key that gives a value of a router.
    pub fn path(&self, router: RouterId, key: &str) -> String {
        let class = self.classes.names().get(self.classes.class(router)).map_or("", String::as_str);
        self.all.path_of(class, key)
    }

    /// Returns the path of the key that gives a value of the routers of a set: that of its first class.
    pub fn path_in(&self, set: usize, key: &str) -> String {
        self.all.path_of(self.sets.get(set).map_or("", |(class, _)| class), key)
    }

    /// Iterates over the sets: the name of the first class of each, and its keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RouterSpec)> {
        self.sets.iter().map(|(name, keys)| (name.as_str(), keys))
    }

    /// Returns the classes of a set as words for a message, such as ` of leaf routers`. Empty if all routers are equal.
    pub fn label(&self, set: usize) -> String {
        if self.count() == 1 {
            return String::new();
        }
        let of_set = self.classes.names().iter().zip(&self.of_class).filter(|&(_, &own)| usize::from(own) == set);
        format!(" of {} routers", of_set.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" and "))
    }
}
