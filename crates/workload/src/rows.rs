//! Tables as text, in the one dialect of traffic matrices and task graphs: numbers between commas, semicolons or blanks, `#`
//! starts a comment, and a first line of names is no row.
//!
//! A table is a list of pairs (`from,to,amount[,messages]`, with lines `task,number[,load]` between them) or a matrix of one row a
//! sender and one column a receiver; `form` distinguishes them. Nothing is allocated for a line.

/// The names that the first two columns of a list may have in its first line.
const LIST: [[&[u8]; 4]; 2] = [[b"from", b"src", b"source", b"sender"], [b"to", b"dst", b"target", b"receiver"]];

/// The word that a line about one task begins with,
pub(crate) const TASK: &[u8] = b"task";
/// and those of lines about groups of tasks.
pub(crate) const MULTICAST: &[u8] = b"multicast";
pub(crate) const REDUCTION: &[u8] = b"reduction";

/// The lines of a text, numbered from 1, without their ends.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    // A mark of the order of bytes, which some editors write, is no text.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // What is behind the last line's end is no line.
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    (1..).zip(bytes.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)))
}

/// The lines of a table that hold anything, numbered from 1, without comments; the first may hold names.
fn filled(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    lines(bytes).map(|(number, line)| (number, bare(line))).filter(|(_, line)| !line.is_empty())
}

/// A line without its comment and without blanks around it.
fn bare(line: &[u8]) -> &[u8] {
    line.split(|&byte| byte == b'#').next().unwrap_or(&[]).trim_ascii()
}

/// The rows of a table, numbered by their lines from 1: without comments, blank lines, and the line of names.
pub(crate) fn rows(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut all = filled(bytes).peekable();
    all.next_if(|(_, line)| is_header(line));
    all
}

/// The words of a row. Where it has commas or semicolons, what stands between two of them is a word, even if it is nothing; a
/// last one ends the row.
pub(crate) fn words(row: &[u8]) -> impl Iterator<Item = &[u8]> {
    let separates = |byte: &u8| matches!(byte, b',' | b';');
    let separated = row.iter().any(separates);
    let row = if separated { row.strip_suffix(b",").or(row.strip_suffix(b";")).unwrap_or(row) } else { row };
    row.split(move |byte| if separated { separates(byte) } else { byte.is_ascii_whitespace() })
        .map(<[u8]>::trim_ascii)
        .filter(move |word| separated || !word.is_empty())
}

/// Whether a line holds names, and no numbers.
fn is_header(line: &[u8]) -> bool {
    let is_name = |word: &[u8]| word.first().is_some_and(u8::is_ascii_alphabetic) && !word.eq_ignore_ascii_case(b"nan");
    words(line).all(is_name)
}

/// What a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A list of pairs.
    List,
    /// A row for each sender, a column for each receiver.
    Matrix,
    /// Three rows of three numbers with zeros on the diagonal, which may be either.
    Either,
}

/// What a table is: a list if its first line names the columns of one, or its first row is about a task or a group; a matrix if it has as many
/// columns as `tasks`, where their number is known; else a list if it has 3 or 4 columns, unless it can be a matrix as well.
pub(crate) fn form(bytes: &[u8], tasks: Option<u32>) -> Form {
    let Some((_, first)) = rows(bytes).next() else { return Form::List };
    if is_named_list(bytes) || words(first).next().is_some_and(|word| [TASK, MULTICAST, REDUCTION].contains(&word)) {
        return Form::List;
    }
    match (words(first).count(), tasks) {
        (columns, Some(tasks)) if columns == tasks as usize => Form::Matrix,
        (3 | 4, Some(_)) => Form::List,
        // The last row of a list would have no messages.
        (4, None) if may_be_matrix(bytes, 4) => Form::Matrix,
        (3, None) if may_be_matrix(bytes, 3) => Form::Either,
        (3 | 4, None) => Form::List,
        _ => Form::Matrix,
    }
}

/// Whether a table has so many rows of as many columns, with zeros on the diagonal.
fn may_be_matrix(bytes: &[u8], size: usize) -> bool {
    let is_zero = |word: &[u8]| std::str::from_utf8(word).is_ok_and(|word| word.parse() == Ok(0.0));
    let fits = |(place, (_, row)): (usize, (u64, &[u8]))| {
        words(row).count() == size && words(row).nth(place).is_some_and(is_zero)
    };
    let has_names = filled(bytes).next().is_some_and(|(_, line)| is_header(line));
    !has_names && rows(bytes).count() == size && rows(bytes).enumerate().all(fits)
}

/// Whether the first line names the columns of a list.
fn is_named_list(bytes: &[u8]) -> bool {
    let Some((_, first)) = filled(bytes).next() else { return false };
    let mut names = words(first);
    let has = |names: &[&[u8]; 4], word: Option<&[u8]>| {
        word.is_some_and(|word| names.iter().any(|name| name.eq_ignore_ascii_case(word)))
    };
    LIST.iter().all(|allowed| has(allowed, names.next()))
}
