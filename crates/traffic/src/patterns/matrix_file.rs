//! Reader of traffic matrices. Every error names the file, the line if there is one, and the allowed values.

use std::path::Path;

use units::{KeyError, Notes, counted, input, shortened};

use formats::rows::{self, Columns, Form, TASK, words};

/// Names of the two ends of a pair in error messages.
const ENDS: [&str; 2] = ["from", "to"];

/// Pair of tasks with a positive and finite weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub src: u32,
    pub dst: u32,
    pub weight: f64,
}

/// Creates an error of the file.
pub(super) fn refuse(message: String) -> KeyError {
    KeyError::new("path", message)
}

/// Entries of positive weight in ascending order of source and destination, and notes on omissions.
pub(super) type Found = (Vec<Entry>, Notes);

/// Reads the entries.
pub(super) fn read(path: &Path, tasks: u32) -> Result<Found, KeyError> {
    let text = read_text(path).map_err(|why| refuse(format!("{}: {why}", path.display())))?;
    parse(text.as_bytes(), tasks).map_err(|(line, why)| match line {
        0 => refuse(format!("{}: {why}", path.display())),
        line => refuse(format!("{}:{line}: {why}", path.display())),
    })
}

fn read_text(path: &Path) -> Result<String, String> {
    let bytes = input::TRAFFIC.read(path).map_err(|error| error.to_string())?;
    if bytes.contains(&0) {
        return Err("is a binary file; a matrix is a CSV file".to_owned());
    }
    input::text_of(bytes).map_err(|error| format!("{error}; a matrix is a CSV file"))
}

/// Line number, from 1 (0: the file as a whole), and description of the error.
type RowError = (u64, String);

/// Row: its line number, from 1, and its words.
struct Row<'a> {
    number: u64,
    words: Vec<&'a [u8]>,
}

impl Row<'_> {
    fn error<T>(&self, why: String) -> Result<T, RowError> {
        Err((self.number, why))
    }

    fn weight(&self, word: &[u8]) -> Result<f64, RowError> {
        match number(word) {
            Some(weight) if f64::is_finite(weight) && weight >= 0.0 => Ok(weight),
            _ => self.error(format!("`{}` is no weight; it has to be a finite number of 0 or more", text(word))),
        }
    }

    fn task(&self, word: &[u8], (what, tasks): (&str, u32)) -> Result<u32, RowError> {
        match number(word) {
            Some(task) if task < tasks => Ok(task),
            _ => self.error(format!("{what} is `{}`; the tasks are 0 to {}", text(word), tasks - 1)),
        }
    }
}

/// Returns a word as text, shortened for an error message.
fn text(word: &[u8]) -> String {
    shortened(&String::from_utf8_lossy(word))
}

fn number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn parse(bytes: &[u8], tasks: u32) -> Result<Found, RowError> {
    let mut notes = Notes::default();
    let mut rows = rows::rows(bytes).map(|(number, row)| Row { number, words: words(row).collect() }).peekable();
    let Some(first) = rows.peek() else {
        return Err((0, "has no rows; write rows `from,to,weight`, or a matrix of a row for each source".to_owned()));
    };
    let columns = first.words.len();
    rows::check_labels(bytes)?;
    match rows::form(bytes, Some(tasks)) {
        Form::List => {
            let columns = Columns::of(bytes, "weight")?;
            columns.note(&mut notes);
            Ok((parse_list(rows, &columns, tasks, &mut notes)?, notes))
        }
        Form::Matrix if columns == tasks as usize => {
            rows::matrix_heading(bytes, &mut notes)?;
            Ok((parse_dense(rows, tasks)?, notes))
        }
        Form::Either => first.error(format!(
            "rows of {columns} columns may be `from,to,weight` or a matrix of {tasks} tasks: write `from,to,weight` \
             above a list, and names of the tasks above a matrix"
        )),
        Form::Matrix => first.error(format!(
            "{}; write rows `from,to,weight`, or a matrix of {}, one for each task",
            rows::columns_of(columns),
            rows::columns_of(tasks as usize)
        )),
    }
}

/// Parses rows `from,to,weight`. Skips the number of messages after the weight and lines about single tasks, which
/// lists of task graphs may have: they do not concern traffic.
fn parse_list<'a>(
    rows: impl Iterator<Item = Row<'a>>,
    columns: &Columns,
    tasks: u32,
    notes: &mut Notes,
) -> Result<Vec<Entry>, RowError> {
    let mut entries = Vec::new();
    let (mut alone, mut counts) = (0, 0);
    for row in rows {
        if let [TASK, _] | [TASK, _, _] = row.words[..] {
            row.task(row.words[1], ("task", tasks))?;
            alone += 1;
            continue;
        }
        let pair = columns.pick(&row.words).map_err(|why| (row.number, format!("{why}: `from,to,weight`")))?;
        let [src, dst] = [row.task(pair.from, (ENDS[0], tasks))?, row.task(pair.to, (ENDS[1], tasks))?];
        entries.push((Entry { src, dst, weight: row.weight(pair.amount)? }, row.number));
        counts += u64::from(pair.messages.is_some());
    }
    let (is, out) = (["is", "are"], "left out: weights alone say who sends to whom");
    notes.count(alone, ["line about a task", "lines about tasks"], is, out);
    notes.count(counts, ["number of messages", "numbers of messages"], is, out);
    entries.sort_by_key(|&(Entry { src, dst, .. }, number)| (src, dst, number));
    for pair in entries.windows(2) {
        let ((one, before), (other, number)) = (pair[0], pair[1]);
        if (one.src, one.dst) == (other.src, other.dst) {
            return Err((number, format!("{} to {} is given already, in line {before}", one.src, one.dst)));
        }
    }
    Ok(entries.into_iter().map(|(entry, _)| entry).filter(|entry| entry.weight > 0.0).collect())
}

fn parse_dense<'a>(lines: impl Iterator<Item = Row<'a>>, tasks: u32) -> Result<Vec<Entry>, RowError> {
    let mut entries = Vec::new();
    let mut rows = 0;
    for row in lines {
        if row.words.len() != tasks as usize {
            return row.error(format!("{} where {tasks} are due", rows::columns_of(row.words.len())));
        }
        if rows == tasks {
            return row.error(format!("more than the {tasks} rows of {tasks} tasks"));
        }
        for dst in 0..tasks {
            let weight = row.weight(row.words[dst as usize])?;
            if weight > 0.0 {
                entries.push(Entry { src: rows, dst, weight });
            }
        }
        rows += 1;
    }
    if rows < tasks {
        let rows = counted(rows.into(), ["row", "rows"]);
        return Err((0, format!("has {rows}; a matrix of {tasks} tasks has {tasks}")));
    }
    Ok(entries)
}
