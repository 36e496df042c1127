//! SQL of the small facts about the role itself. All by primary key.
//!
//! Not here: jobs, audit.

pub(super) const GET: &str = "SELECT value FROM meta WHERE key = ?1";
pub(super) const SET: &str =
    "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
pub(super) const RAISE: &str = "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value \
    WHERE CAST(meta.value AS INTEGER) < CAST(excluded.value AS INTEGER)";
