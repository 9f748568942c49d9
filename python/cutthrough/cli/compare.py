"""`cutthrough compare`."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import TYPE_CHECKING, Annotated

import typer

import cutthrough._core as _core
import cutthrough.reports.compared as compared
from cutthrough.cli.common import FAILED, WRONG_INPUT, JsonOption, complain, out, print_json
from cutthrough.comparison.matched import Comparison, compare
from cutthrough.points.series import label_of
from cutthrough.results import Results

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__ = ["names_of", "read", "register"]

#: Number of points without a counterpart that are named. `--json` has all.
MOST_NAMED = 8


def register(app: typer.Typer) -> None:
    """Adds the command of this module."""
    app.command("compare")(compare_results)


def compare_results(
    first: Annotated[
        Path,
        typer.Argument(metavar="A", help="A folder that `run` has written, or its results.json.", show_default=False),
    ],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another.", show_default=False)],
    confidence: Annotated[
        float, typer.Option("--confidence", help="Of the intervals and verdicts, between 0 and 1.")
    ] = 0.95,
    exit_code: Annotated[
        bool,
        typer.Option(
            "--exit-code",
            help="End with status 1 if a difference is significant, a point has no counterpart, or a value has "
            "changed whose error is not known.",
        ),
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Compare two results: the differences of measured values, with their significance.

    Points match if all keys that either result has swept have equal values. `*` marks a difference that is significant
    alone (Welch's test), `**` one that is significant among all of the table (Holm's correction), `=` equal values.
    Intervals come from the runs or, better, from several seeds (`seeds = 10`). For benchmarks that give a table, the
    rows are compared too, and the size with the greatest difference is shown.

    The exit status is 0 if the comparison is done, whatever its outcome; see `--exit-code`.

    Example: `cutthrough compare results/tree results/tree+router.buffer=8_packets`
    """
    if not 0.0 < confidence < 1.0:
        complain(f"error: --confidence {confidence:g}: it must be between 0 and 1")
        raise typer.Exit(WRONG_INPUT)
    names = names_of([first, second])
    found = compare(read(first), read(second), (names[0], names[1]), confidence)
    if json_output:
        print_json({"version": _core.__version__, **found.to_dict()})
    else:
        _show(found)
    if exit_code and found.differs:
        raise typer.Exit(FAILED)


def read(directory: Path) -> Results:
    """Returns the results in a folder or a file."""
    return Results.read(directory)


def names_of(paths: Sequence[Path]) -> list[str]:
    """Returns short and distinct names for folders of results: their own names, or their paths where names collide."""
    folders = [path.parent if path.suffix == ".json" else path for path in paths]
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        names = [str(folder) for folder in folders]
    return names if len(set(names)) == len(names) else [f"{name} ({place})" for place, name in enumerate(names, 1)]


def _show(found: Comparison) -> None:
    for setting in found.settings:
        values = " and ".join("not there" if value is None else label_of(value) for value in (setting.a, setting.b))
        out.print(f"{setting.key}: {values}", markup=False, soft_wrap=True)
    if found.matches:
        out.print(compared.comparison_table(found))
        if (sizes := compared.sizes_table(found)) is not None:
            out.print(sizes)
        out.print(_verdict(found), markup=False, soft_wrap=True)
    else:
        out.print("No point of one has the settings of a point of the other.")
    for name, lonely in zip(found.names, found.unmatched, strict=True):
        for settings in lonely[:MOST_NAMED]:
            out.print(f"only in {name}: {_settings(settings)}", markup=False, soft_wrap=True)
        if len(lonely) > MOST_NAMED:
            out.print(f"only in {name}: {len(lonely) - MOST_NAMED} more", markup=False, soft_wrap=True)


def _verdict(found: Comparison) -> str:
    """Returns how many differences are significant, in a sentence."""
    if not found.judged:
        return "No difference can be tested: no value has a known error. Several seeds give one: `--set seeds=5`"
    chance = found.judged * (1.0 - found.confidence)
    verdict = f"{found.significant} of {found.judged} differences are significant at {found.confidence:.0%}"
    return f"{verdict} (by chance alone about {chance:.1f} would be)"


def _settings(settings: Mapping[str, Any]) -> str:
    # A label that only the other results have does not describe these.
    return ", ".join(f"{key} = {label_of(value)}" for key, value in settings.items() if value is not None)
