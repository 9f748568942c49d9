"""Words of other tools and of vendors: what stands for them here, or that they are not modelled."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cache

__all__ = ["PAGE", "WORDS", "Word", "find", "near", "plain"]

#: The page that lists what is not modelled.
PAGE = "docs/not-modelled.md"
#: A network of any shape.
EDGE_LIST = 'There is no generator: write its wires as an edge list for kind = "file".'


@dataclass(frozen=True)
class Word:
    """A word that the experiment file does not have.

    Attributes:
        names: The word and its other spellings.
        keys: Dotted names that model it, as `cutthrough explain` takes them; empty if it is not modelled.
        doc: What models it, or the nearest thing that is modelled.
    """

    names: tuple[str, ...]
    keys: tuple[str, ...]
    doc: str

    @property
    def is_modelled(self) -> bool:
        """Whether a key stands for it."""
        return bool(self.keys)


#: Every word; modelled ones first.
WORDS = (
    Word(
        ("SHARP", "in-network computing", "in-network reduction", "NVLink SHARP", "NVLS", "nvls-in-switch"),
        ("in_switch", "workload.program.collective.algorithm"),
        'Collective operations in switches: `algorithm = "in-switch"` by one network, `nvls` as in NVLink SHARP, and '
        "`nvls-ring`, `nvls-doubling`, `nvls-tree` or `nvls-in-switch` by islands and all rails. `[in_switch]` has the "
        "limits of switches.",
    ),
    Word(
        ("double-tree", "double binary tree", "PAT", "NCCL_PROTO", "LL128", "PXN"),
        ("workload.program.nccl", "workload.program.collective.algorithm", "relay"),
        "`nccl` has the protocols and channels of NCCL, and `algorithm` its trees. A `[relay]` passes messages on to "
        "another rail.",
    ),
    Word(
        ("NVLink", "NVSwitch", "NVLink domain", "scale-up", "scale-up network", "xGMI", "Infinity Fabric", "UALink"),
        ("node.name", "node.memory"),
        'Links between the GPUs of a server: a `[[network]]` of islands, which `node.name = "dgx-h100"` and the like '
        "have. `[node.memory]` is one bandwidth that the ranks of a node share.",
    ),
    Word(
        ("energy", "TCO", "capex", "bill of materials"),
        ("cost",),
        "`analyze` adds up prices and powers of switches, cables and interfaces (`[cost]`). Energy in use does not "
        "depend on traffic and is not computed.",
    ),
    Word(
        ("cable length", "cabling", "AOC", "DAC", "floor plan", "rack layout"),
        ("layout", "cost.copper", "cost.optical"),
        "`[layout]` puts routers and nodes into racks and rows, and `analyze` gives the lengths of cables. Delays "
        "follow from lengths if `link.delay` is left out.",
    ),
    Word(
        ("rail", "rail-optimized", "multi-rail"),
        ("topology.planes", "nic.rails"),
        "A node's interface into one of several equal networks: `planes` copies the topology, `[nic.rails]` "
        "chooses the rail of a message.",
    ),
    Word(
        ("spray", "spraying", "packet spraying", "adaptive spraying", "per-packet load balancing"),
        ("routing.shortest-path.ties", "routing.random-up-down", "routing.round-robin-up-down"),
        'Packets of a flow on several paths: `ties = "random"`, `"round-robin"` or `"least-loaded"`, and on trees '
        "`random-up-down`, `round-robin-up-down` or `adaptive-up-down`. Messages are delivered whole; reordering costs "
        "nothing.",
    ),
    Word(
        ("equal-cost multi-path", "flow hashing", "per-flow hashing", "hash polarization"),
        ("routing.ecmp",),
        "A hash of source, destination and one of `flows` numbers chooses one shortest path for all packets of a flow.",
    ),
    Word(
        ("adaptive routing", "AR"),
        (
            "routing.adaptive-up-down",
            "routing.minimal-adaptive",
            "routing.ugal-l",
            "routing.slingshot",
            "routing.aries",
            "routing.polarized",
            "routing.dal",
            "routing.dim-war",
            "routing.shortest-path.ties",
        ),
        "UGAL, PAR, `slingshot` and `aries` choose between direct paths and detours on any network but trees, "
        "polarized routing among ports. DimWAR and DAL are for HyperX. On any network `ties = "
        '"least-loaded"` chooses among shortest paths.',
    ),
    Word(
        ("Clos", "folded Clos", "spine-leaf"),
        ("topology.leaf-spine", "topology.xgft", "topology.fat-tree"),
        "`leaf-spine` has two levels of switches, `xgft` any number, full or tapered. `fat-tree` is a k-ary n-tree: "
        "equal switches and full bisection bandwidth.",
    ),
    Word(
        ("hypercube",),
        ("topology.mesh",),
        "A mesh with two routers in each dimension: `dims = [2, 2, 2, 2]`.",
    ),
    Word(
        ("RCCL", "collective communication", "all-to-all traffic"),
        ("workload.program.collective", "workload.collectives"),
        '`kind = "collective"` with the algorithm by name, as in `algorithm = "ring"`; `cutthrough list '
        "collectives` has them. With `nccl`, NCCL's tuning model chooses.",
    ),
    Word(
        ("data parallel", "tensor parallel", "pipeline parallel", "expert parallel", "MoE", "FSDP", "ZeRO", "LLM"),
        ("workload.program.training",),
        "A training step with tensor, pipeline, expert and data parallelism. Sharded optimizers are recorded or "
        "Chakra programs.",
    ),
    Word(
        ("PCIe", "PCI Express"),
        ("nic.bus",),
        "The bus between a node's memory and its interface.",
    ),
    Word(
        ("GPUs", "accelerator"),
        ("placement.contiguous.processes_per_node", "node.memory"),
        "A rank stands for a GPU: `processes_per_node` of them share a node, whose memory is `[node.memory]`.",
    ),
    Word(
        ("flow control", "lossless", "backpressure"),
        ("router.buffer",),
        "Credits for each virtual channel; `[router] buffer` is the room that they stand for.",
    ),
    Word(
        ("oversubscription", "taper", "tapering", "tapered", "oversubscribed", "blocking factor"),
        ("topology.xgft", "topology.leaf-spine", "link.NAME"),
        "A tree whose switches have fewer wires up than down (`xgft`, `leaf-spine`), or slower ones: a class of wires "
        "has its own bandwidth.",
    ),
    Word(
        ("VOQ", "iSLIP", "crossbar scheduler", "sw_allocator", "vc_allocator"),
        ("router.virtual-output-queued", "router.arbitration"),
        "`virtual-output-queued` routers have a queue for each output at each input and match them by iSLIP "
        "(`iterations`); other kinds choose by `arbitration`.",
    ),
    Word(
        ("virtual lane", "virtual lanes", "VL", "VLs", "virtual channel", "virtual channels", "num_vcs"),
        ("router.vcs",),
        "Virtual channels of each input, which routings use against deadlock. No class of traffic has a channel that "
        "others may not take.",
    ),
    Word(
        ("IB", "HDR", "XDR", "Quantum", "ConnectX", "HCA"),
        ("nic.infiniband", "nic.ndr", "topology.file"),
        "Interfaces of InfiniBand are kinds of `[nic]`. A dump of ibnetdiscover is a machine for `cutthrough map` and "
        "a topology of kind `file`.",
    ),
    Word(
        ("UGAL", "Valiant", "non-minimal routing", "VLB"),
        ("routing.ugal-l", "routing.ugal-g", "routing.par", "routing.valiant-group", "routing.valiant-node"),
        "Detours by way of a random router on any network but trees, and by way of a random group on dragonflies.",
    ),
    Word(
        ("DOR", "XY routing", "dim_order", "e-cube"),
        ("routing.dimension-order",),
        "Dimension order on tori, meshes and HyperX.",
    ),
    Word(
        ("LFT", "forwarding table", "linear forwarding table", "static routing"),
        ("routing.table",),
        "A file with the ports of each destination at each router.",
    ),
    Word(
        ("destination-mod-k", "d-mod-k routing"),
        ("routing.d-mod-k", "routing.ftree"),
        "Destination-based routing of fat-trees. A real subnet's own tables are routing of kind `table`.",
    ),
    Word(
        ("OpenSM", "subnet manager", "LMC"),
        (
            "routing.minhop",
            "routing.updn",
            "routing.ftree",
            "routing.lash",
            "routing.dfsssp",
            "routing.nue",
            "routing.table",
        ),
        "`minhop`, `updn`, `ftree`, `lash`, `dfsssp` and `nue` make tables as OpenSM's engines do. Tables of other "
        "engines are read by kind `table`, which has one port for each destination.",
    ),
    Word(
        ("injection_rate", "offered load"),
        ("workload.load", "workload.injection"),
        "Load as a share of a node's bandwidth, and how sources space their messages.",
    ),
    Word(
        ("vc_buf_size", "buf_size", "buffer depth", "input_buf_size"),
        ("router.buffer",),
        "Room of a virtual channel, in packets or bytes.",
    ),
    Word(
        ("MTU", "flit_size", "xbar_flit_size"),
        ("workload.packet_size",),
        "The largest packet; messages are cut into packets.",
    ),
    Word(
        ("warmup_periods", "sample_period", "max_samples"),
        ("measure.warm_up", "measure.precision", "measure.max_time"),
        "The warm-up is detected, or has a time; a run ends at its precision or after `max_time`.",
    ),
    Word(
        ("anynet", "network_file", "custom topology"),
        ("topology.file",),
        "A topology of kind `file`: an edge list `link A B`, `node A`.",
    ),
    Word(
        ("cmesh", "concentrated mesh", "concentration"),
        ("topology.mesh.nodes_per_router",),
        "Several nodes at each router.",
    ),
    Word(
        ("dynamic threshold", "DT", "DT alpha", "shared memory switch"),
        ("router.shared-buffer",),
        "One memory for all outputs of a router, with thresholds of Choudhury and Hahne (`alpha`).",
    ),
    Word(
        ("straggler", "OS noise", "jitter", "slow node"),
        ("node.noise", "node.speeds"),
        "Interruptions of processors, and relative speeds of processors.",
    ),
    Word(
        ("QP", "queue pair", "queue pairs", "SRQ"),
        ("nic.connections",),
        "Connections of ranks: their set-up, their memory, and how many the interface caches.",
    ),
    Word(
        ("memory registration", "pinning", "rcache", "MR cache"),
        ("nic.registration",),
        "Time to register memory with the interface, and time of each page.",
    ),
    Word(
        ("NCCL_ALGO", "all-reduce algorithm", "OMPI_MCA_coll_tuned", "tuning file"),
        ("workload.program.collective.algorithm", "workload.program.collective.selection"),
        "`algorithm` names one; `selection` is a file of rules for `auto`.",
    ),
    Word(
        ("Ember", "motif", "Firefly", "halo exchange", "sweep3d"),
        ("workload.program.halo-3d", "workload.program.sweep", "workload.exchange"),
        "Motifs of SST/macro and Ember are kinds of `[workload.program]`.",
    ),
    Word(
        ("ASTRA-sim", "execution trace", "PyTorch trace", "Kineto"),
        ("workload.program.chakra",),
        "Chakra traces, in protobuf or JSON; PyTorch's host traces too.",
    ),
    Word(
        ("credit loop", "deadlock", "VC dependency"),
        ("measure.unproven",),
        "`check` and `run` prove that packets cannot deadlock; `unproven` starts a run without the proof.",
    ),
    Word(
        ("congestion control", "DCQCN", "HPCC", "TIMELY", "Swift", "DCTCP", "TCP", "CNP", "rate limiting"),
        (),
        'Laws of rates are not modelled. `pacer = { kind = "window" }` limits the bytes of a flow in the network.',
    ),
    Word(
        ("ECN", "explicit congestion notification", "marking", "RED", "FECN", "BECN", "CSIG"),
        (),
        'Switches mark no packets. `pacer = { kind = "window" }` limits the bytes of a flow in the network.',
    ),
    Word(
        ("PFC", "priority flow control", "pause", "pause frame", "pause frames", "headroom", "watchdog"),
        (),
        "Switches grant credits instead of sending pause frames; no packet is lost in either. `router.buffer` and "
        "the kind `shared-buffer` are the room of switches.",
    ),
    Word(
        ("flowlet", "flowlets", "WCMP", "PLB"),
        (),
        "Hashes of flows (`ecmp`) neither change during a run nor have weights. Kind `table` gives a pair any path "
        'that you choose, and `ties = "random"` spreads packets.',
    ),
    Word(
        ("RoCE", "RoCEv2", "Ultra Ethernet", "UEC", "UET", "iWARP"),
        (),
        "A lossless Ethernet is a network with credits here: give `[link]` its bandwidth and `[nic]` its "
        "interface. Headers, priorities, marking, rates and retransmission are not modelled.",
    ),
    Word(
        ("RDMA", "verbs", "GPUDirect"),
        (),
        "Interfaces read and write memory by themselves where `[nic.dma]` or `[nic.rendezvous]` says so; one-sided "
        "calls of programs (MPI_Put, MPI_Get) are not replayed.",
    ),
    Word(
        (
            "packet loss",
            "loss",
            "drop",
            "drops",
            "retransmission",
            "go-back-N",
            "selective repeat",
            "lossy",
            "BER",
            "FEC",
        ),
        (),
        "Links and routers lose no packet, and nothing is sent again.",
    ),
    Word(
        (
            "failure",
            "failures",
            "fault",
            "faults",
            "link failure",
            "link flap",
            "flap",
            "flapping",
            "outage",
            "degraded link",
        ),
        (),
        "Every wire and router works for all of a run. A network without some wires, or with slower ones, is an "
        'edge list (`kind = "file"`).',
    ),
    Word(
        ("QoS", "priority", "priorities", "traffic class", "service level", "DSCP", "WRR", "strict priority"),
        (),
        "All packets have one class of service. Jobs share links by arbitration alone.",
    ),
    Word(
        ("Hamming graph", "flattened butterfly"),
        ("topology.hyperx", "topology.dragonfly.group"),
        "A grid in which the routers of every line are wired to one another: `hyperx`. A group of a dragonfly may be a "
        "flattened butterfly.",
    ),
    Word(
        ("MMS graph", "McKay-Miller-Siran graph"),
        ("topology.slim-fly",),
        "The graphs of diameter 2 of `slim-fly`, one for each power of a prime.",
    ),
    Word(
        ("Erdos-Renyi polarity graph", "polarity graph", "projective plane"),
        ("topology.polarfly",),
        "The graphs of diameter 2 of `polarfly`, one for each power of a prime.",
    ),
    Word(("PolarStar", "Bundlefly"), ("topology.file",), EDGE_LIST),
    Word(
        ("dragonfly+", "Megafly"),
        ("topology.dragonfly-plus",),
        "A dragonfly whose groups have leaf and spine routers: `dragonfly-plus`.",
    ),
    Word(
        ("random regular graph", "Xpander", "expander"),
        ("topology.jellyfish", "topology.file"),
        "A random regular graph is a `jellyfish`. Other expanders are edge lists.",
    ),
    Word(
        ("PGFT", "tapered tree", "tapered fat-tree", "SlimTree"),
        ("topology.xgft", "topology.leaf-spine"),
        "A level of an `xgft` is tapered where a switch has fewer wires up than down; 2:1 has half as many. Wires to a "
        "parent may be parallel (`p`).",
    ),
    Word(("BCube", "DCell", "FatClique", "hypermesh"), ("topology.file",), EDGE_LIST),
    Word(
        ("OCS", "optical circuit switch", "circuit switching", "reconfigurable network", "TopoOpt"),
        (),
        "Wires do not change during a run. Several networks in turn are points of a sweep.",
    ),
    Word(
        ("VLAN", "VXLAN", "SR-IOV", "partition key", "PKey", "tenant"),
        (),
        "All nodes share one network without virtual ones. `[[job]]` gives jobs their nodes.",
    ),
    Word(
        ("ETS", "DWRR", "QoS weights", "bandwidth reservation"),
        (),
        "No job or packet has a weight. Jobs share links by arbitration alone.",
    ),
    Word(
        ("ROMM", "Chaos", "FTDOR", "OmniWAR"),
        (),
        'Not among the routings; kind = "table" has any fixed path.',
    ),
    Word(
        ("reordering", "in-order delivery", "out-of-order", "DDP"),
        (),
        "Packets of a message arrive in any order at no cost; a message is delivered whole.",
    ),
    Word(
        ("storage", "Lustre", "I/O", "NVMe-oF", "GPFS"),
        (),
        "Neither disks nor file systems; their traffic is a job with a workload of its own.",
    ),
    Word(
        ("wormhole", "flit", "flits"),
        (),
        "Packets are switched whole by virtual cut-through, and buffers hold whole packets.",
    ),
    Word(
        ("CXL", "cache coherence", "shared memory"), (), "Nodes exchange messages; loads and stores are not modelled."
    ),
    Word(
        ("scheduler", "queueing of jobs", "backfilling"),
        (),
        "Jobs have fixed nodes and times. `[[job]]` places several on one machine.",
    ),
)


def plain(text: str) -> str:
    """A spelling without case, blanks, hyphens and underscores."""
    return re.sub(r"[\s_-]+", "", text.casefold())


@cache
def _by_name() -> dict[str, Word]:
    return {plain(name): word for word in WORDS for name in word.names}


def find(text: str) -> Word | None:
    """The word of a spelling: of the whole text, or of its last part (`topology.megafly`)."""
    held = _by_name()
    return held.get(plain(text)) or held.get(plain(text.rpartition(".")[2]))


def near(text: str, most: int) -> list[str]:
    """Words that are spelled almost so."""
    names = {plain(name): name for word in WORDS for name in word.names}
    return [names[name] for name in difflib.get_close_matches(plain(text), names, most, 0.8)]
