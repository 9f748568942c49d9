//! Keys of a dragonfly and the sizes that follow from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{KeyError, counted};

use crate::shorthand::{Settings, short};
use crate::views::{GroupNetwork, GroupsSize};
use crate::wires::{MAX_NODES, MAX_PORTS, MAX_ROUTERS, product};

/// Dragonfly: groups of routers that are wired to one another, and global wires between all groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DragonflySpec {
    /// Nodes on each router. Default: h (balanced).
    #[schemars(range(min = 1, max = 65533))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<u64>,
    /// Routers of each group. Default: 2h (balanced).
    #[schemars(range(min = 1, max = 16777216))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a: Option<u64>,
    /// Global ports of each router.
    #[schemars(range(min = 1, max = 65533), extend("x-example" = "2"))]
    pub h: u64,
    /// Number of groups, at least 2. Fewer than a h + 1 groups are joined by several wires a pair. Default: the
    /// largest number: a h / `global_wires` + 1, rounded down (full scale).
    #[schemars(range(min = 2, max = 16777216))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub g: Option<u64>,
    /// Number of wires between any two groups, spread evenly over the routers of a group. Further global ports are
    /// unconnected. Default: as many as the global ports allow, so that two pairs of groups differ by one wire at most.
    #[schemars(range(min = 1, max = 16777216))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_wires: Option<u64>,
    /// Number of parallel wires between two routers of a group.
    #[schemars(range(min = 1, max = 65533))]
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub local_wires: u64,
    /// Number of parallel wires between two routers of a row and of a column of a group, instead of `local_wires`, such
    /// as [1, 3] in Cray's XC. Requires `group = "flattened-butterfly"`.
    #[schemars(inner(range(min = 1, max = 65533)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_wires: Option<[u64; 2]>,
    /// Number of routers of each group, which are full meshes, instead of `a` and `g`. Requires `p` and `global_wires`.
    /// If the numbers differ, routings and patterns by groups do not fit.
    #[schemars(length(min = 2, max = 4096), inner(range(min = 1, max = 4095)), extend("x-example" = "[4, 4, 2]"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_sizes: Option<Vec<u64>>,
    /// Assignment of a group's global ports to the other groups.
    #[serde(default)]
    pub arrangement: Arrangement,
    /// Network between the routers of a group.
    #[serde(default)]
    pub group: GroupKind,
    /// Routers in each of the two dimensions of a group. Requires `group = "flattened-butterfly"`. Default: the most
    /// nearly square factorization of a.
    #[schemars(inner(range(min = 1, max = 16777216)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_dims: Option<[u64; 2]>,
    /// Seed of a random order of the groups in the arrangement. Default: groups are arranged in the order of their
    /// numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renumber_groups: Option<u64>,
}

fn one() -> u64 {
    1
}

fn is_one(wires: &u64) -> bool {
    *wires == 1
}

/// Network between the routers of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GroupKind {
    /// Full mesh: every router is wired to every other.
    #[default]
    FullMesh,
    /// Flattened butterfly of two dimensions: every router is wired to every other of its row and of its column.
    FlattenedButterfly,
}

impl DragonflySpec {
    /// Keys of the shorthand.
    const KEYS: [&'static str; 12] = [
        "h",
        "p",
        "a",
        "g",
        "global_wires",
        "local_wires",
        "group_wires",
        "group_sizes",
        "arrangement",
        "group",
        "group_dims",
        "renumber_groups",
    ];

    /// Returns a balanced dragonfly of full scale: p = h, a = 2h, g = ah + 1.
    pub fn balanced(h: u64) -> Self {
        Self {
            p: None,
            a: None,
            h,
            g: None,
            global_wires: None,
            local_wires: one(),
            group_wires: None,
            group_sizes: None,
            arrangement: Arrangement::default(),
            group: GroupKind::default(),
            group_dims: None,
            renumber_groups: None,
        }
    }

    /// Reads the shorthand `h=8`, `p=4,a=8,h=4`, `h=4,g=9,arrangement=absolute`.
    pub(crate) fn from_shorthand(text: &str) -> Result<Self, KeyError> {
        let settings = Settings::read(text, &Self::KEYS)?;
        let number = |key| settings.number_if_given(key);
        let pair = |key: &'static str| match settings.text(key) {
            None => Ok(None),
            Some(text) => <[u64; 2]>::try_from(settings.numbers(key)?).map(Some).map_err(|_| {
                KeyError::new(key, format!("`{key}` has `{}`; it is two numbers, such as 4x4", short(text)))
            }),
        };
        Ok(Self {
            p: number("p")?,
            a: number("a")?,
            h: settings.number("h")?,
            g: number("g")?,
            global_wires: number("global_wires")?,
            local_wires: settings.number_or("local_wires", one())?,
            group_wires: pair("group_wires")?,
            group_sizes: settings.text("group_sizes").map(|_| settings.numbers("group_sizes")).transpose()?,
            arrangement: settings.named("arrangement")?.unwrap_or_default(),
            group: settings.named("group")?.unwrap_or_default(),
            group_dims: pair("group_dims")?,
            renumber_groups: number("renumber_groups")?,
        })
    }
}

/// Assignment of a group's global ports to the other groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrangement {
    /// Palmtree arrangement: port k of group i leads to group i + k + 1, cyclically.
    #[default]
    Palmtree,
    /// Absolute arrangement: port k leads to group k among all groups except the port's group.
    #[serde(alias = "consecutive")]
    #[schemars(extend("x-aliases" = ["consecutive"]))]
    Absolute,
    /// Circulant arrangement: ports 2j and 2j+1 of group i lead to groups i + j + 1 and i - j - 1, cyclically.
    Circulant,
}

impl GroupsSize {
    /// Computes the sizes of a spec.
    pub(super) fn new(spec: &DragonflySpec) -> Result<Self, KeyError> {
        let limit = u64::from(MAX_PORTS);
        let in_range = |key: &'static str, value: u64, least: u64, most: u64| match value {
            value if (least..=most).contains(&value) => Ok(value as u32),
            _ => Err(KeyError::new(key, format!("`{key}` is {value}; {least} to {most} are allowed"))),
        };
        let h = in_range("h", spec.h, 1, limit)?;
        let a = in_range("a", spec.a.unwrap_or(2 * spec.h), 1, u64::from(MAX_ROUTERS))?;
        let p = in_range("p", spec.p.unwrap_or(spec.h), 1, limit)?;
        let each = in_range("global_wires", spec.global_wires.unwrap_or(1), 1, u64::from(a) * u64::from(h))?;
        let full = u64::from(a) * u64::from(h) / u64::from(each) + 1;
        let wanted = spec.g.unwrap_or(full);
        if !(2..=full).contains(&wanted) {
            let message = format!(
                "`g` is {wanted}; 2 to {full} groups are allowed: the {a} routers of a group, \
                 with {h} global ports each, have {} to {} others",
                counted(each.into(), ["wire", "wires"]),
                full - 1
            );
            return Err(KeyError::new("g", message));
        }
        let large = |unit: &str, most: u32| {
            KeyError::new("h", format!("p = {p}, a = {a}, h = {h} and {wanted} groups make more than {most} {unit}"))
        };
        let routers = product([u64::from(a), wanted], MAX_ROUTERS).ok_or_else(|| large("routers", MAX_ROUTERS))?;
        product([u64::from(routers), u64::from(p)], MAX_NODES).ok_or_else(|| large("nodes", MAX_NODES))?;
        Ok(Self { p, a, h, g: wanted as u32 })
    }
}

impl GroupNetwork {
    /// Builds the network of `a` routers from its spec.
    pub(super) fn new(spec: &DragonflySpec, a: u32) -> Result<Self, KeyError> {
        let number = |key: &str, wires: u64| match wires {
            wires if (1..=u64::from(MAX_PORTS)).contains(&wires) => Ok(wires as u16),
            wires => Err(KeyError::new(key, format!("`{key}` is {wires}; 1 to {MAX_PORTS} are allowed"))),
        };
        let wires = match (spec.group_wires, spec.group, spec.local_wires) {
            (None, _, wires) => [number("local_wires", wires)?; 2],
            (Some([row, column]), GroupKind::FlattenedButterfly, 1) => {
                [number("group_wires", row)?, number("group_wires", column)?]
            }
            (Some(_), GroupKind::FlattenedButterfly, _) => {
                return Err(KeyError::new("group_wires", "`group_wires` and `local_wires` exclude each other"));
            }
            (Some(_), GroupKind::FullMesh, _) => {
                let message = "`group_wires` requires group = \"flattened-butterfly\"; a full mesh has no rows";
                return Err(KeyError::new("group_wires", message));
            }
        };
        let error = |message: String| Err(KeyError::new("group_dims", message));
        match (spec.group, spec.group_dims) {
            (GroupKind::FullMesh, None) => Ok(Self { dims: [a, 1], wires }),
            (GroupKind::FullMesh, Some(_)) => {
                error("`group_dims` requires group = \"flattened-butterfly\"; a full mesh has no dimensions".into())
            }
            (GroupKind::FlattenedButterfly, None) => {
                let rows = (1..=a.isqrt()).rev().find(|rows| a.is_multiple_of(*rows)).unwrap_or(1);
                Ok(Self { dims: [a / rows, rows], wires })
            }
            (GroupKind::FlattenedButterfly, Some([x, y])) if x.checked_mul(y) == Some(u64::from(a)) => {
                Ok(Self { dims: [x as u32, y as u32], wires })
            }
            (GroupKind::FlattenedButterfly, Some([x, y])) => {
                error(format!("`group_dims` is [{x}, {y}]; their product must be the {a} routers of a group"))
            }
        }
    }
}
