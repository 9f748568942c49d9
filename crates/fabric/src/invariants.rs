//! What must hold when nothing is on its way: the conservation laws, for tests.

use crate::partition::{Partition, Traffic};
use crate::routers::Routers;

impl<R: Routers, T: Traffic> Partition<R, T> {
    /// Checks a partition whose sources have ended and from which everything has been delivered: no packet is left, no
    /// buffer holds anything, and every credit is back upstream.
    ///
    /// # Errors
    /// What is left, and where.
    pub fn check_empty(&self) -> Result<(), String> {
        let fabric = self.fabric();
        let left = fabric.pool.used();
        if left > 0 {
            return Err(format!("{left} packets are left in the pool"));
        }
        if !fabric.wheel.is_empty() {
            return Err("events are left in the wheel".into());
        }
        if let Some(input) = self.routers().held(fabric).iter().position(|&bytes| bytes > 0) {
            return Err(format!("input {input} still holds bytes"));
        }
        if fabric.outputs.iter().any(|output| output.queued > 0) {
            return Err("bytes are still counted as waiting for an output".into());
        }
        if !fabric.all_promises_kept() {
            return Err("credit is still promised".into());
        }
        let depth = fabric.plan.depth as i32;
        let short = |output: &usize| {
            let vcs = fabric.plan.vcs as usize;
            let counters = fabric.credits_of(*output);
            let each = counters.len() / vcs.next_power_of_two();
            counters.chunks(each).take(vcs).flatten().any(|&credit| credit != depth)
        };
        let mut outputs = (0..fabric.outputs.len()).filter(|&output| fabric.leads_to_router(output));
        match outputs.find(short) {
            None => Ok(()),
            Some(output) => Err(format!("credits {:?} of output {output}, not {depth}", fabric.credits_of(output))),
        }
    }
}
