//! Up and down the levels of networks without closed forms, such as trees from files.
//!
//! A packet goes up until channels down alone lead from its router to the destination, then down, each by the fewest
//! channels. No packet that has gone down goes up again, so that one class of virtual channels is free of deadlock. In
//! trees these are the paths of the closed forms ([`fat_tree`](super::fat_tree)). In a tree that lacks wires, a path
//! may be longer than the distance, which also counts paths that go up again.
//!
//! D-mod-K: the candidates of a hop are ordered by wire, then by router: the first wire to each of the next routers, in
//! the order of their numbers, then the second. The destination's number, divided by s, modulo the number of
//! candidates, names one of them. Here s is the number of routers of the level that are above one leaf: the product of
//! the numbers of parents on the way up. In a tree this is the rule of `Hierarchy::destination_port`.

use topology::Topology;
use topology::views::Levels as LevelsView;
use units::{KeyError, PortId, RouterId, VcClass};

use super::tables::{RouteTable, TableBuilder, UNREACHED, neighbours};
use super::up_down::{HopsLeft, Levels};
use crate::{Choice, Hop, Route, Routing};

/// Routing up and down the levels.
#[derive(Debug)]
pub(crate) struct LevelRouting {
    kind: &'static str,
    choice: Choice,
    table: RouteTable,
    /// By router, the number by which the destination's number is divided before it names a candidate. Empty if
    /// candidates are equally good.
    divisors: Vec<u32>,
    /// Numbers of channels by router and column, if some path is longer than the distance.
    lengths: Vec<u32>,
    /// Column of each router in the table.
    columns: Vec<u32>,
    max_routers: u32,
}

impl LevelRouting {
    /// Creates the routing of a kind on the levels of a topology. `by_destination`: the destination names one of several
    /// ports; otherwise `choice` does.
    ///
    /// # Errors
    /// If a router cannot reach another by going up and then down, or if the table would be larger than 1 GiB.
    pub fn new(
        (topology, view): (&dyn Topology, &LevelsView),
        kind: &'static str,
        choice: Choice,
        by_destination: bool,
    ) -> Result<Self, KeyError> {
        let routers = (0..topology.routers()).map(RouterId);
        let levels = Levels::of(routers.clone().map(|router| view.top() - view.level(router)).collect());
        let mut table = TableBuilder::new(topology, kind, choice)?;
        let targets = table.targets().to_vec();
        let mut lengths = vec![0; routers.len() * targets.len()];
        let (mut longest, mut is_minimal) = (0, true);
        for (column, &target) in targets.iter().enumerate() {
            let hops = levels.hops_left(topology, target);
            for router in routers.clone().filter(|&router| router != target) {
                let left = hops.left[router.index()];
                lengths[router.index() * targets.len() + column] = left;
                if left != UNREACHED {
                    table.set(router, column, &candidates(topology, &levels, &hops, router), VcClass(0));
                }
                if table.has_nodes(router) {
                    if left == UNREACHED {
                        return Err(unreached(topology, kind, [router, target]));
                    }
                    longest = longest.max(left);
                    is_minimal &= left == topology.distance(router, target);
                }
            }
        }
        let mut columns = vec![UNREACHED; routers.len()];
        (0..).zip(&targets).for_each(|(column, target)| columns[target.index()] = column);
        let divisors = if by_destination { divisors(topology, view) } else { Vec::new() };
        let lengths = if is_minimal { Vec::new() } else { lengths };
        Ok(Self { kind, choice, table: table.finish()?, divisors, lengths, columns, max_routers: longest + 1 })
    }
}

fn unreached(topology: &dyn Topology, kind: &str, [from, to]: [RouterId; 2]) -> KeyError {
    let message = format!(
        "routing \"{kind}\" goes up and then down, and no such path leads from router {from} to router {to} of this {}",
        topology.kind()
    );
    KeyError::new("kind", message)
}

/// Returns the ports on the shortest paths up and down: down if possible. They are ordered by wire, then by router.
fn candidates(topology: &dyn Topology, levels: &Levels, hops: &HopsLeft, router: RouterId) -> Vec<PortId> {
    let goes_up = hops.down[router.index()] == UNREACHED;
    let behind = if goes_up { &hops.left } else { &hops.down };
    let nearer = |next: RouterId| behind[next.index()] == hops.left[router.index()] - 1;
    let wanted =
        neighbours(topology, router).filter(|&(_, next)| levels.is_up(router, next) == goes_up && nearer(next));
    let mut found: Vec<(u32, RouterId, PortId)> = wanted.map(|(port, next)| (0, next, port)).collect();
    found.sort_unstable();
    for place in 1..found.len() {
        if found[place].1 == found[place - 1].1 {
            found[place].0 = found[place - 1].0 + 1;
        }
    }
    found.sort_unstable();
    found.into_iter().map(|(_, _, port)| port).collect()
}

/// Returns the number of routers of each router's level that are above one leaf.
fn divisors(topology: &dyn Topology, view: &LevelsView) -> Vec<u32> {
    let mut upwards: Vec<RouterId> = (0..topology.routers()).map(RouterId).collect();
    upwards.sort_by_key(|&router| view.level(router));
    let mut divisors = vec![1_u32; upwards.len()];
    for router in upwards {
        let above = neighbours(topology, router).map(|(_, next)| next);
        let mut parents: Vec<RouterId> = above.filter(|&next| view.level(next) > view.level(router)).collect();
        parents.sort_unstable();
        parents.dedup();
        let peers = divisors[router.index()].saturating_mul(parents.len() as u32);
        parents.iter().for_each(|parent| divisors[parent.index()] = divisors[parent.index()].max(peers));
    }
    divisors
}

impl Routing for LevelRouting {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn classes(&self) -> u8 {
        1
    }

    fn adaptive(&self) -> bool {
        self.choice == Choice::LeastLoaded
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let route = self.table.route(at, hop.dst);
        match self.divisors.get(at.index()) {
            Some(divisor) if route.count > 1 => {
                let place = hop.dst.0 / divisor % u32::from(route.count);
                Route::only(route.port(place as u16, self.table.port_lists()), VcClass(0))
            }
            _ => route,
        }
    }

    fn port_lists(&self) -> &[PortId] {
        self.table.port_lists()
    }

    fn uses_input_port(&self) -> bool {
        false
    }

    fn same_for_router(&self) -> bool {
        self.divisors.is_empty()
    }

    fn path_channels(&self, from: RouterId, to: RouterId) -> Option<u32> {
        let column = self.columns[to.index()];
        let place = from.index() * self.table.targets().len() + column as usize;
        (column != UNREACHED).then(|| self.lengths.get(place).copied()).flatten()
    }

    fn minimal(&self) -> bool {
        self.lengths.is_empty()
    }

    fn max_routers(&self) -> u32 {
        self.max_routers
    }
}
