//! Combination of several graphs: over common tasks, or of concurrent applications.

use super::limits::summable;
use super::{ArcList, Group, MAX_TASKS, Phase, TaskArray, TaskGraph};
use units::LocatedError;

/// Largest number of different names in the name of a combination.
const MOST_NAMES: usize = 4;

/// Combines several graphs over *common* tasks. Their phases follow in sequence, with weights multiplied by the
/// criticality of their graph. Loads are summed. Arrays and positions are those of the first graph that has any.
///
/// # Errors
/// If there is no graph, if the numbers of tasks differ, or if there is not one positive weight per graph.
pub fn combine(graphs: &[TaskGraph], weights: &[f64]) -> Result<TaskGraph, LocatedError> {
    let Some(first) = graphs.first() else { return Err(LocatedError::new("there is no graph to combine")) };
    if weights.len() != graphs.len() || weights.iter().any(|weight| !(*weight > 0.0 && weight.is_finite())) {
        let message = format!("the weights are one positive number for each of the {} graphs", graphs.len());
        return Err(LocatedError::key("weights", message));
    }
    if let Some(other) = graphs.iter().find(|graph| graph.tasks() != first.tasks()) {
        let message = format!(
            "`{}` has {} tasks and `{}` has {}; graphs that are combined have the same",
            first.name,
            first.tasks(),
            other.name,
            other.tasks()
        );
        return Err(LocatedError::new(message));
    }
    let mut combined = TaskGraph { phases: Vec::new(), loads: vec![0.0; first.loads.len()], ..first.clone() };
    combined.name = names(graphs);
    combined.notes = graphs.iter().flat_map(|graph| graph.notes.clone()).collect();
    for (graph, weight) in graphs.iter().zip(weights) {
        combined.loads.iter_mut().zip(&graph.loads).for_each(|(sum, load)| *sum += load);
        for phase in &graph.phases {
            let name = unused(&phase.name, combined.phases.iter().map(|phase| phase.name.as_str()));
            combined.phases.push(Phase { name, weight: phase.weight * weight, ..phase.clone() });
        }
        if combined.arrays.is_empty() {
            combined.arrays.clone_from(&graph.arrays);
        }
        if combined.space == 0 {
            combined.space = graph.space;
            combined.positions.clone_from(&graph.positions);
        }
    }
    summable(combined)
}

/// Combines several concurrent applications. The tasks of each follow those of the previous one. The first phases of
/// all run at once, then the second ones, and so on. Positions are kept if all applications have them in equally many
/// dimensions.
///
/// # Errors
/// If there is no graph, if there are too many tasks, or if concurrent phases differ in weight.
pub fn beside(graphs: &[TaskGraph]) -> Result<TaskGraph, LocatedError> {
    let Some(first) = graphs.first() else { return Err(LocatedError::new("there is no graph to set beside others")) };
    let total = graphs.iter().map(|graph| u64::from(graph.tasks())).sum::<u64>();
    if total > u64::from(MAX_TASKS) {
        return Err(LocatedError::new(format!("the graphs have {total} tasks; {MAX_TASKS} are the most supported")));
    }
    let phases = graphs.iter().map(|graph| graph.phases.len()).max().unwrap_or(0);
    let placed = graphs.iter().all(|graph| graph.space == first.space);
    let positions = if placed { graphs.iter().flat_map(|graph| graph.positions.clone()).collect() } else { Vec::new() };
    summable(TaskGraph {
        name: names(graphs),
        loads: graphs.iter().flat_map(|graph| graph.loads.clone()).collect(),
        phases: (0..phases).map(|at| at_once(graphs, at, total as u32)).collect::<Result<_, _>>()?,
        arrays: arrays(graphs),
        positions,
        space: if placed { first.space } else { 0 },
        notes: graphs.iter().flat_map(|graph| graph.notes.clone()).collect(),
    })
}

/// Merges phase number `at` of all graphs that have it.
fn at_once(graphs: &[TaskGraph], at: usize, tasks: u32) -> Result<Phase, LocatedError> {
    let mut arcs = ArcList::new(tasks);
    let mut joint: Option<Phase> = None;
    for (graph, first) in graphs.iter().zip(offsets(graphs)) {
        let Some(phase) = graph.phases.get(at) else { continue };
        let joint = joint
            .get_or_insert_with(|| Phase { weight: phase.weight, ..Phase::of(&phase.name, super::Arcs::default()) });
        if joint.weight != phase.weight {
            let message = format!(
                "the phases `{}` of weight {} and `{}` of weight {} happen at once; they have the same weight",
                joint.name, joint.weight, phase.name, phase.weight
            );
            return Err(LocatedError::key("weights", message));
        }
        phase.arcs.iter().for_each(|(from, to, bytes, messages)| arcs.add(first + from, first + to, bytes, messages));
        joint.groups.extend(phase.groups.iter().map(|group| Group {
            root: first + group.root,
            members: group.members.iter().map(|member| first + member).collect(),
            ..group.clone()
        }));
    }
    let joint = joint.unwrap_or_else(|| Phase::of("step", super::Arcs::default()));
    Ok(Phase { arcs: arcs.build(), ..joint })
}

/// Returns the first task of each graph.
fn offsets(graphs: &[TaskGraph]) -> impl Iterator<Item = u32> + '_ {
    graphs.iter().scan(0, |next, graph| {
        let first = *next;
        *next += graph.tasks();
        Some(first)
    })
}

/// Returns all arrays. Repeated names get a number appended.
fn arrays(graphs: &[TaskGraph]) -> Vec<TaskArray> {
    let mut all: Vec<TaskArray> = Vec::new();
    for (graph, first) in graphs.iter().zip(offsets(graphs)) {
        for array in &graph.arrays {
            let name = unused(&array.name, all.iter().map(|array| array.name.as_str()));
            all.push(TaskArray { name, first: first + array.first, ..array.clone() });
        }
    }
    all
}

/// Returns a name, with a number appended if it is taken.
fn unused<'a>(name: &str, taken: impl Iterator<Item = &'a str> + Clone) -> String {
    let free = |name: &String| !taken.clone().any(|other| other == name);
    let numbered = (2_u64..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(free).unwrap_or_else(|| name.to_owned())
}

/// Returns the names of all graphs. Adjacent equal names are shown once with their number; of many different names,
/// only the first ones.
fn names(graphs: &[TaskGraph]) -> String {
    let runs: Vec<&[TaskGraph]> = graphs.chunk_by(|one, other| one.name == other.name).collect();
    let shown = runs.iter().take(MOST_NAMES).map(|run| match run.len() {
        1 => run[0].name.clone(),
        count => format!("{} x {count}", run[0].name),
    });
    let left: usize = runs.iter().skip(MOST_NAMES).map(|run| run.len()).sum();
    let rest = (left > 0).then(|| format!("{left} more"));
    shown.chain(rest).collect::<Vec<_>>().join(" + ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> String {
        let graphs: Vec<TaskGraph> = names.iter().map(|name| TaskGraph::new(*name, ArcList::new(2).build())).collect();
        combine(&graphs, &vec![1.0; graphs.len()]).expect("a graph").name
    }

    #[test]
    fn many_graphs_have_a_short_name() {
        // Would catch a name whose length grows with the number of graphs, and graphs that are counted together with
        // non-adjacent ones.
        assert_eq!(named(&["arcs"; 126]), "arcs x 126");
        assert_eq!(named(&["a", "b", "b", "a"]), "a + b x 2 + a");
        assert_eq!(named(&["a"]), "a");
        assert_eq!(named(&["a", "b", "c", "d", "e", "e", "f"]), "a + b + c + d + 3 more");
    }
}
