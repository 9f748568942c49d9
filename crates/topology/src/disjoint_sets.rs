//! Disjoint sets of routers.

use units::RouterId;

/// Sets of routers, which may be joined. In the beginning, each router is one set.
pub(crate) struct DisjointSets {
    /// By router, a lower router of its set. The lowest has itself.
    lower: Vec<u32>,
}

impl DisjointSets {
    /// Creates a set for each of some routers.
    pub fn new(routers: u32) -> Self {
        Self { lower: (0..routers).collect() }
    }

    /// Joins the sets of two routers.
    pub fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.lowest(one), self.lowest(other));
        self.lower[one.max(other) as usize] = one.min(other);
    }

    /// Returns the lowest router of the set of a router. Paths to it are shortened on the way.
    fn lowest(&mut self, mut router: u32) -> u32 {
        while self.lower[router as usize] != router {
            self.lower[router as usize] = self.lower[self.lower[router as usize] as usize];
            router = self.lower[router as usize];
        }
        router
    }

    /// Returns the sets in ascending order of their lowest routers, each in ascending order.
    pub fn into_sets(mut self) -> Vec<Vec<RouterId>> {
        let (mut sets, mut number) = (Vec::<Vec<RouterId>>::new(), vec![0; self.lower.len()]);
        for router in 0..self.lower.len() as u32 {
            let lowest = self.lowest(router);
            if lowest == router {
                number[router as usize] = sets.len();
                sets.push(Vec::new());
            }
            sets[number[lowest as usize]].push(RouterId(router));
        }
        sets
    }
}
