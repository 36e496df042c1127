//! Figures of the engine and of the main job on this machine, each beside a probe of its disk. Not a test: it asserts only that every job
//! ended as it should. `tests/bench/run` calls it; `--quick` is a smaller round.
#![expect(
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    clippy::cast_possible_wrap,
    reason = "a measuring program: it reads the real clock, prints a table and stops at the first surprise"
)]

#[path = "../it/support/mod.rs"]
mod support;

use lockgate::clock::WallMs;
use lockgate::job::{Code, CommitId, Role, State};
use lockgate::ledger::settle::{Intent, Settlement};
use serde_json::{Value, json};
use std::time::Instant;
use support::{NOW, Rig, Site};

/// How much is done in each part.
struct Size {
    engine: usize,
    jobs: usize,
    rounds: usize,
    settled: usize,
}

/// A row's name, its unit, and how one round is measured.
type Measure = (&'static str, &'static str, fn(&Size) -> f64);

/// One row of the table.
struct Figure {
    name: &'static str,
    unit: &'static str,
    rounds: Vec<f64>,
    probe: f64,
}

impl Figure {
    fn median(&self) -> f64 {
        let mut sorted = self.rounds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }
}

fn main() {
    let quick = std::env::args().any(|word| word == "--quick");
    // cargo asks every bench target with --test when tests run; there is nothing to test here.
    if std::env::args().any(|word| word == "--test" || word == "--list") {
        return;
    }
    let size = if quick {
        Size {
            engine: 3_000,
            jobs: 500,
            rounds: 3,
            settled: 20_000,
        }
    } else {
        Size {
            engine: 10_000,
            jobs: 2_000,
            rounds: 5,
            settled: 200_000,
        }
    };
    let mut figures = Vec::new();
    let measures: [Measure; 5] = [
        ("I1 intake of JSON lines", "jobs/s", intake),
        ("E1 engine drain: claim, intent, settle", "jobs/s", drain),
        ("M1 SAVE, new files, directory vault", "jobs/s", saves),
        ("M2 DELETE, one approval each, batch 256", "jobs/s", deletes),
        ("E4 claim beside settled jobs / beside none", "ratio", claim_ratio),
    ];
    for (name, unit, measure) in measures {
        let before = probe();
        let rounds: Vec<f64> = (0..size.rounds).map(|_| measure(&size)).collect();
        let after = probe();
        figures.push(Figure {
            name,
            unit,
            rounds,
            probe: f64::midpoint(before, after),
        });
    }
    table(&figures);
    if let Some(path) = std::env::args().skip_while(|word| word != "--json").nth(1) {
        std::fs::write(path, as_json(&figures).to_string()).unwrap();
    }
}

fn table(figures: &[Figure]) {
    println!("| what | median | min | max | unit | disk probe, 4 KiB overwrite + fsync /s | ratio to it |");
    println!("|---|---|---|---|---|---|---|");
    for figure in figures {
        let min = figure.rounds.iter().copied().fold(f64::INFINITY, f64::min);
        let max = figure.rounds.iter().copied().fold(0.0, f64::max);
        let median = figure.median();
        println!(
            "| {} | {median:.1} | {min:.1} | {max:.1} | {} | {:.0} | {:.2} |",
            figure.name,
            figure.unit,
            figure.probe,
            median / figure.probe
        );
    }
}

fn as_json(figures: &[Figure]) -> Value {
    let rows: Vec<Value> = figures
        .iter()
        .map(|figure| {
            json!({ "name": figure.name, "unit": figure.unit, "median": figure.median(), "rounds": figure.rounds,
                "probe_per_s": figure.probe })
        })
        .collect();
    json!(rows)
}

/// Durable 4 KiB overwrites a second.
fn probe() -> f64 {
    use std::os::unix::fs::FileExt;
    let file = tempfile::NamedTempFile::new().unwrap();
    let block = [7u8; 4096];
    for at in 0..256 {
        file.as_file().write_all_at(&block, at * 4096).unwrap();
    }
    file.as_file().sync_all().unwrap();
    let start = Instant::now();
    let mut times = 0u64;
    while start.elapsed().as_millis() < 500 {
        file.as_file().write_all_at(&block, (times % 256) * 4096).unwrap();
        file.as_file().sync_data().unwrap();
        times += 1;
    }
    times as f64 / start.elapsed().as_secs_f64()
}

fn site() -> Site {
    Site::with(
        "\n[limits]\njobs_per_uid = 10000000\nbytes_per_uid = 1073741824\n\n[save]\nbatch = 256\n\n[delete]\nbatch = 256\n",
    )
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{:02}/{n}.md", n % 50)).collect()
}

/// A commit that holds every name with itself as content.
fn commit(site: &Site, names: &[String]) -> CommitId {
    let changes: Vec<(&str, Option<&str>)> = names
        .iter()
        .map(|name| (name.as_str(), Some(name.as_str())))
        .collect();
    site.commit(&changes)
}

fn drop_lines(site: &Site, role: Role, documents: &[Value]) {
    for (n, part) in documents.chunks(1000).enumerate() {
        let lines: Vec<String> = part.iter().map(Value::to_string).collect();
        site.drop_file(role, &format!("part-{n}.jsonl"), lines.join("\n").as_bytes());
    }
}

fn admitted(site: &Site, count: usize) -> (Rig, f64) {
    let fake = CommitId::parse(&"1f".repeat(20)).unwrap();
    let documents: Vec<Value> = names(count)
        .iter()
        .map(|name| site.save_job(name, &fake, name))
        .collect();
    drop_lines(site, Role::Save, &documents);
    let mut rig = site.role(Role::Save);
    let start = Instant::now();
    rig.read_files();
    let took = start.elapsed().as_secs_f64();
    assert_eq!(
        rig.gear.ledger.overview().unwrap().counts["jobs"]["READY"],
        count as i64
    );
    (rig, count as f64 / took)
}

fn intake(size: &Size) -> f64 {
    admitted(&site(), size.engine).1
}

/// Claims and settles everything with nothing in between.
fn drain_all(rig: &Rig, batch: usize) -> usize {
    let mut done = 0;
    loop {
        let claimer = rig.gear.claimer();
        let claimed = rig
            .gear
            .ledger
            .write(move |tx| tx.claim(&claimer, batch))
            .unwrap()
            .claimed;
        if claimed.is_empty() {
            return done;
        }
        done += claimed.len();
        let held = claimed.clone();
        rig.gear
            .ledger
            .write(move |tx| {
                for job in &held {
                    tx.executing(
                        job,
                        &Intent {
                            before: None,
                            new: None,
                        },
                    )?;
                }
                Ok(())
            })
            .unwrap();
        rig.gear
            .ledger
            .write(move |tx| {
                for job in &claimed {
                    tx.settle(job, State::Executing, &Settlement::succeed(Code::Saved))?;
                }
                Ok(())
            })
            .unwrap();
    }
}

fn drain(size: &Size) -> f64 {
    let site = site();
    let (rig, _) = admitted(&site, size.engine);
    let start = Instant::now();
    assert_eq!(drain_all(&rig, 256), size.engine);
    size.engine as f64 / start.elapsed().as_secs_f64()
}

fn saves(size: &Size) -> f64 {
    let site = site();
    let names = names(size.jobs);
    let commit = commit(&site, &names);
    let documents: Vec<Value> = names
        .iter()
        .map(|name| site.save_job(name, &commit, name))
        .collect();
    drop_lines(&site, Role::Save, &documents);
    let mut rig = site.role(Role::Save);
    let start = Instant::now();
    rig.settle();
    let took = start.elapsed().as_secs_f64();
    assert_eq!(
        rig.gear.ledger.overview().unwrap().counts["jobs"]["SUCCEEDED"],
        size.jobs as i64
    );
    size.jobs as f64 / took
}

fn deletes(size: &Size) -> f64 {
    let site = site();
    let names = names(size.jobs);
    let commit = commit(&site, &names);
    let mut documents = Vec::new();
    for name in &names {
        site.put_in_vault(name, name);
        let job = site.delete_job(name, &commit, name);
        documents.push(site.envelope(&site.payload(&job, WallMs(NOW))));
        documents.push(job);
    }
    drop_lines(&site, Role::Delete, &documents);
    let mut rig = site.role(Role::Delete);
    let start = Instant::now();
    rig.settle();
    let took = start.elapsed().as_secs_f64();
    assert_eq!(
        rig.gear.ledger.overview().unwrap().counts["jobs"]["SUCCEEDED"],
        size.jobs as i64
    );
    size.jobs as f64 / took
}

/// Seconds for one claim of 16 out of 1,000 ready jobs; the best of ten.
fn one_claim(rig: &Rig) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..10 {
        let claimer = rig.gear.claimer();
        let start = Instant::now();
        let claimed = rig
            .gear
            .ledger
            .write(move |tx| tx.claim(&claimer, 16))
            .unwrap()
            .claimed;
        best = best.min(start.elapsed().as_secs_f64());
        assert_eq!(claimed.len(), 16);
    }
    best
}

fn claim_ratio(size: &Size) -> f64 {
    let (empty, full) = (site(), site());
    let (small, _) = admitted(&empty, 1000);
    let (many, _) = admitted(&full, size.settled);
    drain_all(&many, 1000);
    drop(many);
    let (large, _) = {
        let fake = CommitId::parse(&"1f".repeat(20)).unwrap();
        let documents: Vec<Value> = names(1000)
            .iter()
            .map(|name| full.save_job(name, &fake, name))
            .collect();
        drop_lines(&full, Role::Save, &documents);
        let mut rig = full.role(Role::Save);
        rig.read_files();
        (rig, ())
    };
    one_claim(&large) / one_claim(&small)
}
