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
        let inputs = 0..fabric.ports() << fabric.vc_shift;
        if let Some(input) = inputs.into_iter().find(|&input| self.routers().held(input) > 0) {
            return Err(format!("input {input} still holds bytes"));
        }
        if fabric.outputs.iter().any(|output| output.queued > 0) {
            return Err("bytes are still counted as waiting for an output".into());
        }
        let short = |&output: &usize| {
            let depth = fabric.plan.depth_beyond(fabric.outputs[output].far_end);
            fabric.credits_of(output).iter().any(|&credit| credit != depth)
        };
        let mut outputs = (0..fabric.outputs.len()).filter(|&output| fabric.has_credits(output));
        match outputs.find(short) {
            None => Ok(()),
            Some(output) => Err(format!("credits {:?} of output {output} are not whole", fabric.credits_of(output))),
        }
    }
}
