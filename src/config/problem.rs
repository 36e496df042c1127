//! What is wrong with a configuration. In: nothing. Out: values that name file, line, key and what to do.
//!
//! Not here: finding them (`files`, `parse`, `check`).

use std::fmt;
use std::path::PathBuf;

/// One thing to put right.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file it is in; for a key that is missing, the main file.
    pub file: PathBuf,
    /// The line, from 1; none if it is not about a line.
    pub line: Option<u32>,
    /// The key with its table, as in `delete.approval_wait`; empty if it is not about a key.
    pub key: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Everything that is wrong, by file and line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}
impl std::error::Error for Problems {}
