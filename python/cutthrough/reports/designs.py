"""Parts and costs of designs (`analyze`), for the terminal and as a table of one row a design."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from cutthrough.display.tables import Column, Fitted
from cutthrough.display.units import Unit, brief, cells_of, counted, plain_number, shown
from cutthrough.points.series import brief_labels, label_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["cables_table", "cost_lines", "designs_csv", "designs_table", "parts_line"]

#: Units of electrical power, the largest first.
WATTS = (Unit("MW", 1e6), Unit("kW", 1e3), Unit("W", 1.0), Unit("mW", 1e-3))
#: Bandwidth for a unit of price.
PER_PRICE = "bound_B_per_s_per_price"


def parts_line(design: Mapping[str, Any]) -> str:
    """Returns the numbers of nodes, switches and free ports of a design, in a sentence."""
    kinds = [
        f"{own['switches']:,} with {own['connected']:,} of {counted(own['ports'], 'port')} connected"
        for own in design["switches_by_ports"]
    ]
    nodes = counted(design["nodes"], "node")
    nodes += f" with {counted(design['interfaces'], 'interface')}" if design["interfaces"] != design["nodes"] else ""
    racks = f", {counted(design['racks'], 'rack')}" if "racks" in design else ""
    return (
        f"Design: {nodes}, {counted(design['switches'], 'switch', 'switches')} ({', '.join(kinds)}), "
        f"{counted(design['free_ports'], 'free port')}{racks}"
    )


def cables_table(design: Mapping[str, Any]) -> Fitted:
    """Returns the cables of a design by class, with their lengths if it has a layout."""
    rows = [*design["cables_by_class"], {**design, "class": "all"}]
    columns = [
        Column("cables", [row["class"] for row in rows], is_text=True),
        Column("number", [f"{row['cables']:,}" for row in rows]),
    ]
    if "length_m" in design:
        columns += [
            Column("optical", [f"{row['optical']:,}" for row in rows]),
            Column("length m", [f"{row['length_m']:,.1f}" for row in rows], 1),
            Column("mean m", [f"{row['length_mean_m']:,.2f}" for row in rows]),
            Column("longest m", [f"{row['length_max_m']:,.2f}" for row in rows]),
        ]
    return Fitted(columns, elsewhere="`--json` has them.")


def cost_lines(design: Mapping[str, Any]) -> list[str]:
    """Returns the price, the power and the bandwidth of a design, in a sentence each. Nothing without `[cost]`."""
    if "price" not in design:
        return []
    price, power = design["price"], design["power_W"]
    lines, rates = [], []
    if price > 0.0:
        parts = [f"{part} {plain_number(design[f'price_{part}'], 6)}" for part in ("switches", "cables", "interfaces")]
        node = plain_number(design["price_per_node"], 6)
        lines.append(f"Price: {plain_number(price, 6)} ({', '.join(parts)}), {node} a node")
        rates.append(f"{shown('bound_B_per_s', design[PER_PRICE])} for each unit of the price")
    if power > 0.0:
        lines.append(f"Power: {brief(power, WATTS)}, {brief(design['power_per_node_W'], WATTS)} a node")
        rates.append(f"{shown('bound_B_per_s', design['bound_B_per_s_per_W'])} for each watt")
    bound = shown("bound_B_per_s", design["bound_B_per_s"])
    return [*lines, f"Bandwidth at the bound: {', '.join([bound, *rates])}"]


def designs_table(points: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> Fitted:
    """Returns one line a design: its sweep keys, its parts, its cost, and the load at which it saturates."""
    columns = []
    for axis in axes:
        labels = brief_labels([point.get(axis) for point in points])
        cells = [labels[label_of(point.get(axis))] for point in points]
        columns.append(Column(axis.rsplit(".", 1)[-1], cells, is_text=True))
    designs = [point["design"] for point in points]

    def column(key: str, heading: str, written: Callable[[float], str], rank: int = 0) -> None:
        values = [design.get(key) for design in designs]
        if any(values):
            cells = ["-" if value is None else written(value) for value in values]
            columns.append(Column(heading, cells, rank))

    whole, tenths = "{:,.0f}".format, "{:,.1f}".format
    column("nodes", "nodes", whole)
    column("switches", "switches", whole)
    column("free_ports", "free ports", whole, 6)
    column("cables", "cables", whole, 1)
    column("optical", "optical", whole, 2)
    column("length_mean_m", "mean m", tenths, 4)
    column("racks", "racks", whole, 8)
    column("price", "price", whole, 7)
    column("price_per_node", "price/node", whole)
    column("power_per_node_W", "W/node", tenths, 3)
    columns.append(Column("bound", [f"{point['throughput_bound']:.3f}" for point in points]))
    if any(design.get(PER_PRICE) for design in designs):
        unit, cells = cells_of("bound_B_per_s", "{:,.0f}", [design.get(PER_PRICE) for design in designs])
        columns.append(Column(f"{unit or 'B/s'}/price", cells, 5))
    return Fitted(columns, "Designs", elsewhere="`--json` has them.")


def designs_csv(points: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> str:
    """Returns a CSV table of one row a design: its sweep keys, `throughput_bound`, and its parts and costs."""
    rows = []
    for point in points:
        design = point["design"]
        row = {axis: label_of(point.get(axis)) for axis in axes}
        row["throughput_bound"] = point["throughput_bound"]
        row |= {key: value for key, value in design.items() if not isinstance(value, list)}
        row |= {f"cables.{own['class']}": own["cables"] for own in design["cables_by_class"]}
        rows.append(row)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
