//! Profiles: the properties of a network that the hot path is compiled for.

use std::marker::PhantomData;

/// Properties of a network that are known before a run. Each step of an instant is compiled once for each profile, and
/// tests for nothing that its profile excludes.
pub trait Profile {
    /// The profile without `SPLITS`, with which the steps after the decision of outputs are compiled.
    type Base: Profile;
    /// Whether the network is plain (`Fabric::is_plain`).
    const PLAIN: bool;
    /// Whether arrivals may be multicast packets.
    const SPLITS: bool;
}

/// Profile of plain networks.
#[derive(Debug)]
pub(crate) struct Plain;

impl Profile for Plain {
    type Base = Self;
    const PLAIN: bool = true;
    const SPLITS: bool = false;
}

/// Profile of all networks.
#[derive(Debug)]
pub(crate) struct General;

impl Profile for General {
    type Base = Self;
    const PLAIN: bool = false;
    const SPLITS: bool = false;
}

/// A profile with multicast packets in the network.
#[derive(Debug)]
pub(crate) struct WithMulticasts<P>(PhantomData<P>);

impl<P: Profile> Profile for WithMulticasts<P> {
    type Base = P;
    const PLAIN: bool = P::PLAIN;
    const SPLITS: bool = true;
}
