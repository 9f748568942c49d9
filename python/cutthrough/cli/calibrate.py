"""`cutthrough calibrate`."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import TYPE_CHECKING, Annotated

import typer

import cutthrough._core as _core
import cutthrough.cli.complete as complete
import cutthrough.files.atomic as atomic
from cutthrough.arguments.files import file_target
from cutthrough.cli.common import Format, FormatOption, JsonOption, err, folder_target, out, print_json

if TYPE_CHECKING:
    from cutthrough.calibrate import Fit

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds the command of this module."""
    app.command()(calibrate)


def calibrate(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Measured tables: text of OSU or IMB, or CSV.", show_default=False),
    ],
    start: Annotated[
        str,
        typer.Option(
            "--from", metavar="KIND", help="The kind of `[nic]` to start from.", autocompletion=complete.interfaces
        ),
    ] = "ndr",
    benchmark: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="The benchmark of a CSV that does not name it.", show_default=False),
    ] = None,
    latency: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="The delay of the path between the nodes, such as `500ns`.", show_default="fitted"
        ),
    ] = None,
    keep: Annotated[
        list[str],
        typer.Option(metavar="KEY", help="A key that stays as it is; may be given again.", show_default=False),
    ] = [],  # noqa: B006  (typer copies it)
    output: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where the section goes.", show_default="nowhere"),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the picture goes: `calibration.png`.", show_default="nowhere"),
    ] = None,
    formats: FormatOption = [Format.PNG],  # noqa: B006  (typer copies it)
    json_output: JsonOption = False,
) -> None:
    """Fit a network interface to measured tables: a `[nic]` section to paste, and its error at every size.

    Tables are the output of `osu_latency`, `osu_bw`, `osu_bibw`, `osu_mbw_mr` and IMB's PingPong, PingPing, Sendrecv
    and Exchange, or CSV. The simulator's own benchmarks are run with other values of the parts until they reproduce the
    measured values.

    Example: `cutthrough calibrate examples/osu_latency.txt --from infinipath`
    """
    import cutthrough.calibrate.written as written

    if output is not None:
        file_target(output)
    if picture is not None:
        folder_target(picture, "--picture")
    fit = _fit(files, benchmark, start, latency, keep)
    if output is not None:
        atomic.write_alone(output, written.section(fit))
    paths = _draw(fit, picture, formats) if picture is not None else []
    if json_output:
        print_json({"version": _core.__version__, **fit.to_dict()})
        return
    _print(fit)
    for name, path in [*([("Section", output)] if output else []), *(("Plot", path) for path in paths)]:
        out.print(f"{name}: {path}", markup=False, soft_wrap=True)


def _fit(files: list[Path], benchmark: str | None, start: str, latency: str | None, keep: list[str]) -> Fit:
    """Fits an interface to the tables in files, and shows the progress."""
    import cutthrough.calibrate as fitting

    tables = [table for file in files for table in fitting.read(file, benchmark)]
    with err.status("fitting") as status:
        return fitting.calibrate(
            tables, start, latency=latency, keep=keep, watcher=lambda what: status.update(f"fitting {what}")
        )


def _print(fit: Fit) -> None:
    """Prints the notes, the tables and the section of a fit."""
    import cutthrough.calibrate.written as written

    for note in fit.notes:
        err.print(f"note: {note}", markup=False, highlight=False, soft_wrap=True)
    for fitted in fit.tables:
        out.print(written.rows_table(fitted))
        out.print()
    out.print(written.parts_table(fit))
    out.print()
    out.print(written.section(fit), markup=False, soft_wrap=True)


def _draw(fit: Fit, directory: Path, formats: list[Format]) -> list[Path]:
    import cutthrough.plots as plots
    from cutthrough.calibrate.pictures import calibration

    atomic.make_folder(directory)
    extensions = [form.value for form in dict.fromkeys(formats)]
    return plots.write(calibration(fit), directory / "calibration", extensions)
