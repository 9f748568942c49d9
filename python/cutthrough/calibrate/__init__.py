"""Fits of a network interface to measured tables: `cutthrough calibrate`.

The tables are printed by the OSU benchmarks, IMB or COMB, or are CSV. A fit changes values of the parts of `[nic]` and
runs the simulator's own benchmarks between nodes that a flat network joins.
"""

from cutthrough.calibrate.fitting import calibrate
from cutthrough.calibrate.outcome import Fit
from cutthrough.calibrate.parts import Part
from cutthrough.calibrate.reading import read
from cutthrough.calibrate.tables import Row, Table

__all__ = ["Fit", "Part", "Row", "Table", "calibrate", "read"]
