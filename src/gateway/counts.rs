//! What the gateway counts, and its metrics page. In: what happened. Out: OpenMetrics text with closed label sets.
//!
//! Counters start at zero with the process; what waits and which streams are open is counted when the page is made.
//!
//! Not here: the text format (http/metrics).

use super::Gateway;
use crate::http::metrics::{Axis, Behaviour, Family, Number, Page};
use crate::job::{Code, Role};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the start.
#[derive(Debug)]
pub(super) struct Counts {
    queued: Vec<AtomicU64>,
    refused: Vec<AtomicU64>,
}

impl Counts {
    pub(super) fn new() -> Counts {
        let zeros = |count: usize| (0..count).map(|_| AtomicU64::new(0)).collect();
        Counts {
            queued: zeros(Role::EXECUTORS.len()),
            refused: zeros(Code::ALL.len()),
        }
    }
    /// `documents` of `role` are durable in its gate directory.
    pub(super) fn queued(&self, role: Role, documents: usize) {
        let at = Role::EXECUTORS.iter().position(|known| *known == role);
        if let Some(count) = at.and_then(|at| self.queued.get(at)) {
            count.fetch_add(u64::try_from(documents).unwrap_or(0), Ordering::Relaxed);
        }
    }
    /// A document was turned away with this word; words that are no codes are not counted.
    pub(super) fn refused(&self, word: &str) {
        let at = Code::ALL.iter().position(|code| code.as_str() == word);
        if let Some(count) = at.and_then(|at| self.refused.get(at)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn whole(count: Option<&AtomicU64>) -> Number {
    let value = count.map_or(0, |count| count.load(Ordering::Relaxed));
    Number::Whole(i64::try_from(value).unwrap_or(i64::MAX))
}

/// The gateway's page.
pub(super) fn page(gateway: &Gateway) -> String {
    let roles = || {
        vec![Axis {
            label: "role",
            words: Role::EXECUTORS.iter().map(|role| role.as_str()).collect(),
        }]
    };
    let codes = vec![Axis {
        label: "code",
        words: Code::ALL.iter().map(|code| code.as_str()).collect(),
    }];
    let counts = &gateway.counts;
    let mut page = Page::new();
    let queued = Family::new(
        "lockgate_gateway_queued",
        "Documents made durable for a role.",
        Behaviour::Counter,
        roles(),
    );
    page.family(&queued, |words| {
        let at = Role::EXECUTORS.iter().position(|role| role.as_str() == words[0]);
        whole(at.and_then(|at| counts.queued.get(at)))
    });
    let refused = Family::new(
        "lockgate_gateway_refused",
        "Documents turned away at the gate, by code.",
        Behaviour::Counter,
        codes,
    );
    page.family(&refused, |words| {
        let at = Code::ALL.iter().position(|code| code.as_str() == words[0]);
        whole(at.and_then(|at| counts.refused.get(at)))
    });
    let waiting = Family::new(
        "lockgate_gateway_waiting_files",
        "Files a role has not taken yet, as far as the gateway looked.",
        Behaviour::Gauge,
        roles(),
    );
    page.family(&waiting, |words| {
        let files = Role::parse(words[0]).map_or(0, |role| gateway.pending.files(role));
        Number::Whole(i64::try_from(files).unwrap_or(i64::MAX))
    });
    let streams = Family::new(
        "lockgate_gateway_streams",
        "Event streams that are open.",
        Behaviour::Gauge,
        Vec::new(),
    );
    page.family(&streams, |_| {
        Number::Whole(i64::try_from(gateway.streams.open()).unwrap_or(i64::MAX))
    });
    page.finish()
}
