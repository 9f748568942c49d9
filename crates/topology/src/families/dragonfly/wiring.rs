//! Global wiring of a dragonfly: assignment of a group's global ports to the other groups.
//!
//! A group's global ports are numbered 0 to ah-1, router by router. With g groups they are used in *rounds* of g-1: in
//! every full round a group has a wire to each other group, in the order of the arrangement. The remaining ports are
//! wired as in a round of the circulant arrangement, to the next groups on either side in turn, whatever the
//! arrangement: only circulant wires lead back from the other end. (If the number of remaining ports and g are odd, one
//! port of each group stays unconnected: otherwise groups could not have equal numbers.)
//!
//! With K `global_wires` there are K full rounds of fewer wires than ports. The K (g-1) wires of a group are spread
//! evenly over its routers, in order: wire k is at router `k a / (K (g-1))`. Further ports are unconnected.
//!
//! The names follow Hastings, Rincon-Cruz, Spehlmann et al., "Comparing global link arrangements for dragonfly
//! networks" (CLUSTER 2015), and Camarero, Vallejo & Beivide (TACO 11(4), 2014) for the palmtree. Prisacari et al.
//! (section III) give the palmtree as "port m of router x of group i leads to group (i + x h + m) mod (ah + 1)", which
//! for x = m = 0 is the group itself; here it is i + x h + m + 1.

use units::Draw;

use super::spec::{Arrangement, DragonflySpec};
use crate::stream::Stream;
use crate::views::{GroupsSize, NONE};

impl Arrangement {
    /// Returns the group that a port of a round leads to, and the port at its other end, among `g` groups.
    fn far(self, g: u32, group: u32, port: u32) -> (u32, u32) {
        match self {
            Self::Palmtree => ((group + port + 1) % g, g - 2 - port),
            Self::Absolute if port < group => (port, group - 1),
            Self::Absolute => (port + 1, group),
            Self::Circulant => {
                let far = (group + offset(g, port)) % g;
                // With an even number of groups the last port leads half-way around, to the last port there.
                (far, if port ^ 1 < g - 1 { port ^ 1 } else { port })
            }
        }
    }
}

/// Returns the distance around the ring of groups that a port of a circulant round leads, in groups.
fn offset(g: u32, port: u32) -> u32 {
    let steps = port / 2 + 1;
    if port.is_multiple_of(2) { steps } else { g - steps }
}

/// Returns the other end of every global port. Global ports are numbered router by router.
pub(super) fn wires(size: GroupsSize, spec: &DragonflySpec) -> Vec<u32> {
    let GroupsSize { a, h, g, .. } = size;
    let (of_group, round) = (a * h, g - 1);
    let used = spec.global_wires.map_or(of_group, |wires| wires as u32 * round);
    let full = used / round * round;
    let left = used - full;
    let places = places(g, spec.renumber_groups);
    let mut group_at = vec![0; g as usize];
    for (group, &place) in (0..).zip(&places) {
        group_at[place as usize] = group;
    }
    // Group and wire of the other end.
    let far = |group: u32, wire: u32| {
        let place = places[group as usize];
        let (start, in_round) = (wire / round * round, wire % round);
        let (far, far_wire) = if wire < full {
            spec.arrangement.far(g, place, in_round)
        } else if in_round ^ 1 < left {
            ((place + offset(g, in_round)) % g, in_round ^ 1)
        } else if g.is_multiple_of(2) {
            // The last, unpaired port leads half-way around, to the unpaired port there.
            ((place + g / 2) % g, in_round)
        } else {
            return None;
        };
        Some((group_at[far as usize], start + far_wire))
    };
    let port = |group: u32, wire: u32| group * of_group + port(size, used, wire);
    let mut ends = vec![NONE; (g * of_group) as usize];
    for (group, wire) in (0..g).flat_map(|group| (0..used).map(move |wire| (group, wire))) {
        if let Some((far, far_wire)) = far(group, wire) {
            ends[port(group, wire) as usize] = port(far, far_wire);
        }
    }
    ends
}

/// Returns the global port of a group's wire, of `used` wires that are spread over the routers.
fn port(size: GroupsSize, used: u32, wire: u32) -> u32 {
    let (a, used, wire) = (u64::from(size.a), u64::from(used), u64::from(wire));
    let router = wire * a / used;
    let first = (router * used).div_ceil(a);
    router as u32 * size.h + (wire - first) as u32
}

/// Returns the place of each group in the arrangement, shuffled if there is a `seed`.
fn places(g: u32, seed: Option<u64>) -> Vec<u32> {
    let mut places: Vec<u32> = (0..g).collect();
    if let Some(seed) = seed {
        let mut stream = Stream::new(seed);
        for last in (1..places.len()).rev() {
            places.swap(last, stream.below(last as u32 + 1) as usize);
        }
    }
    places
}
