//! The executor on the network of the reference, whole or divided.

use std::sync::Arc;

use host::{Arrived, Envelope, Executor, LocalRanks, NicParams};
use mpi::program::Programs;

use super::network::{Flight, Link, Wire, arrivals};
use crate::world::Requests;

/// Content of a packet: its flow and its mark.
type Carried = (u32, u32, u32);

pub struct Machine {
    pub executors: Vec<Executor>,
    executor_of: Arc<[u16]>,
    number_of: Arc<[u32]>,
    wire: Wire,
    now: u64,
    links: Vec<Link>,
    /// Whether a node may have something to send, by node.
    active: Vec<bool>,
    flights: Vec<Flight<Carried>>,
    /// Announced messages, and the time at which each becomes known.
    announced: Vec<(u64, u32, Envelope)>,
    alarms: Vec<(u64, usize)>,
}

impl Machine {
    /// Creates ranks on nodes, divided over `parts` executors.
    pub fn new(programs: &Arc<dyn Programs>, (nic, wire): (NicParams, Wire), node_of: &[u32], parts: u32) -> Self {
        let nodes = node_of.iter().max().map_or(0, |node| node + 1);
        let executor_of: Arc<[u16]> = (0..nodes).map(|node| (node % parts) as u16).collect();
        let number_of: Arc<[u32]> = (0..nodes).map(|node| node / parts).collect();
        let executor = |part: u32| {
            let count = (part..nodes).step_by(parts as usize).count();
            let places = (Arc::clone(&executor_of), Arc::clone(&number_of));
            Executor::new(programs, nic, LocalRanks::new(node_of.into(), places, part as u16, count))
        };
        Self {
            executors: (0..parts).map(executor).collect(),
            executor_of: Arc::clone(&executor_of),
            number_of: Arc::clone(&number_of),
            wire,
            now: 0,
            links: vec![Link::default(); nodes as usize],
            active: vec![false; nodes as usize],
            flights: Vec::new(),
            announced: Vec::new(),
            alarms: Vec::new(),
        }
    }

    /// Runs until nothing is pending.
    pub fn run(&mut self) {
        for part in 0..self.executors.len() {
            self.call(part, |executor, requests| executor.begin(0, requests));
        }
        self.serve();
        while let Some(now) = self.next() {
            self.now = now;
            for (known, node, envelope) in std::mem::take(&mut self.announced) {
                let part = self.part(node);
                match known <= now {
                    true => self.executors[part].announced(envelope),
                    false => self.announced.push((known, node, envelope)),
                }
            }
            for flight in arrivals(&mut self.flights, now) {
                self.call(self.part(flight.to), |executor, requests| {
                    let (flow_id, mark, bytes) = flight.what;
                    executor.arrived(Arrived { flow_id, mark, bytes, node: flight.to, rail: 0 }, now, requests);
                });
            }
            let (due, later): (Vec<_>, Vec<_>) = self.alarms.iter().partition(|alarm| alarm.0 <= now);
            self.alarms = later;
            for (_, part) in due {
                self.call(part, |executor, requests| executor.alarm(now, requests));
            }
            self.serve();
        }
    }

    fn part(&self, node: u32) -> usize {
        usize::from(self.executor_of[node as usize])
    }

    fn next(&self) -> Option<u64> {
        let flights = self.flights.iter().map(|flight| flight.at);
        let links = self.links.iter().zip(&self.active).filter(|(_, active)| **active).map(|(link, _)| link.free_at);
        let announced = self.announced.iter().map(|announced| announced.0);
        flights.chain(links).chain(announced).chain(self.alarms.iter().map(|alarm| alarm.0)).min()
    }

    /// Lets every free link take a packet of its node.
    fn serve(&mut self) {
        for node in 0..self.links.len() {
            if !self.active[node] || self.links[node].free_at > self.now {
                continue;
            }
            let part = self.part(node as u32);
            match self.executors[part].next(self.number_of[node] as usize, self.now) {
                None => self.active[node] = false,
                Some(packet) => {
                    let (ends, carried) = ((node as u32, packet.dst), (packet.flow_id, packet.mark, packet.bytes));
                    let flight = self.links[node].take(&self.wire, self.now, ends, (packet.bytes, carried));
                    self.flights.push(flight);
                }
            }
        }
    }

    /// Calls an executor, and carries out its requests.
    fn call(&mut self, part: usize, call: impl FnOnce(&mut Executor, &mut Requests)) {
        let mut requests = Requests::default();
        call(&mut self.executors[part], &mut requests);
        for at in requests.alarms {
            assert!(at > self.now, "an alarm for the past");
            self.alarms.push((at, part));
        }
        let known = self.now + self.wire.delay / 2;
        self.announced.extend(requests.announced.into_iter().map(|(node, envelope)| (known, node, envelope)));
        for own in requests.woken {
            let node =
                (0..self.active.len()).find(|&node| self.part(node as u32) == part && self.number_of[node] == own);
            self.active[node.unwrap()] = true;
        }
    }
}
