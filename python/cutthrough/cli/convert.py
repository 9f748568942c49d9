"""The command `cutthrough convert`: a program in other forms."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cutthrough._core as _core
import cutthrough.cli.program as programs
import cutthrough.files.atomic as atomic
import cutthrough.programs.msccl as msccl
import cutthrough.record.running as running
import cutthrough.reports.checks as checks
from cutthrough.arguments.faults import refuse
from cutthrough.arguments.files import file_target
from cutthrough.cli.common import JsonOption, SetOption, complain, out, parse_sets, print_json
from cutthrough.cli.grouped import grouped
from cutthrough.errors import ExperimentError
from cutthrough.programs import Program

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["register"]


#: The ends of the names of Chakra traces, and of algorithms of MSCCL.
CHAKRA, MSCCL = (".et", ".json"), ".xml"


def register(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command()(grouped(convert))


@dataclass(frozen=True)
class Traces:
    """Options for reading traces."""

    wildcards: Annotated[
        bool, typer.Option("--wildcards", help="Of a trace, let receives that took any message take any again.")
    ] = False
    compute_scale: Annotated[
        float, typer.Option(metavar="NUMBER", help="Of a trace, what times of calculations are multiplied by.")
    ] = 1.0
    ranks: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Scale traces of Chakra to N ranks, by more or fewer data-parallel replicas.",
            show_default=False,
        ),
    ] = None  # fmt: skip
    grow: Annotated[
        str,
        typer.Option(
            metavar="NAMES", help="With --ranks: data-parallel process groups, by names or beginnings of names.",
            show_default="dp,ddp,fsdp,data",
        ),
    ] = ""  # fmt: skip

    size: Annotated[
        str | None,
        typer.Option(metavar="BYTES", help="Of an algorithm of MSCCL (`.xml`), its buffer.", show_default=False),
    ] = None
    reduction_time: Annotated[
        str,
        typer.Option(metavar="TIME", help="Of an algorithm of MSCCL, the time for each byte that a rank combines."),
    ] = "0 ps"

    def check(self, file: Path, *, is_chakra: bool, is_trace: bool) -> None:
        """Refuses options that the program of a file does not have.

        Raises:
            ExperimentError: An option is given that is for other files.
        """
        if file.suffix != MSCCL and (self.size or self.reduction_time != "0 ps"):
            raise refuse("--size" if self.size else "--reduction-time", f"{file} is no algorithm of MSCCL (`{MSCCL}`)")
        if is_chakra and self.wildcards:
            raise refuse("--wildcards", f"{file} is a trace of Chakra, which has no such thing")
        if not is_chakra and (self.ranks or self.grow):
            raise refuse("--ranks" if self.ranks else "--grow", f"{file} is no trace of Chakra")
        if not (is_chakra or is_trace) and (self.wildcards or self.compute_scale != 1):
            raise refuse("--wildcards" if self.wildcards else "--compute-scale", f"{file} is no trace")


def convert(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A trace; or the `.et` or `.json` file of a rank of Chakra traces, a `.goal` or `.calls` file, an "
            "algorithm of MSCCL (`.xml`), an experiment file with a program, or the folder of ranks that a recording "
            "has left which was killed.",
            show_default=False,
        ),
    ],
    traces: Traces,
    targets: Annotated[
        list[Path],
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="What to write, by its ending: `.calls` (what ranks call, as text), `.goal` (a schedule), `.csv` (a "
            "task graph for `map --graph`), `.png`, `.svg` or `.pdf` (the communication matrix), or `.trace` of a "
            "folder of ranks; may be given again. Without an ending: the only other form of the program as text.",
            show_default="the name of the file, without an ending",
        ),
    ] = [],  # noqa: B006  (typer copies it)
    set_: SetOption = [],  # noqa: B006  (typer copies it)
    json_output: JsonOption = False,
) -> None:
    """Convert a recorded program, or any other, to text, GOAL, a task graph or a picture.

    Examples:
    - `cutthrough convert lj.trace -o lj.goal -o lj.csv -o lj.png`
    - `cutthrough convert examples/pipeline.goal`
    - `cutthrough convert step.0.et --ranks 512 -o step.calls`
    - `cutthrough convert allreduce.xml --size '1 MiB' -o allreduce.goal`
    """
    for target in targets:
        file_target(target, "--out")
        if target.suffix:
            _writer_of(target, is_folder=file.is_dir())
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "joined.trace" if file.is_dir() else file
        if file.is_dir():
            _join(file, source)
        held = _read(source, set_, traces)
        targets = _with_forms(targets, held, file, Path(folder))
        _write(held, source, targets, is_folder=file.is_dir())
    summary = _summary(held, file.stem)
    if json_output:
        print_json({"version": _core.__version__, **summary, "written": [str(target) for target in targets]})
        return
    out.print(checks.check_table(summary))
    for note in held.notes:
        out.print(f"Note: {note}", markup=False, soft_wrap=True)
    for target in targets:
        out.print(f"Written: {target}", markup=False, soft_wrap=True)


def _with_forms(targets: list[Path], held: Program, file: Path, folder: Path) -> list[Path]:
    """The files to write, each with an ending. Forms are tried in a folder."""
    targets = targets or [Path(file.name).with_suffix("")]
    if all(target.suffix for target in targets):
        return targets
    form = _only_form(held, file, folder)
    return [target if target.suffix else _new(target.with_suffix(form)) for target in targets]


def _summary(held: Program, name: str) -> dict[str, Any]:
    """Returns the properties of a program that are shown."""
    contents = {"contents": held.contents} if held.contents else {}
    return {**programs.summary_of(held), "name": name, **contents, "notes": held.notes}


def _write(held: Program, source: Path, targets: list[Path], *, is_folder: bool) -> None:
    """Writes a program, whose trace is `source` if it was a folder, to all targets."""
    # Forms that not every program has come first, so that nothing is written if one is refused.
    for target in sorted(targets, key=lambda target: target.suffix not in MAY_FAIL):
        if target.suffix == ".trace":
            with atomic.replacing(target) as aside:
                shutil.copyfile(source, aside)
        else:
            _writer_of(target, is_folder=is_folder)(held, target)


def _only_form(held: Program, file: Path, folder: Path) -> str:
    """The ending of the only form of a program as text, besides that of its file.

    Raises:
        ExperimentError: There are several forms; they are listed.
    """
    forms = [".trace"] if file.is_dir() else []
    for form in TEXTS:
        if form != file.suffix:
            with contextlib.suppress(ExperimentError):
                WRITERS[form](held, folder / f"tried{form}")
                forms.append(form)
    if len(forms) == 1:
        return forms[0]
    pictures = [form for form in WRITERS if form not in TEXTS]
    message = f"{file} can be written in {len(forms)} forms and as a picture: name one by its ending"
    raise refuse("--out", message, allowed=[*forms, *pictures], help=f"-o {file.stem}{forms[0]}")


def _new(target: Path) -> Path:
    """A file whose name was not given whole.

    Raises:
        ExperimentError: It exists.
    """
    if target.exists():
        raise refuse("--out", f"{target} exists; `-o {target}` replaces it")
    return target


def _join(folder: Path, trace: Path) -> None:
    """Makes a trace of a folder of ranks, and warns of what the trace lacks."""
    for warning in running.warnings_of(running.join(folder, trace)):
        complain(f"warning: {warning}")


def _read(source: Path, set_: list[str], traces: Traces) -> Program:
    """The program of a file."""
    is_chakra, is_trace = source.suffix in CHAKRA, source.suffix == ".trace"
    if set_ and (is_chakra or is_trace or source.suffix == MSCCL):
        raise refuse("--set", f"{source} is no experiment file, whose keys could be replaced")
    traces.check(source, is_chakra=is_chakra, is_trace=is_trace)
    if is_chakra:
        grow = [own for own in traces.grow.split(",") if own]
        return Program.from_chakra(source, compute_scale=traces.compute_scale, ranks=traces.ranks, grow=grow)
    if source.suffix == MSCCL:
        if traces.size is None:
            raise refuse("--size", f"{source} has chunks without a size", help="--size '1 MiB'")
        return Program.from_goal(msccl.schedule(source, traces.size, traces.reduction_time))
    if is_trace:
        return Program.from_trace(source, wildcards=traces.wildcards, compute_scale=traces.compute_scale)
    return programs.read(source, parse_sets(set_))


def _graph(held: Program, target: Path) -> None:
    atomic.write_alone(target, held.graph().to_edges())


def _picture(held: Program, target: Path) -> None:
    import cutthrough.plots as plots

    plots.write(held.plot("bytes"), target.with_suffix(""), [target.suffix.removeprefix(".")])


#: What writes a program, by the end of the file's name.
WRITERS: dict[str, Callable[[Program, Path], object]] = {
    ".calls": Program.to_text,
    ".goal": Program.to_goal,
    ".csv": _graph,
    ".png": _picture,
    ".svg": _picture,
    ".pdf": _picture,
}


#: Forms that are text.
TEXTS = (".calls", ".goal", ".csv")
#: Forms that not every program has.
MAY_FAIL = frozenset({".calls", ".goal"})


def _writer_of(target: Path, *, is_folder: bool) -> Callable[[Program, Path], object]:
    """What writes a file.

    Raises:
        ExperimentError: There is nothing that writes one of its name.
    """
    if target.suffix == ".trace" and is_folder:
        return _picture
    writer = WRITERS.get(target.suffix)
    if writer is None:
        endings = [*WRITERS, *([".trace"] if is_folder else [])]
        raise refuse("--out", f"{target}: there is no form of a program for `{target.suffix}`", allowed=endings)
    return writer
