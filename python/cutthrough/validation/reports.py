"""Reports of a validation: tables for the terminal, CSV, and one HTML page."""

from __future__ import annotations

import csv
import html
import io
from collections import defaultdict
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import cutthrough.experiment.documents as documents
import cutthrough.files.atomic as atomic
from cutthrough.display.tables import Column, Fitted
from cutthrough.validation.causes import NAMES, causes
from cutthrough.validation.judged import GROUPS, choices, errors, of_groups
from cutthrough.validation.measured import KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cutthrough.validation.causes import Cause
    from cutthrough.validation.fitting import Constants
    from cutthrough.validation.judged import Errors
    from cutthrough.validation.simulating import Predicted

__all__ = [
    "causes_table", "constants_toml", "drawn_lines", "fitted_csv", "groups_table", "page", "points_csv", "summary",
    "to_dict", "write",
]  # fmt: skip

#: Largest cost of a choice that counts as right.
RIGHT = 0.10
#: Columns of the CSV of points, and columns of the parts of a time.
PARTS = NAMES[:3]
POINT = ("machine", "run", "test", "nodes", "ranks", "operation", "library", "algorithm", "bytes")


def summary(found: Sequence[Predicted], column: str) -> list[str]:
    """Returns the lines above the tables: simulated points, errors, choices, and reasons of missing predictions."""
    ran = [each for each in found if each.time is not None]
    lines = [f"{len(ran)} of {len(found)} points simulated, compared with {column}"]
    if all_errors := errors(found, column):
        lines.append(
            f"error: median {all_errors.median:.1%}, 90th percentile {all_errors.p90:.1%}, worst {all_errors.worst:.0%}"
        )
    if chosen := choices(found, column):
        right = sum(own.cost <= RIGHT for own in chosen)
        lines.append(
            f"fastest algorithm: within {RIGHT:.0%} of the best measured one in {right / len(chosen):.0%} of "
            f"{len(chosen)} cells of three algorithms or more"
        )
    if guessed := sum(each.guessed for each in ran):
        lines.append(
            f"{guessed} points: their algorithm has no public definition or is not named; another is simulated"
        )
    if unnamed := sum(not each.point.library and each.point.algorithm == "default" for each in ran):
        lines.append(f"{unnamed} points: the table names no library; the choices of MPICH 4 are assumed (`mpich-4`)")
    reasons = list(dict.fromkeys(each.reason for each in found if each.time is None and each.reason))
    lines += [
        f"not simulated: {sum(each.reason == reason for each in found)} points: {reason}" for reason in reasons[:8]
    ]
    return lines


def groups_table(found: Sequence[Predicted], column: str, names: Sequence[str]) -> Fitted:
    """Returns a table of the errors of groups."""
    held = of_groups(found, column, names)
    keys = [Column(name, [key[place] for key, _ in held], is_text=True) for place, name in enumerate(names)]

    def cells(of: str) -> list[str]:
        return [f"{getattr(own, of):.1%}" for _, own in held]

    return Fitted(
        [
            *keys,
            Column("points", [str(own.count) for _, own in held]),
            Column("median", cells("median")),
            Column("p90", cells("p90")),
            Column("worst", [f"{own.worst:.0%}" for _, own in held], rank=2),
            Column("bias", [f"{own.bias:+.1%}" for _, own in held], rank=1),
            Column("rank corr.", [_plain(own.rank_correlation) for _, own in held], rank=3),
        ]
    )


def causes_table(found: Sequence[Predicted], column: str) -> Fitted | None:
    """Returns a table of what dominates the error of each group. None if no point has the parts of its time."""
    held = causes(found, column)
    if not held:
        return None
    keys = [
        Column(name, [own.group[place] for own in held], is_text=True)
        for place, name in enumerate(("machine", "operation", "size"))
    ]
    shares = [Column(name, [_share(own, name) for own in held], rank=2 + place) for place, name in enumerate(NAMES)]
    return Fitted(
        [
            *keys,
            Column("points", [str(own.points) for own in held], rank=1),
            Column("dominates", [own.name for own in held], is_text=True),
            Column("correction", [own.change or "-" for own in held], is_text=True),
            *shares,
        ]
    )


def _share(own: Cause, name: str) -> str:
    return f"{own.shares[name]:.0%}" if name in own.shares else "-"


def _plain(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def write(
    output: Path,
    points: tuple[Sequence[Predicted], str],
    constants: Mapping[str, Constants],
    drawn: Sequence[Mapping[str, Any]],
) -> dict[str, Path]:
    """Writes all files of a validation into a folder, and returns them by what they contain.

    Args:
        output: The folder.
        points: The points, and the measured column that they are compared with.
        constants: Fitted constants by machine and variant.
        drawn: Other jobs beside each run.
    """
    found, column = points
    written = {"Points": output / "points.csv", "Page": output / "report.html"}
    atomic.write_alone(written["Points"], points_csv(found))
    page(found, column, {name: own.values for name, own in constants.items()}, drawn, written["Page"])
    if constants:
        written |= {"Fitted points": output / "fitted.csv", "Constants": output / "constants.toml"}
        atomic.write_alone(written["Fitted points"], fitted_csv(constants))
        atomic.write_alone(written["Constants"], constants_toml(constants))
    return written


def fitted_csv(constants: Mapping[str, Constants]) -> str:
    """Returns the keys of the points to which constants were fitted, as CSV that `--fit` reads."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(KEYS)
    for own in constants.values():
        rows.writerows(point.key for point in own.points)
    return text.getvalue()


def constants_toml(constants: Mapping[str, Constants]) -> str:
    """Returns the fitted constants as sections of an experiment, below a table for each machine and variant."""
    return documents.to_toml({name: dict(own.changes) for name, own in constants.items()})


def points_csv(found: Sequence[Predicted]) -> str:
    """Returns all points with their measured and simulated times, as CSV."""
    times = list(dict.fromkeys(name for each in found for name in each.point.times))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    parts = PARTS if any(each.parts for each in found) else ()
    writer.writerow(
        [*POINT, *(f"{name}_ns" for name in times), "simulated_ns", *(f"{name}_ns" for name in parts), "guessed",
         "reason"]
    )  # fmt: skip
    for each in found:
        measured = [f"{each.point.times[name]:.0f}" if name in each.point.times else "" for name in times]
        simulated = "" if each.time is None else f"{each.time:.3f}"
        own = [getattr(each.point, name) for name in POINT]
        own += [*measured, simulated]
        own += [f"{getattr(each.parts, name):.3f}" if each.parts else "" for name in parts]
        writer.writerow([*own, int(each.guessed), each.reason])
    return text.getvalue()


def to_dict(found: Sequence[Predicted], column: str) -> dict[str, Any]:
    """Returns the errors as `--json` prints them."""
    whole = errors(found, column)
    return {
        "column": column,
        "points": [
            {**{name: getattr(each.point, name) for name in POINT}, "measured_ns": each.point.times.get(column),
             "simulated_ns": each.time, "guessed": each.guessed, "reason": each.reason}
            for each in found
        ],
        "errors": asdict(whole) if whole else None,
        "groups": {
            name: [{"group": key[0], **asdict(own)} for key, own in of_groups(found, column, [name])]
            for name in GROUPS
        },
        "choices": [asdict(own) for own in choices(found, column)],
        "causes": [asdict(own) for own in causes(found, column)],
    }  # fmt: skip


def drawn_lines(drawn: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns a line for each run with other jobs: their number, hosts and nodes, and their load."""
    runs: dict[tuple[str, str, int], list[Mapping[str, Any]]] = defaultdict(list)
    for row in drawn:
        runs[row["machine"], row["run"], row["ranks"]].append(row)
    return [
        f"beside run `{run}` of {machine} with {ranks} ranks: {len(own)} jobs on {sum(row['hosts'] for row in own)} "
        f"hosts ({sum(row['nodes'] for row in own)} nodes) at load {own[0]['load']:g}"
        for (machine, run, ranks), own in runs.items()
    ]


def page(
    found: Sequence[Predicted],
    column: str,
    constants: Mapping[str, Mapping[str, str]],
    drawn: Sequence[Mapping[str, Any]],
    path: Path,
) -> None:
    """Writes one HTML page with the errors, the constants, the other jobs and the embedded pictures."""
    parts = [f"<p>{html.escape(line)}</p>" for line in summary(found, column)]
    for names in (["machine"], ["machine", "operation"], ["machine", "nodes"], ["machine", "size"], ["algorithm"]):
        parts.append(f"<h2>By {html.escape(' and '.join(names))}</h2>")
        parts.append(_html(of_groups(found, column, names), names))
    if held := causes(found, column):
        parts.append(_html_causes(held))
    for machine, values in constants.items():
        rows = "".join(f"<tr><td>{html.escape(key)}<td>{html.escape(value)}" for key, value in values.items())
        parts.append(f"<h2>Fitted constants of {html.escape(machine)}</h2><table>{rows}</table>")
    if drawn:
        head = "".join(f"<th>{html.escape(name)}" for name in drawn[0])
        lines = ["<tr>" + "".join(f"<td>{html.escape(str(own))}" for own in row.values()) for row in drawn]
        parts.append(f"<h2>Other jobs</h2><table><tr>{head}{''.join(lines)}</table>")
    parts += _pictures(found, column)
    atomic.write_alone(path, f"<!doctype html><meta charset=utf-8><title>Validation</title>{STYLE}{''.join(parts)}\n")


STYLE = (
    "<style>body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse}td,th{padding:.15rem .7rem;text-align:right;border-bottom:1px solid #ddd}"
    "td:first-child,th:first-child{text-align:left}svg{max-width:100%;height:auto}</style>"
)


def _html_causes(held: Sequence[Cause]) -> str:
    head = "".join(
        f"<th>{name}" for name in ("machine", "operation", "size", "points", "dominates", "correction", *NAMES)
    )
    rows = [
        "".join(f"<td>{html.escape(part)}" for part in own.group)
        + f"<td>{own.points}<td>{own.name}<td>{html.escape(own.change or '-')}"
        + "".join(f"<td>{_share(own, name)}" for name in NAMES)
        for own in held
    ]
    about = (
        "The last four columns show the share of the error that the best common correction of a part removes: a factor "
        "of the time in latency, bandwidth or contention, or an algorithm that replaces the choice of the library."
    )
    body = "".join(f"<tr>{row}" for row in rows)
    return f"<h2>What dominates the error</h2><p>{about}</p><table><tr>{head}{body}</table>"


def _html(held: Sequence[tuple[tuple[str, ...], Errors]], names: Sequence[str]) -> str:
    head = "".join(
        f"<th>{html.escape(name)}" for name in (*names, "points", "median", "90th percentile", "worst", "bias")
    )
    rows = [
        "".join(f"<td>{html.escape(part)}" for part in key)
        + f"<td>{own.count}<td>{own.median:.1%}<td>{own.p90:.1%}<td>{own.worst:.0%}<td>{own.bias:+.1%}"
        for key, own in held
    ]
    return f"<table><tr>{head}{''.join(f'<tr>{row}' for row in rows)}</table>"


def _pictures(found: Sequence[Predicted], column: str) -> list[str]:
    """Returns the pictures of all machines and operations as SVG."""
    import cutthrough.validation.pictures as pictures
    from cutthrough.plots.theme import looks

    parts = []
    with looks():
        for machine in dict.fromkeys(each.point.machine for each in found):
            own = [each for each in found if each.point.machine == machine and each.time is not None]
            if not own:
                continue
            parts.append(f"<h2>{html.escape(machine or 'All points')}</h2>{_svg(pictures.overview(own, column))}")
            for operation in dict.fromkeys(each.point.operation for each in own):
                held = [each for each in own if each.point.operation == operation]
                parts.append(f"<h3>{html.escape(operation)}</h3>{_svg(pictures.operation(held, column))}")
    return parts


def _svg(figure: Any) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg")
    return text.getvalue().partition("<svg")[1] + text.getvalue().partition("<svg")[2]
