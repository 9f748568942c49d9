//! The graph itself, in flat arrays.

/// The most tasks of a graph.
pub const MAX_TASKS: u32 = 1 << 26;
/// The most arcs of a phase.
pub const MAX_ARCS: usize = 1 << 30;

/// Why a task graph cannot be read or made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", self.place())]
pub struct GraphError {
    /// The file, if one is at fault.
    pub file: Option<String>,
    /// Its line, from 1, if one is at fault.
    pub line: Option<u64>,
    /// The generator's key that is at fault, if one is.
    pub key: Option<&'static str>,
    /// What is wrong and what is allowed, as one sentence.
    pub message: String,
}

impl GraphError {
    /// An error of a graph as a whole.
    pub fn new(message: impl Into<String>) -> Self {
        Self { file: None, line: None, key: None, message: message.into() }
    }

    /// An error at a line, from 1.
    pub fn at(line: u64, message: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::new(message) }
    }

    /// An error at a key of a generator.
    pub fn key(key: &'static str, message: impl Into<String>) -> Self {
        Self { key: Some(key), ..Self::new(message) }
    }

    /// The same, in a file.
    #[must_use]
    pub fn in_file(self, file: impl Into<String>) -> Self {
        Self { file: Some(file.into()), ..self }
    }

    /// `file:line: `, as far as it is known.
    fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: "),
            (Some(file), None) => format!("{file}: "),
            (None, Some(line)) => format!("line {line}: "),
            (None, None) => String::new(),
        }
    }
}

/// What tasks send to one another, as compressed rows: the arcs out of task t are `first[t]..first[t + 1]`, in ascending
/// order of targets, each target once, never t itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arcs {
    first: Vec<u32>,
    targets: Vec<u32>,
    bytes: Vec<u64>,
    messages: Vec<u32>,
}

impl Arcs {
    /// No arcs between tasks.
    pub fn none(tasks: u32) -> Self {
        Self { first: vec![0; tasks as usize + 1], ..Self::default() }
    }

    /// The number of arcs.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Where a task's arcs are in the flat arrays.
    #[inline]
    pub fn range(&self, task: u32) -> std::ops::Range<usize> {
        self.first[task as usize] as usize..self.first[task as usize + 1] as usize
    }

    /// The targets of all arcs, row by row.
    pub fn targets(&self) -> &[u32] {
        &self.targets
    }

    /// Bytes sent over each arc in one step.
    pub fn bytes(&self) -> &[u64] {
        &self.bytes
    }

    /// Messages over each arc in one step, at least 1.
    pub fn messages(&self) -> &[u32] {
        &self.messages
    }

    /// A task's arcs: target, bytes, messages.
    pub fn of(&self, task: u32) -> impl Iterator<Item = (u32, u64, u32)> + '_ {
        self.range(task).map(|arc| (self.targets[arc], self.bytes[arc], self.messages[arc]))
    }

    /// All arcs: source, target, bytes, messages.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, u64, u32)> + '_ {
        (0..self.first.len().saturating_sub(1) as u32)
            .flat_map(|task| self.of(task).map(move |(target, bytes, messages)| (task, target, bytes, messages)))
    }

    /// An arc whose reverse is missing or carries other bytes, if there is one.
    pub fn asymmetric(&self) -> Option<(u32, u32)> {
        let reverse = |from: u32, to: u32| {
            let row = self.range(to);
            self.targets[row.clone()].binary_search(&from).ok().map(|at| self.bytes[row.start + at])
        };
        self.iter().find(|&(from, to, bytes, _)| reverse(from, to) != Some(bytes)).map(|(from, to, ..)| (from, to))
    }

    /// Bytes of all arcs.
    pub fn total_bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }
}

/// A builder of `Arcs`, from arcs in any order. Arcs between the same tasks are added up.
#[derive(Clone, Debug, Default)]
pub struct ArcList {
    tasks: u32,
    arcs: Vec<(u32, u32, u64, u32)>,
}

impl ArcList {
    /// No arcs yet, between tasks below `tasks`.
    pub fn new(tasks: u32) -> Self {
        Self { tasks, arcs: Vec::new() }
    }

    /// Adds what one task sends another. A message of a task to itself stays in it and is left out, as is one without
    /// bytes.
    pub fn add(&mut self, from: u32, to: u32, bytes: u64, messages: u32) {
        debug_assert!(from < self.tasks && to < self.tasks, "a task that does not exist");
        if from != to && bytes > 0 {
            self.arcs.push((from, to, bytes, messages.max(1)));
        }
    }

    /// Adds the same in both directions.
    pub fn add_both(&mut self, one: u32, other: u32, bytes: u64, messages: u32) {
        self.add(one, other, bytes, messages);
        self.add(other, one, bytes, messages);
    }

    /// The number of arcs that were added.
    pub fn len(&self) -> usize {
        self.arcs.len()
    }

    /// Whether none was.
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

/// What a group does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// The root sends the same to every member.
    Multicast,
    /// Every member sends to the root, which combines.
    Reduction,
}

/// A multicast from a root to members, or a reduction from members to a root. What it sends is *not* among the phase's
/// arcs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Which of the two.
    pub kind: GroupKind,
    /// The task that sends the multicast or receives the reduction.
    pub root: u32,
    /// The other tasks, each once, without the root.
    pub members: Vec<u32>,
    /// Bytes that each member receives or sends.
    pub bytes: u64,
}

/// A part of a step, such as an exchange or a transpose. Phases of one step follow one another.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// What it is called in tables.
    pub name: String,
    /// How critical its messages are: strategies weigh its bytes by this. 1 unless said.
    pub weight: f64,
    /// Messages between pairs.
    pub arcs: Arcs,
    /// Multicasts and reductions.
    pub groups: Vec<Group>,
}

impl Phase {
    /// A phase of weight 1 with messages between pairs only.
    pub fn of(name: impl Into<String>, arcs: Arcs) -> Self {
        Self { name: name.into(), weight: 1.0, arcs, groups: Vec::new() }
    }
}

/// Tasks that the application numbers as an array: the task of index (i_0, i_1, ...) is
/// `first + i_0 + dims[0] * (i_1 + dims[1] * ...)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskArray {
    /// The application's name for it, such as `gspace`, `patches` or `grid`.
    pub name: String,
    /// Its first task.
    pub first: u32,
    /// Its extents, first index fastest.
    pub dims: Vec<u32>,
    /// By extent, whether neighbours wrap around.
    pub periodic: Vec<bool>,
}

impl TaskArray {
    /// The number of its tasks.
    pub fn len(&self) -> u32 {
        self.dims.iter().product()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An application's tasks: how much each computes in a step, and what they send in its phases.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskGraph {
    /// What it is called in tables.
    pub name: String,
    /// Work of each task in a step, in units of the application's choice; never negative.
    pub loads: Vec<f64>,
    /// What is sent, phase by phase; at least one phase.
    pub phases: Vec<Phase>,
    /// The application's arrays, if it has any. They need not cover all tasks.
    pub arrays: Vec<TaskArray>,
    /// Places of the tasks in the application's space, task by task, `space` numbers each; empty if unknown.
    pub positions: Vec<f64>,
    /// The dimensions of that space; 0 if unknown.
    pub space: usize,
    /// What the reader of the graph's file has left out, or its source leaves open and was assumed, one sentence each.
    pub notes: Vec<String>,
}

impl TaskGraph {
    /// A graph of one phase whose tasks all have load 1.
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

    /// The number of tasks.
    pub fn tasks(&self) -> u32 {
        self.loads.len() as u32
    }

    /// Bytes sent in a step, a multicast's once for each member.
    pub fn total_bytes(&self) -> u64 {
        let groups =
            |phase: &Phase| phase.groups.iter().map(|group| group.bytes * group.members.len() as u64).sum::<u64>();
        self.phases.iter().map(|phase| phase.arcs.total_bytes() + groups(phase)).sum()
    }

    /// An array by its name.
    pub fn array(&self, name: &str) -> Option<&TaskArray> {
        self.arrays.iter().find(|array| array.name == name)
    }

    /// The same application with its tasks numbered anew: task t becomes `number[t]`, a permutation of the tasks. Arrays
    /// are forgotten, since their tasks are no longer consecutive.
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
