//! Task graph in flat arrays.

/// Largest number of tasks of a graph.
pub const MAX_TASKS: u32 = 1 << 26;
/// Largest number of arcs of a phase.
pub const MAX_ARCS: usize = 1 << 30;

/// Messages between tasks, as compressed rows: the arcs out of task t are `first[t]..first[t + 1]`, in ascending order
/// of targets. Each target occurs once, and t itself does not occur.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arcs {
    first: Vec<u32>,
    targets: Vec<u32>,
    bytes: Vec<u64>,
    messages: Vec<u32>,
}

impl Arcs {
    /// Creates `tasks` tasks without arcs.
    pub fn none(tasks: u32) -> Self {
        Self { first: vec![0; tasks as usize + 1], ..Self::default() }
    }

    /// Returns the number of arcs.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there are no arcs.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Returns the range of a task's arcs in the flat arrays.
    #[inline]
    pub fn range(&self, task: u32) -> std::ops::Range<usize> {
        self.first[task as usize] as usize..self.first[task as usize + 1] as usize
    }

    /// Returns the targets of all arcs, row by row.
    pub fn targets(&self) -> &[u32] {
        &self.targets
    }

    /// Returns the bytes per step of all arcs.
    pub fn bytes(&self) -> &[u64] {
        &self.bytes
    }

    /// Returns the messages per step of all arcs, at least 1 each.
    pub fn messages(&self) -> &[u32] {
        &self.messages
    }

    /// Iterates over a task's arcs: target, bytes, messages.
    pub fn of(&self, task: u32) -> impl Iterator<Item = (u32, u64, u32)> + '_ {
        self.range(task).map(|arc| (self.targets[arc], self.bytes[arc], self.messages[arc]))
    }

    /// Iterates over all arcs: source, target, bytes, messages.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, u64, u32)> + '_ {
        (0..self.first.len().saturating_sub(1) as u32)
            .flat_map(|task| self.of(task).map(move |(target, bytes, messages)| (task, target, bytes, messages)))
    }

    /// Returns an arc whose reverse is missing or has a different number of bytes, if there is any.
    pub fn asymmetric(&self) -> Option<(u32, u32)> {
        let reverse = |from: u32, to: u32| {
            let row = self.range(to);
            self.targets[row.clone()].binary_search(&from).ok().map(|at| self.bytes[row.start + at])
        };
        self.iter().find(|&(from, to, bytes, _)| reverse(from, to) != Some(bytes)).map(|(from, to, ..)| (from, to))
    }

    /// Returns the total bytes of all arcs.
    pub fn total_bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }
}

/// Builder of `Arcs` from arcs in any order. Parallel arcs are summed.
#[derive(Clone, Debug, Default)]
pub struct ArcList {
    tasks: u32,
    arcs: Vec<(u32, u32, u64, u32)>,
}

impl ArcList {
    /// Creates an empty list of arcs between tasks below `tasks`.
    pub fn new(tasks: u32) -> Self {
        Self { tasks, arcs: Vec::new() }
    }

    /// Adds messages from one task to another. Messages of a task to itself do not leave the task and are ignored, as
    /// are those of 0 bytes.
    pub fn add(&mut self, from: u32, to: u32, bytes: u64, messages: u32) {
        debug_assert!(from < self.tasks && to < self.tasks, "a task that does not exist");
        if from != to && bytes > 0 {
            self.arcs.push((from, to, bytes, messages.max(1)));
        }
    }

    /// Adds equal messages in both directions.
    pub fn add_both(&mut self, one: u32, other: u32, bytes: u64, messages: u32) {
        self.add(one, other, bytes, messages);
        self.add(other, one, bytes, messages);
    }

    /// Returns the number of arcs added.
    pub fn len(&self) -> usize {
        self.arcs.len()
    }

    /// Whether no arc was added.
    pub fn is_empty(&self) -> bool {
        self.arcs.is_empty()
    }

    /// Sorts and adds up, and notes how many arcs repeat an earlier one of the file.
    pub(crate) fn build_noting(self, notes: &mut units::Notes) -> Arcs {
        let added = self.arcs.len();
        let arcs = self.build();
        let repeated = (added - arcs.targets.len()) as u64;
        let rest = "for a pair of tasks that is listed before: its bytes and messages are added";
        notes.count(repeated, ["entry", "entries"], ["is", "are"], rest);
        arcs
    }

    /// Sorts and adds up. Bytes and messages that do not fit stay at the largest that do.
    pub fn build(mut self) -> Arcs {
        self.arcs.sort_unstable_by_key(|&(from, to, ..)| (from, to));
        self.arcs.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 = kept.2.saturating_add(next.2);
                kept.3 = kept.3.saturating_add(next.3);
            }
            same
        });
        let mut first = vec![0_u32; self.tasks as usize + 1];
        for arc in &self.arcs {
            first[arc.0 as usize + 1] += 1;
        }
        for task in 0..self.tasks as usize {
            first[task + 1] += first[task];
        }
        Arcs {
            first,
            targets: self.arcs.iter().map(|arc| arc.1).collect(),
            bytes: self.arcs.iter().map(|arc| arc.2).collect(),
            messages: self.arcs.iter().map(|arc| arc.3).collect(),
        }
    }
}

/// Kind of a group operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// The root sends one message to every member.
    Multicast,
    /// Every member sends to the root, which combines.
    Reduction,
}

/// Multicast from a root to members, or reduction from members to a root. Its messages are *not* among the phase's
/// arcs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Kind of the operation.
    pub kind: GroupKind,
    /// Task that sends the multicast or receives the reduction.
    pub root: u32,
    /// Other tasks, each once. Excludes the root.
    pub members: Vec<u32>,
    /// Bytes that each member receives or sends.
    pub bytes: u64,
}

/// Phase of a step, such as an exchange or a transpose. The phases of a step are executed in sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Name in tables.
    pub name: String,
    /// Criticality of the messages: mapping strategies multiply bytes by it. Default: 1.
    pub weight: f64,
    /// Messages between pairs.
    pub arcs: Arcs,
    /// Multicasts and reductions.
    pub groups: Vec<Group>,
}

impl Phase {
    /// Creates a phase of weight 1 without groups.
    pub fn of(name: impl Into<String>, arcs: Arcs) -> Self {
        Self { name: name.into(), weight: 1.0, arcs, groups: Vec::new() }
    }
}

/// Array of tasks in the application's numbering: the task of index (i_0, i_1, ...) is `first + i_0 + dims[0] * (i_1 +
/// dims[1] * ...)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskArray {
    /// Name in the application, such as `gspace`, `patches` or `grid`.
    pub name: String,
    /// First task.
    pub first: u32,
    /// Extents, first index fastest.
    pub dims: Vec<u32>,
    /// Whether neighbours wrap around, for each extent.
    pub periodic: Vec<bool>,
}

impl TaskArray {
    /// Returns the number of tasks.
    pub fn len(&self) -> u32 {
        self.dims.iter().product()
    }

    /// Whether the array has no tasks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Tasks of an application: their computation per step, and their messages by phase.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskGraph {
    /// Name in tables.
    pub name: String,
    /// Work of each task per step, in units chosen by the application. Never negative.
    pub loads: Vec<f64>,
    /// Phases of a step, at least one.
    pub phases: Vec<Phase>,
    /// Arrays of the application, if any. They need not cover all tasks.
    pub arrays: Vec<TaskArray>,
    /// Coordinates of the tasks in the application's space, `space` numbers per task. Empty if unknown.
    pub positions: Vec<f64>,
    /// Number of dimensions of that space. 0 if unknown.
    pub space: usize,
    /// Omissions of the reader of the graph's file, and assumptions where the source is incomplete, one sentence each.
    pub notes: Vec<String>,
}

impl TaskGraph {
    /// Creates a graph of one phase whose tasks all have load 1.
    pub fn new(name: impl Into<String>, arcs: Arcs) -> Self {
        let tasks = arcs.first.len().saturating_sub(1);
        Self {
            name: name.into(),
            loads: vec![1.0; tasks],
            phases: vec![Phase::of("step", arcs)],
            arrays: Vec::new(),
            positions: Vec::new(),
            space: 0,
            notes: Vec::new(),
        }
    }

    /// Returns the number of tasks.
    pub fn tasks(&self) -> u32 {
        self.loads.len() as u32
    }

    /// Returns the bytes sent per step. A multicast counts once for each member.
    pub fn total_bytes(&self) -> u64 {
        let groups =
            |phase: &Phase| phase.groups.iter().map(|group| group.bytes * group.members.len() as u64).sum::<u64>();
        self.phases.iter().map(|phase| phase.arcs.total_bytes() + groups(phase)).sum()
    }

    /// Returns the array with a name.
    pub fn array(&self, name: &str) -> Option<&TaskArray> {
        self.arrays.iter().find(|array| array.name == name)
    }

    /// Returns the application with its tasks renumbered: task t becomes `number[t]`, a permutation of the tasks.
    /// Arrays are dropped, since their tasks are no longer consecutive.
    #[must_use]
    pub fn renumbered(&self, number: &[u32]) -> Self {
        let tasks = self.tasks();
        let new = |task: u32| number[task as usize];
        let phase = |phase: &Phase| {
            let mut arcs = ArcList::new(tasks);
            phase.arcs.iter().for_each(|(from, to, bytes, messages)| arcs.add(new(from), new(to), bytes, messages));
            let group = |group: &Group| Group {
                root: new(group.root),
                members: group.members.iter().map(|&member| new(member)).collect(),
                ..group.clone()
            };
            Phase { arcs: arcs.build(), groups: phase.groups.iter().map(group).collect(), ..phase.clone() }
        };
        let mut loads = vec![0.0; self.loads.len()];
        let mut positions = vec![0.0; self.positions.len()];
        for task in 0..tasks {
            let (old, new) = (task as usize, new(task) as usize);
            loads[new] = self.loads[old];
            let space = self.space;
            positions[new * space..(new + 1) * space].copy_from_slice(&self.positions[old * space..(old + 1) * space]);
        }
        let phases = self.phases.iter().map(phase).collect();
        Self { loads, phases, arrays: Vec::new(), positions, ..self.clone() }
    }
}
