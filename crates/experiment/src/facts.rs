//! Facts about an experiment that rules beside keys name (`x-rules`; the forms of rules are in `../config/src/rule.rs`).

use config::Fact;

use crate::spec::ExperimentSpec;

/// Rule of keys that only workloads of ranks have.
pub(crate) const RANKS: [&str; 1] = ["requires ranks that send and receive"];

/// The facts.
pub(crate) const FACTS: [Fact<ExperimentSpec>; 4] = [
    Fact {
        phrase: "ranks that send and receive",
        help: "workloads of kind \"benchmark\" and \"program\", and message-driven applications, have them",
        holds: ExperimentSpec::has_ranks,
    },
    Fact {
        phrase: "overheads that occupy processors",
        help: "set `nic.occupies = true`; overheads that are latency take no processor",
        holds: |spec| spec.nic.occupies(),
    },
    Fact { phrase: "several jobs", help: "", holds: |spec| spec.jobs.len() > 1 },
    Fact { phrase: "several planes", help: "", holds: |spec| spec.topology.planes > 1 },
];
