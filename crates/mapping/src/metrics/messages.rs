//! Messages of a phase, over which all figures are summed.

use tasks::{GroupKind, Phase};

/// Calls `call` with every message of a phase: source, destination, bytes. A multicast or reduction counts once for
/// each member.
pub(crate) fn each_message(phase: &Phase, call: &mut dyn FnMut(u32, u32, u64)) {
    phase.arcs.iter().for_each(|(from, to, bytes, _)| call(from, to, bytes));
    for group in &phase.groups {
        for &member in &group.members {
            match group.kind {
                GroupKind::Multicast => call(group.root, member, group.bytes),
                GroupKind::Reduction => call(member, group.root, group.bytes),
            }
        }
    }
}
