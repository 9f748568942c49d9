"""The machinery of `reproduce`, on a paper of two points; and the plans of the real ones."""

from __future__ import annotations

import ast
import csv
import fnmatch
import json
import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cutthrough import _core
from cutthrough.experiment import documents as experiments
from cutthrough.reference import keys as reference
from cutthrough.reproduce import Basis, Claim, Expect, Paper, Study, Tally, find, papers, reproduce

from .claim_names import HYPHENATED, Identifiers, Quotes, named_first, tabled
from .conftest import SMALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: The texts of the papers, which are no part of the project.
TEXTS = Path(os.environ.get("CUTTHROUGH_PAPERS", Path(__file__).parents[2] / "shared" / "papers"))

CLAIMS = """
from cutthrough.reproduce import Claim, Expect, Planned

VARIANTS = {"random": {"router.arbitration": "random"}, "oldest": {"router.arbitration": "oldest-first"}}

def plan(quick):
    return {"curve": Planned("small")}

def sensitivity_plan(quick):
    return {"curve": Planned("small", {"workload.load": 0.5}), "fixed": Planned("small", varies=False)}

def claims(results):
    accepted = results["curve"].points[-1]["accepted_load"]
    return [
        Claim("half", "1", "half of the load", "accepts half", "0.5", accepted, "load", Expect.within(0.5, 0.05)),
        Claim("wrong", "1", "all of the load", "accepts all", "1", accepted, "load", Expect(low=0.99)),
    ]

def figures(results):
    return {"figure-1": results["curve"].plot("throughput")}
"""


@pytest.fixture
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paper:
    home = tmp_path / "papers" / "tiny"
    (home / "experiments").mkdir(parents=True)
    (home / "README.md").write_text("# A tiny paper\n")
    (home / "claims.py").write_text(CLAIMS)
    (home / "experiments" / "small.toml").write_text(SMALL)
    monkeypatch.setattr(papers, "HOME", tmp_path / "papers")
    return Paper(home)


def test_claims_are_judged_with_their_sensitivity(paper: Paper) -> None:
    """Catches a verdict that is not the claim's, and a variant that is not run."""
    outcome = reproduce(paper, Study())
    assert [(claim.id, claim.ok) for claim in outcome.claims] == [("half", True), ("wrong", False)]
    assert set(outcome.claims[0].sensitivity) == {"default", "random", "oldest"}
    assert len(outcome.results["curve"]) == 2
    assert list(outcome.figures) == ["figure-1"]


def test_claims_are_judged_without_their_sensitivity(paper: Paper, tmp_path: Path) -> None:
    """Catches a variant that is run where only verdicts are asked for."""
    outcome = reproduce(paper, Study(directory=tmp_path / "kept", sensitivity=False))
    assert [(claim.id, claim.ok, claim.sensitivity) for claim in outcome.claims] == [
        ("half", True, {}),
        ("wrong", False, {}),
    ]
    assert len(list((tmp_path / "kept" / "points").iterdir())) == 2


def test_claims_can_be_a_package(paper: Paper) -> None:
    """Catches a package that is not found, parts of which are not, and parts of the paper that was read before."""
    (paper.directory / "claims.py").unlink()
    (paper.directory / "claims").mkdir()
    lines = CLAIMS.replace("low=0.99", "low=LEAST")
    # The files differ in length: Python would reuse the bytecode of a file with equal size and second.
    for least in ("0.99", "0.1"):
        (paper.directory / "claims" / "__init__.py").write_text(f"from .limits import LEAST\n{lines}")
        (paper.directory / "claims" / "limits.py").write_text(f"LEAST = {least}\n")
        assert [found.name for found in find([])] == ["tiny"]
        outcome = reproduce(paper, Study())
        assert [claim.ok for claim in outcome.claims] == [True, least == "0.1"]


def test_claims_are_judged_by_the_plan_and_varied_on_the_smaller_one(
    paper: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a verdict by the reduced plan, and a claim that a variant cannot judge and that ends the study."""
    changed = CLAIMS.replace(
        '"fixed": Planned("small", varies=False)', '"fixed": Planned("small", varies=frozenset({"oldest"}))'
    )
    changed = changed.replace("    return [\n", '    if "fixed" in results:\n        return []\n    return [\n', 1)
    (paper.directory / "claims.py").write_text(changed)
    outcome = reproduce(paper, Study())
    assert [claim.id for claim in outcome.claims] == ["half", "wrong"]
    assert outcome.claims[0].sensitivity == {}
    planned = paper.module().sensitivity_plan(quick=False)["fixed"]
    assert planned.under("random", {"seed": 3}) == planned
    assert planned.under("oldest", {"seed": 3}).set == {"seed": 3}


def test_an_analysis_is_kept_beside_a_run_of_the_same_point(paper: Paper, tmp_path: Path) -> None:
    """Catches an analysis that is taken for the run of its point."""
    changed = CLAIMS.replace('"fixed": Planned("small", varies=False)', '"bound": Planned("small", analyze=True)')
    (paper.directory / "claims.py").write_text(changed)
    study = Study(directory=tmp_path / "kept")
    for _ in range(2):
        reproduce(paper, study)
        kept = [json.loads(path.read_text()) for path in (tmp_path / "kept" / "points").iterdir()]
        bounds = [point["throughput_bound"] for point in kept if "throughput_bound" in point]
        assert bounds
        assert all("accepted_load" in point or "throughput_bound" in point for point in kept)


def test_finished_points_are_not_run_again(paper: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a cache that is not used, that forgets, or that survives a change of the experiment."""
    study = Study(directory=tmp_path / "kept")
    first = reproduce(paper, study)
    kept = sorted((tmp_path / "kept" / "points").iterdir())
    # Two loads by default; load 0.5 under two variants.
    assert len(kept) == 4
    monkeypatch.setattr("cutthrough.runs.sweeps.run_jobs", lambda *_: pytest.fail("ran again"))
    assert reproduce(paper, study).claims == first.claims
    monkeypatch.undo()
    monkeypatch.setattr(papers, "HOME", paper.directory.parent)
    experiment = paper.directory / "experiments" / "small.toml"
    experiment.write_text(SMALL.replace("seed = 7", "seed = 8"))
    reproduce(paper, study)
    assert len(sorted((tmp_path / "kept" / "points").iterdir())) == 8


def test_damaged_points_are_run_again(paper: Paper, tmp_path: Path) -> None:
    """Catches a crash on half a file."""
    study = Study(directory=tmp_path / "kept")
    first = reproduce(paper, study)
    for path in (tmp_path / "kept" / "points").iterdir():
        path.write_text('{"accepted')
    assert [c.here for c in reproduce(paper, study).claims] == [c.here for c in first.claims]


def test_command_prints_claims(paper: Paper, cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a JSON that is not as documented, and figures that are not written."""
    out = tmp_path / "out"
    printed = json.loads(cutthrough("reproduce", paper.name, "--out", out, "--json").out)
    assert [claim["id"] for claim in printed["claims"]] == ["half", "wrong"]
    assert set(printed["claims"][0]) >= {"id", "figure", "text", "paper", "here", "unit", "ok"}
    assert (out / "tiny" / "figure-1.png").exists()
    assert (out / "tiny" / "curve" / "points.parquet").exists()
    shown = cutthrough("reproduce", paper.name, "--out", out).out
    assert "1 of 2 claims hold" in shown


def test_checks_are_shown_and_not_counted(paper: Paper, cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a check of the set-up that is counted, and a fitted claim that is not marked."""
    marked = CLAIMS.replace("import Claim", "import Basis, Claim").replace(
        "Expect.within(0.5, 0.05))", 'Expect.within(0.5, 0.05), basis=Basis.FITTED, note="the load")'
    )
    marked = marked.replace("Expect(low=0.99))", 'Expect(low=0.99), basis=Basis.SET_UP, note="the load")')
    (paper.directory / "claims.py").write_text(marked)
    shown = cutthrough("reproduce", paper.name, "--out", tmp_path).out
    assert "1 of 1 claims hold here, 1 of them fitted. 0 of 1 checks of the set-up pass." in shown
    assert "holds (fitted)" in shown
    assert "check fails" in shown
    found = json.loads(cutthrough("reproduce", paper.name, "--out", tmp_path, "--json").out)["claims"]
    assert [(claim["basis"], claim["counted"]) for claim in found] == [("fitted", True), ("set-up", False)]


def made(here: float, **more: Any) -> Claim:
    """A claim that holds above one half."""
    return Claim("x", "", **({"quote": "words"} | more), text="", paper="", here=here, unit="", expect=Expect(low=0.5))


def test_counts_of_claims() -> None:
    """Catches a check that is counted as a claim, and a claim that differs as fitted."""
    kinds = [(Basis.PREDICTED, 1.0), (Basis.PREDICTED, 0.0), (Basis.FITTED, 0.0), (Basis.SET_UP, 1.0)]
    found = [made(here, basis=basis, note="" if basis == "predicted" else "a key") for basis, here in kinds]
    assert Tally.of(found) == Tally(counted=3, hold=1, fitted=0, checks=1, passed=1)


def test_claims_name_what_was_fitted_and_quote_little() -> None:
    """Catches a fitted constant without a name, a claim without a quote, and sentences that are quoted whole."""
    quotes: list[dict[str, Any]] = [{"quote": "word " * 16}, {"quote": ""}]
    bases: list[dict[str, Any]] = [{"basis": Basis.FITTED}, {"basis": Basis.SET_UP}, {"note": "a key"}]
    for wrong in (*bases, *quotes):
        with pytest.raises(ValueError, match="claim x"):
            made(0.0, **wrong)


def test_orders_exceed_their_intervals() -> None:
    """Catches an order that holds by noise, or by nothing."""
    assert not Expect.above(0).holds(0.0)
    assert Expect.above(0).holds(1e-12)
    assert not Expect.above(0, 0.004).holds(0.004)
    assert not Expect.below(1, 0.1).holds(0.9)
    assert Expect.below(1, 0.1).holds(0.8999)
    assert Expect.stated(0.93, 0.005, 0.002).holds(0.9369)
    assert not Expect.stated(0.93, 0.005, 0.002).holds(0.9371)


def words(text: str) -> str:
    """Returns a text without marks of layout, which differ between a quote and a converted page."""
    return re.sub(r"[^a-z0-9.%/=<>+]+", " ", text.lower())


@pytest.mark.parametrize("paper_", find([]), ids=lambda paper: paper.name)
def test_quotes_stand_in_the_papers(paper_: Paper) -> None:
    """Catches a claim without a quote, and a quote that the paper does not have. The latter needs the texts."""
    modules = [Quotes(path.read_text(encoding="utf-8")) for path in paper_.directory.rglob("*.py")]
    found = {ast.unparse(call.args[0]): list(module.texts(call.args[1])) for module in modules for call in module.calls}
    assert found
    assert not [name for name, texts in found.items() if not texts]
    text = TEXTS / f"{paper_.name}.txt"
    if not text.exists():
        pytest.skip("the texts of the papers are not here")
    whole = words(text.read_text(encoding="utf-8"))
    assert not {name: quote for name, texts in found.items() for quote in texts if words(quote).strip() not in whole}


@pytest.mark.parametrize(
    ("expect", "value", "holds"),
    [
        (Expect(low=0.98), 0.98, True),
        (Expect(low=0.98), 0.979, False),
        (Expect(high=3.5), 3.6, False),
        (Expect.within(0.93, 0.04), 0.97, True),
        (Expect.within(0.93, 0.04), 0.88, False),
        (Expect(), math.nan, False),
    ],
)
def test_expectations(expect: Expect, value: float, holds: bool) -> None:
    """Catches bounds that are swapped, and a not-a-number that confirms."""
    assert expect.holds(value) is holds
    assert Claim("x", "1", "words", "", "", value, "", expect).ok is holds


@pytest.mark.parametrize("quick", [True, False])
def test_plans_of_papers_load_and_variants_differ(quick: bool) -> None:
    """Catches a paper whose experiments are wrong, or a variant that is the default under another name."""
    for real in find([]):
        module = real.module()
        for planned in module.plan(quick).values():
            assert load(real, planned).points()
        for planned in module.sensitivity_plan(quick).values():
            default = load(real, planned)
            for name, changes in module.VARIANTS.items():
                varied = load(real, planned.under(name, changes))
                assert planned.varies_under(name) == (varied.resolved_point(0) != default.resolved_point(0)), name


def load(paper: Paper, planned: Any) -> Any:
    overrides = [(key, experiments.to_value(value)) for key, value in planned.set.items()]
    return experiments.read_file(paper.experiment(planned.file), overrides)


def test_papers_have_their_documents() -> None:
    """Catches a paper without its deviations."""
    for real in find([]):
        assert real.title
        assert (real.directory / "DEVIATIONS.md").exists()


#: The words of papers.md that are hyphenated and are neither claims, papers nor words of an experiment file.
OTHER_WORDS = {Basis.SET_UP.value}


def known_words() -> set[str]:
    """Every word that an experiment file may hold, and the papers."""

    def strings(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, dict)):
            for held in value.values() if isinstance(value, dict) else value:
                yield from strings(held)

    listed = [json.loads(_core.reference()), reference.catalogue()]
    return {word for held in listed for word in strings(held)} | {paper.name for paper in find([])}


@pytest.fixture(scope="module")
def identifiers() -> dict[str, Identifiers]:
    return {paper.name: Identifiers(paper) for paper in find([])}


def verdicts(paper: Paper) -> dict[str, Claim]:
    """The claims of the recorded quick run, with number 1 where they hold and 0 where not."""
    rows = list(csv.DictReader((paper.directory / "quick.csv").read_text(encoding="utf-8").splitlines()))
    return {
        row["claim"]: made(
            float(row["holds"] == "true"),
            basis=Basis(row["basis"]),
            note="" if row["basis"] == "predicted" else "a key",
        )
        for row in rows
    }


@pytest.mark.parametrize("paper_", find([]), ids=lambda paper: paper.name)
def test_documents_name_claims_that_exist(paper_: Paper, identifiers: dict[str, Identifiers]) -> None:
    """Catches a claim that was renamed or dropped, and that a document still names."""
    readme, deviations = (
        (paper_.directory / name).read_text(encoding="utf-8") for name in ("README.md", "DEVIATIONS.md")
    )
    known = known_words()
    names = [name for name in HYPHENATED.findall(readme + deviations) if name not in known]
    names += tabled(readme) + named_first(deviations)
    assert tabled(readme)
    assert named_first(deviations)
    assert not sorted({name for name in names if not identifiers[paper_.name].have(name)})


def test_page_on_papers_names_claims_that_exist(identifiers: dict[str, Identifiers]) -> None:
    """Catches a claim that was renamed or dropped, and that the page on papers still names."""
    page = (Path(__file__).parents[1] / "docs" / "reference" / "papers.md").read_text(encoding="utf-8")
    known = known_words() | OTHER_WORDS
    names = [name for name in HYPHENATED.findall(page) if name not in known]
    assert not [name for name in names if not any(held.have(name) for held in identifiers.values())]


@pytest.mark.parametrize("paper_", find([]), ids=lambda paper: paper.name)
def test_documents_have_every_claim_and_name_those_that_differ(
    paper_: Paper, identifiers: dict[str, Identifiers]
) -> None:
    """Catches a claim that no table explains, one that does not hold and is not in DEVIATIONS, and stale counts."""
    found = verdicts(paper_)
    readme, deviations = (
        (paper_.directory / name).read_text(encoding="utf-8") for name in ("README.md", "DEVIATIONS.md")
    )
    assert not [name for name in found if not identifiers[paper_.name].have(name)]
    explained = tabled(readme)
    assert not [name for name in found if not any(fnmatch.fnmatchcase(name, held) for held in explained)]
    differing = named_first(deviations)
    assert not [
        name
        for name, claim in found.items()
        if not claim.ok and not any(fnmatch.fnmatchcase(name, held) for held in differing)
    ]
    tally = Tally.of(found.values())
    counts = (
        f"With `--quick`, {tally.hold} of {tally.counted} claims hold, {tally.fitted} of them fitted, "
        f"and {tally.passed} of {tally.checks} checks pass."
    )
    assert counts in " ".join(readme.split())


@pytest.mark.long
@pytest.mark.parametrize("paper_", find([]), ids=lambda paper: paper.name)
def test_quick_runs_have_the_recorded_verdicts(paper_: Paper) -> None:
    """Catches a verdict that has changed. `python tools/record_verdicts.py` records the new ones."""
    found = {
        claim.id: (claim.basis, claim.ok) for claim in reproduce(paper_, Study(quick=True, sensitivity=False)).claims
    }
    assert found == {name: (claim.basis, claim.ok) for name, claim in verdicts(paper_).items()}
