//! Random jobs: what their tasks send one another.

use crate::draw::Random;
use crate::network::Units;

/// Data that a task sends to other tasks: one, or several as a multicast.
#[derive(Clone, Debug)]
pub struct Message {
    pub from: u32,
    pub to: Vec<u32>,
    pub bytes: u64,
}

/// What tasks send in a phase: messages, or the neighbours of a grid.
#[derive(Clone, Debug)]
pub enum Work {
    /// Messages by phase, in the order in which a node sends them.
    Messages(Vec<Vec<Message>>),
    /// Tasks of a periodic grid of one dimension, and bytes to each neighbour.
    Exchange(u64, u64),
    /// An allreduce of each group of neighbouring ranks, which routers combine: members of a group, and bytes.
    Allreduce(u64, u64),
}

/// Window of a pacer: its bytes, and those of an acknowledgement that is a packet.
pub type Window = (u64, Option<u64>);

/// A job.
#[derive(Clone, Debug)]
pub struct Job {
    pub work: Work,
    pub tasks: u64,
    /// Picoseconds of computation by task.
    pub time_per_load: u64,
    /// Picoseconds until it starts.
    pub start: u64,
    /// First and last node. `None`: all.
    pub nodes: Option<(u64, u64)>,
    /// Processes of a node, and where they are.
    pub placement: (u64, &'static str),
    pub window: Option<Window>,
}

/// What jobs have.
#[derive(Clone, Copy, Debug, Default)]
pub struct Features {
    pub multicasts: bool,
    pub window: bool,
    /// Whether the job is an allreduce of groups.
    pub groups: bool,
    /// Number of jobs.
    pub jobs: usize,
}

impl Job {
    /// Draws a job for a machine of `nodes` nodes.
    pub fn draw(random: &mut Random, units: &Units, (nodes, packet): (u64, u64), features: Features) -> Self {
        let Features { multicasts, window, groups, jobs } = features;
        if groups {
            return Self::of_groups(random, (nodes, packet));
        }
        let own = (jobs > 1 && random.chance(60)).then(|| {
            let first = random.within(0, nodes - 1);
            (first, random.within(first, nodes - 1))
        });
        let each = random.pick(&[1, 1, 1, 2, 3]);
        let tasks = each * own.map_or(nodes, |(first, last)| last - first + 1);
        let exchanges = !multicasts && random.chance(15);
        let work = match exchanges {
            true => Work::Exchange(tasks, random.within(1, 8 * packet)),
            false => {
                let phases = random.pick(if jobs > 1 { &[1, 2, 3] } else { &[1, 1, 2] });
                Work::Messages((0..phases).map(|_| messages(random, tasks, packet, multicasts)).collect())
            }
        };
        let time_per_load = if random.chance(20) { random.pick(&[1, 777, 1_000, 50_000, 400_000]) } else { 0 };
        Self {
            work,
            tasks,
            time_per_load: if exchanges || jobs > 1 { 0 } else { time_per_load },
            start: if jobs > 1 && random.chance(50) { units.start(random) } else { 0 },
            nodes: own,
            placement: (each, random.pick(&["contiguous", "contiguous", "round-robin", "random"])),
            window: window.then(|| {
                let ack = random.chance(50).then(|| random.within(1, packet));
                (random.within(packet, 4 * packet), ack)
            }),
        }
    }

    /// Draws an allreduce of groups. Every node has one rank.
    fn of_groups(random: &mut Random, (nodes, packet): (u64, u64)) -> Self {
        let sizes: Vec<u64> = (2..=nodes).filter(|&size| nodes.is_multiple_of(size)).collect();
        let size = if sizes.is_empty() { 1 } else { random.pick(&sizes) };
        Self {
            work: Work::Allreduce(size, random.within(1, 8 * packet)),
            tasks: nodes,
            time_per_load: 0,
            start: 0,
            nodes: None,
            placement: (1, random.pick(&["contiguous", "round-robin", "random"])),
            window: None,
        }
    }

    /// The keys `workload` and `placement`. The files of its graphs begin with `name`.
    pub fn keys(&self, name: &str, packet: u64) -> String {
        let workload = match &self.work {
            Work::Exchange(tasks, volume) => format!("kind = \"exchange\", dims = [{tasks}], volume = \"{volume} B\""),
            Work::Allreduce(size, bytes) => format!(
                "kind = \"program\", program = {{ kind = \"collective\", operation = \"allreduce\", \
                 algorithm = \"in-switch\", size = \"{bytes} B\", group_size = {size} }}"
            ),
            Work::Messages(phases) => {
                let others: Vec<String> = (1..phases.len()).map(|phase| format!("\"{name}{phase}.csv\"")).collect();
                let sets = phases.iter().flatten().any(|message| message.to.len() > 1);
                format!(
                    "kind = \"application\", graph = \"{name}0.csv\", next_graphs = [{}], time_per_load = \"{} ps\"{}",
                    others.join(", "),
                    self.time_per_load,
                    if sets { ", collectives = \"hardware\"" } else { "" }
                )
            }
        };
        let ack = |ack: u64| format!(", ack_size = \"{ack} B\"");
        let pacer = self.window.map_or(String::new(), |(bytes, size)| {
            let ack = size.map_or(String::new(), ack);
            format!(", pacer = {{ kind = \"window\", window = \"{bytes} B\"{ack} }}")
        });
        format!(
            "workload = {{ {workload}, packet_size = \"{packet} B\"{pacer} }}\n\
             placement = {{ strategy = \"{}\", processes_per_node = {} }}\n",
            self.placement.1, self.placement.0
        )
    }

    /// The table `[[job]]` of a job beside others.
    pub fn table(&self, name: &str, packet: u64) -> String {
        let nodes = self.nodes.map_or(String::new(), |(first, last)| format!("nodes = \"{first}-{last}\"\n"));
        let keys = self.keys(name, packet);
        format!("[[job]]\nname = \"{name}\"\nstart = \"{} ps\"\n{nodes}{keys}", self.start)
    }

    /// Names and contents of the files that `keys` names.
    pub fn files(&self, name: &str) -> Vec<(String, String)> {
        let Work::Messages(phases) = &self.work else { return Vec::new() };
        let file = |(phase, messages): (usize, &Vec<Message>)| {
            let lines: String = messages.iter().map(Message::line).collect();
            (format!("{name}{phase}.csv"), format!("from,to,bytes\ntask,{}\n{lines}", self.tasks - 1))
        };
        phases.iter().enumerate().map(file).collect()
    }

    /// Messages by phase, in the order in which a node sends them.
    pub fn messages(&self) -> Vec<Vec<Message>> {
        match &self.work {
            Work::Messages(phases) => phases.clone(),
            Work::Exchange(tasks, volume) => vec![of_ring(*tasks, *volume)],
            // No messages from task to task.
            Work::Allreduce(..) => vec![Vec::new()],
        }
    }

    /// Bytes of the allreduce of each group.
    pub fn allreduce(&self) -> Option<u64> {
        match self.work {
            Work::Allreduce(_, bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Makes one message smaller. Returns `None` if there is no such message.
    pub fn with_less(&self, (phase, message): (usize, usize), divisor: u64) -> Option<Self> {
        let mut less = self.clone();
        if let Work::Allreduce(_, bytes) = &mut less.work {
            *bytes = (*bytes / 2).max(1);
            return Some(less);
        }
        let Work::Messages(phases) = &mut less.work else { return None };
        let messages = phases.get_mut(phase)?;
        let bytes = messages.get(message)?.bytes / divisor;
        if bytes == 0 {
            messages.remove(message);
        } else {
            messages[message].bytes = bytes;
        }
        Some(less)
    }
}

impl Message {
    fn line(&self) -> String {
        let Self { from, to, bytes } = self;
        match &to[..] {
            [to] => format!("{from},{to},{bytes}\n"),
            to => {
                let members: Vec<String> = to.iter().map(u32::to_string).collect();
                format!("multicast,{from},{bytes},{}\n", members.join(","))
            }
        }
    }
}

/// Messages of a phase: most pairs have none, and some tasks get much. A node sends its multicasts after them.
fn messages(random: &mut Random, tasks: u64, packet: u64, multicasts: bool) -> Vec<Message> {
    let most = if tasks > 100 { 2 } else { 100 * 12 / tasks + 3 };
    let share = random.pick(&[10, 30, 100]).min(most);
    let wanted = random.within(0, tasks - 1);
    let longest = random.pick(&[1, 4, 12]);
    let whole = random.chance(40);
    let bytes = |random: &mut Random| match whole {
        true => packet * random.within(1, longest),
        false => random.within(1, longest * packet),
    };
    let mut messages = Vec::new();
    for (from, to) in (0..tasks).flat_map(|from| (0..tasks).map(move |to| (from, to))) {
        if from != to && (random.chance(share) || (to == wanted && random.chance(50))) {
            messages.push(Message { from: from as u32, to: vec![to as u32], bytes: bytes(random) });
        }
    }
    if multicasts && tasks > 2 {
        let (senders, members) = (random.within(1, 6.min(tasks)), random.pick(&[15, 50, 100]));
        for _ in 0..senders {
            let from = random.within(0, tasks - 1) as u32;
            let to: Vec<u32> = (0..tasks as u32).filter(|&to| to != from && random.chance(members)).collect();
            if to.len() > 1 {
                messages.push(Message { from, to, bytes: bytes(random) });
            }
        }
    }
    messages
}

/// Every task of a ring sends to the next and to the one before, once if they are the same.
fn of_ring(tasks: u64, bytes: u64) -> Vec<Message> {
    let mut messages = Vec::new();
    for task in 0..tasks {
        let (next, before) = ((task + 1) % tasks, (task + tasks - 1) % tasks);
        let message = |to: u64| Message { from: task as u32, to: vec![to as u32], bytes };
        messages.extend((next != task).then(|| message(next)));
        messages.extend((before != next).then(|| message(before)));
    }
    messages
}
