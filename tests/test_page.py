"""The HTML report: its content, its independence of networks, and its behaviour in a browser."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import cutthrough.page as page
import numpy as np
import pytest
from cutthrough import _core
from cutthrough.channels import ChannelTable
from cutthrough.page.maps import MOST_CELLS, NOTHING, STEPS, maps_of
from cutthrough.page.render import content
from cutthrough.plots.panels import panels

from tests.conftest import SMALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cutthrough.channels import ChannelLoads

WIDE, NARROW = {"width": 1400, "height": 900}, {"width": 390, "height": 800}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two folders of results, of three seeds each."""
    root = tmp_path_factory.mktemp("pair")
    file = root / "small.toml"
    file.write_text(SMALL.replace("seed = 7", "seed = 7\nseeds = 3"), encoding="utf-8")
    for name, delay in (("near", "90 ns"), ("far", "300 ns")):
        ct.run(file, set={"router.delay": delay}, directory=root / name)
    return root / "near", root / "far"


@pytest.fixture(scope="module")
def html(pair: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of both."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    page.write([page.Side(folder.name, ct.Results.read(folder)) for folder in pair], path)
    return path


def held(text: str) -> dict[str, Any]:
    """The data of a page."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_the_page_holds_what_was_measured(html: Path, pair: tuple[Path, Path]) -> None:
    """Catches values of other points or results, and bands of another quantity."""
    data = held(html.read_text(encoding="utf-8"))
    assert [result["name"] for result in data["results"]] == ["near", "far"]
    assert data["results"][0]["seed"] == "7 to 9: means of 3 seeds"
    assert data["differing"] == [["router.delay", "90 ns", "300 ns"]]
    for number, folder in enumerate(pair):
        results = ct.Results.read(folder)
        (line,) = [line for line in data["lines"] if line["result"] == number]
        assert line["x"] == [0.2, 0.5]
        for name in ("latency_mean_ns", "accepted_load"):
            assert line["y"][name] == pytest.approx([point[name] for point in results], rel=1e-6)
            assert line["ci"][name] == pytest.approx([point["ci"][name] for point in results], rel=1e-6)
        assert [row["seeds"] for row in data["rows"][number]] == [3, 3]
        assert results.experiment == data["results"][number]["experiment"]
    (compared,) = data["comparisons"]
    latencies = [row for row in compared["rows"] if row[1] == "mean latency, ns"]
    assert [row[0] for row in latencies] == [[0.2], [0.5]]
    assert all(row[7] == "**" and row[4] > 0 for row in latencies)


def test_heat_maps_are_the_channels(html: Path, pair: tuple[Path, Path]) -> None:
    """Catches cells of another channel, rows for columns, and bytes in another order."""
    data = held(html.read_text(encoding="utf-8"))
    loads = ct.Results.read(pair[1]).channel_loads(1)
    shown = data["maps"][1]["1"]["panels"]
    for panel, own in zip(panels(loads), shown, strict=True):
        for column, cells in zip(("utilization", "even_spread"), own["cells"], strict=True):
            found = np.frombuffer(base64.b64decode(cells), "<u2").reshape(own["height"], own["width"])
            expected = panel.cells(loads.values(column))
            assert ((found == NOTHING) == np.isnan(expected)).all()
            assert found / STEPS == pytest.approx(expected, abs=0.6 / STEPS)


def test_nothing_is_loaded_from_elsewhere(html: Path) -> None:
    """Catches a script, style, font or picture of another address."""
    text = html.read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    for found in re.finditer(
        r"<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)\s*=", text[: text.index("<script")]
    ):
        pytest.fail(found[0])
    assert not re.search(r"@import|url\(\s*['\"]?https?:", text)
    assert len(text.encode()) < 3_000_000


def test_what_a_user_writes_cannot_become_code(pair: tuple[Path, Path]) -> None:
    """Catches a title that ends the script or the heading that it stands in."""
    evil = "</script><script>document.title = 'taken'</script><b>"
    results = replace(ct.Results.read(pair[0]), title=evil)
    text = page.render([page.Side(evil, results)])
    assert evil not in text
    assert held(text)["results"][0]["title"] == evil


def test_a_drawing_of_the_machine_is_carried_along(pair: tuple[Path, Path]) -> None:
    """Catches a drawing whose names could clash with those of another."""
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect id="a" width="4" height="4"/></svg>'
    data = held(page.render([page.Side("a", ct.Results.read(pair[0]), [("", svg)])]))
    ((_, address),) = data["results"][0]["drawings"]
    prefix, _, code = address.partition(",")
    assert (prefix, base64.b64decode(code).decode()) == ("data:image/svg+xml;base64", svg)


def test_the_command_draws_the_machine(pair: tuple[Path, Path], cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a page without its machine, and a drawing of a machine whose channels are not known."""
    path = tmp_path / "page.html"
    assert cutthrough("report", pair[0], "--out", path).status == 0
    ((_, drawing),) = held(path.read_text(encoding="utf-8"))["results"][0]["drawings"]
    assert b"<svg" in base64.b64decode(drawing.partition(",")[2])
    assert page.drawn(replace(ct.Results.read(pair[0]), network=None)) == []


@dataclass(frozen=True)
class Copies:
    """The channels of one point, for as many points as are asked for."""

    held: ChannelLoads
    count: int
    notes: tuple[str, ...] = ()

    @property
    def places(self) -> list[int]:
        return list(range(self.count))

    def rows(self) -> int:
        return self.count * self.held.table.num_rows

    def loads(self, _place: int) -> ChannelLoads:
        return self.held


def test_a_page_of_many_points_stays_small(pair: tuple[Path, Path]) -> None:
    """Catches heat maps without a limit: 20,000 points keep those of the hottest of each line, and it is reported."""
    results = ct.Results.read(pair[0])
    loads = results.channel_loads(0)
    cells = sum(panel.cells(loads.values("utilization")).size for panel in panels(loads)) * 2
    count = MOST_CELLS // cells + 1
    loaded = [{"workload.load": place / count, "offered_load": place / count} for place in range(count)]
    points = [ct.Point({**results[0], **load}) for load in loaded]
    many = replace(results, points=points, network=Copies(loads, count))
    (maps,), note = maps_of([many])
    assert len(maps) == 1
    assert f"1 of {count} points" in note
    (maps,), note = maps_of([replace(many, points=points[:5], network=Copies(loads, 5))])
    assert (len(maps), note) == (5, "")


def test_cells_of_several_routers_say_so(tmp_path: Path) -> None:
    """Expected: 200 routers of an edge list in blocks of 4; 512 of a row of a torus in blocks of 4, too.

    Catches numbers of cells that are taken for numbers of routers.
    """
    lines = [f"link {place} {(place + 1) % 200}" for place in range(200)] + ["node 0", "node 100"]
    (tmp_path / "ring.edges").write_text("\n".join(lines) + "\n")
    for shape, axes in (
        (f"file:{tmp_path}/ring.edges", ["to router (4 a cell)", "from router (4 a cell)"]),
        ("torus:512x2", ["dim0 (4 a cell)", "dim1"]),
    ):
        machine = ChannelTable.of(_core.Topology(shape, "."))
        loads = machine.loads({"utilization": np.full(int(machine.number.max()) + 1, 0.5)})
        results = ct.Results([ct.Point({"offered_load": 0.5})], network=Copies(loads, 1))
        (maps,), _ = maps_of([results])
        assert list(maps["0"]["panels"][0]["axes"]) == axes
        assert maps["0"]["top"] == 0.5


def test_closed_workloads_have_a_page(tmp_path: Path, cutthrough: Callable[..., Any]) -> None:
    """Catches a page that supposes loads: points of no common axis are named."""
    path = tmp_path / "exchange.toml"
    path.write_text(
        """
        topology = { kind = "dragonfly", h = 1 }
        link = { bandwidth = "40 Gb/s", delay = "20 ns" }
        routing = { kind = "minimal" }
        workload = { kind = "exchange", dims = [6], volume = "8 KiB" }
        """
    )
    cutthrough("run", path, "--out", tmp_path / "out", "--plots", "none")
    ran = cutthrough("report", tmp_path / "out")
    assert ran.status == 0, ran.err
    data = held((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert data["quantities"][0][0] == "time_ns"
    assert data["lines"][0]["y"]["time_ns"] == pytest.approx(
        [ct.Results.read(tmp_path / "out")[0]["time_ns"]], rel=1e-6
    )
    assert data["lines"][0]["x"] == ["point 0"]


def test_benchmarks_have_their_tables_on_the_page(tmp_path: Path) -> None:
    """Catches a page of peaks alone, and a page of other workloads with an empty section."""
    results = ct.run(
        topology={"kind": "flat", "nodes": 2},
        link={"bandwidth": "100 Gb/s", "delay": "1 us"},
        workload={"kind": "benchmark", "benchmark": {"kind": "PingPong", "sizes": ["1 B", "4 KiB"]}},
    )
    shown = content([page.Side("one", results), page.Side("other", results)])
    assert shown["tables"] == [results.benchmark_text()] * 2
    rows = [row for row in shown["comparisons"][0]["rows"] if "greatest of 2" in row[1]]
    assert [row[1] for row in rows] == ["time, ns, at 1 B (greatest of 2)"]
    assert rows[0][7] == "="


def test_jobs_have_a_page(tmp_path: Path) -> None:
    """Catches jobs that are not distinguished."""
    start = SMALL.index("[workload]")
    jobs = "".join(
        f'[[job]]\nname = "{name}"\nnodes = "{nodes}"\nworkload = {{ kind = "traffic", load = 0.3 }}\n'
        for name, nodes in (("a", "0-7"), ("b", "8-15"))
    )
    (tmp_path / "jobs.toml").write_text(f"{SMALL[:start]}{jobs}[measure]\nprecision = 0.1\n")
    data = page.render([page.Side("jobs", ct.run(tmp_path / "jobs.toml"))])
    assert [row["settings"] for row in held(data)["rows"][0]] == [{"job": "a"}, {"job": "b"}]


def test_without_the_package_one_line_says_what_to_install(
    pair: tuple[Path, Path], cutthrough: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a traceback."""
    monkeypatch.setitem(sys.modules, "bokeh", None)
    ran = cutthrough("report", pair[0])
    assert (ran.status, ran.err.count("\n")) == (1, 1)
    assert "pip install bokeh (or 'cutthrough[bokeh]')" in ran.err


def test_wrong_folders(tmp_path: Path, cutthrough: Callable[..., Any]) -> None:
    """Catches a page of nothing."""
    ran = cutthrough("report", tmp_path)
    assert ran.status == 2
    assert "no results in" in ran.err


@contextmanager
def browser() -> Iterator[Any]:
    """A real browser; the test is skipped where none is installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if (found := shutil.which(name))), None)
    with playwright.sync_playwright() as driver:
        path = path or driver.chromium.executable_path
        if not Path(path).exists():
            pytest.skip("no Chromium is installed (Debian: `apt install chromium`, or `playwright install chromium`)")
        # Chromium refuses a sandbox for root, as in containers.
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        opened = driver.chromium.launch(executable_path=path, args=options)
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def opened(html: Path, viewport: dict[str, int], scheme: str = "light") -> Iterator[Any]:
    """The page in a browser without a network, when its curves are drawn; fails on any error or request of the page."""
    with browser() as chromium:
        context = chromium.new_context(viewport=viewport, color_scheme=scheme, offline=True)
        tab, wrong = context.new_page(), []
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("console", lambda message: wrong.append(message.text) if message.type in {"error", "warning"} else None)
        tab.on("request", lambda request: wrong.append(request.url) if request.url.startswith("http") else None)
        tab.goto(html.as_uri())
        tab.wait_for_selector("html[data-ready]", timeout=120_000)
        yield tab
        assert wrong == []


def test_tables_sort_and_filter(html: Path) -> None:
    """Catches numbers that are sorted as text, and rows of other points."""
    with opened(html, WIDE) as tab:
        heading = tab.locator("#table th", has_text="mean latency")
        heading.locator("button").click()
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == "descending"
        column = tab.eval_on_selector_all(
            "#table th", "all => all.findIndex(one => one.innerText.includes('mean latency'))"
        )
        texts = tab.eval_on_selector_all(
            "#table tbody tr", f"all => all.map(row => row.children[{column}].firstChild.data)"
        )
        values = [float(text.replace(",", "")) for text in texts]
        assert len(values) == 4
        assert values == sorted(values, reverse=True)
        tab.fill("#filter", "far 0.2")
        assert tab.locator("#table tbody tr").count() == 1
        assert tab.locator("#count").inner_text() == "1 of 4 points"
        total = tab.locator("#changes tbody tr").count()
        tab.check("#only")
        assert 0 < tab.locator("#changes tbody tr").count() < total


def wait_until(tab: Any, expression: str) -> None:
    """Polls an expression in the page: its policy forbids the function that Playwright would poll by itself."""
    for _ in range(300):
        if tab.evaluate(expression):
            return
        tab.wait_for_timeout(100)
    pytest.fail(f"not true within 30 s: {expression}")


#: The first figure of the page, as BokehJS holds it.
FIGURE = "[...Bokeh.index.roots].find(one => one.model.type === 'Figure')"
#: What the points of the figure are drawn from.
POINTS = f"{FIGURE}.model.renderers.find(one => one.glyph.type === 'Scatter').data_source.data"
#: How many of its lines have points.
LINES = f"new Set({POINTS}.name).size"
#: Where on the screen the second point of its first line is.
PLACE = f"""() => {{
    const figure = {FIGURE}, held = {POINTS};
    const area = figure.canvas_view.el.getBoundingClientRect(), frame = figure.frame;
    return [area.x + frame.x_scale.compute(held.x[1]), area.y + frame.y_scale.compute(held.y[1]), held.words[1]];
}}"""


def test_curves_are_drawn_hidden_and_hovered(html: Path) -> None:
    """Catches an empty canvas, a line that cannot be hidden, and a hover that shows nothing or another point."""
    with opened(html, WIDE) as tab:
        assert tab.evaluate(LINES) == 2
        tab.locator("#charts").scroll_into_view_if_needed()
        x, y, words = tab.evaluate(PLACE)
        assert " ± " in words
        tab.mouse.move(x - 4, y)
        tab.mouse.move(x, y)
        tab.get_by_text(words).first.wait_for(timeout=30_000)
        tab.locator(".chip").first.click()
        wait_until(tab, f"{LINES} === 1")
        assert tab.locator(".chip").first.get_attribute("aria-pressed") == "false"
        tab.locator(".chip").first.dblclick()
        wait_until(tab, f"{LINES} === 1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_every_window_and_theme(html: Path, viewport: dict[str, int], scheme: str) -> None:
    """Catches a page wider than its window, charts wider than their boxes, heat maps that are not drawn, and text that
    cannot be read."""
    with opened(html, viewport, scheme) as tab:
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        wider = "all => all.some(one => one.scrollWidth > one.parentElement.clientWidth + 1)"
        assert not tab.eval_on_selector_all(".chart .plot", wider)
        ink, paper = (tab.evaluate(f"getComputedStyle(document.body).{name}") for name in ("color", "backgroundColor"))
        brightness = [sum(map(int, re.findall(r"\d+", text)[:3])) for text in (ink, paper)]
        assert abs(brightness[0] - brightness[1]) > 450
        assert (brightness[1] > brightness[0]) is (scheme == "light")
        tab.locator("#channels").scroll_into_view_if_needed()
        drawn = (
            "[...Bokeh.index.roots].filter(one => one.model.renderers?.some(own => own.glyph.type === 'Rect')).length"
        )
        wait_until(tab, f"{drawn} === 4")
        tab.select_option("#place", "3")
        wait_until(tab, f"{drawn} === 4")
        assert tab.locator("#classes tbody tr").count() == 4


def test_every_machine_of_a_sweep_is_drawn(tmp_path: Path) -> None:
    """Catches one drawing for several machines, also where they have a label, which is then the axis."""
    machines: list[dict[str, Any]] = [{"kind": "torus", "dims": [4]}, {"kind": "mesh", "dims": [4]}]
    for sweep in ({"zip": [{"label": ["ring", "line"], "topology": machines}]}, {"topology": machines}):
        results = ct.run(
            topology=machines[0],
            link={"bandwidth": "100 Gb/s", "delay": "20 ns"},
            workload={"kind": "exchange", "volume": "8 KiB"},
            sweep=sweep,
            directory=tmp_path / ("zipped" if "zip" in sweep else "plain"),
        )
        assert [name.split()[0] for name, _ in page.drawn(results)] == ["torus", "mesh"]
