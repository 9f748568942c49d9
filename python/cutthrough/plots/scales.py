"""The colours of loads: one scale for heat maps, for drawings of machines and for pages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_hex, to_rgb

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Doubles = npt.NDArray[np.float64]

__all__ = ["HEAT", "INK", "NOTHING", "ink_on", "palette", "scale_of", "top_of"]

#: From a pale grey for no load, distinct from the background, over hues with names to a dark end that is not black.
#: Lightness falls monotonically, so that the order is visible without colour sight and in print.
HEAT = LinearSegmentedColormap.from_list(
    "load", ["#d9e1ea", "#f3dc8e", "#f5b04f", "#e8763a", "#c93a4b", "#8c1c63", "#4d1158"]
)
#: Cells without a channel: the background.
NOTHING = "#ffffff"
#: Colours of text on light and on dark colours.
INK, LIGHT_INK = "#333333", "#ffffff"
#: The possible ends of a scale, times a power of ten.
ENDS = (1.0, 2.0, 3.0, 5.0, 10.0)
#: Luminance above which text is dark.
LIGHT = 0.55


def top_of(largest: float) -> float:
    """Returns the end of a scale that starts at 0: a round number, so that 0.8 of a bandwidth is 0.8 of the scale."""
    if not (largest > 0.0 and math.isfinite(largest)):
        return 1.0
    power = 10.0 ** math.floor(math.log10(largest))
    # Measured shares may exceed 1 by a rounding error.
    return next((float(f"{end * power:.6g}") for end in ENDS if largest <= end * power * (1 + 1e-9)), 10.0 * power)


def scale_of(largest: float) -> Normalize:
    """Returns the scale of the loads up to the largest."""
    return Normalize(0.0, top_of(largest))


def palette(count: int) -> list[str]:
    """Returns `count` colours at equal distances, as hexadecimal numbers."""
    return [to_hex(colour) for colour in HEAT(np.linspace(0.0, 1.0, count))]


def ink_on(faces: Sequence[str] | Doubles) -> list[str]:
    """Returns the text colour that is readable on each face."""
    rgb = np.array([to_rgb(face) for face in faces]).reshape(-1, 3)
    light = rgb @ (0.299, 0.587, 0.114) > LIGHT
    return [INK if bright else LIGHT_INK for bright in light.tolist()]
