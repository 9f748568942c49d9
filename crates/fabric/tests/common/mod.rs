//! Runs a network until everything has arrived, in as many partitions as wanted, and holds it to the conservation laws on the way.

use std::sync::Arc;

use fabric::routers::Routers;
use fabric::{
    Counters, Fabric, Grain, Ledger, Mail, Partition, PartitionMap, Plan, Traffic, WithRouters, WorkerContext,
};

/// A network with the traffic of each of its partitions, given the nodes of each.
pub struct Run<'a, F> {
    pub plan: Arc<Plan>,
    pub parts: u64,
    pub name: &'a str,
    pub traffic: F,
}

impl<T: Traffic, F: Fn(&[u32]) -> T> WithRouters for Run<'_, F> {
    type Output = ();

    fn with<R: Routers + 'static>(self, routers: impl Fn(&Fabric) -> R) -> Self::Output {
        let Self { plan, parts, name, traffic } = self;
        let map = PartitionMap::new(&plan, 1, Grain::Exactly(parts));
        let partition = |part: usize| Partition::new(&plan, &map, part, &routers, traffic(map.nodes(part)));
        let mut partitions: Vec<_> = (0..map.parts()).map(partition).collect();
        let mut context = WorkerContext::new(Counters::new(plan.topology().nodes()), map.parts());
        let mut mail: Vec<Mail> = (0..map.parts()).map(|_| Mail::default()).collect();
        let window = map.window().min(1_000_000_000_000 / plan.tick().0 / 1000);
        let mut idle = 0;
        for round in 1..100_000 {
            for (part, partition) in partitions.iter_mut().enumerate() {
                partition.take_in(&mut mail[part]);
                partition.run_until(round * window, &mut context);
                mail.iter_mut().zip(&mut context.outbox).for_each(|(mail, sent)| sent.move_to(mail));
            }
            if round % 50 == 0 {
                let mut ledger = Ledger::new(map.parts());
                let accounted = partitions.iter().zip(&mail).enumerate();
                accounted.for_each(|(part, (own, mail))| own.account(part as u16, mail, &mut ledger));
                assert_eq!(ledger.packets(), context.counters.in_flight, "{name}");
                for (part, own) in partitions.iter().enumerate() {
                    own.check_credits(part as u16, &ledger).unwrap_or_else(|error| panic!("{name}: {error}"));
                }
                // What has been delivered is reported when its tail has come.
                idle = if context.counters.in_flight == 0 && mail.iter().all(Mail::is_empty) { idle + 1 } else { 0 };
                if idle == 4 {
                    break;
                }
            }
        }
        assert_eq!(context.counters.in_flight, 0, "{name}: packets stand still");
        if let [only] = &partitions[..] {
            only.check_empty().unwrap_or_else(|left| panic!("{name}: {left}"));
        }
    }
}
