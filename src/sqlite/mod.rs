//! The only door to SQLite: connections with our pragmas, one writer thread a file, a small pool of readers, forward
//! migrations. In: a path and closures. Out: committed facts, or a `StorageFault` that names what is wrong with the file.
//!
//! Not here: what the tables mean (ledger/), SQL text of the ledger (ledger/rows*.rs).

mod fault;
pub mod migrate;
pub mod open;
pub mod readers;
pub mod writer;

pub use fault::{StorageFault, WriteError};
pub use readers::Readers;
pub use writer::Writer;
