"""Figure 11: scaling of LAMMPS on three of the networks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from cutthrough.reproduce import Expect, Planned, claim

from .pairs import SLIGHT
from .runs import ELAN, IB, INFINIPATH, MACHINES, NAMES, OF_COMPUTATION, VARIED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cutthrough.reproduce import Claim
    from cutthrough.results import Results
    from matplotlib.figure import Figure

#: The networks of figure 11: XD1 is not among them.
PLATFORMS = (INFINIPATH, ELAN, IB)
#: Hosts of each network: clocks over those of the Opterons, and half of the bandwidth of memory (table 1).
HOSTS: dict[str, dict[str, Any]] = {
    INFINIPATH: {},
    ELAN: {"node.memory.bandwidth": "2.66 GB/s"},
    IB: {"node.speeds": [3.4 / 2.2]},
}
VERSIONS = {"fortran-2001": "2001", "cpp-2005": "2005"}
DECKS = {"lj": "LJ", "stouch": "Stouch"}
PROCESSES = (1, 2)
NODES = (1, 2, 4, 8, 16, 32, 64, 128)
NODES_QUICK = (1, 2, 4, 8, 16)
NODES_VARIED = (1, 8)
#: Number of nodes from which InfiniPath is said to fall behind.
BEHIND_FROM = 8
#: The runs in which InfiniPath falls behind. The others are "the runs" of the paper's next sentence.
BEHIND = ("fortran-2001", 1)


@dataclass(frozen=True)
class Run:
    """A series of LAMMPS runs over numbers of nodes.

    Attributes:
        version: The version of the code.
        deck: The simulated system.
        processes: Ranks on a node.
        network: The platform.
    """

    version: str
    deck: str
    processes: int
    network: str

    def name(self, nodes: int) -> str:
        """Returns the name of a run on `nodes` nodes."""
        return f"lammps/{self.version}/{self.deck}/{self.processes}/{self.network}/{nodes}"

    def on(self, nodes: int) -> Planned:
        """Returns a run on `nodes` nodes."""
        keys: dict[str, Any] = {
            "nic.kind": self.network,
            **MACHINES[self.network],
            **HOSTS[self.network],
            "topology.ports": nodes,
            "placement.processes_per_node": self.processes,
            "workload.program.version": self.version,
            "workload.program.deck": self.deck,
        }
        of_hosts = OF_COMPUTATION.get(self.network, frozenset())
        return Planned("lammps", keys, VARIED[self.network] | OF_COMPUTATION[self.deck] | of_hosts)

    def efficiencies(self, results: Mapping[str, Results]) -> dict[int, float]:
        """Returns the time on one node over the time on more, by number of nodes."""
        times = {
            nodes: results[self.name(nodes)].points[0]["time_ns"] for nodes in NODES if self.name(nodes) in results
        }
        return {nodes: times[1] / time for nodes, time in times.items()} if 1 in times else {}


def molecular_plan(nodes: Iterable[int]) -> dict[str, Planned]:
    """Returns the runs of figure 11 on numbers of nodes."""
    return {
        run.name(count): run.on(count)
        for version in VERSIONS
        for deck in DECKS
        for processes in PROCESSES
        for run in (Run(version, deck, processes, network) for network in PLATFORMS)
        for count in nodes
    }


@dataclass(frozen=True)
class Panel:
    """The efficiencies of the platforms, in one version, deck and number of ranks a node."""

    version: str
    deck: str
    processes: int
    of: dict[str, dict[int, float]]

    @property
    def is_behind(self) -> bool:
        """Whether InfiniPath is said to fall behind in this panel."""
        return (self.version, self.processes) == BEHIND

    def ratios(self, network: str) -> dict[int, float]:
        """Returns the efficiency of a platform over the least of the others', by number of nodes."""
        others = [held for other, held in self.of.items() if other != network]
        return {
            nodes: own / min(held[nodes] for held in others) for nodes, own in self.of[network].items() if nodes > 1
        }

    def spread(self) -> float:
        """Returns the least efficiency over the greatest, at the worst number of nodes."""
        held = list(self.of.values())
        return min(min(one[nodes] for one in held) / max(one[nodes] for one in held) for nodes in held[0])


def panels(results: Mapping[str, Results]) -> list[Panel]:
    """Returns the panels that have results."""
    found = []
    for version in VERSIONS:
        for deck in DECKS:
            for processes in PROCESSES:
                runs = {network: Run(version, deck, processes, network) for network in PLATFORMS}
                held = {network: run.efficiencies(results) for network, run in runs.items()}
                if all(held.values()):
                    found.append(Panel(version, deck, processes, held))
    return found


def molecular_claims(results: Mapping[str, Results]) -> Iterable[Claim]:
    """Yields the claims on figure 11, for each deck."""
    for deck, title in DECKS.items():
        held = [panel for panel in panels(results) if panel.deck == deck]
        if not held:
            continue
        others = [panel for panel in held if not panel.is_behind]
        yield claim(
            f"lammps-scales-{deck} 11",
            "all scale reasonably well",
            f"LAMMPS, {title}: the least efficiency of all runs",
            "reasonably well",
            min(min(of.values()) for panel in held for of in panel.of.values()),
            Expect(low=0.7),
            unit="",
        )
        yield claim(f"lammps-close-{deck} 11", "the efficiency of the three systems is very similar",
                    f"LAMMPS, {title}: least efficiency over the greatest of the platforms, worst number of nodes",
                    "very similar", min(panel.spread() for panel in others), Expect(low=0.95))  # fmt: skip
        yield claim(
            f"lammps-ib-{deck} 11",
            "baseline IB system being slightly less than the other two systems",
            f"LAMMPS, {title}: InfiniBand's efficiency over the lesser of the others', highest of the other runs",
            "slightly < 1",
            max(max(panel.ratios(IB).values()) for panel in others),
            SLIGHT,
        )
        behind = [panel for panel in held if panel.is_behind]
        yield claim(
            f"lammps-infinipath-{deck} 11",
            "scale slightly better than the InfiniPath system",
            f"LAMMPS 2001, {title}, 1 rank a node: InfiniPath's efficiency over the others' lesser, from 8 nodes",
            "slightly < 1",
            max(ratio for panel in behind for nodes, ratio in panel.ratios(INFINIPATH).items() if nodes >= BEHIND_FROM),
            SLIGHT,
        )
        own = behind[0].of[INFINIPATH]
        if BEHIND_FROM // 2 in own:
            before, after = 1 - own[BEHIND_FROM // 2], own[BEHIND_FROM // 2] - own[BEHIND_FROM]
            yield claim(
                f"lammps-declines-{deck} 11",
                "which begins to decline at eight nodes",
                f"LAMMPS 2001, {title}, 1 rank a node: what InfiniPath loses from 4 to 8 nodes over that up to 4",
                "> 1",
                after / before,
                Expect.above(1),
            )


def molecular_figure(results: Mapping[str, Results]) -> Figure:
    """Draws figure 11: a panel for each version and number of ranks a node, a line for each platform and deck."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 7.6), layout="constrained")
    held = panels(results)
    for number, (version, processes) in enumerate(product(VERSIONS, PROCESSES)):
        axes = figure.add_subplot(2, 2, number + 1)
        for panel in held:
            if (panel.version, panel.processes) != (version, processes):
                continue
            for place, (network, of) in enumerate(panel.of.items()):
                style, marker = ("-", "o") if panel.deck == "lj" else ("--", "s")
                label = f"{NAMES[network]}, {DECKS[panel.deck]}"
                values = [100 * own for own in of.values()]
                # Open markers as well as dashes, since markers cover dashes where points are close.
                fill = "white" if panel.deck != "lj" else None
                axes.plot(list(of), values, style, color=f"C{place}", marker=marker, markerfacecolor=fill, label=label)
        axes.set_xscale("log", base=2)
        axes.set_title(f"LAMMPS {VERSIONS[version]}, {processes} a node")
        axes.set_xlabel("nodes")
        axes.set_ylabel("efficiency (%)")
    if figure.axes:
        # Below the panels, which curves fill. Handles are as long as three dashes, which distinguish the decks.
        lines, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(lines, labels, loc="outside lower center", ncols=len(DECKS), fontsize="small", handlelength=4.0)
    return figure
