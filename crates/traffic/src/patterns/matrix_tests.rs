use proptest::prelude::*;

use super::*;
use units::NamedStream;

/// Temporary file of this test process, removed when dropped.
struct File(PathBuf);

impl File {
    fn of(name: &str, content: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("cutthrough-matrix-{}-{name}.csv", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn read(name: &str, content: &[u8], tasks: u32) -> Result<Matrix, String> {
    let file = File::of(name, content);
    let read = Matrix::read(&MatrixSpec { path: file.0.clone() }, tasks, Path::new("."));
    read.map_err(|error| {
        assert_eq!(error.key, "path");
        error.message.replace(&file.0.display().to_string(), "FILE")
    })
}

#[test]
fn a_list_and_a_matrix_mean_the_same() {
    // Would catch rows taken for columns. Task 0 offers the full load, task 2 half of it, task 1 nothing.
    let list = "src,dst,weight\n# a comment\n2,0,1\n0,1,0.5\n\n0,2,1.5\n1,0,0\n";
    let dense = "0, 0.5, 1.5\r\n0, 0, 0\r\n1, 0, 0\r\n";
    for matrix in [read("list", list.as_bytes(), 3).unwrap(), read("dense", dense.as_bytes(), 3).unwrap()] {
        assert_eq!(matrix.distribution(TaskId(0)), [(TaskId(1), 0.25), (TaskId(2), 0.75)]);
        assert_eq!(matrix.distribution(TaskId(1)), []);
        assert_eq!(matrix.distribution(TaskId(2)), [(TaskId(0), 1.0)]);
        assert_eq!([0, 1, 2].map(|task| matrix.weight(TaskId(task))), [1.0, 0.0, 0.5]);
        assert_eq!([0, 1, 2].map(|task| matrix.sends(TaskId(task))), [true, false, true]);
    }
}

#[test]
fn lists_are_those_of_task_graphs() {
    // Would catch a second dialect: other column names, blanks, comments after a row, messages, and lines about tasks.
    let plain = read("plain", b"0,1,5\n1,0,3\n", 4).unwrap();
    for (name, text) in [
        ("from", "from,to,weight\n0,1,5\n1,0,3\n"),
        ("bytes", "From;To;bytes;messages\n0;1;5;2\n1;0;3;1\n"),
        ("blanks", "# who sends to whom\nsource target amount\n0 1 5  # more\n1\t0\t3\n"),
        ("tasks", "task,2,0.5\n0,1,5,\ntask,3\n1,0,3,\n"),
    ] {
        let found = read(name, text.as_bytes(), 4).unwrap();
        for task in (0..4).map(TaskId) {
            assert_eq!(found.distribution(task), plain.distribution(task), "{name}");
            assert_eq!(found.weight(task), plain.weight(task), "{name}");
        }
    }
    // Three tasks: a file of three columns is a matrix, unless its first line marks a list, or it may be either.
    assert_eq!(read("list", b"from,to,weight\n0,1,2\n", 3).unwrap().distribution(TaskId(1)), []);
    assert_eq!(read("dense", b"a,b,c\n0,1,2\n1,0,0\n0,0,0\n", 3).unwrap().distribution(TaskId(1)), [(TaskId(0), 1.0)]);
    for either in [&b"0,1,2\n1,0,0\n0,0,0\n"[..], b"0,1,2\n1,2,2\n2,0,2\n", b"0,1,2\n"] {
        let error = read("either", either, 3).unwrap_err();
        assert!(error.starts_with("FILE:1: rows of 3 columns may be `from,to,weight` or a matrix"), "{error}");
    }
    assert_eq!(read("weights", b"0,5,2\n1,0,0\n0,0,0\n", 3).unwrap().weight(TaskId(0)), 1.0);
    assert!(read("task", b"task,9\n", 4).unwrap_err().starts_with("FILE:1: task is `9`"));
    assert!(read("empty", b"0,,1\n0,1\n", 4).unwrap_err().starts_with("FILE:1: to is ``"));
}

#[test]
fn a_list_of_many_nodes_needs_no_header() {
    // Would catch a list that is refused for its first line.
    let matrix = read("headless", b"\xef\xbb\xbf0,7,2\n7,0,2\n", 8).unwrap();
    assert_eq!(matrix.distribution(TaskId(7)), [(TaskId(0), 1.0)]);
}

#[test]
fn draws_follow_the_weights() {
    // Would catch an off-by-one search in the cumulative probabilities: a weight of 0 is never drawn, and the
    // frequencies of others match their weights to 5 standard deviations.
    let matrix = read("draws", b"0,1,0,3\n1,0,0,0\n1,0,0,0\n1,0,0,0\n", 4).unwrap();
    let mut stream = NamedStream::new(1, "draws");
    let mut counts = [0_u32; 4];
    (0..40_000).for_each(|_| counts[matrix.destination(TaskId(0), &mut stream).index()] += 1);
    assert_eq!((counts[0], counts[2]), (0, 0));
    assert!((f64::from(counts[1]) - 10_000.0).abs() < 5.0 * 7500.0_f64.sqrt(), "{counts:?}");
}

#[test]
fn bad_files_are_one_clear_error() {
    // Would catch a panic, a wrong line number, and a value that is misread.
    let cases: [(&[u8], &str); 18] = [
        (b"", "FILE: has no rows"),
        (b"\n# nothing\n", "FILE: has no rows"),
        (b"from,to,weight\n", "FILE: has no rows"),
        (b"0,1,0\n", "FILE: all weights are 0"),
        (b"a\0b", "FILE: is a binary file"),
        (b"0,1,\xff\n", "FILE: is not a text file: byte 5 is not UTF-8"),
        (b"0,1\n", "FILE:1: 2 columns; write rows `from,to,weight`, or a matrix of 8 columns"),
        (b"0,1,1\n0,2\n", "FILE:2: it has 2 columns where 3 or 4 are due"),
        (b"0,1,1\n0,8,1\n", "FILE:2: to is `8`; the tasks are 0 to 7"),
        (b"-1,1,1\n", "FILE:1: from is `-1`"),
        (b"99999999999999999999,1,1\n", "FILE:1: from is `99999999999999999999`"),
        (b"0,1,-2\n", "FILE:1: `-2` is no weight"),
        (b"0,1,nan\n", "FILE:1: `nan` is no weight"),
        (b"0,1,1e999\n", "FILE:1: `1e999` is no weight"),
        (b"0,1,many\n", "FILE:1: `many` is no weight"),
        (b"0,1,1\n1,0,1\n0,1,2\n", "FILE:3: 0 to 1 is given already, in line 1"),
        (b"0,1,1e308\n0,2,1e308\n", "FILE: the weights of a source add up"),
        (b"0,1,0,0,0,0,0,0\n", "FILE: has 1 row; a matrix of 8 tasks has 8"),
    ];
    for (place, (content, expected)) in cases.into_iter().enumerate() {
        let error = read(&format!("bad-{place}"), content, 8).unwrap_err();
        assert!(error.starts_with(expected), "{error:?} is not {expected:?}");
    }
    let long = format!("0,1,{}\n", "x".repeat(5000));
    assert!(read("long", long.as_bytes(), 8).unwrap_err().len() < 200);
    assert!(read("rows", b"0,1\n1,0\n1,1\n", 2).unwrap_err().starts_with("FILE:3: more than the 2 rows"));
}

#[test]
fn what_is_no_file_or_too_large_is_not_read() {
    // Would catch an endless read of a device, and memory allocated for a file that is not a matrix.
    let at = |path: &Path| Matrix::read(&MatrixSpec { path: path.to_owned() }, 4, Path::new(".")).unwrap_err().message;
    assert!(at(&std::env::temp_dir()).contains("Is a directory"));
    let file = File::of("huge", b"");
    std::fs::File::options().write(true).open(&file.0).unwrap().set_len(1 << 33).unwrap();
    assert!(at(&file.0).contains("is larger than 256 MiB"));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "([0-9a-e.,+#-]{0,12}\n){0,6}", tasks in 1_u32..5) {
        // Would catch a panic in the reader, and a matrix that breaks the contract of patterns.
        if let Ok(matrix) = read("any", text.as_bytes(), tasks) {
            for task in (0..tasks).map(TaskId) {
                let parts: f64 = matrix.distribution(task).iter().map(|&(_, part)| part).sum();
                prop_assert!((parts - f64::from(u8::from(matrix.sends(task)))).abs() < 1e-12);
                prop_assert!((0.0..=1.0).contains(&matrix.weight(task)));
            }
        }
    }
}
