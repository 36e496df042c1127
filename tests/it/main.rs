//! The program from the outside and in one process: each test's name carries the row of the acceptance matrix it covers.

#![expect(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::too_many_lines,
    clippy::cast_possible_wrap,
    reason = "a test stops at the first surprise, waits for real processes, and tells its story in one piece"
)]

mod adversary;
mod breaker;
mod deletes;
mod durable;
mod guards;
mod operators;
mod processes;
mod restores;
mod saves;
mod storage;
mod support;
