//! The program from the outside and in one process: each test's name carries the row of the acceptance matrix it covers.

#![expect(unreachable_pub, reason = "the shared part of the tests is public to the others")]

mod deletes;
mod durable;
mod guards;
mod processes;
mod restores;
mod saves;
mod support;
