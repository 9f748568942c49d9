//! Reading a traffic matrix. Every error names the file, the line where there is one, and what is allowed.

use std::fs;
use std::path::Path;

use crate::PatternError;

/// Larger files are refused before they are read: 256 MiB hold a dense matrix of some 8000 tasks.
const LARGEST_FILE: u64 = 256 << 20;

/// The first line that marks a list.
const HEADER: [&str; 3] = ["src", "dst", "weight"];

/// One pair of tasks and its weight, which is positive and finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub src: u32,
    pub dst: u32,
    pub weight: f64,
}

/// An error of the file.
pub(super) fn refuse(message: String) -> PatternError {
    PatternError::new("path", message)
}

/// Reads the entries of positive weight, in ascending order of source and destination.
pub(super) fn read(path: &Path, tasks: u32) -> Result<Vec<Entry>, PatternError> {
    let text = read_text(path).map_err(|why| refuse(format!("{}: {why}", path.display())))?;
    parse(&text, tasks).map_err(|(line, why)| match line {
        0 => refuse(format!("{}: {why}", path.display())),
        line => refuse(format!("{}:{line}: {why}", path.display())),
    })
}

fn read_text(path: &Path) -> Result<String, String> {
    let about = fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?;
    if !about.is_file() {
        return Err("is no file; a matrix is a CSV file".to_owned());
    }
    if about.len() > LARGEST_FILE {
        return Err(format!("is {} MiB; at most {} MiB are read", about.len() >> 20, LARGEST_FILE >> 20));
    }
    let bytes = fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.contains(&0) {
        return Err("is a binary file; a matrix is a CSV file".to_owned());
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text; a matrix is a CSV file".to_owned())
}

/// A line's number, from 1 (0: the file as a whole), and what is wrong.
type Fault = (usize, String);

/// A line that counts: its number, from 1, and its fields.
struct Line<'a> {
    number: usize,
    fields: Vec<&'a str>,
}

impl Line<'_> {
    fn fault<T>(&self, why: String) -> Result<T, Fault> {
        Err((self.number, why))
    }

    fn has(&self, columns: usize) -> Result<(), Fault> {
        if self.fields.len() == columns {
            return Ok(());
        }
        self.fault(format!("{} columns where {columns} are due", self.fields.len()))
    }

    fn weight(&self, column: usize) -> Result<f64, Fault> {
        let field = self.fields[column];
        match field.parse::<f64>() {
            Ok(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight),
            _ => self.fault(format!("`{}` is no weight; it has to be a finite number of 0 or more", clip(field))),
        }
    }

    fn task(&self, column: usize, tasks: u32) -> Result<u32, Fault> {
        let field = self.fields[column];
        match field.parse::<u32>() {
            Ok(task) if task < tasks => Ok(task),
            _ => {
                let (what, last) = (HEADER[column], tasks - 1);
                self.fault(format!("{what} is `{}`; the tasks are 0 to {last}", clip(field)))
            }
        }
    }
}

/// The start of a field, so that an error fits a line whatever the file holds.
fn clip(field: &str) -> String {
    let start: String = field.chars().take(32).collect();
    if start.len() < field.len() { start + "..." } else { start }
}

fn parse(text: &str, tasks: u32) -> Result<Vec<Entry>, Fault> {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| Line { number, fields: line.split(',').map(str::trim).collect() })
        .peekable();
    let Some(first) = lines.peek() else {
        return Err((0, "is empty; write rows `src,dst,weight`, or a matrix of a row for each source".to_owned()));
    };
    if first.fields == HEADER {
        lines.next();
        return parse_list(lines, tasks);
    }
    match first.fields.len() {
        columns if columns == tasks as usize => parse_dense(lines, tasks),
        3 => parse_list(lines, tasks),
        columns => first.fault(format!(
            "{columns} columns; write rows `src,dst,weight`, or a matrix of {tasks} columns, one for each task"
        )),
    }
}

fn parse_list<'a>(lines: impl Iterator<Item = Line<'a>>, tasks: u32) -> Result<Vec<Entry>, Fault> {
    let mut entries = Vec::new();
    for line in lines {
        line.has(HEADER.len())?;
        let entry = Entry { src: line.task(0, tasks)?, dst: line.task(1, tasks)?, weight: line.weight(2)? };
        entries.push((entry, line.number));
    }
    entries.sort_by_key(|&(Entry { src, dst, .. }, number)| (src, dst, number));
    for pair in entries.windows(2) {
        let ((one, before), (other, number)) = (pair[0], pair[1]);
        if (one.src, one.dst) == (other.src, other.dst) {
            return Err((number, format!("{} to {} is given already, in line {before}", one.src, one.dst)));
        }
    }
    Ok(entries.into_iter().map(|(entry, _)| entry).filter(|entry| entry.weight > 0.0).collect())
}

fn parse_dense<'a>(lines: impl Iterator<Item = Line<'a>>, tasks: u32) -> Result<Vec<Entry>, Fault> {
    let mut entries = Vec::new();
    let mut rows = 0;
    for line in lines {
        line.has(tasks as usize)?;
        if rows == tasks {
            return line.fault(format!("more than the {tasks} rows of {tasks} tasks"));
        }
        for dst in 0..tasks {
            let weight = line.weight(dst as usize)?;
            if weight > 0.0 {
                entries.push(Entry { src: rows, dst, weight });
            }
        }
        rows += 1;
    }
    if rows < tasks {
        return Err((0, format!("has {rows} rows; a matrix of {tasks} tasks has {tasks}")));
    }
    Ok(entries)
}
