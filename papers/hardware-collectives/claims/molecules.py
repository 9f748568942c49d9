"""Section 4: the synthetic molecular dynamics benchmark, figures 17 and 18."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.reproduce import Expect, Planned, average, claim

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.reproduce import Claim
    from cutthrough.results import Results
    from matplotlib.figure import Figure

#: Networks by ports, and the figure of each.
NETWORKS = {8: (17, {"topology.k": 4, "topology.n": 4}), 32: (18, {})}


def molecules_plan(varies: frozenset[str]) -> dict[str, Planned]:
    """Returns all multicasts at once, on either network. A run of a draw is exact."""
    return {f"md {ports} ports": Planned("md", dict(keys), varies) for ports, (_, keys) in NETWORKS.items()}


def _times(results: Mapping[str, Results], ports: int) -> dict[str, list[float]]:
    """Returns by copier the time until the last copy has arrived, for each draw, in nanoseconds."""
    times: dict[str, list[float]] = {"hardware": [], "software": []}
    for point in results[f"md {ports} ports"]:
        times[point["workload.collectives"]].append(float(point["time_ns"]))
    return times


def molecule_claims(results: Mapping[str, Results]) -> list[Claim]:
    """Returns the claims of section 4 on both networks."""
    saved = {}
    for ports in NETWORKS:
        times = _times(results, ports)
        saved[ports] = [software - hardware for hardware, software in zip(*times.values(), strict=True)]
    made = []
    for ports, (figure, _) in NETWORKS.items():
        here, interval = average(saved[ports])
        made.append(
            claim(
                f"md-{ports}-port {figure}",
                "clearly show the advantage of hardware multicast",
                f"{ports}-port: time of the last copy that hardware multicast saves",
                "> 0",
                here,
                Expect.above(0, interval),
                unit="ns",
                interval=interval,
            )
        )
    ratio, interval = average([narrow / wide for narrow, wide in zip(saved[8], saved[32], strict=True)])
    made.append(
        claim(
            "md-more-on-8-port 17, 18",
            "hardware multicast has more performance gains",
            "time saved with 8 ports over that with 32",
            "> 1",
            ratio,
            Expect.above(1, interval),
            interval=interval,
        )
    )
    return made


def draw_molecules(results: Mapping[str, Results]) -> dict[str, Figure]:
    """Draws figures 17 and 18: the time of the last copy by copier, draw by draw."""
    from matplotlib.figure import Figure

    drawn = {}
    for ports, (number, _) in NETWORKS.items():
        figure = Figure(figsize=(6.4, 4.4))
        axes = figure.add_subplot()
        for place, (carrier, times) in enumerate(_times(results, ports).items()):
            places = [draw + (place - 0.5) * 0.4 for draw in range(1, len(times) + 1)]
            axes.bar(places, [time / 1000 for time in times], 0.38, color=f"C{place}", label=carrier)
        axes.set_xlabel("Draw of 16 senders and their destinations")
        axes.set_ylabel("Time of the last copy (µs)")
        axes.set_title(f"16 simultaneous multicasts of average fanout 16, {ports}-port switches")
        axes.legend()
        drawn[f"figure-{number}"] = figure
    return drawn
