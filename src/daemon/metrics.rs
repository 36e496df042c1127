//! The role's OpenMetrics page. In: maintained counts and conditions. Out: families with closed label sets.
//!
//! Not here: the text format (http/metrics).

use crate::executor::Gear;
use crate::http::metrics::{Axis, Behaviour, Family, Number, Page};
use crate::job::{Code, JobKind, State};
use crate::ledger::control::Flow;
use crate::ledger::views::Overview;

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

/// One page, of one moment.
pub fn page(gear: &Gear) -> String {
    let mut page = Page::new();
    let overview = gear.ledger.overview().ok();
    counted(&mut page, overview.as_ref());
    present(&mut page, gear, overview.as_ref());
    page.finish()
}

/// What the ledger counts as it goes.
fn counted(page: &mut Page, overview: Option<&Overview>) {
    let count = |name: &str, label: &str| {
        let found = overview.and_then(|o| o.counts.get(name)?.get(label).copied());
        Number::Whole(found.unwrap_or(0))
    };
    let states = State::ALL.iter().map(|state| state.as_str()).collect();
    let kinds = JobKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let codes: Vec<&'static str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    let (gauge, counter) = (Behaviour::Gauge, Behaviour::Counter);
    let families = [
        (
            "jobs",
            Family::new("lockgate_jobs", "Jobs by state.", gauge, axis("state", states)),
        ),
        (
            "admitted",
            Family::new(
                "lockgate_admitted",
                "Jobs admitted.",
                counter,
                axis("job_type", kinds),
            ),
        ),
        (
            "settled",
            Family::new(
                "lockgate_settled",
                "Jobs settled, by code.",
                counter,
                axis("code", codes.clone()),
            ),
        ),
        (
            "refused",
            Family::new(
                "lockgate_refused",
                "Documents refused, by code.",
                counter,
                axis("code", codes),
            ),
        ),
        (
            "audit",
            Family::new(
                "lockgate_audit_rows",
                "Audit rows by kind.",
                counter,
                axis("kind", AUDIT.to_vec()),
            ),
        ),
    ];
    for (name, family) in families {
        page.family(&family, |words| count(name, words[0]));
    }
}

/// How the role is now.
fn present(page: &mut Page, gear: &Gear, overview: Option<&Overview>) {
    let conditions = gear.conditions.list();
    let reasons = axis("reason", REASONS.to_vec());
    let unhealthy = Family::new(
        "lockgate_unhealthy",
        "1 for each reason that holds now.",
        Behaviour::Gauge,
        reasons,
    );
    page.family(&unhealthy, |words| {
        let holds = conditions.iter().any(|condition| condition.reason == words[0]);
        Number::Whole(i64::from(holds))
    });
    let flow = overview.map(|o| o.flow);
    let flows = axis("flow", vec!["running", "paused", "frozen"]);
    let family_of_flow = Family::new("lockgate_flow", "1 for the present one.", Behaviour::Gauge, flows);
    page.family(&family_of_flow, |words| {
        Number::Whole(i64::from(flow.map(Flow::as_str) == Some(words[0])))
    });
    let leases = i64::try_from(gear.leases.count()).unwrap_or(i64::MAX);
    let held = Family::new(
        "lockgate_leases",
        "Leases held by this process.",
        Behaviour::Gauge,
        Vec::new(),
    );
    page.family(&held, |_| Number::Whole(leases));
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
            unit: Some("bytes"),
            ..Family::new(name, help, Behaviour::Gauge, Vec::new())
        };
        page.family(&family, |_| Number::Whole(bytes(suffix)));
    }
}
