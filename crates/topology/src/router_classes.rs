//! Classes of routers: the levels of a tree, and the stages of a Dragonfly+.

use units::RouterId;

use crate::families::networks::Networks;
use crate::network::Topology;

/// Names of the coordinates that are the level of a router.
const LEVELS: [&str; 2] = ["level", "stage"];

/// Classes of a topology's routers. A class is a level of routers, numbered from the leaves.
///
/// Two levels are named `leaf` and `spine`, and three `leaf`, `spine` and `core`. More are named `level0`, `level1` and
/// so on. Routers without levels have no names: they are of one class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterClasses {
    names: Vec<String>,
    /// Class of each router. Empty if there is one class.
    classes: Vec<u16>,
}

impl RouterClasses {
    /// Returns the classes of a topology's routers. Levels that a file numbers with gaps are numbered without.
    pub fn of(topology: &dyn Topology) -> Self {
        if let Some(networks) = topology.views().networks {
            return Self::of_networks(networks);
        }
        let routers = (0..topology.routers()).map(RouterId);
        let names = topology.coordinate_names();
        let levels: Vec<u32> = match (topology.views().levels, names.iter().position(|name| LEVELS.contains(&&**name)))
        {
            (Some(table), _) => routers.map(|router| table.level(router)).collect(),
            (None, Some(place)) => routers.map(|router| topology.coordinates(router)[place]).collect(),
            (None, None) => Vec::new(),
        };
        let mut numbers = levels.clone();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.len() < 2 {
            return Self::default();
        }
        let class = |level: &u32| numbers.partition_point(|number| number < level) as u16;
        let name = |class: usize| match numbers.len() {
            2 | 3 => ["leaf", "spine", "core"][class].to_owned(),
            _ => format!("level{class}"),
        };
        Self { names: (0..numbers.len()).map(name).collect(), classes: levels.iter().map(class).collect() }
    }

    /// Returns the classes of the routers of several networks. Those of a network with a name begin with it.
    fn of_networks(networks: &Networks) -> Self {
        let mut made = Self::default();
        for part in networks.parts() {
            let own = Self::of(&*part.island).under(&part.name);
            let first = made.names.len();
            for _ in 0..part.planes * part.places.islands() {
                let routers = (0..part.island.routers()).map(RouterId);
                made.classes.extend(routers.map(|router| (first + own.class(router)) as u16));
            }
            made.names.extend(own.names);
        }
        if made.names.is_empty() { Self::default() } else { made }
    }

    /// Returns the classes of a network's routers under its name.
    fn under(mut self, name: &str) -> Self {
        if name.is_empty() {
            return self;
        }
        self.names.iter_mut().for_each(|own| *own = format!("{name}.{own}"));
        if self.names.is_empty() {
            self.names.push(name.to_owned());
        }
        self
    }

    /// Returns the names of the classes, from the leaves. None if there is one class.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the class of a router.
    pub fn class(&self, router: RouterId) -> usize {
        self.classes.get(router.index()).copied().unwrap_or(0).into()
    }
}
