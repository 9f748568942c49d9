"""Upgrades of a network, its worst permutation and random pairings (`analyze`), for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutthrough.display.tables import Column, Fitted
from cutthrough.display.units import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["bisection_line", "cable_line", "upgrades_table", "worst_line"]


def upgrades_table(upgrades: Mapping[str, Any]) -> Fitted:
    """Returns one line a class of cables: the bound if the class is doubled."""
    rows = upgrades["classes"]
    columns = [
        Column("doubled cables", [row["class"] for row in rows], is_text=True),
        Column("more cables", [f"{row['cables']:,}" for row in rows]),
        Column("bound", [f"{row['bandwidth_bound']:.4f}" for row in rows]),
        Column("gain", [f"{row['gain']:+.4f}" for row in rows]),
    ]
    return Fitted(columns, "Upgrades (routes unchanged)", elsewhere="`--json` has them.")


def cable_line(upgrades: Mapping[str, Any]) -> str:
    """Returns the single cable whose doubling raises the bound most, in a sentence."""
    cable, full = upgrades["cable"], upgrades["full_cables"]
    if cable is None:
        reason = f"{counted(full, 'cable')} are equally full" if full else "nodes cannot send faster"
        return f"No single cable raises the bound: {reason}."
    return (
        f"Best single cable: {cable['channel']} ({cable['class']}), bound {cable['bandwidth_bound']:.4f} "
        f"({cable['gain']:+.4f})"
    )


def worst_line(case: Mapping[str, Any]) -> str:
    """Returns the worst permutation's bound and its fullest channel, in a sentence."""
    share = "" if case["exact"] else ", whose flows are spread evenly over the candidates of each hop"
    head = f"Worst permutation for {case['routing']}{share}: bound {case['throughput_bound']:.4f}"
    if case["channel"] is None:
        return f"{head}; no packet leaves its router"
    return f"{head}, {case['load']:.4g} on {case['channel']} ({case['class']})"


def bisection_line(found: Mapping[str, Any]) -> str:
    """Returns the effective bisection bandwidth with its confidence interval, in a sentence."""
    share = "" if found["exact"] else ", flows spread evenly over the candidates of each hop"
    width = "" if found["half_width"] is None else f" ± {found['half_width']:.4f}"
    return (
        f"Effective bisection bandwidth ({counted(found['pairings'], 'random pairing')}, {found['routing']}{share}): "
        f"{found['mean']:.4f}{width} of an injection link; least pairing {found['least']:.4f}, "
        f"least flow {found['least_flow']:.4f}"
    )
