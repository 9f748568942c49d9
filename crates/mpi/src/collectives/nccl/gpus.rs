//! GPUs as NCCL's tuning model sees them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// GPU of a server. It determines the bandwidths and the number of channels in NCCL's tuning model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Gpu {
    /// A100 on NVLink 3.
    A100,
    /// H100 on NVLink 4.
    H100,
    /// H200 on NVLink 4.
    H200,
    /// B200 on NVLink 5.
    B200,
    /// B300 on NVLink 5.
    B300,
    /// GB200 on NVLink 5.
    Gb200,
    /// GB300 on NVLink 5.
    Gb300,
    /// L40S on PCI Express 4.
    L40s,
    /// RTX PRO 6000 on PCI Express 5.
    #[serde(rename = "rtx-pro-6000")]
    RtxPro6000,
}

/// Generation of GPUs. Its number is the row of NCCL's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    /// Compute capability 8.
    Ampere,
    /// Compute capability 9.
    Hopper,
    /// Compute capability 10 and 12.
    Blackwell,
}

/// Bandwidths of a GPU in NCCL's search of channels, in GB/s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    pub generation: Generation,
    /// Whether NVLink joins the GPUs of a server.
    pub nvlink: bool,
    /// Bandwidth of all channels together, and number of channels.
    pub total: f64,
    pub channels: u32,
    /// Bandwidth of the links of a GPU, and candidate bandwidths of a channel by NVLS.
    pub links: f64,
    pub speeds: &'static [f64],
    /// Bandwidth between servers.
    pub network: f64,
}

/// Candidate bandwidths of a channel.
const HOPPER_SPEEDS: &[f64] = &[60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0];
const BLACKWELL_SPEEDS: &[f64] = &[90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0];

impl Gpu {
    /// All GPUs.
    pub const ALL: [Self; 9] = [
        Self::A100,
        Self::H100,
        Self::H200,
        Self::B200,
        Self::B300,
        Self::Gb200,
        Self::Gb300,
        Self::L40s,
        Self::RtxPro6000,
    ];

    /// Returns the bandwidths. The channels of a ring are the fastest ones whose sum the links carry: on an A100, 12 of
    /// 20 GB/s on 12 links of 20 GB/s; on an H100, 12 of 30 GB/s on 18 links of 20.6 GB/s; on NVLink 5, 16 of 45 GB/s
    /// on 18 links of 40.1 GB/s. NCCL then uses each channel twice.
    pub(super) const fn links(self) -> Links {
        match self {
            Self::A100 => Links {
                generation: Generation::Ampere,
                nvlink: true,
                total: 240.0,
                channels: 24,
                links: 240.0,
                speeds: &[],
                network: 24.0,
            },
            Self::H100 | Self::H200 => Links {
                generation: Generation::Hopper,
                nvlink: true,
                total: 360.0,
                channels: 24,
                links: 370.8,
                speeds: HOPPER_SPEEDS,
                network: 48.0,
            },
            Self::B200 | Self::B300 | Self::Gb200 | Self::Gb300 => Links {
                generation: Generation::Blackwell,
                nvlink: true,
                total: 720.0,
                channels: 32,
                links: 721.8,
                speeds: BLACKWELL_SPEEDS,
                network: 48.0,
            },
            Self::L40s => Links {
                generation: Generation::Ampere,
                nvlink: false,
                total: 20.0,
                channels: 4,
                links: 24.0,
                speeds: &[],
                network: 24.0,
            },
            Self::RtxPro6000 => Links {
                generation: Generation::Blackwell,
                nvlink: false,
                total: 40.0,
                channels: 4,
                links: 48.0,
                speeds: &[],
                network: 48.0,
            },
        }
    }
}
