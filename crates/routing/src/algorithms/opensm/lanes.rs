//! Dependencies of the channels of one lane, kept free of cycles.

use units::KeyError;

use crate::algorithms::shortest_path::MAX_CLASSES;

/// Returns the error for an engine that needs more virtual lanes than a packet has.
pub(super) fn too_many_lanes(kind: &str) -> KeyError {
    KeyError::new("kind", format!("{kind} needs more than {MAX_CLASSES} virtual channels on this topology"))
}

/// Graph without cycles whose vertices are channels, with an order in which every edge leads forward (Pearce and Kelly,
/// "A dynamic topological sort algorithm for directed acyclic graphs", ACM JEA 11, 2006).
pub(super) struct Dependencies {
    next: Vec<Vec<u32>>,
    before: Vec<Vec<u32>>,
    /// Place of each vertex in the order.
    place: Vec<u32>,
    /// Marks of one search, by vertex: number of the last search that came by.
    seen: Vec<u32>,
    searches: u32,
    /// Number of vertices beyond which a search for a cycle gives up, as if there were one.
    pub limit: usize,
}

impl Dependencies {
    /// Creates the graph of a number of channels, without an edge.
    pub fn new(channels: usize) -> Self {
        Self {
            next: vec![Vec::new(); channels],
            before: vec![Vec::new(); channels],
            place: (0..channels as u32).collect(),
            seen: vec![0; channels],
            searches: 0,
            limit: usize::MAX,
        }
    }

    /// Adds edges, or none of them if there would be a cycle. Returns whether they are added.
    pub fn add_all(&mut self, edges: &[(u32, u32)]) -> bool {
        let mut fresh: Vec<(u32, u32)> = Vec::new();
        for &(from, to) in edges {
            if self.next[from as usize].contains(&to) {
                continue;
            }
            if !self.make_room(from, to) {
                // Without its last edges a graph keeps its order.
                for &(from, to) in fresh.iter().rev() {
                    self.next[from as usize].pop();
                    self.before[to as usize].pop();
                }
                return false;
            }
            self.next[from as usize].push(to);
            self.before[to as usize].push(from);
            fresh.push((from, to));
        }
        true
    }

    /// Removes an edge. Without it the graph keeps its order.
    pub fn remove(&mut self, (from, to): (u32, u32)) {
        self.next[from as usize].retain(|&next| next != to);
        self.before[to as usize].retain(|&before| before != from);
    }

    /// Changes the order so that `from` comes before `to`. Returns whether that is possible.
    fn make_room(&mut self, from: u32, to: u32) -> bool {
        let (low, high) = (self.place[to as usize], self.place[from as usize]);
        if high < low {
            return true;
        }
        self.searches += 1;
        let Some(behind) = self.reach((to, from), |graph| &graph.next, |place| place <= high) else { return false };
        let Some(ahead) = self.reach((from, to), |graph| &graph.before, |place| place >= low) else { return false };
        let mut places: Vec<u32> = ahead.iter().chain(&behind).map(|&at| self.place[at as usize]).collect();
        places.sort_unstable();
        for (vertex, place) in ahead.into_iter().chain(behind).zip(places) {
            self.place[vertex as usize] = place;
        }
        true
    }

    /// Returns the vertices that a vertex reaches within a range of places, in order. `None`: it reaches `end`.
    fn reach(
        &mut self,
        (start, end): (u32, u32),
        edges: impl Fn(&Self) -> &Vec<Vec<u32>>,
        within: impl Fn(u32) -> bool,
    ) -> Option<Vec<u32>> {
        let mut found = vec![start];
        self.seen[start as usize] = self.searches;
        let mut at = 0;
        while let Some(&vertex) = found.get(at) {
            at += 1;
            if vertex == end || found.len() > self.limit {
                return None;
            }
            for place in 0..edges(self)[vertex as usize].len() {
                let next = edges(self)[vertex as usize][place];
                if within(self.place[next as usize]) && self.seen[next as usize] != self.searches {
                    self.seen[next as usize] = self.searches;
                    found.push(next);
                }
            }
        }
        found.sort_unstable_by_key(|&vertex| self.place[vertex as usize]);
        Some(found)
    }
}
