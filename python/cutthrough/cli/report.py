"""`cutthrough report`."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import Annotated

import typer

import cutthrough.page as page
from cutthrough.arguments.files import file_target
from cutthrough.cli.common import WRONG_INPUT, complain, out
from cutthrough.cli.compare import names_of, read

__all__ = ["register"]

#: Bytes above which a page is reported as large.
LARGE = 8_000_000


def register(app: typer.Typer) -> None:
    """Adds the command of this module."""
    app.command()(report)


def report(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders that `run` has written.", show_default=False)
    ],
    out_file: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where the page goes.", show_default="DIR/report.html"),
    ] = None,
) -> None:
    """Make one HTML file of results for any browser, without a network.

    It holds the experiment, a drawing of the machine, curves with confidence bands, tables that sort, heat maps of the
    channels, warnings and, for several results, their differences. Needs bokeh (`pip install 'cutthrough[bokeh]'`).

    Examples:
    - `cutthrough report results/tree`
    - `cutthrough report results/minimal results/valiant results/ugal --out routings.html`
    """
    first = directories[0]
    target = file_target(out_file or (first if first.is_dir() else first.parent) / "report.html")
    held = [read(path) for path in directories]
    sides = [page.Side(name, one, page.drawn(one)) for name, one in zip(names_of(directories), held, strict=True)]
    empty = next((side.name for side in sides if not side.results.points), None)
    if empty is not None:
        complain(f"error: there are no points in {empty}")
        raise typer.Exit(WRONG_INPUT)
    size = page.write(sides, target)
    out.print(f"Report: {target} ({size / 1e6:.1f} MB)", markup=False, soft_wrap=True)
    if size > LARGE:
        complain("the page is large and may open slowly: report fewer results or points")
