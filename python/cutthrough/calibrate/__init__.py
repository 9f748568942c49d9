"""Fitting a network interface to measured tables: `cutthrough calibrate`.

The tables are those of the OSU benchmarks, of IMB and of COMB, as these print them, or CSV. What is fitted are values
of the parts of `[nic]`, by running the simulator's own benchmarks between nodes that a flat network joins.
"""

from cutthrough.calibrate.fitting import calibrate
from cutthrough.calibrate.outcome import Fit
from cutthrough.calibrate.parts import Part
from cutthrough.calibrate.reading import read
from cutthrough.calibrate.tables import Row, Table

__all__ = ["Fit", "Part", "Row", "Table", "calibrate", "read"]
