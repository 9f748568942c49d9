//! Omissions and assumptions of a reader, counted.

/// Sentences about omissions and assumptions of a file's reader, without duplicates, in the order in which they were
/// added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    sentences: Vec<String>,
}

impl Notes {
    /// Adds a sentence unless it has already been added.
    pub fn add(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if !self.sentences.contains(&sentence) {
            self.sentences.push(sentence);
        }
    }

    /// Adds `<count> <thing> <verb> <rest>` if `count` is positive. The first of `things` and of `verbs` is the
    /// singular.
    pub fn count(&mut self, count: u64, things: [&str; 2], verbs: [&str; 2], rest: &str) {
        if count > 0 {
            let verb = verbs[usize::from(count > 1)];
            self.add(format!("{} {verb} {rest}", counted(count, things)));
        }
    }

    /// Returns the sentences.
    pub fn sentences(&self) -> &[String] {
        &self.sentences
    }
}

/// Returns a number with the singular or the plural of the counted thing.
pub fn counted(count: u64, things: [&str; 2]) -> String {
    format!("{count} {}", things[usize::from(count != 1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_counted_once() {
        // Would catch a note for a count of 0, a plural for a count of 1, and a repeated sentence.
        let mut notes = Notes::default();
        notes.count(0, ["wire", "wires"], ["is", "are"], "left out");
        notes.count(1, ["wire", "wires"], ["is", "are"], "left out");
        notes.count(2, ["node", "nodes"], ["is", "are"], "left out");
        notes.add("1 wire is left out");
        assert_eq!(notes.sentences(), ["1 wire is left out", "2 nodes are left out"]);
    }
}
