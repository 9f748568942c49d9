"""Recognises the launcher of several processes, and finds the compiler of its MPI."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from cutthrough.arguments.faults import refuse

__all__ = ["VARIABLE", "compiler", "count", "rank"]

#: Environment variable that names the MPI compiler.
VARIABLE = "CUTTHROUGH_MPICC"
#: Environment variables with the number of processes: of Open MPI, of MPICH and its relatives, and of a step of Slurm.
#: A batch script of Slurm is one process, which has only the variables of the job.
COUNTS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
#: Environment variables with the number of this process, in the same order.
RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
#: Compilers to look for, by the variable that the launcher sets: Debian adds the name of the MPI.
COMPILERS = {"OMPI_COMM_WORLD_SIZE": ("mpicc.openmpi",), "PMI_SIZE": ("mpicc.mpich",)}
#: Names of launchers and their daemons, which are the parents of processes.
LAUNCHERS = ("mpirun", "mpiexec", "orterun", "orted", "prterun", "prted", "hydra_pmi_proxy")


def count() -> int:
    """Returns the number of processes that the launcher has started. 1 without a launcher."""
    return _number(COUNTS, 1)


def rank() -> int:
    """Returns the number of this process as the launcher gives it. 0 without a launcher."""
    return _number(RANKS, 0)


def compiler(given: str | None = None) -> Path:
    """Returns the MPI compiler: the given one, that of `CUTTHROUGH_MPICC`, the one beside the launcher, or in PATH.

    Raises:
        ExperimentError: There is no compiler.
    """
    option = "--mpicc" if given is not None else VARIABLE
    named = given if given is not None else os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise refuse(option, f"there is no compiler `{named}`")
        return Path(found)
    names = [name for variable, own in COMPILERS.items() if variable in os.environ for name in own]
    for folder in _beside():
        for name in (*names, "mpicc"):
            if found := shutil.which(name, path=folder):
                return Path(found)
    message = (
        "no MPI compiler `mpicc` is beside the launcher, nor in PATH: install that of the launcher's MPI "
        f"(such as the package `mpich` or `openmpi`), or name it by --mpicc or {VARIABLE}"
    )
    raise refuse("mpi", message)


def _number(names: tuple[str, ...], default: int) -> int:
    """Returns the number in the first of some environment variables that has one."""
    values = (os.environ.get(name, "") for name in names)
    return next((int(value) for value in values if value.isdigit()), default)


def _beside() -> list[str | None]:
    """Returns the folder of the launcher, if it is the parent of this process, and None for PATH."""
    try:
        parent = Path(f"/proc/{os.getppid()}/exe").readlink()
    except OSError:
        return [None]
    return [str(parent.parent), None] if parent.name.split(".")[0] in LAUNCHERS else [None]
