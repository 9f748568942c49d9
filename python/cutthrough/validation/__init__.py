"""Comparison of measured and simulated collective operations."""

from __future__ import annotations

from cutthrough.validation.fitting import Constants, fit
from cutthrough.validation.judged import choices, errors, of_groups
from cutthrough.validation.reading import read
from cutthrough.validation.setups import Setup, setup_of
from cutthrough.validation.simulating import Predicted, predict

__all__ = ["Constants", "Predicted", "Setup", "choices", "errors", "fit", "of_groups", "predict", "read", "setup_of"]
