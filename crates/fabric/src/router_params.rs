//! Parameters of the routers of a plan, by set of equal routers, and the sets of equal channels between them.

use topology::ChannelClass;
use units::{KeyError, RouterId, Time};

use crate::catalogue::RouterSpec;
use crate::plan::{FabricSpec, LONGEST, Plan, holds_a_packet};
use crate::port::{LinkClass, MOST_LINK_CLASSES};
use crate::router_classes::RouterSets;

/// Parameters of equal routers.
#[derive(Clone, Debug)]
pub(crate) struct RouterParams {
    /// Router delay, in ticks.
    pub delay: u64,
    /// Initial value of a credit counter in bytes, by class of channels: the depth of the buffer at the input.
    pub depths: Vec<u32>,
    /// Depth in bytes of the buffer behind the inputs (`RouterSpec::inner_buffer`). 0 if the architecture has none.
    pub inner_depth: u32,
    /// Bandwidth of the crossbar at a port, as a multiple of the link's.
    pub speedup: u8,
    /// Threshold of a shared memory. 1 without one.
    pub alpha: f64,
}

impl FabricSpec {
    /// Returns the parameters of the routers of a class and their delay.
    pub(crate) fn router_params(
        &self,
        (class, keys): (&str, &RouterSpec),
        max_ports: u16,
    ) -> Result<(RouterParams, Time), KeyError> {
        let names = self.topology.class_names();
        let sizes = self.sizes(keys, max_ports);
        if sizes.delay.0 > LONGEST {
            let message = format!("{} is too long: at most 1000 s", sizes.delay);
            return Err(KeyError::new(self.router.path_of(class, "delay"), message));
        }
        let depths = names.iter().zip(&sizes.buffers).map(|(name, &depth)| {
            let key = keys.common().buffer.map_or_else(|| "buffer".to_owned(), |depths| depths.key_of(name));
            holds_a_packet(&self.router.path_of(class, &key), depth, self.packet)
        });
        let mut depths = depths.collect::<Result<Vec<_>, _>>()?;
        depths.push(depths.first().copied().unwrap_or(0));
        let inner =
            sizes.inner.map(|(key, buffer)| holds_a_packet(&self.router.path_of(class, key), buffer, self.packet));
        let inner_depth = inner.transpose()?.unwrap_or(0);
        let alpha = if let RouterSpec::SharedBuffer(spec) = keys { spec.alpha } else { 1.0 };
        Ok((RouterParams { delay: 0, depths, inner_depth, speedup: keys.speedup(), alpha }, sizes.delay))
    }
}

/// Refuses more sets of equal routers than numbers of sets of equal channels hold (`LinkClass`).
pub(crate) fn check_sets(sets: &RouterSets, classes: usize) -> Result<(), KeyError> {
    // Channels inside routers are a class too.
    if sets.count().saturating_pow(2).saturating_mul(classes + 1) <= MOST_LINK_CLASSES {
        return Ok(());
    }
    let message = format!(
        "{} kinds of routers and {classes} classes of channels are too many: the product of the latter and of the square of the former \
         is at most {MOST_LINK_CLASSES}; give several classes of routers equal keys",
        sets.count()
    );
    Err(KeyError::new("router", message))
}

impl Plan {
    /// Returns the routers in sets of equal ones.
    pub fn router_sets(&self) -> &RouterSets {
        &self.sets
    }

    /// Returns the parameters of a router.
    pub(crate) fn router(&self, router: RouterId) -> &RouterParams {
        &self.routers[self.sets.number(router)]
    }

    /// Returns the delay of a router, in ticks.
    pub fn router_delay(&self, router: RouterId) -> u64 {
        self.router(router).delay
    }

    /// Returns the delays of the routers by set, in ticks.
    pub fn router_delays(&self) -> impl Iterator<Item = u64> + Clone + '_ {
        self.routers.iter().map(|own| own.delay)
    }

    /// Returns the delay of all routers, in ticks. `None`: some differ.
    pub fn common_router_delay(&self) -> Option<u64> {
        let first = self.routers[0].delay;
        self.router_delays().all(|delay| delay == first).then_some(first)
    }

    /// Returns the delay of the slowest routers, in ticks.
    pub fn longest_router_delay(&self) -> u64 {
        self.router_delays().max().unwrap_or(0)
    }

    /// Returns the depth in bytes of the buffer that a credit stands for, on the channels of a class into the routers
    /// of a set.
    pub fn buffer_bytes(&self, class: ChannelClass, set: usize) -> u32 {
        self.routers[set].depths[usize::from(class.0)]
    }

    /// Returns the depth in bytes of the buffer behind the inputs of the routers of a set: of a crosspoint, an output,
    /// or the shared memory. 0 if there is none.
    pub fn inner_buffer_bytes(&self, set: usize) -> u32 {
        self.routers[set].inner_depth
    }

    /// Returns the set of equal channels of a class that lead from one router to another. `None`: the end is a node.
    pub(crate) fn link_class(&self, class: ChannelClass, ends: [Option<RouterId>; 2]) -> LinkClass {
        let [from, to] = ends.map(|end| end.map_or(0, |router| self.sets.number(router)));
        LinkClass((usize::from(class.0) + self.links.len() * (from + self.sets.count() * to)) as u8)
    }

    /// Returns, for each set of equal channels in the order of `LinkClass`, the class, the set of the routers that it
    /// leaves and the set of the routers that it enters.
    pub(crate) fn link_classes(&self) -> impl Iterator<Item = (ChannelClass, [usize; 2])> {
        let (classes, sets) = (self.links.len() as u8, self.sets.count());
        (0..sets).flat_map(move |to| {
            (0..sets).flat_map(move |from| (0..classes).map(move |class| (ChannelClass(class), [from, to])))
        })
    }
}
