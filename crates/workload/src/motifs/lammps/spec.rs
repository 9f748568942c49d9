//! The keys of a molecular dynamics run, and what versions and decks have in them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

use crate::PatternError;
use crate::collectives::Algorithm;
use crate::motifs::limits::check_time;

/// Molecular dynamics as LAMMPS has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LammpsSpec {
    /// Which of the codes: what messages carry of an atom depends on it.
    pub version: LammpsVersion,
    /// What is simulated. The keys that are not written follow from it.
    pub deck: LammpsDeck,
    /// Ranks in each dimension of the box, first dimension fastest. Without it, as near to a cube as there are, in ascending order.
    #[schemars(length(min = 3, max = 3), inner(range(min = 1)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dims: Option<Vec<u32>>,
    /// Atoms of a rank, whose part of the box is a cube (scaled size). Without it and `atoms`, 32,000 of deck "lj" and 10,000 of "stouch".
    #[schemars(range(min = 1, max = 1_000_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atoms_per_rank: Option<u32>,
    /// Atoms of all ranks, in a box that is a cube (fixed size), instead of `atoms_per_rank`.
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atoms: Option<u64>,
    /// Steps.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub steps: u32,
    /// Atoms in a cube whose edge is the deck's unit of length: of "lj" sigma (without the key, 0.8442 atoms), of "stouch" an angstrom
    /// (0.1 atoms).
    #[schemars(range(min = 1e-6, max = 1e6))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub density: Option<f64>,
    /// How far forces reach, in the deck's unit of length. Without it, 2.5 of "lj" and 10 of "stouch".
    #[schemars(range(min = 1e-3, max = 1e6))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cutoff: Option<f64>,
    /// By how much neighbour lists reach further, in the same unit. Without it, 0.3 of "lj" and 2 of "stouch".
    #[schemars(range(min = 0.0, max = 1e6))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skin: Option<f64>,
    /// How far atoms move along a dimension from one rebuilding of the lists to the next, in the same unit, as a standard deviation. Without
    /// it, 0.087 of "lj" and 0.06 of "stouch": their speed at their temperature.
    #[schemars(range(min = 0.0, max = 1e6))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub displacement: Option<f64>,
    /// Steps from one rebuilding of neighbour lists to the next. Without it, 20 of "lj" and 10 of "stouch".
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuild_every: Option<u32>,
    /// Whether all ranks ask one another at each other step whether lists have to be rebuilt. Without it, those of "stouch" do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<bool>,
    /// Steps from one sum of temperature, energies and pressure over all ranks to the next. Without it, 100 of "lj" and 50 of "stouch".
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thermo_every: Option<u32>,
    /// Whether forces on the atoms of others are sent back (Newton's third law), or calculated by both.
    pub newton: bool,
    /// Time that a rank calculates for an atom in a step. Without it, 320 ns of "lj" and 4.2 us of "stouch", on a processor of 2.2 GHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atom_time: Option<Time>,
    /// The same beyond that where lists are rebuilt. Without it, 1.3 us of "lj" and 7.4 us of "stouch".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuild_time: Option<Time>,
    /// How sums over all ranks are made.
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

/// Versions of LAMMPS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LammpsVersion {
    /// LAMMPS 2001, in Fortran 90: ghosts come without the groups that they are in.
    #[serde(rename = "fortran-2001")]
    Fortran2001,
    /// LAMMPS 2005, in C++.
    #[default]
    #[serde(rename = "cpp-2005")]
    Cpp2005,
}

/// Decks: what is simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LammpsDeck {
    /// A liquid of Lennard-Jones atoms, 75 neighbours each: LAMMPS's own benchmark.
    #[default]
    Lj,
    /// A stand-in for a biological membrane in water: charged atoms with a cutoff of 10 angstroms, 700 neighbours each.
    Stouch,
}

/// What follows from version and deck where the experiment says nothing.
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
    /// Bytes of a ghost when lists are rebuilt, and of an atom that goes to another rank.
    pub ghost: u64,
    pub migrant: u64,
    /// Bytes of each sum.
    pub sums: &'static [u64],
}

/// Those of a Lennard-Jones liquid. The times are of a real LAMMPS, by the clocks of processors (`papers/infinipath-xd1/DEVIATIONS.md`).
const LJ: Values = Values {
    atoms_per_rank: 32_000,
    density: 0.8442,
    cutoff: 2.5,
    skin: 0.3,
    // The temperature of 0.76 to which it settles, in 20 steps of 0.005.
    displacement: 0.087,
    rebuild_every: 20,
    check: false,
    thermo_every: 100,
    atom_time: Time(320_000),
    rebuild_time: Time(1_300_000),
    // Coordinates, number, type and groups; with velocities, image and length.
    ghost: 6 * DOUBLE,
    migrant: 11 * DOUBLE,
    // Temperature, energy, pressure (six components), and how many atoms there are.
    sums: &[8, 8, 48, 8],
};

/// Those of the stand-in for "Stouch", all assumed but the times, which are of a real LAMMPS with CHARMM's forces between charged atoms.
const STOUCH: Values = Values {
    atoms_per_rank: 10_000,
    density: 0.1,
    cutoff: 10.0,
    skin: 2.0,
    // 300 K at 7 g/mol, in 10 steps of 1 fs.
    displacement: 0.06,
    rebuild_every: 10,
    check: true,
    thermo_every: 50,
    atom_time: Time(4_200_000),
    rebuild_time: Time(7_400_000),
    // Charge and molecule too; with bonds, angles and excluded neighbours.
    ghost: 8 * DOUBLE,
    migrant: 60 * DOUBLE,
    // Energies of bonds, angles, dihedrals, impropers, charges and the rest apart.
    sums: &[8, 8, 48, 8, 8, 8, 8, 8, 8, 8],
};

/// Bytes of a number.
pub(super) const DOUBLE: u64 = 8;

impl LammpsSpec {
    /// What is written, and of the rest what version and deck have.
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

    /// Refuses what does not depend on the number of ranks.
    pub(super) fn check(&self) -> Result<(), PatternError> {
        let ranges = [
            ("density", self.density, 1e-6),
            ("cutoff", self.cutoff, 1e-3),
            ("skin", self.skin, 0.0),
            ("displacement", self.displacement, 0.0),
        ];
        for (key, value, least) in ranges {
            if value.is_some_and(|value| !(least..=1e6).contains(&value)) {
                let message = format!("{} is out of range: {least} to 1e6 are allowed", value.unwrap_or_default());
                return Err(PatternError::new(key, message));
            }
        }
        if self.atoms.is_some() && self.atoms_per_rank.is_some() {
            let message = "`atoms` of all ranks and `atoms_per_rank` exclude each other: write one of them";
            return Err(PatternError::new("atoms", message));
        }
        check_time("atom_time", self.values().atom_time)?;
        check_time("rebuild_time", self.values().rebuild_time)
    }
}
