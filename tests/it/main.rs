//! The program from the outside and in one process: each test's name carries the row of the acceptance matrix it covers.

mod deletes;
mod processes;
mod restores;
mod saves;
mod support;
