//! Chakra execution traces: the calls of their ranks, and malformed files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mpi::program::calls::text;
use proptest::prelude::*;
use prost::Message;
use traces::chakra::schema::{Attribute, GlobalMetadata, Node, NodeType};
use traces::chakra::{ChakraError, Options, Traces, files, read};

/// Separate folder of a test, which is removed when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("chakra-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn prefix(&self) -> PathBuf {
        self.0.join("t")
    }

    /// Writes the file of a rank.
    fn put(&self, rank: u32, bytes: &[u8]) -> PathBuf {
        let file = self.0.join(format!("t.{rank}.et"));
        fs::write(&file, bytes).unwrap();
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Reads the traces of a prefix.
fn traces(prefix: &Path, options: &Options) -> Result<Traces, ChakraError> {
    read(&files(prefix)?.1, options)
}

fn node(id: u64, kind: NodeType, data: &[u64], attributes: &[(&str, u64)]) -> Node {
    let attr = attributes.iter().map(|&(name, value)| Attribute::number(name, value)).collect();
    Node { id, r#type: kind as i32, data_deps: data.to_vec(), attr, ..Node::default() }
}

fn takes(micros: u64, node: Node) -> Node {
    Node { duration_micros: micros, ..node }
}

fn after(others: &[u64], node: Node) -> Node {
    Node { ctrl_deps: others.to_vec(), ..node }
}

/// Returns the bytes of a file.
fn file_of(nodes: &[Node]) -> Vec<u8> {
    let mut bytes = GlobalMetadata { version: "0.0.4".to_owned() }.encode_length_delimited_to_vec();
    nodes.iter().for_each(|node| bytes.extend(node.encode_length_delimited_to_vec()));
    bytes
}

/// Returns a step of one of two ranks: backward in two parts, each reduced over all ranks, a message to the other rank,
/// and an update.
fn step(rank: u64) -> Vec<Node> {
    let sum = |id, data: &[u64]| node(id, NodeType::CommColl, data, &[("comm_type", 0), ("comm_size", 4096)]);
    let other = 1 - rank;
    vec![
        takes(30, node(10, NodeType::Comp, &[], &[])),
        sum(11, &[10]),
        takes(20, node(12, NodeType::Comp, &[10], &[])),
        after(&[11], sum(13, &[12])),
        node(14, NodeType::CommSend, &[12], &[("comm_dst", other), ("comm_size", 100), ("comm_tag", 7)]),
        node(15, NodeType::CommRecv, &[], &[("comm_src", other), ("comm_size", 100), ("comm_tag", 7)]),
        node(16, NodeType::Metadata, &[11, 15], &[]),
        takes(5, node(17, NodeType::Comp, &[16, 13], &[])),
    ]
}

#[test]
fn nodes_become_calls_in_an_order_that_they_allow() {
    // Would catch communication that a concurrent calculation waits for, an order between operations of a stream that
    // becomes waiting, a join that loses what it stands for, sizes of another meaning, and files whose nodes must be in
    // the order of their numbers.
    let folder = Folder::new("calls");
    let mut turned = step(1);
    // The first node of a file need not be the one that others depend on.
    turned.swap(0, 7);
    folder.put(0, &file_of(&step(0)));
    folder.put(1, &file_of(&turned));
    assert_eq!(files(&folder.prefix()).unwrap().1.len(), 2);
    let calls = traces(&folder.prefix(), &Options { compute_scale: 0.5, ..Options::default() }).unwrap().calls;
    let written = text::write(&calls);
    let of = |rank: u32| {
        let part = written.split(&format!("rank {rank}\n")).nth(1).unwrap();
        part.lines().map(str::trim).take_while(|line| !line.starts_with("rank")).map(str::to_owned).collect::<Vec<_>>()
    };
    let expected = [
        "start calc 15000000 ps",
        "after 0",
        "start allreduce 4096 B by auto",
        "after 0",
        "start calc 10000000 ps",
        "after 1",
        "after 2",
        "start allreduce 4096 B by auto",
        "after 2",
        "isend 100 B to 1 tag 7",
        "irecv 100 B from 1 tag 7",
        "after 1",
        "after 5",
        "start calc 0 ps",
        "after 3",
        "after 6",
        "start calc 2500000 ps",
        "waitall",
    ];
    assert_eq!(of(0).iter().map(|line| normal(line)).collect::<Vec<_>>(), expected);
    // The receive of rank 1 depends on nothing, and precedes dependent nodes in the order of what may be next.
    assert_eq!(of(1).len(), expected.len());
    calls.check(None).unwrap();
}

/// Returns a line with its time in picoseconds.
fn normal(line: &str) -> String {
    let Some((number, unit)) = line.strip_prefix("start calc ").and_then(|time| time.split_once(' ')) else {
        return line.to_owned();
    };
    let scale = match unit {
        "us" => 1e6,
        "ns" => 1e3,
        _ => 1.0,
    };
    format!("start calc {} ps", number.parse::<f64>().unwrap() * scale)
}

#[test]
fn operations_are_of_their_groups_and_of_the_bytes_that_ranks_put_in() {
    // Would catch parts taken for whole buffers, groups taken for all ranks, and nodes whose operations take no time.
    let folder = Folder::new("groups");
    let of = |kind: u64, group: &str| {
        let mut node = node(kind, NodeType::CommColl, &[], &[("comm_type", kind), ("comm_size", 1000)]);
        node.attr.push(Attribute::text("pg_name", group));
        node
    };
    let work = |rank: u64| {
        let counted = node(90, NodeType::Comp, &[], &[("num_ops", 3_000_000)]);
        let group = if rank < 2 { "low" } else { "high" };
        file_of(&[of(2, group), of(6, group), of(7, group), of(9, group), of(5, "all"), counted])
    };
    (0..4).for_each(|rank| drop(folder.put(rank, &work(u64::from(rank)))));
    let groups = [("low", vec![0, 1]), ("high", vec![2, 3]), ("all", vec![0, 1, 2, 3])];
    let groups: BTreeMap<String, Vec<u32>> = groups.into_iter().map(|(name, own)| (name.to_owned(), own)).collect();
    let options = Options { groups, ops_per_second: Some(1e9), ..Options::default() };
    let written = |options: &Options| text::write(&traces(&folder.prefix(), options).unwrap().calls);
    let written = written(&options);
    for line in [
        "start allgather 1000 B in 2",
        "start alltoall 500 B in 2",
        "start reduce-scatter 1000 B in 3",
        "start barrier in 3",
        "start broadcast 1000 B in 1",
    ] {
        assert!(written.contains(line), "{line}\n{written}");
    }
    assert!(written.contains("calc 3 ms") || written.contains("calc 3000000000 ps"), "{written}");
    // A group without a description is not taken for all ranks.
    let none = Options { groups: BTreeMap::new(), ..options.clone() };
    assert!(traces(&folder.prefix(), &none).unwrap_err().to_string().contains("there is no process group `low`"));
    let unknown = Options { groups: BTreeMap::from([("other".to_owned(), vec![0, 1])]), ..options.clone() };
    assert!(traces(&folder.prefix(), &unknown).unwrap_err().to_string().contains("there is no process group `low`"));
    let far = Options { groups: BTreeMap::from([("low".to_owned(), vec![0, 9])]), ..options };
    assert!(matches!(traces(&folder.prefix(), &far), Err(ChakraError::Group { .. })));
}

#[test]
fn what_cannot_be_carried_out_is_refused_with_its_place() {
    // Would catch an error without a file, a byte or a node.
    let folder = Folder::new("errors");
    let error_of = |bytes: &[u8]| {
        folder.put(0, bytes);
        traces(&folder.prefix(), &Options::default()).unwrap_err().to_string()
    };
    let one = |node: Node| file_of(&[node]);
    let whole = file_of(&step(0));
    let cycle = [node(1, NodeType::Comp, &[2], &[]), node(2, NodeType::Comp, &[1], &[])];
    for (bytes, words) in [
        (Vec::new(), "t.0.et: byte 0: it is empty"),
        (whole[..whole.len() - 3].to_vec(), "ends within a message"),
        (vec![0xff; 40], "more than ten bytes"),
        (vec![0xff, 0xff, 0xff, 0xff, 0x0f], "more than 16 MiB"),
        (file_of(&cycle), "node 1: nodes depend on one another in a cycle"),
        (one(node(4, NodeType::Comp, &[9], &[])), "node 4: it depends on node 9, which is not there"),
        (file_of(&[step(0)[0].clone(), step(0)[0].clone()]), "node 10: another node has the same number"),
        (one(node(3, NodeType::Invalid, &[], &[])), "node 3: it has no type"),
        (one(node(3, NodeType::CommSend, &[], &[("comm_size", 1)])), "`comm_dst` is missing"),
        (one(node(3, NodeType::CommSend, &[], &[("comm_size", 1), ("comm_dst", 5)])), "there is no rank 5: 0 to 0"),
        (one(node(3, NodeType::CommColl, &[], &[("comm_type", 77)])), "`comm_type` is 77"),
        (one(node(3, NodeType::Comp, &[], &[("num_ops", 5)])), "`ops_per_second`"),
        (one(takes(u64::MAX, node(3, NodeType::Comp, &[], &[]))), "at most 1000 s"),
    ] {
        let error = error_of(&bytes);
        assert!(error.contains(words) && error.contains("t.0.et"), "{error}");
    }
    assert!(matches!(files(Path::new("/nonexistent/t")), Err(ChakraError::NoFiles(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn changed_files_are_answered(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        // Would catch a panic, an endless loop, and memory allocated for a length that a file only claims.
        let folder = Folder::new("changed");
        let mut bytes = file_of(&step(0));
        for (place, byte) in changes {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(2 * bytes.len()));
        folder.put(0, &bytes);
        folder.put(1, &file_of(&step(1)));
        if let Ok(found) = traces(&folder.prefix(), &Options::default()) {
            let _ = found.calls.check(Some(0));
        }
    }
}
