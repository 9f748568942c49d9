"""`cutthrough merge`."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import Annotated

import typer

import cutthrough.runs.merging as merging
from cutthrough.cli.common import WRONG_INPUT, Format, FormatOption, JsonOption, complain, folder_target
from cutthrough.cli.keeping import Signals
from cutthrough.cli.pictures import Pictures, Plots, PlotsOption
from cutthrough.cli.run import report
from cutthrough.keep.shares import ranges

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds the command of this module."""
    app.command()(merge)


def merge(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders that `run` has written.", show_default=False)
    ],
    out_directory: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Where the results go.", show_default=False)
    ],
    plots: PlotsOption = Plots.MAIN,
    formats: FormatOption = [Format.PNG],  # noqa: B006  (typer copies it)
    json_output: JsonOption = False,
) -> None:
    """Merge the finished points of several runs of one experiment, such as the shares of a sweep.

    Example: `cutthrough merge results/tree+points=* --out results/tree`

    The results equal those of one run of all points. Folders of other experiments, or of another version of Cutthrough,
    are refused. A run that was ended may be merged alone: then its finished points are the results.
    """
    folder_target(out_directory)
    try:
        with Signals():
            results = merging.merge(directories, out_directory)
            report(results, out_directory, json_output, Pictures(plots, formats))
    except merging.MergeError as error:
        complain(f"error: {error}")
        raise typer.Exit(WRONG_INPUT) from None
    if not results.complete:
        lacking = ranges(merging.missing(out_directory))
        complain(f"points {lacking} are missing: `cutthrough run FILE --out {out_directory}` runs them")
