"""`cutthrough reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cutthrough._core as _core
import cutthrough.runs.sweeps as sweeps
from cutthrough.cli.common import JobsOption, JsonOption, complain, folder_target, out, print_json
from cutthrough.cli.keeping import Signals
from cutthrough.cli.progress import Bar
from cutthrough.reproduce import Tally, find
from cutthrough.reproduce.tables import claims_table, sensitivity_table

if TYPE_CHECKING:
    from cutthrough.reproduce import Paper
    from cutthrough.reproduce.study import Outcome

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command()(reproduce)


def reproduce(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Papers; without any, all.", show_default=False)
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer points and less precision: minutes.")] = False,
    out_directory: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Where figures, tables and finished points go.")
    ] = Path("results/reproduce"),
    jobs: JobsOption = 0,
    json_output: JsonOption = False,
) -> None:
    """Repeat the experiments of published papers: figures as plots, claims as a table of paper, here and verdict.

    Finished points are kept: after Ctrl-C, the same command resumes.

    Example: `cutthrough reproduce hardware-collectives --quick`
    """
    outcomes = []
    papers = find(ids or [])
    folder_target(out_directory)
    for paper in papers:
        directory = out_directory / paper.name
        with Signals() as signals:
            try:
                outcome = _reproduce(paper, directory, quick, jobs)
            except KeyboardInterrupt:
                complain(f"interrupted: finished points are kept in {directory}; the same command goes on from them")
                raise typer.Exit(signals.status) from None
        _save(outcome, directory)
        outcomes.append(outcome)
        if not json_output:
            _show(outcome, directory)
    if json_output:
        claims = [{"paper_id": o.paper.name, **claim.to_dict()} for o in outcomes for claim in o.claims]
        print_json({"version": _core.__version__, "claims": claims})


def _reproduce(paper: Paper, directory: Path, quick: bool, jobs: int) -> Outcome:
    from cutthrough.reproduce import study

    plan = study.Study(quick, directory, sweeps.Effort(jobs))
    with Bar() as bar:
        return study.reproduce(paper, plan, bar)


def _save(outcome: Outcome, directory: Path) -> None:
    import cutthrough.plots as plots

    for name, results in outcome.results.items():
        results.save(directory / name)
    for name, figure in outcome.figures.items():
        plots.write(figure, directory / name, ("png", "svg"))


def _show(outcome: Outcome, directory: Path) -> None:
    out.print(claims_table(outcome.paper.title, outcome.claims))
    out.print(sensitivity_table(outcome.claims))
    out.print(f"\n{Tally.of(outcome.claims)}", soft_wrap=True)
    out.print(f"Figures: {directory}/*.png", markup=False, soft_wrap=True)
