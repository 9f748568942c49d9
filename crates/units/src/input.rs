//! Input files: every kind with its size limit, and the only way to open them.
//!
//! `INPUTS` is the source of the documentation's table of limits and of the tests of readers. A new reader names its
//! kind here: nothing else under `crates/` opens files, and Python takes its limits from this list.

use std::fs::File;
use std::io::{Error, Read};
use std::path::Path;

use crate::reason::reason;

/// Size limit of a pipe or a device, whose length is not known in advance, in bytes.
pub const MOST_OF_STREAM: u64 = 256 << 20;

/// Kind of input file, with its size limit and formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// The name in the documentation and in the tests' list of readers.
    pub name: &'static str,
    /// Size limit of a file, in bytes.
    pub most_bytes: u64,
    /// The formats, by the names in the tests' list of readers.
    pub formats: &'static [&'static str],
}

/// Experiment file, and each file that it includes.
pub const EXPERIMENT: Input = Input { name: "experiment", most_bytes: 4 << 20, formats: &["toml"] };
/// Description of a machine, or of the inside of a node.
pub const MACHINE: Input = Input {
    name: "machine",
    most_bytes: 64 << 20,
    formats: &[
        "edge-list",
        "ibnetdiscover",
        "saquery",
        "infragraph",
        "slurm-conf",
        "slurm-yaml",
        "cray",
        "hwloc",
        "graphml",
    ],
};
/// Task graph.
pub const TASK_GRAPH: Input = Input {
    name: "task graph",
    most_bytes: 4 << 30,
    formats: &["metis", "matrix-market", "edges", "matrix", "npy", "charm-lb"],
};
/// Weights of a traffic pattern.
pub const TRAFFIC: Input =
    Input { name: "traffic matrix", most_bytes: 256 << 20, formats: &["traffic-list", "traffic-matrix"] };
/// Rules that select the algorithms of collective operations.
pub const SELECTION: Input = Input { name: "selection table", most_bytes: 1 << 20, formats: &["selection"] };
/// Placement: the node of each task.
pub const PLACEMENT: Input = Input { name: "placement", most_bytes: 256 << 20, formats: &["placement"] };
/// Program of ranks.
pub const PROGRAM: Input = Input { name: "program", most_bytes: 1 << 30, formats: &["goal", "calls"] };
/// Routing table, and each array of an archive.
pub const ROUTING_TABLE: Input = Input {
    name: "routing table",
    most_bytes: 1 << 30,
    formats: &[
        "routing-text",
        "routing-npy",
        "routing-npz",
        "opensm-lfts",
        "opensm-fdbs",
        "ibroute",
        "opensm-sl2vl",
        "path-sl",
    ],
};
/// Recorded trace, or the part of one rank. Read a window at a time, so that its length is not limited.
pub const TRACE: Input = Input { name: "trace", most_bytes: u64::MAX, formats: &["trace", "trace-parts"] };
/// Chakra execution trace. Read message by message, so that its length is not limited.
pub const CHAKRA: Input = Input { name: "Chakra trace", most_bytes: u64::MAX, formats: &["chakra"] };
/// Execution trace of Chakra, or of PyTorch's host, in JSON.
pub const CHAKRA_JSON: Input =
    Input { name: "Chakra trace in JSON", most_bytes: 256 << 20, formats: &["chakra-json", "pytorch-json"] };
/// Short tables that the command line reads: hosts of nodes, places of tasks, process groups.
pub const SHORT_TABLE: Input =
    Input { name: "short table", most_bytes: 64 << 20, formats: &["hosts", "fixed", "current", "process-groups"] };

/// Measured table that an interface is fitted to.
pub const MEASURED: Input =
    Input { name: "measured table", most_bytes: 4 << 20, formats: &["osu", "imb", "measured-csv"] };
/// Results that a run has left on disk and that are read again.
pub const RESULTS: Input = Input { name: "file of results", most_bytes: 256 << 20, formats: &["results"] };
/// Records of episodes that an earlier run with reuse has kept.
pub const REUSE: Input = Input { name: "record of reuse", most_bytes: 2 << 30, formats: &["reuse"] };

/// All kinds of input files.
pub const INPUTS: [Input; 15] = [
    EXPERIMENT,
    MACHINE,
    TASK_GRAPH,
    TRAFFIC,
    SELECTION,
    PLACEMENT,
    PROGRAM,
    ROUTING_TABLE,
    TRACE,
    CHAKRA,
    CHAKRA_JSON,
    SHORT_TABLE,
    MEASURED,
    RESULTS,
    REUSE,
];

/// Reason why a file cannot be read. Its text is a predicate whose subject is the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The file does not exist.
    #[error("does not exist")]
    Absent,
    /// The operating system refuses to read the file.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// The file exceeds the size limit of its kind.
    #[error("is larger than {}, the most that is read of its kind ({kind})", size(*.most))]
    TooLarge {
        /// The kind of the file.
        kind: &'static str,
        /// The limit in bytes.
        most: u64,
    },
    /// The file is not text. Holds the position of the first invalid byte, from 1.
    #[error("is not a text file: byte {0} is not UTF-8")]
    NotText(usize),
}

impl From<Error> for InputError {
    fn from(error: Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound => Self::Absent,
            _ => Self::Unreadable(reason(&error)),
        }
    }
}

fn size(bytes: u64) -> String {
    match bytes >> 20 {
        mib if mib >= 1 << 10 => format!("{} GiB", mib >> 10),
        mib => format!("{mib} MiB"),
    }
}

impl Input {
    /// Reads the bytes of a file. Waits for the writer of a pipe.
    ///
    /// # Errors
    /// If the file cannot be read or is too large; no more than the limit is read.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, InputError> {
        let file = File::open(path)?;
        let about = file.metadata()?;
        let most = if about.is_file() { self.most_bytes } else { self.most_bytes.min(MOST_OF_STREAM) };
        let refused = InputError::TooLarge { kind: self.name, most };
        if about.is_file() && about.len() > most {
            return Err(refused);
        }
        let mut bytes = Vec::new();
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most { Err(refused) } else { Ok(bytes) }
    }

    /// Reads the text of a file, without its byte-order mark.
    ///
    /// # Errors
    /// If [`Self::read`] fails, or if the file is not UTF-8.
    pub fn read_text(&self, path: &Path) -> Result<String, InputError> {
        text_of(self.read(path)?)
    }
}

/// Converts bytes to text, without its byte-order mark.
///
/// # Errors
/// If the bytes are not UTF-8.
pub fn text_of(bytes: Vec<u8>) -> Result<String, InputError> {
    let text = String::from_utf8(bytes).map_err(|error| InputError::NotText(error.utf8_error().valid_up_to() + 1))?;
    match text.strip_prefix('\u{feff}') {
        Some(rest) => Ok(rest.to_owned()),
        None => Ok(text),
    }
}

/// Opens a file that is read a window at a time.
///
/// # Errors
/// If the file cannot be opened.
pub fn open(path: &Path) -> Result<File, Error> {
    File::open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused_at_the_limit() {
        // Would catch a reader that takes all memory for a device or a file that has grown too large.
        let endless = EXPERIMENT.read(Path::new("/dev/zero"));
        assert_eq!(endless, Err(InputError::TooLarge { kind: "experiment", most: 4 << 20 }));
        let stream = TASK_GRAPH.read(Path::new("/dev/zero")).err().map(|error| error.to_string());
        assert_eq!(stream.as_deref(), Some("is larger than 256 MiB, the most that is read of its kind (task graph)"));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        // Would catch an error that has lost its reason.
        assert_eq!(MACHINE.read(Path::new("/nowhere")), Err(InputError::Absent));
        let folder = MACHINE.read(Path::new("/")).err().map(|error| error.to_string());
        assert_eq!(folder.as_deref(), Some("cannot be read: Is a directory"));
        assert_eq!(text_of(vec![b'a', 0xff]), Err(InputError::NotText(2)));
        assert_eq!(text_of(b"\xef\xbb\xbfa".to_vec()), Ok("a".to_owned()));
    }

    #[test]
    fn names_of_formats_are_used_once() {
        // Would catch a format name that occurs twice in the list of readers.
        let mut names: Vec<&str> = INPUTS.iter().flat_map(|input| input.formats).copied().collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
