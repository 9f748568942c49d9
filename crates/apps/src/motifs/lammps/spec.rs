//! Keys of a molecular dynamics run, and their defaults by version and deck.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{KeyError, Time};

use crate::motifs::limits::check_time;
use mpi::collectives::Algorithm;

/// Molecular dynamics after LAMMPS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LammpsSpec {
    /// Version of the code. It determines the size of an atom in messages.
    pub version: LammpsVersion,
    /// Simulated system. It determines the defaults of other keys.
    pub deck: LammpsDeck,
    /// Ranks in each dimension of the box, first dimension fastest. Default: the grid closest to a cube, in ascending
    /// order.
    #[schemars(length(min = 3, max = 3), inner(range(min = 1)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dims: Option<Vec<u32>>,
    /// Atoms per rank, in a part of the box that is a cube (weak scaling). Default: 32,000 for deck "lj", 10,000 for
    /// "stouch". Excludes `atoms`.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atoms_per_rank: Option<u32>,
    /// Atoms of all ranks together, in a box that is a cube (strong scaling). Excludes `atoms_per_rank`.
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atoms: Option<u64>,
    /// Number of time steps.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub steps: u32,
    /// Number density: atoms per cubic unit of length of the deck. The unit is sigma for "lj" (default: 0.8442) and 1
    /// angstrom for "stouch" (default: 0.1).
    #[schemars(range(min = 1e-6, max = 1e6))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub density: Option<f64>,
    /// Cutoff radius of forces, in the deck's unit of length. Default: 2.5 for "lj", 10 for "stouch".
    #[schemars(range(min = 1e-3, max = 1e6))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cutoff: Option<f64>,
    /// Additional reach of neighbour lists beyond `cutoff`, in the deck's unit of length. Default: 0.3 for "lj", 2 for
    /// "stouch".
    #[schemars(range(min = 0.0, max = 1e6))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skin: Option<f64>,
    /// Standard deviation of an atom's displacement along a dimension between two rebuilds of the neighbour lists, in
    /// the deck's unit of length. Default: 0.087 for "lj", 0.06 for "stouch", from thermal speeds.
    #[schemars(range(min = 0.0, max = 1e6))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub displacement: Option<f64>,
    /// Number of steps between rebuilds of the neighbour lists. Default: 20 for "lj", 10 for "stouch".
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuild_every: Option<u32>,
    /// Check in every step, by a sum over all ranks, whether the lists have to be rebuilt. Default: true for "stouch",
    /// false for "lj".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<bool>,
    /// Number of steps between sums of temperature, energies and pressure over all ranks. Default: 100 for "lj", 50 for
    /// "stouch".
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thermo_every: Option<u32>,
    /// Newton's third law: send the forces on ghosts back to their owners. If false, both ranks calculate them.
    pub newton: bool,
    /// Calculation time per atom and step. Default: 320 ns for "lj", 4.2 us for "stouch", on a processor of 2.2 GHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atom_time: Option<Time>,
    /// Additional calculation time per atom in steps that rebuild the lists. Default: 1.3 us for "lj", 7.4 us for
    /// "stouch".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuild_time: Option<Time>,
    /// Algorithm of the sums over all ranks.
    pub allreduce: Algorithm,
}

impl Default for LammpsSpec {
    fn default() -> Self {
        Self {
            version: LammpsVersion::default(),
            deck: LammpsDeck::default(),
            dims: None,
            atoms_per_rank: None,
            atoms: None,
            steps: 100,
            density: None,
            cutoff: None,
            skin: None,
            displacement: None,
            rebuild_every: None,
            check: None,
            thermo_every: None,
            newton: true,
            atom_time: None,
            rebuild_time: None,
            allreduce: Algorithm::Auto,
        }
    }
}

/// Version of LAMMPS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LammpsVersion {
    /// LAMMPS 2001, in Fortran 90. Messages carry ghosts without their groups.
    #[serde(rename = "fortran-2001")]
    Fortran2001,
    /// LAMMPS 2005, in C++.
    #[default]
    #[serde(rename = "cpp-2005")]
    Cpp2005,
}

/// Deck: the simulated system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LammpsDeck {
    /// Liquid of Lennard-Jones atoms with 75 neighbours each: LAMMPS's own benchmark.
    #[default]
    Lj,
    /// Stand-in for a biological membrane in water: charged atoms with a cutoff of 10 angstroms and 700 neighbours
    /// each.
    Stouch,
}

/// Values that follow from version and deck unless the experiment sets them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values {
    pub atoms_per_rank: u32,
    pub density: f64,
    pub cutoff: f64,
    pub skin: f64,
    pub displacement: f64,
    pub rebuild_every: u32,
    pub check: bool,
    pub thermo_every: u32,
    pub atom_time: Time,
    pub rebuild_time: Time,
    /// Bytes of a ghost when lists are rebuilt, and of an atom that migrates to another rank.
    pub ghost: u64,
    pub migrant: u64,
    /// Bytes of each sum.
    pub sums: &'static [u64],
}

/// Values of the Lennard-Jones liquid. Times are measured with LAMMPS and scaled by clock frequencies
/// (`papers/infinipath-xd1/DEVIATIONS.md`).
const LJ: Values = Values {
    atoms_per_rank: 32_000,
    density: 0.8442,
    cutoff: 2.5,
    skin: 0.3,
    // Temperature 0.76, to which the system settles, and 20 steps of 0.005.
    displacement: 0.087,
    rebuild_every: 20,
    check: false,
    thermo_every: 100,
    atom_time: Time(320_000),
    rebuild_time: Time(1_300_000),
    // Ghost: coordinates, number, type and groups. Migrating atom: also velocities, image and length.
    ghost: 6 * DOUBLE,
    migrant: 11 * DOUBLE,
    // Temperature, energy, pressure (six components) and number of atoms.
    sums: &[8, 8, 48, 8],
};

/// Values of the stand-in for "Stouch". All are assumed except the times, measured with LAMMPS and CHARMM's forces
/// between charged atoms.
const STOUCH: Values = Values {
    atoms_per_rank: 10_000,
    density: 0.1,
    cutoff: 10.0,
    skin: 2.0,
    // 300 K at 7 g/mol, and 10 steps of 1 fs.
    displacement: 0.06,
    rebuild_every: 10,
    check: true,
    thermo_every: 50,
    atom_time: Time(4_200_000),
    rebuild_time: Time(7_400_000),
    // Ghost: also charge and molecule. Migrating atom: also bonds, angles and excluded neighbours.
    ghost: 8 * DOUBLE,
    migrant: 60 * DOUBLE,
    // Separate energies of bonds, angles, dihedrals, impropers, charges and the rest.
    sums: &[8, 8, 48, 8, 8, 8, 8, 8, 8, 8],
};

/// Bytes of a floating-point number.
pub(super) const DOUBLE: u64 = 8;

impl LammpsSpec {
    /// Returns the values of keys that are set, and defaults by version and deck for all others.
    pub(super) fn values(&self) -> Values {
        let own = match self.deck {
            LammpsDeck::Lj => LJ,
            LammpsDeck::Stouch => STOUCH,
        };
        let groups = if self.version == LammpsVersion::Fortran2001 { DOUBLE } else { 0 };
        Values {
            atoms_per_rank: self.atoms_per_rank.unwrap_or(own.atoms_per_rank),
            density: self.density.unwrap_or(own.density),
            cutoff: self.cutoff.unwrap_or(own.cutoff),
            skin: self.skin.unwrap_or(own.skin),
            displacement: self.displacement.unwrap_or(own.displacement),
            rebuild_every: self.rebuild_every.unwrap_or(own.rebuild_every),
            check: self.check.unwrap_or(own.check),
            thermo_every: self.thermo_every.unwrap_or(own.thermo_every),
            atom_time: self.atom_time.unwrap_or(own.atom_time),
            rebuild_time: self.rebuild_time.unwrap_or(own.rebuild_time),
            ghost: own.ghost - groups,
            migrant: own.migrant - groups,
            sums: own.sums,
        }
    }

    /// Refuses values that are invalid for any number of ranks.
    pub(super) fn check(&self) -> Result<(), KeyError> {
        let ranges = [
            ("density", self.density, 1e-6),
            ("cutoff", self.cutoff, 1e-3),
            ("skin", self.skin, 0.0),
            ("displacement", self.displacement, 0.0),
        ];
        for (key, value, least) in ranges {
            if value.is_some_and(|value| !(least..=1e6).contains(&value)) {
                let message = format!("{} is out of range: {least} to 1e6 are allowed", value.unwrap_or_default());
                return Err(KeyError::new(key, message));
            }
        }
        if self.atoms.is_some() && self.atoms_per_rank.is_some() {
            let message = "`atoms` of all ranks and `atoms_per_rank` exclude each other: write one of them";
            return Err(KeyError::new("atoms", message));
        }
        check_time("atom_time", self.values().atom_time)?;
        check_time("rebuild_time", self.values().rebuild_time)
    }
}
