//! Ranks that carry out a collective operation, round by round, with data that show their origin.

use std::collections::{BTreeMap, VecDeque};

use mpi::collectives::{Collective, Data, Member, Operation, Stage, Way, stage, stages};
use mpi::communicator::{Communicator, Context};

/// Buffer of a rank, by element: a bit for each contributing rank of combined data, a number of other data.
pub type Buffer = Vec<u64>;

/// Messages and bytes sent by each rank, and the largest number of rounds of a rank.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sent {
    pub messages: Vec<u64>,
    pub bytes: Vec<u64>,
    pub rounds: Vec<u32>,
    /// Bytes that each rank copies, and that it combines in its memory without a message.
    pub local: Vec<(u64, u64)>,
}

/// Rank that is carrying out an operation.
struct Walker {
    communicator: Communicator,
    stage: Option<Stage>,
    begun: u32,
    phase: usize,
    round: u32,
    buffer: Buffer,
    /// Result of a scan.
    prefix: Buffer,
    /// Receives of the present round: source rank, data, and their use.
    open: Vec<(u32, Data, Way)>,
    rounds: u32,
    /// Whether the rank has posted to the switches, and waits for their result.
    in_switch: bool,
}

/// Run of an operation, round by round, with messages in order between pairs.
pub struct Run {
    call: Collective,
    walkers: Vec<Walker>,
    wires: BTreeMap<(u32, u32), VecDeque<Vec<u64>>>,
    /// Members that have posted to the switches, by the context and the first rank of their group.
    switches: BTreeMap<(Context, u32), Vec<usize>>,
    sent: Sent,
}

impl Run {
    pub fn new(call: Collective, communicators: Vec<Communicator>, buffers: Vec<Buffer>) -> Self {
        let ranks = communicators.len();
        let walkers = communicators.into_iter().zip(buffers).map(|(communicator, buffer)| {
            call.check(&communicator).unwrap();
            let prefix = match call.operation {
                Operation::Exscan => vec![0; buffer.len()],
                _ => buffer.clone(),
            };
            let (stage, open) = (None, Vec::new());
            Walker {
                communicator,
                stage,
                begun: 0,
                phase: 0,
                round: 0,
                buffer,
                prefix,
                open,
                rounds: 0,
                in_switch: false,
            }
        });
        let sent = Sent {
            messages: vec![0; ranks],
            bytes: vec![0; ranks],
            rounds: vec![0; ranks],
            local: vec![(0, 0); ranks],
        };
        Self { call, walkers: walkers.collect(), wires: BTreeMap::new(), switches: BTreeMap::new(), sent }
    }

    /// Gives a barrier, which has no data, one element: the ranks that a rank knows to have arrived.
    fn member(&self, at: &Member) -> Member {
        match self.call.operation {
            Operation::Barrier => Member { elements: 1, ..at.clone() },
            _ => at.clone(),
        }
    }

    /// Posts the next round of a rank. Returns whether there is one.
    fn post(&mut self, rank: usize) -> bool {
        loop {
            let walker = &mut self.walkers[rank];
            if let Some(stage) = walker.stage.clone().filter(|own| own.in_switch.is_some() && walker.round == 0) {
                (walker.round, walker.in_switch) = (1, true);
                self.post_to_switches(rank, &stage);
                return true;
            }
            let walker = &mut self.walkers[rank];
            if let Some(stage) = walker.stage.clone()
                && let Some(phase) = stage.phases.get(walker.phase)
            {
                if walker.round == phase.rounds(&stage.at) {
                    (walker.phase, walker.round) = (walker.phase + 1, 0);
                    continue;
                }
                let mut moves = Vec::new();
                phase.round(&stage.at, walker.round, &mut |own| moves.push(own));
                walker.round += 1;
                walker.rounds += u32::from(moves.iter().any(|own| own.way.is_message()));
                let at = self.member(&stage.at);
                for own in moves {
                    if !own.way.is_message() {
                        let bytes = own.data.elements(stage.at.elements) * u64::from(self.call.element);
                        let local = &mut self.sent.local[rank];
                        *(if own.way == Way::Copy { &mut local.0 } else { &mut local.1 }) += bytes;
                        continue;
                    }
                    for number in 0..own.count {
                        let (peer, data) = own.message(number, at.size);
                        let other = stage.group.rank(peer);
                        assert_ne!(other, rank as u32, "a message to itself");
                        match own.way {
                            Way::Send => self.send(rank, other, data, (&at, &stage.at)),
                            way => self.walkers[rank].open.push((other, data, way)),
                        }
                    }
                }
                return true;
            }
            // Chunk after chunk: a pipeline only brings them forward.
            let call = self.call.within(&walker.communicator);
            let stages = u32::from(stages(&call));
            if walker.begun == stages * call.chunks(&walker.communicator) {
                return false;
            }
            let place = ((walker.begun % stages) as u8, walker.begun / stages);
            walker.stage = stage(&call, &walker.communicator, place);
            (walker.begun, walker.phase, walker.round) = (walker.begun + 1, 0, 0);
        }
    }

    fn send(&mut self, rank: usize, to: u32, data: Data, (at, real): (&Member, &Member)) {
        let mut payload = Vec::new();
        let buffer = &self.walkers[rank].buffer;
        let first = at.first as usize;
        data.each_range(at.elements, &mut |from, end| {
            payload.extend(&buffer[first + from as usize..first + end as usize]);
        });
        assert_eq!(payload.len() as u64, data.elements(at.elements), "{data:?} of {}", at.elements);
        self.wires.entry((rank as u32, to)).or_default().push_back(payload);
        self.sent.messages[rank] += 1;
        self.sent.bytes[rank] += data.elements(real.elements) * u64::from(self.call.element);
    }

    /// Posts the data of a member to the switches. The last member makes the switches deliver all results.
    fn post_to_switches(&mut self, rank: usize, stage: &Stage) {
        assert!(stage.group.len() > 1 && stage.phases.is_empty());
        let posted = self.switches.entry((stage.in_switch.unwrap().context, stage.group.rank(0))).or_default();
        posted.push(rank);
        if posted.len() < stage.group.len() as usize {
            return;
        }
        let members: Vec<usize> = std::mem::take(posted);
        let had: Vec<(Member, Buffer)> = (0..stage.group.len())
            .map(|member| {
                let rank = stage.group.rank(member) as usize;
                assert!(members.contains(&rank), "a member of another group");
                let at = self.walkers[rank].stage.as_ref().map(|own| self.member(&own.at)).unwrap();
                assert_eq!((at.own, at.size), (member, stage.group.len()));
                (at, self.walkers[rank].buffer.clone())
            })
            .collect();
        for (at, _) in &had {
            let rank = stage.group.rank(at.own) as usize;
            given(stage.in_switch.unwrap().operation, at, &had, &mut self.walkers[rank].buffer);
            self.walkers[rank].in_switch = false;
        }
    }

    /// Takes arrivals of a rank's round. Returns whether any are missing.
    fn take(&mut self, rank: usize) -> bool {
        if self.walkers[rank].in_switch {
            return true;
        }
        let at = self.walkers[rank].stage.clone().map(|stage| self.member(&stage.at));
        let Walker { buffer, prefix, open, .. } = &mut self.walkers[rank];
        while let Some(&(from, data, way)) = open.first() {
            let Some(payload) = self.wires.entry((from, rank as u32)).or_default().pop_front() else { return true };
            let mut payload = payload.into_iter();
            let at = at.as_ref().unwrap();
            data.each_range(at.elements, &mut |from, end| {
                for place in (at.first + from) as usize..(at.first + end) as usize {
                    let came = payload.next().expect("a message that is too short");
                    let combine = |element: &mut u64| {
                        if self.call.operation != Operation::Barrier {
                            assert_eq!(*element & came, 0, "a contribution that comes twice");
                        }
                        *element |= came;
                    };
                    match way {
                        Way::Combine => combine(&mut buffer[place]),
                        Way::Prefix { .. } => {
                            combine(&mut buffer[place]);
                            combine(&mut prefix[place]);
                        }
                        _ => buffer[place] = came,
                    }
                }
            });
            assert_eq!(payload.next(), None, "a message that is too long");
            open.remove(0);
        }
        false
    }

    /// Runs to the end.
    pub fn run(mut self) -> (Vec<Buffer>, Sent) {
        let mut going = true;
        while going {
            going = false;
            for rank in 0..self.walkers.len() {
                while !self.take(rank) && self.post(rank) {
                    going = true;
                }
            }
        }
        assert!(self.walkers.iter().all(|walker| walker.open.is_empty()), "a rank that waits for ever");
        assert!(self.wires.values().all(VecDeque::is_empty), "a message that nobody receives");
        self.sent.rounds = self.walkers.iter().map(|walker| walker.rounds).collect();
        let is_scan = matches!(self.call.operation, Operation::Scan | Operation::Exscan);
        let result = |walker: Walker| if is_scan { walker.prefix } else { walker.buffer };
        (self.walkers.into_iter().map(result).collect(), self.sent)
    }
}

/// Computes the data that the switches give a member from the data of each.
fn given(operation: Operation, at: &Member, had: &[(Member, Buffer)], buffer: &mut Buffer) {
    let mut store = |data: Data, of: &dyn Fn(usize) -> u64| {
        data.each_range(at.elements, &mut |from, end| {
            ((at.first + from) as usize..(at.first + end) as usize).for_each(|place| buffer[place] = of(place));
        });
    };
    let combined = |place: usize| {
        had.iter().fold(0, |sum, (_, own)| {
            assert!(sum & own[place] == 0 || operation == Operation::Barrier, "a contribution that comes twice");
            sum | own[place]
        })
    };
    match operation {
        Operation::Broadcast => store(Data::WHOLE, &|place| had[at.root as usize].1[place]),
        Operation::Reduce if at.own != at.root => {}
        Operation::Reduce | Operation::Allreduce | Operation::Barrier => store(Data::WHOLE, &combined),
        Operation::ReduceScatter => store(at.part(at.own), &combined),
        Operation::Allgather => {
            had.iter().for_each(|(from, own)| store(at.part(from.own), &|place| own[place]));
        }
        _ => panic!("the switches do not carry {operation:?} out"),
    }
}
