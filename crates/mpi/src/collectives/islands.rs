//! Operations of members in islands of the first of several networks: within islands, and on rails between them.
//!
//! Each member owns a slice of the data of its island, and is its leader on its rail, so that all rails work at once:
//!
//! | operation | stages |
//! |---|---|
//! | allreduce | reduce-scatter within islands, allreduce of each slice on its rail, allgather within islands |
//! | reduce-scatter | reduce-scatter within islands, reduce-scatter of each slice on its rail |
//! | allgather | allgather on each rail, allgather of the slices within islands |
//!
//! Within islands, switches carry the stages out with owners (NVLink SHARP), or messages do (`hierarchical`). The parts
//! of members are in the order of places in islands, then of islands. Bringing them into the order of members takes no
//! time.

use super::call::{Collective, Stage};
use super::data::Data;
use super::group_call::GroupCall;
use super::in_switch::ProgramGroup;
use super::member::{Member, Shares};
use super::selection::Selection;
use super::table::{Algorithm, Operation, has_owners, phases};
use crate::communicator::{Communicator, Group, Islands};

/// Stage of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Within islands.
    Island(Operation),
    /// On rails.
    Rail(Operation),
}

/// Returns the stages of an operation.
const fn scopes(operation: Operation) -> &'static [Scope] {
    use Operation as O;
    use Scope::{Island, Rail};
    match operation {
        O::Allreduce => &[Island(O::ReduceScatter), Rail(O::Allreduce), Island(O::Allgather)],
        O::ReduceScatter => &[Island(O::ReduceScatter), Rail(O::ReduceScatter)],
        O::Allgather => &[Rail(O::Allgather), Island(O::Allgather)],
        _ => &[],
    }
}

/// Returns the islands by which the members carry out a call that has been checked, if they do.
pub(super) fn islands_of<'a>(call: &Collective, communicator: &'a Communicator) -> Option<&'a Islands> {
    let by_islands = call.algorithm == Algorithm::Hierarchical || call.algorithm.is_of_islands();
    let islands = communicator.nodes()?.islands().ok().filter(|_| by_islands && has_owners(call.operation))?;
    (islands.count() > 1 && islands.size() > 1).then_some(&**islands)
}

impl Algorithm {
    /// Returns the algorithm on rails. `None`: chosen by the built-in table.
    const fn on_rails(self, operation: Operation) -> Option<Self> {
        match self {
            Self::NvlsRing => Some(Self::Ring),
            Self::NvlsDoubling if matches!(operation, Operation::ReduceScatter) => Some(Self::RecursiveHalving),
            Self::NvlsDoubling => Some(Self::RecursiveDoubling),
            Self::NvlsTree => Some(Self::DoubleTree),
            Self::NvlsInSwitch | Self::CollNet => Some(Self::InSwitch),
            _ => None,
        }
    }

    /// Returns the algorithm of members who all are in one island, or each in another one. Other members keep to this
    /// algorithm.
    pub(super) fn in_islands(self, operation: Operation, islands: &Islands) -> Self {
        match self.on_rails(operation) {
            Some(_) if islands.count() == 1 => Self::Nvls,
            Some(between) if islands.size() == 1 => between,
            _ => self,
        }
    }
}

/// Operation of a member in islands.
struct Sequence<'a> {
    call: &'a Collective,
    communicator: &'a Communicator,
    islands: &'a Islands,
    /// Elements before the chunk of the buffer that the stages work on, and elements of the chunk.
    first: u64,
    elements: u64,
}

impl<'a> Sequence<'a> {
    fn new(call: &'a Collective, communicator: &'a Communicator, islands: &'a Islands, chunk: u32) -> Self {
        let elements = call.operation.buffer(call.bytes, communicator.len()) / u64::from(call.element.max(1));
        let chunks = call.chunks(communicator);
        let first = Data::Span { first: 0, count: chunk, parts: chunks }.elements(elements);
        let elements = Data::part(chunk, chunks).elements(elements);
        Self { call, communicator, islands, first, elements }
    }

    /// Returns the call of a stage in the switches. `None`: messages carry it out. Slices and pieces are equal: the
    /// largest one stands for all.
    fn in_switch(&self, scope: Scope) -> Option<GroupCall> {
        let (element, context) = (u64::from(self.call.element), self.communicator.context().collective());
        let (size, all) = (u64::from(self.islands.size()), u64::from(self.communicator.len()));
        let slice = self.elements.div_ceil(size) * element;
        let piece = self.elements.div_ceil(all) * element;
        let call = |operation, bytes, owners, context| {
            let bytes = if owners { self.call.of_owners(bytes) } else { bytes };
            Some(GroupCall { operation, bytes, element: self.call.element, root: 0, owners, context })
        };
        match scope {
            Scope::Island(_) if !self.call.algorithm.is_of_islands() || self.call.algorithm == Algorithm::CollNet => {
                None
            }
            Scope::Island(Operation::Allgather) => call(Operation::Allgather, slice, true, context.of_islands()),
            Scope::Island(operation) => call(operation, slice.saturating_mul(size), true, context.of_islands()),
            Scope::Rail(_) if self.call.algorithm.on_rails(self.call.operation) != Some(Algorithm::InSwitch) => None,
            Scope::Rail(operation) => {
                let bytes = match operation {
                    Operation::Allreduce => slice,
                    Operation::Allgather => piece,
                    _ => piece.saturating_mul(u64::from(self.islands.count())),
                };
                call(operation, bytes, false, context.of_rails())
            }
        }
    }

    /// Returns the member as one of the group of a stage.
    fn member(&self, scope: Scope) -> (Group, Member) {
        let (island, place) = self.islands.place(self.communicator.own());
        let (count, size) = (self.islands.count(), self.islands.size());
        let whole = Member {
            own: place,
            size,
            root: 0,
            // Members of a rail are on different servers, so that no two of them form a chain.
            radix: if self.call.algorithm == Algorithm::NvlsTree { 1 } else { 2 },
            elements: self.elements,
            first: self.first,
            segments: 1,
            shares: Shares::Each,
            transport: self.call.transport(),
        };
        match scope {
            Scope::Island(_) => (self.islands.island(island), whole),
            Scope::Rail(Operation::Allreduce) => {
                let before = Data::Span { first: 0, count: place, parts: size }.elements(self.elements);
                let elements = Data::part(place, size).elements(self.elements);
                (
                    self.islands.rail(place),
                    Member { own: island, size: count, elements, first: self.first + before, ..whole },
                )
            }
            Scope::Rail(_) => {
                let shares = Shares::Within { base: place * count, parts: self.communicator.len() };
                (self.islands.rail(place), Member { own: island, size: count, shares, ..whole })
            }
        }
    }

    /// Returns the part of the own rank in a stage.
    fn stage(&self, scope: Scope) -> Option<Stage> {
        let (group, at) = self.member(scope);
        if let Some(call) = self.in_switch(scope) {
            return Some(Stage { group, at, phases: &[], in_switch: Some(call) });
        }
        let (Scope::Island(operation) | Scope::Rail(operation)) = scope;
        let bytes = match (operation, scope) {
            (Operation::Allgather, Scope::Island(_)) => self.call.bytes.saturating_mul(self.islands.count().into()),
            (Operation::Allgather, _) => self.call.bytes,
            _ => at.span(0, at.size).elements(at.elements).saturating_mul(u64::from(self.call.element)),
        };
        let choose = || Selection::built_in().choose(operation, at.size, (bytes, self.call.element)).0;
        let named = match scope {
            Scope::Rail(_) => self.call.algorithm.on_rails(operation),
            Scope::Island(_) => (self.call.algorithm == Algorithm::CollNet).then_some(Algorithm::Linear),
        };
        let phases = phases(operation, named.unwrap_or_else(choose))?;
        Some(Stage { group, at, phases, in_switch: None })
    }
}

/// Returns the part of the own rank in stage `number` of a chunk of an operation by islands.
pub(super) fn stage(
    call: &Collective,
    communicator: &Communicator,
    islands: &Islands,
    (number, chunk): (u8, u32),
) -> Option<Stage> {
    let scope = *scopes(call.operation).get(usize::from(number))?;
    Sequence::new(call, communicator, islands, chunk).stage(scope)
}

/// Visits the groups of an operation by islands in the switches, each with its calls in order.
pub(super) fn each_group(
    call: &Collective,
    communicator: &Communicator,
    islands: &Islands,
    visit: &mut dyn FnMut(ProgramGroup, GroupCall),
) {
    let scopes = scopes(call.operation);
    let stages = (0..call.chunks(communicator)).flat_map(|chunk| scopes.iter().map(move |&scope| (chunk, scope)));
    for (chunk, scope) in stages {
        let sequence = Sequence::new(call, communicator, islands, chunk);
        let Some(call) = sequence.in_switch(scope) else { continue };
        let groups: Vec<Group> = match scope {
            Scope::Island(_) => (0..islands.count()).map(|island| islands.island(island)).collect(),
            Scope::Rail(_) => (0..islands.size()).map(|rail| islands.rail(rail)).collect(),
        };
        for group in groups {
            let ranks = (0..group.len()).map(|member| group.rank(member)).collect();
            visit(ProgramGroup { context: call.context, ranks, first: (0..=group.len()).collect() }, call);
        }
    }
}

/// Returns the bytes that every member sends at least, and receives at least, in the first network and on its rail.
/// `None` unless the first network's switches take part.
pub(super) fn least_bytes(call: &Collective, communicator: &Communicator) -> Option<[f64; 2]> {
    let islands = islands_of(call, communicator).filter(|_| call.algorithm.is_of_islands())?;
    let (count, size, bytes) = (f64::from(islands.count()), f64::from(islands.size()), call.bytes as f64);
    let (others, inside) = ((count - 1.0) / count, (size - 1.0) / size);
    let by_messages = call.algorithm == Algorithm::CollNet;
    let in_switch = call.algorithm.on_rails(call.operation) == Some(Algorithm::InSwitch);
    Some(match call.operation {
        Operation::Allreduce => {
            let rail = if in_switch { 1.0 } else { 2.0 * others };
            let island = if by_messages { 2.0 * inside } else { 1.0 + 1.0 / size };
            [bytes * island, rail * bytes / size]
        }
        Operation::ReduceScatter if by_messages => [bytes * inside, others * bytes / size],
        Operation::ReduceScatter => [bytes, others * bytes / size],
        _ if by_messages => [bytes * count * size * inside, others * count * bytes],
        _ => [bytes * count * size, others * count * bytes],
    })
}

/// Bytes of an operation by islands that messages carry out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LeastOfMessages {
    /// Bytes that some member sends or receives within islands at least, in all stages.
    pub island: f64,
    /// Bytes that some member receives on its rail at least.
    pub rail: f64,
    /// Bytes that each member of that rail has received in its island before it begins on the rail.
    pub before: f64,
    /// Bytes that another member of the island receives after the member's rail has ended.
    pub after_one: f64,
    /// Bytes that every member has received in its island before it begins on its rail.
    pub before_each: f64,
    /// Bytes that every member receives on its rail.
    pub rail_each: f64,
    /// Bytes that some member receives after rails have ended.
    pub after_each: f64,
}

/// Returns the bytes of an operation by islands that messages carry out. `None` if switches do. Slices differ by one
/// element at most.
pub(super) fn least_of_messages(call: &Collective, islands: &Islands) -> Option<LeastOfMessages> {
    if call.algorithm.is_of_islands() {
        return None;
    }
    let (count, size, bytes) = (f64::from(islands.count()), f64::from(islands.size()), call.bytes as f64);
    let slice = bytes / size;
    let least = (slice - f64::from(call.element)).max(0.0);
    let (others, mean) = ((size - 1.0) * slice, (count - 1.0) / count * slice);
    Some(match call.operation {
        Operation::Allreduce => LeastOfMessages {
            island: 2.0 * others,
            rail: 2.0 * mean,
            before: slice,
            after_one: slice,
            before_each: least,
            rail_each: least,
            after_each: others,
        },
        Operation::ReduceScatter => LeastOfMessages {
            island: others,
            rail: mean,
            before: slice,
            after_one: 0.0,
            before_each: 0.0,
            rail_each: 0.0,
            after_each: 0.0,
        },
        _ => LeastOfMessages {
            island: (size - 1.0) * count * bytes,
            rail: (count - 1.0) * bytes,
            before: 0.0,
            after_one: count * bytes,
            before_each: 0.0,
            rail_each: (count - 1.0) * bytes,
            after_each: (size - 1.0) * count * bytes,
        },
    })
}
