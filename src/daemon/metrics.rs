//! The role's OpenMetrics page. In: maintained counts and conditions. Out: families with closed label sets.
//!
//! Not here: the text format (http/metrics).

use crate::executor::Gear;
use crate::http::metrics::{Axis, Behaviour, Family, Number, Page};
use crate::job::{Code, JobKind, State};
use crate::ledger::control::Flow;

const REASONS: [&str; 7] = [
    "database",
    "dispatcher-stale",
    "credential",
    "target",
    "source",
    "disk",
    "clock",
];
const AUDIT: [&str; 7] = [
    "REQUESTED",
    "AUTHORIZED",
    "SENT",
    "EXECUTED",
    "SETTLED",
    "REFUSED",
    "OPERATOR",
];

fn axis(label: &'static str, words: Vec<&'static str>) -> Vec<Axis> {
    vec![Axis { label, words }]
}

fn family(name: &'static str, help: &'static str, behaviour: Behaviour, axes: Vec<Axis>) -> Family {
    Family {
        name,
        help,
        behaviour,
        unit: None,
        axes,
    }
}

/// One page, of one moment.
pub fn page(gear: &Gear) -> String {
    let mut page = Page::new();
    let overview = gear.ledger.overview().ok();
    let count = |name: &str, label: &str| {
        Number::Whole(
            overview
                .as_ref()
                .and_then(|o| o.counts.get(name)?.get(label).copied())
                .unwrap_or(0),
        )
    };
    let states = State::ALL.iter().map(|state| state.as_str()).collect();
    page.family(
        &family(
            "lockgate_jobs",
            "Jobs by state.",
            Behaviour::Gauge,
            axis("state", states),
        ),
        |words| count("jobs", words[0]),
    );
    let kinds = JobKind::ALL.iter().map(|kind| kind.as_str()).collect();
    page.family(
        &family(
            "lockgate_admitted",
            "Jobs admitted.",
            Behaviour::Counter,
            axis("job_type", kinds),
        ),
        |words| count("admitted", words[0]),
    );
    let codes: Vec<&'static str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    page.family(
        &family(
            "lockgate_settled",
            "Jobs settled, by code.",
            Behaviour::Counter,
            axis("code", codes.clone()),
        ),
        |words| count("settled", words[0]),
    );
    page.family(
        &family(
            "lockgate_refused",
            "Documents refused, by code.",
            Behaviour::Counter,
            axis("code", codes),
        ),
        |words| count("refused", words[0]),
    );
    page.family(
        &family(
            "lockgate_audit_rows",
            "Audit rows by kind.",
            Behaviour::Counter,
            axis("kind", AUDIT.to_vec()),
        ),
        |words| count("audit", words[0]),
    );
    let conditions = gear.conditions.list();
    page.family(
        &family(
            "lockgate_unhealthy",
            "1 for each reason that holds now.",
            Behaviour::Gauge,
            axis("reason", REASONS.to_vec()),
        ),
        |words| {
            Number::Whole(i64::from(
                conditions.iter().any(|condition| condition.reason == words[0]),
            ))
        },
    );
    let flow = overview.as_ref().map(|o| o.flow);
    page.family(
        &family(
            "lockgate_flow",
            "1 for the present one.",
            Behaviour::Gauge,
            axis("flow", vec!["running", "paused", "frozen"]),
        ),
        |words| Number::Whole(i64::from(flow.map(Flow::as_str) == Some(words[0]))),
    );
    let leases = i64::try_from(gear.leases.count()).unwrap_or(i64::MAX);
    page.family(
        &family(
            "lockgate_leases",
            "Leases held by this process.",
            Behaviour::Gauge,
            Vec::new(),
        ),
        |_| Number::Whole(leases),
    );
    let bytes = |suffix: &str| {
        let mut path = gear.ledger.path().as_os_str().to_owned();
        path.push(suffix);
        std::fs::metadata(path).map_or(0, |meta| i64::try_from(meta.len()).unwrap_or(i64::MAX))
    };
    for (name, help, suffix) in [
        ("lockgate_ledger_bytes", "Size of inbox.db.", ""),
        ("lockgate_wal_bytes", "Size of the write-ahead log.", "-wal"),
    ] {
        let family = Family {
            name,
            help,
            behaviour: Behaviour::Gauge,
            unit: Some("bytes"),
            axes: Vec::new(),
        };
        page.family(&family, |_| Number::Whole(bytes(suffix)));
    }
    page.finish()
}
