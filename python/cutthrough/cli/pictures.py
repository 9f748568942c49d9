"""The choice of plots: `--plots none|main|all`, which all commands share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from cutthrough.cli.common import WRONG_INPUT, Format, complain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cutthrough.results import Results

__all__ = ["Pictures", "Plots", "PlotsOption", "is_given", "needs_folder"]

Subject = TypeVar("Subject")


class Plots(StrEnum):
    """The plots that are drawn."""

    NONE = "none"
    MAIN = "main"
    ALL = "all"


PlotsOption = Annotated[
    Plots,
    typer.Option(
        "--plots",
        help="What is drawn: curves and channels of the hottest point, or the mapping that is kept (main); channels of "
        "the hottest point of every line of the curves, every point of analyze, every mapping (all); or none.",
    ),
]


@dataclass(frozen=True)
class Pictures:
    """The plots that are drawn, and their formats."""

    plots: Plots
    formats: Sequence[Format] = (Format.PNG,)

    @property
    def extensions(self) -> list[str]:
        """The formats by name, each once."""
        return [form.value for form in dict.fromkeys(self.formats)]

    def chosen(self, main: Sequence[Subject], every: Sequence[Subject]) -> Sequence[Subject]:
        """Returns the subjects that are drawn: `main`, `every` or none."""
        return {Plots.NONE: (), Plots.MAIN: main, Plots.ALL: every}[self.plots]

    def draw(self, results: Results, directory: Path, points: list[int] | None = None) -> list[Path]:
        """Writes the plots of results into a directory.

        `points` are the points whose channels are drawn, if it is not empty.
        """
        if self.plots is Plots.NONE:
            return []
        if points is None and self.plots is Plots.ALL:
            points = results.shown_places()
        return results.save_plots(directory, self.extensions, points)


def is_given(context: typer.Context, name: str) -> bool:
    """Returns whether a parameter was given rather than left at its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def needs_folder(context: typer.Context, directory: Path | None, option: str) -> None:
    """Refuses `--plots main` or `all` without a folder for the plots.

    Raises:
        Exit: The option was given without a folder.
    """
    if directory is None and is_given(context, "plots") and context.params["plots"] != Plots.NONE:
        complain(
            f"error: --plots {context.params['plots']}: there is no folder for them; {option} DIR says where plots go"
        )
        raise typer.Exit(WRONG_INPUT)
