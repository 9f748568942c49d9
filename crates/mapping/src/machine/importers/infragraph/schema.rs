//! Objects of an infrastructure, in the names of InfraGraph's schema.

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Infrastructure {
    #[serde(default, rename = "name")]
    _name: Option<String>,
    #[serde(default, rename = "description")]
    _description: Option<String>,
    pub devices: Vec<Device>,
    #[serde(default)]
    pub links: Vec<Link>,
    pub instances: Vec<Instance>,
    #[serde(default)]
    pub edges: Vec<Edge<Endpoints>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Device {
    pub name: String,
    #[serde(default, rename = "description")]
    _description: Option<String>,
    pub components: Vec<Component>,
    #[serde(default)]
    pub links: Vec<Link>,
    #[serde(default)]
    pub edges: Vec<Edge<Inner>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Component {
    pub name: String,
    #[serde(default, rename = "description")]
    _description: Option<String>,
    pub count: u32,
    pub choice: Choice,
    #[serde(default, rename = "custom")]
    _custom: Option<Custom>,
    #[serde(default, rename = "device")]
    _device: Option<Empty>,
    #[serde(default, rename = "cpu")]
    _cpu: Option<Empty>,
    #[serde(default, rename = "xpu")]
    _xpu: Option<Empty>,
    #[serde(default, rename = "nic")]
    _nic: Option<Empty>,
    #[serde(default, rename = "memory")]
    _memory: Option<Empty>,
    #[serde(default, rename = "port")]
    _port: Option<Empty>,
    #[serde(default, rename = "switch")]
    _switch: Option<Empty>,
}

/// Kind of a component.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Choice {
    Custom,
    Device,
    Cpu,
    Xpu,
    Nic,
    Memory,
    Port,
    Switch,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Custom {
    #[serde(rename = "type")]
    _type: String,
}

/// Object without keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Empty {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Link {
    pub name: String,
    #[serde(default, rename = "description")]
    _description: Option<String>,
    pub physical: Option<Physical>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Physical {
    pub bandwidth: Option<Bandwidth>,
    pub latency: Option<Latency>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bandwidth {
    choice: Option<String>,
    gigabits_per_second: Option<f64>,
    gigabytes_per_second: Option<f64>,
    gigatransfers_per_second: Option<f64>,
}

/// Rate of a link.
pub(super) enum Rate {
    /// Bandwidth in Gb/s.
    Gigabits(f64),
    /// Transfers in GT/s.
    Transfers(f64),
}

impl Bandwidth {
    /// Returns the rate.
    ///
    /// # Errors
    /// If it is not stated exactly once, in the unit of `choice`, or is not positive.
    pub fn rate(&self) -> Result<Rate, String> {
        let (unit, rate) = match (self.gigabits_per_second, self.gigabytes_per_second, self.gigatransfers_per_second) {
            (Some(rate), None, None) => ("gigabits_per_second", Rate::Gigabits(rate)),
            (None, Some(rate), None) => ("gigabytes_per_second", Rate::Gigabits(8.0 * rate)),
            (None, None, Some(rate)) => ("gigatransfers_per_second", Rate::Transfers(rate)),
            _ => return Err("the bandwidth needs one value, in the unit of `choice`".to_owned()),
        };
        let (Rate::Gigabits(value) | Rate::Transfers(value)) = rate;
        if self.choice.as_ref().is_some_and(|choice| choice != unit) {
            return Err(format!("the bandwidth is in `{unit}`, not in the unit of `choice`"));
        }
        if value > 0.0 && value <= 1e9 { Ok(rate) } else { Err(format!("the bandwidth {value} is not from 0 to 1e9")) }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Latency {
    #[serde(default, rename = "choice")]
    _choice: Option<String>,
    #[serde(default, rename = "ms")]
    _ms: Option<f64>,
    #[serde(default, rename = "us")]
    _us: Option<f64>,
    #[serde(default, rename = "ns")]
    _ns: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    pub name: String,
    #[serde(default, rename = "description")]
    _description: Option<String>,
    pub device: String,
    pub count: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edge<T> {
    pub ep1: T,
    pub ep2: T,
    pub scheme: Option<Scheme>,
    pub link: String,
}

/// Endpoints of the infrastructure.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Endpoints {
    pub instance: String,
    pub component: String,
}

/// Endpoints within a device.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Inner {
    #[serde(default, rename = "device")]
    _device: Option<String>,
    #[serde(rename = "component")]
    _component: String,
}

/// Rule that pairs endpoints.
#[derive(Clone, Copy, Deserialize)]
pub(super) enum Scheme {
    #[serde(rename = "one2one")]
    OneToOne,
    #[serde(rename = "many2many")]
    ManyToMany,
    #[serde(rename = "ring")]
    Ring,
}
