//! Tables as text, in the common dialect of traffic matrices and task graphs: numbers separated by commas, semicolons
//! or blanks. `#` begins a comment. A first line of names is a heading.
//!
//! The columns of a heading may stand in any order. Columns with unknown names are ignored, with a note. Words may be
//! quoted.
//!
//! A table is a list of pairs (`from,to,amount[,messages]`, possibly with lines `task,number[,load]`) or a matrix with
//! a row per sender and a column per receiver; `form` distinguishes them. Nothing is allocated per line.

use std::collections::BTreeSet;

use units::{Notes, counted, shortened};

/// Names of the columns of a list, in the order of `Columns`.
const NAMES: [&[&str]; 4] = [
    &["from", "src", "source", "sender", "origin", "from_rank", "src_rank"],
    &["to", "dst", "dest", "destination", "target", "receiver", "to_rank", "dst_rank"],
    &["bytes", "size", "weight", "volume", "amount", "length", "total_bytes"],
    &["messages", "count", "msgs", "n", "number", "calls"],
];

/// First word of a line about a single task.
pub const TASK: &[u8] = b"task";
/// First word of a line about a multicast group of tasks.
pub const MULTICAST: &[u8] = b"multicast";
/// First word of a line about a reduction group of tasks.
pub const REDUCTION: &[u8] = b"reduction";

/// Iterates over the lines of a text, numbered from 1, without line endings.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    // Byte order mark, which some editors write.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // The last line ending does not begin another line.
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    (1..).zip(bytes.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)))
}

/// Iterates over the non-empty lines of a table, numbered from 1, without comments. The first may be a heading.
fn filled(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    lines(bytes).map(|(number, line)| (number, bare(line))).filter(|(_, line)| !line.is_empty())
}

/// Returns a line without its comment and surrounding blanks.
fn bare(line: &[u8]) -> &[u8] {
    line.split(|&byte| byte == b'#').next().unwrap_or(&[]).trim_ascii()
}

/// Iterates over the rows of a table, with their line numbers from 1. Skips comments, blank lines and the heading.
pub fn rows(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut all = filled(bytes).peekable();
    all.next_if(|(_, line)| is_header(line));
    all
}

/// Splits a row into words, without quotes. If it has commas or semicolons, the text between two of them is a word,
/// even if empty; a separator at the end is ignored.
pub fn words(row: &[u8]) -> impl Iterator<Item = &[u8]> {
    // A row with semicolons is divided by these alone, so that a comma in it is no second separator (`1000,5`).
    let separator = [b';', b','].into_iter().find(|separator| row.contains(separator));
    let separated = separator.is_some();
    let row = separator.and_then(|separator| row.strip_suffix(&[separator])).unwrap_or(row);
    row.split(move |byte| separator.map_or(byte.is_ascii_whitespace(), |separator| *byte == separator))
        .map(|word| unquoted(word.trim_ascii()))
        .filter(move |word| separated || !word.is_empty())
}

fn unquoted(word: &[u8]) -> &[u8] {
    word.strip_prefix(b"\"").and_then(|word| word.strip_suffix(b"\"")).unwrap_or(word)
}

/// Whether a line is a heading, with names and no numbers. A column of row numbers may have no name.
fn is_header(line: &[u8]) -> bool {
    let is_name = |word: &[u8]| word.first().is_some_and(u8::is_ascii_alphabetic) && !word.eq_ignore_ascii_case(b"nan");
    let mut all = words(line).peekable();
    all.next_if(|word| word.is_empty());
    all.peek().is_some() && all.all(is_name)
}

/// Returns the line of names of a table, if it has one: its first line, or a comment before it that names the columns
/// of a list.
pub fn heading(bytes: &[u8]) -> Option<(u64, Vec<String>)> {
    let (number, first) = filled(bytes).next()?;
    if is_header(first) {
        return Some((number, names(first)));
    }
    let before = lines(bytes).take_while(|&(place, _)| place < number);
    let comments = before.filter_map(|(place, line)| Some((place, line.trim_ascii().strip_prefix(b"#")?)));
    comments.map(|(place, line)| (place, names(line))).filter(|(_, names)| are_columns(names)).last()
}

/// Returns the words of a line in lower case.
fn names(line: &[u8]) -> Vec<String> {
    words(line).map(|word| String::from_utf8_lossy(word).trim().to_ascii_lowercase()).collect()
}

/// Returns whether words are the columns of a list, so that a comment of them is a heading: a sender, a receiver, an
/// amount, and names.
fn are_columns(words: &[String]) -> bool {
    let is_name = |word: &String| word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' '));
    let has = |column: usize| words.iter().any(|word| NAMES[column].contains(&word.as_str()));
    has(0) && has(1) && has(2) && words.iter().all(is_name)
}

/// Columns of a list of pairs: in the order of its heading, or `from,to,amount[,messages]` without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    from: usize,
    to: usize,
    amount: usize,
    messages: Option<usize>,
    /// Number of columns, if the list has a heading.
    width: Option<usize>,
    /// Columns that are ignored, as notes name them.
    pub left_out: Vec<String>,
}

/// Words of a row of a list.
pub struct Pair<'a> {
    /// Sender.
    pub from: &'a [u8],
    /// Receiver.
    pub to: &'a [u8],
    /// Amount, in the unit of the table.
    pub amount: &'a [u8],
    /// Number of messages. None if the table has no such column.
    pub messages: Option<&'a [u8]>,
}

impl Columns {
    /// Determines the columns of a list. `amount` is the name of the third one in error messages.
    ///
    /// # Errors
    /// If the heading lacks a column, or names a column twice. The error has the line of the heading.
    pub fn of(bytes: &[u8], amount: &str) -> Result<Self, (u64, String)> {
        let Some((line, names)) = heading(bytes) else {
            return Ok(Self { from: 0, to: 1, amount: 2, messages: Some(3), width: None, left_out: Vec::new() });
        };
        if let Some(at) = (1..names.len()).find(|&at| !names[at].is_empty() && names[..at].contains(&names[at])) {
            return Err((line, format!("the column `{}` is there twice", shortened(&names[at]))));
        }
        let place = |column: usize| {
            let mut found = (0..names.len()).filter(|&at| NAMES[column].contains(&names[at].as_str()));
            let first = found.next();
            match found.next().zip(first) {
                Some((other, first)) => {
                    Err((line, format!("the columns `{}` and `{}` are the same", names[first], names[other])))
                }
                None => Ok(first),
            }
        };
        let needed = |column: usize, what: &str| {
            place(column)?.ok_or_else(|| {
                let message =
                    format!("no column of the heading is `{what}`; it is called {}", NAMES[column].join(", "));
                (line, message)
            })
        };
        let (from, to, amount, messages) = (needed(0, "from")?, needed(1, "to")?, needed(2, amount)?, place(3)?);
        let known = [Some(from), Some(to), Some(amount), messages];
        let other = |at: &usize| !known.contains(&Some(*at));
        let shown = |at: usize| match names[at].as_str() {
            "" => format!("number {} (without a name)", at + 1),
            name => format!("`{}`", name.escape_debug()),
        };
        let left_out = (0..names.len()).filter(other).map(shown).collect();
        Ok(Self { from, to, amount, messages, width: Some(names.len()), left_out })
    }

    /// Returns the words of a row, or a description of its error.
    pub fn pick<'a>(&self, row: &[&'a [u8]]) -> Result<Pair<'a>, String> {
        // The number of messages may be omitted in a list without a heading.
        let columns = self.width.map_or(3..=4, |width| width..=width);
        let fits = columns.contains(&row.len());
        if !fits {
            return Err(match self.width {
                Some(width) => format!("it has {}, and the heading {width}", columns_of(row.len())),
                None => format!("it has {} where 3 or 4 are due", columns_of(row.len())),
            });
        }
        let messages = self.messages.and_then(|at| row.get(at).copied());
        Ok(Pair { from: row[self.from], to: row[self.to], amount: row[self.amount], messages })
    }

    /// Adds a note on the columns that are ignored.
    pub fn note(&self, notes: &mut Notes) {
        let names = self.left_out.join(", ");
        let count = self.left_out.len() as u64;
        notes.count(count, ["column", "columns"], ["is", "are"], &format!("left out: {names}"));
    }
}

/// Returns a number of columns in words.
pub fn columns_of(count: usize) -> String {
    counted(count as u64, ["column", "columns"])
}

/// Refuses a table with labels of its rows, such as a matrix of numbers that is exported with its index.
///
/// # Errors
/// If the heading begins with an empty name, or stands above rows that begin with names, and is not that of a list.
pub fn check_labels(bytes: &[u8]) -> Result<(), (u64, String)> {
    let Some((line, first)) = filled(bytes).next().filter(|_| !is_named_list(bytes)) else { return Ok(()) };
    let rest = "a row and a column of labels are not expected: a matrix has numbers alone (pandas: \
                `to_csv(FILE, index=False, header=False)`)";
    if words(first).next().is_some_and(<[u8]>::is_empty) && !may_be_matrix(bytes, words(first).count()) {
        return Err((line, format!("the first line begins with an empty name; {rest}")));
    }
    let is_label = |word: &&[u8]| is_header(word) && ![TASK, MULTICAST, REDUCTION].contains(word);
    let of_rows = rows(bytes).next().filter(|_| is_header(first));
    match of_rows.and_then(|(line, row)| Some((line, words(row).next().filter(is_label)?))) {
        Some((line, label)) => {
            let label = shortened(&String::from_utf8_lossy(label));
            Err((line, format!("the row begins with the label `{label}`; {rest}")))
        }
        None => Ok(()),
    }
}

/// Checks the heading of a matrix: names that end in numbers must be in the order of the rows.
///
/// # Errors
/// If they are not. The error has the line of the heading.
pub fn matrix_heading(bytes: &[u8], notes: &mut Notes) -> Result<(), (u64, String)> {
    let Some((line, names)) = heading(bytes) else { return Ok(()) };
    let number = |name: &String| name[name.trim_end_matches(|c: char| c.is_ascii_digit()).len()..].parse::<u64>().ok();
    if let Some(numbers) = names.iter().map(number).collect::<Option<Vec<u64>>>()
        && let Some(at) = (1..numbers.len()).find(|&at| numbers[at] != numbers[at - 1].saturating_add(1))
    {
        let message =
            format!("the heading has `{}` behind `{}`; columns are in the order of the rows", names[at], names[at - 1]);
        return Err((line, message));
    }
    notes.count(names.len() as u64, ["name of a column", "names of columns"], ["is", "are"], "left out");
    Ok(())
}

/// Form of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// List of pairs.
    List,
    /// Matrix with a row per sender and a column per receiver.
    Matrix,
    /// Ambiguous table: it can be read as a list and as a matrix.
    Either,
}

/// Determines the form of a table. It is a list if its heading names the columns of a list, or if its first row is
/// about a task or a group. If `tasks` is known, it is a matrix if it has `tasks` columns and cannot be a list as well.
/// Otherwise it is a list if it has 3 or 4 columns and cannot be a matrix as well.
pub fn form(bytes: &[u8], tasks: Option<u32>) -> Form {
    let Some((_, first)) = rows(bytes).next() else { return Form::List };
    if is_named_list(bytes) || words(first).next().is_some_and(|word| [TASK, MULTICAST, REDUCTION].contains(&word)) {
        return Form::List;
    }
    match (words(first).count(), tasks) {
        (columns, Some(tasks)) if columns == tasks as usize => {
            if may_be_list(bytes, tasks) {
                Form::Either
            } else {
                Form::Matrix
            }
        }
        (3 | 4, Some(_)) => Form::List,
        // If it were a list, its last row would have 0 messages.
        (4, None) if may_be_matrix(bytes, 4) => Form::Matrix,
        (3, None) if may_be_matrix(bytes, 3) => Form::Either,
        (3 | 4, None) => Form::List,
        _ => Form::Matrix,
    }
}

/// Whether a table without a heading has distinct pairs of `tasks` tasks in its rows, with amounts, and in a fourth
/// column positive numbers of messages.
fn may_be_list(bytes: &[u8], tasks: u32) -> bool {
    fn value<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
        std::str::from_utf8(word).ok()?.parse().ok()
    }
    let task = |word: &[u8]| value(word).filter(|&task: &u32| task < tasks);
    let mut pairs = BTreeSet::new();
    let mut fits = |row: &[u8]| {
        let row: Vec<&[u8]> = words(row).collect();
        let (from, to, amount, messages) = match row[..] {
            [from, to, amount] => (from, to, amount, None),
            [from, to, amount, messages] => (from, to, amount, Some(messages)),
            _ => return false,
        };
        let pair = task(from).zip(task(to));
        let has_messages = messages.is_none_or(|word| value(word).is_some_and(|count: u64| count > 0));
        pair.is_some_and(|pair| pairs.insert(pair)) && value::<f64>(amount).is_some() && has_messages
    };
    heading(bytes).is_none() && rows(bytes).all(|(_, row)| fits(row))
}

/// Whether a table has `size` rows of `size` columns, with zeros on the diagonal.
fn may_be_matrix(bytes: &[u8], size: usize) -> bool {
    let is_zero = |word: &[u8]| std::str::from_utf8(word).is_ok_and(|word| word.parse() == Ok(0.0));
    let fits = |(place, (_, row)): (usize, (u64, &[u8]))| {
        words(row).count() == size && words(row).nth(place).is_some_and(is_zero)
    };
    let has_names = filled(bytes).next().is_some_and(|(_, line)| is_header(line));
    !has_names && rows(bytes).count() == size && rows(bytes).enumerate().all(fits)
}

/// Whether the heading names the columns of a list.
fn is_named_list(bytes: &[u8]) -> bool {
    let Some((_, names)) = heading(bytes) else { return false };
    let has = |column: usize| names.iter().any(|name| NAMES[column].contains(&name.as_str()));
    has(0) && has(1)
}
