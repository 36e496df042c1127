//! The program: harden the process, understand the words, end with a status.
//!
//! Not here: everything else (cli/, daemon/).

use lockgate::daemon::{hygiene, log};
use lockgate::exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Err(error) = hygiene::harden() {
        log::last_word(&format!("the process cannot be hardened: {error}"));
        return Exit::Failed.into();
    }
    lockgate::cli::run(std::env::args_os()).into()
}
