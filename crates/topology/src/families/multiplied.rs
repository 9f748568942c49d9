//! Networks with another number of wires of some classes: `[topology] wires = { global = 2 }`.
//!
//! A whole multiple repeats each wire of a class, and the copies have consecutive ports. A half (0.5) leaves every
//! router half of its wires of the class, rounded up or down: first one of every two parallel wires, then every second
//! wire along closed walks over the others (an Euler partition). 0.25 halves twice, and so on. Of several orders of the
//! walks the first is taken that leaves the network connected, a tree by paths up and down if possible. A wire whose
//! directions have two classes, as `up` and `down`, belongs to both.
//!
//! Routers, nodes, classes and coordinates are those of the plain network. Groups of nodes are kept, and levels unless
//! paths up and down no longer join all: so up and down routings fit on trees, and patterns by groups on dragonflies.
//! Routings that know the ports of a grid or of a dragonfly do not fit. Distances are tables, which limits the number
//! of routers.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::{KeyError, PortId, RouterId};

use crate::network::{Topology, Views};
use crate::shorthand::short;
use crate::views::{GroupTable, Groups, Levels};
use crate::wired::{Apart, MAX_WIRED_PORTS, MAX_WIRED_ROUTERS, Shape, Wired};
use crate::wires::{ChannelClass, Endpoint, MAX_PORTS};

/// Number of orders of the closed walks that are tried until what is left is connected.
const ORDERS: usize = 32;
/// Key of the multiples.
pub(crate) const KEY: &str = "wires";
/// Largest multiple, and largest number of wires of which one is left.
const MOST: u32 = 4096;

/// Multiple of the number of wires, as written: a network is built only with a whole number, or a power of 0.5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Multiple(f64);

/// The number is not NaN.
impl Eq for Multiple {}

impl Multiple {
    /// Creates a multiple. `None` unless it is a whole number from 1 to 4096, or a power of 0.5 from 1/4096.
    pub fn new(number: f64) -> Option<Self> {
        Self(number).scale().map(|_| Self(number))
    }

    /// Returns how wires change. `None` if the number is no multiple.
    fn scale(self) -> Option<Scale> {
        let halvings = |parts: u32| parts.is_power_of_two().then_some(Scale { times: 1, halvings: parts.ilog2() });
        whole(self.0).map(|times| Scale { times, halvings: 0 }).or_else(|| halvings(whole(1.0 / self.0)?))
    }
}

/// Returns a whole number from 1 to [`MOST`].
fn whole(number: f64) -> Option<u32> {
    (number.fract() == 0.0 && (1.0..=f64::from(MOST)).contains(&number)).then_some(number as u32)
}

/// Change of the wires of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scale {
    /// Number of wires in place of each.
    times: u32,
    /// Number of times that half of the wires are removed.
    halvings: u32,
}

impl Serialize for Multiple {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match whole(self.0) {
            Some(number) => serializer.serialize_u32(number),
            None => serializer.serialize_f64(self.0),
        }
    }
}

/// Accepts any number, so that the network's builder refuses it at its key.
impl<'de> Deserialize<'de> for Multiple {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(deserializer)?;
        if number.is_nan() { Err(D::Error::custom(refused("nan"))) } else { Ok(Self(number)) }
    }
}

/// Returns the message for a number that is no multiple.
pub(crate) fn refused(number: &str) -> String {
    format!("`wires` has `{}`; it is a whole number from 1 to {MOST}, or 0.5, 0.25, ... (1/2, 1/4, ...)", short(number))
}

/// Multiples of the numbers of wires, by the name of a class.
pub type Multiples = BTreeMap<String, Multiple>;

/// Names and properties of a network with multiplied wires.
#[derive(Debug)]
pub(crate) struct MultipliedShape {
    plain: Arc<dyn Topology>,
    levels: Option<Levels>,
    group_table: Option<GroupTable>,
}

/// Wire of the plain network: its two ends.
type Wire = [(RouterId, PortId); 2];

/// Builds the network of one plane with multiplied wires.
///
/// # Errors
/// At `wires`, if a number is no multiple, if there is no such class, or if the network would be too large or not
/// connected.
pub(crate) fn multiply(plain: Arc<dyn Topology>, multiples: &Multiples) -> Result<Arc<dyn Topology>, KeyError> {
    let refuse = |message: String| Err(KeyError::new(KEY, message));
    if multiples.is_empty() {
        return Ok(plain);
    }
    if plain.routers() > MAX_WIRED_ROUTERS {
        let routers = plain.routers();
        return refuse(format!(
            "`wires` is for networks of at most {MAX_WIRED_ROUTERS} routers, and this one has {routers}"
        ));
    }
    let multiples = by_class(&*plain, multiples)?;
    // Without halves, no closed walk decides anything.
    let is_halved = multiples.iter().flatten().any(|scale| scale.halvings > 0);
    let mut first = None;
    for order in 0..if is_halved { ORDERS } else { 1 } {
        let made = expanded(&plain, &counts(&*plain, &multiples, order)?)?;
        if made.as_ref().is_ok_and(Wired::keeps_levels) {
            first = Some(made);
            break;
        }
        if !matches!(first, Some(Ok(_))) {
            first = Some(made);
        }
    }
    match first {
        Some(Err(Apart { from, to })) => refuse(format!("`wires` leaves no path from router {from} to router {to}")),
        Some(Ok(made)) if made.keeps_levels() => Ok(Arc::new(made)),
        Some(Ok(mut made)) => {
            made.shape.levels = None;
            Ok(Arc::new(made))
        }
        None => Ok(plain),
    }
}

impl Wired<MultipliedShape> {
    /// Returns whether paths up and down still join all routers with nodes, if there are levels.
    fn keeps_levels(&self) -> bool {
        self.shape.levels.as_ref().is_none_or(|levels| levels.joins(self))
    }
}

/// Builds the network with a number of ports in place of each. Fails if it would be too large. The result is an error
/// if it would not be connected.
fn expanded(plain: &Arc<dyn Topology>, counts: &[Vec<u32>]) -> Result<Result<Wired<MultipliedShape>, Apart>, KeyError> {
    let ports = |router: u32| counts[router as usize].iter().map(|&count| u64::from(count)).sum::<u64>();
    let most = (0..plain.routers()).map(ports).max().unwrap_or(0);
    let all: u64 = (0..plain.routers()).map(ports).sum();
    if most > u64::from(MAX_PORTS) || all > u64::from(MAX_WIRED_PORTS) {
        let message = format!(
            "`wires` makes {all} ports in all and {most} of a router; {MAX_WIRED_PORTS} (2^20) and {MAX_PORTS} are allowed"
        );
        return Err(KeyError::new(KEY, message));
    }
    let views = plain.views();
    // The ports of a dragonfly are others now; its groups are not.
    let of_dragonfly = |groups: &Groups| {
        let labels: Vec<u32> = (0..plain.routers()).map(|router| groups.place(RouterId(router)).0).collect();
        GroupTable::new(&labels, &**plain)
    };
    let group_table = views.group_table.cloned().or_else(|| views.groups.and_then(of_dragonfly));
    let shape = MultipliedShape { levels: levels(&**plain), plain: Arc::clone(plain), group_table };
    Ok(Wired::expanded(shape, &**plain, counts))
}

/// Returns the change of the wires of each class.
fn by_class(plain: &dyn Topology, multiples: &Multiples) -> Result<Vec<Option<Scale>>, KeyError> {
    let names = plain.class_names();
    let mut found = vec![None; names.len()];
    for (name, &multiple) in multiples {
        let Some(class) = names.iter().skip(2).position(|known| known == name) else {
            let kind = plain.kind();
            let message = match &names[2..] {
                [] => format!("`wires` has `{}`; a {kind} has no wires between routers", short(name)),
                known => {
                    format!("`wires` has `{}`; a {kind} has wires of the classes {}", short(name), known.join(", "))
                }
            };
            return Err(KeyError::new(KEY, message));
        };
        let scale = multiple.scale().ok_or_else(|| KeyError::new(KEY, refused(&multiple.0.to_string())))?;
        found[class + 2] = Some(scale);
    }
    Ok(found)
}

/// Returns the levels of a tree.
fn levels(plain: &dyn Topology) -> Option<Levels> {
    let views = plain.views();
    let of_tree = |router| views.hierarchy.map(|tree| u32::from(tree.level(RouterId(router))));
    let table: Option<Vec<u32>> = (0..plain.routers()).map(of_tree).collect();
    table.and_then(|levels| Levels::new(levels, plain).ok()).or_else(|| views.levels.cloned())
}

/// Returns the number of ports in place of each port, by router and port. The `order` of the closed walks decides which
/// wires are removed.
fn counts(plain: &dyn Topology, scales: &[Option<Scale>], order: usize) -> Result<Vec<Vec<u32>>, KeyError> {
    let routers = (0..plain.routers()).map(RouterId);
    let mut counts: Vec<Vec<u32>> = routers.clone().map(|router| vec![1; usize::from(plain.ports(router))]).collect();
    // Wires to halve, by the number of times and the lower of the classes of their directions.
    let mut halved: BTreeMap<(u32, ChannelClass), Vec<Wire>> = BTreeMap::new();
    for (router, port) in routers.flat_map(|router| (0..plain.ports(router)).map(move |port| (router, PortId(port)))) {
        let Endpoint::Router(next, next_port) = plain.endpoint(router, port) else { continue };
        if (next, next_port) < (router, port) {
            continue;
        }
        let classes = [plain.class(router, port), plain.class(next, next_port)];
        let [own, back] = classes.map(|class| scales[usize::from(class.0)]);
        if let (Some(own), Some(back)) = (own, back)
            && own != back
        {
            let names = plain.class_names();
            let [one, other] = classes.map(|class| names[usize::from(class.0)]);
            return Err(KeyError::new(
                KEY,
                format!("`wires` differs for {one} and {other}, the directions of the same wires"),
            ));
        }
        let Some(scale) = own.or(back) else { continue };
        let wire = [(router, port), (next, next_port)];
        set(&mut counts, wire, scale.times);
        if scale.halvings > 0 {
            halved.entry((scale.halvings, classes[0].min(classes[1]))).or_default().push(wire);
        }
    }
    for ((halvings, _), mut wires) in halved {
        for _ in 0..halvings {
            let (kept, removed) = halves(plain.routers(), wires, order);
            removed.into_iter().for_each(|wire| set(&mut counts, wire, 0));
            wires = kept;
        }
    }
    Ok(counts)
}

fn set(counts: &mut [Vec<u32>], wire: Wire, count: u32) {
    wire.into_iter().for_each(|(router, port)| counts[router.index()][port.index()] = count);
}

/// Divides wires into halves, so that every router has half of its wires in each, rounded up or down. One router of a
/// part whose routers have even numbers of wires, and which has an odd number in all, has one more.
fn halves(routers: u32, wires: Vec<Wire>, order: usize) -> (Vec<Wire>, Vec<Wire>) {
    let (mut kept, mut removed) = (Vec::new(), Vec::new());
    // Two parallel wires are one of each half.
    let mut single: BTreeMap<[RouterId; 2], Wire> = BTreeMap::new();
    for wire in wires {
        let ends = wire.map(|(router, _)| router);
        if let Some(parallel) = single.remove(&ends) {
            kept.push(parallel);
            removed.push(wire);
        } else {
            single.insert(ends, wire);
        }
    }
    let single: Vec<Wire> = single.into_values().collect();
    // A further vertex joins the routers of odd degree, so that closed walks cover all.
    let hub = routers as usize;
    let mut at: Vec<Vec<(usize, usize)>> = vec![Vec::new(); hub + 1];
    for (number, wire) in single.iter().enumerate() {
        let [one, other] = wire.map(|(router, _)| router.index());
        at[one].push((number, other));
        at[other].push((number, one));
    }
    let odd: Vec<usize> = (0..hub).filter(|&router| at[router].len() % 2 == 1).collect();
    for (place, router) in odd.into_iter().enumerate() {
        at[router].push((single.len() + place, hub));
        at[hub].push((single.len() + place, router));
    }
    for (vertex, wires) in at.iter_mut().enumerate() {
        let steps = (order * (vertex + 1)) % wires.len().max(1);
        wires.rotate_left(steps);
    }
    let mut used = vec![false; single.len() + at[hub].len()];
    for start in (0..=hub).rev() {
        let mut keeps = kept.len() <= removed.len();
        for number in closed_walk(start, &mut at, &mut used) {
            match single.get(number) {
                Some(&wire) if keeps => kept.push(wire),
                Some(&wire) => removed.push(wire),
                None => {}
            }
            // Beyond the further vertex, which need not be even, the smaller half goes on.
            keeps = if number < single.len() { !keeps } else { kept.len() <= removed.len() };
        }
    }
    (kept, removed)
}

/// Returns the wires of a closed walk over all unused wires that are connected with a vertex, in order. `at` has the
/// unused wires of each vertex with the other ends, and some used ones. All vertices have even degrees.
fn closed_walk(start: usize, at: &mut [Vec<(usize, usize)>], used: &mut [bool]) -> Vec<usize> {
    let (mut ahead, mut walk) = (vec![(start, None)], Vec::new());
    while let Some(&(vertex, came_by)) = ahead.last() {
        match at[vertex].pop() {
            Some((number, _)) if used[number] => {}
            Some((number, next)) => {
                used[number] = true;
                ahead.push((next, Some(number)));
            }
            None => {
                ahead.pop();
                walk.extend(came_by);
            }
        }
    }
    walk
}

impl Shape for MultipliedShape {
    fn kind(&self) -> &'static str {
        self.plain.kind()
    }

    fn class_names(&self) -> Vec<&str> {
        self.plain.class_names()
    }

    fn coordinate_names(&self) -> Vec<String> {
        self.plain.coordinate_names()
    }

    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        self.plain.coordinates(router)
    }

    fn views(&self) -> Views<'_> {
        let Views { node_groups, notes, .. } = self.plain.views();
        let group_table = self.group_table.as_ref();
        Views { node_groups, notes, levels: self.levels.as_ref(), group_table, ..Views::default() }
    }
}
