//! Where the time of one kind of call goes, by `perf`: `cargo bench --bench ratios -- profile paid` (or `read`,
//! `challenge`, `commands`). Not part of a run without arguments.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use purser_storage::StoreLimits;
use tokio::runtime::Builder;

use crate::callers::closed_loop;
use crate::commits::{CounterId, open_journal, start_registry};
use crate::web::clients::ClientPool;
use crate::web::driver::{self, Workload};
use crate::web::process::Service;
use crate::{Fault, host_info};

const CONNECTIONS: usize = 64;
const TIME: Duration = Duration::from_secs(8);

/// Drives one kind of call and prints what the process spent its time on.
pub(crate) fn run(kind: &str) -> Result<(), Fault> {
    let dir = host_info::directory()?;
    let data = dir.path().join("perf.data");
    let calls = if kind == "commands" {
        commands(dir.path(), &data)?
    } else {
        web(kind, dir.path(), &data)?
    };
    println!("{kind}: {calls} calls while perf looked on");
    for (sort, lines) in [("comm", "12"), ("dso,symbol", "70")] {
        let report = Command::new("perf")
            .args([
                "report",
                "--stdio",
                "--no-children",
                "--percent-limit",
                "0.4",
                "-s",
                sort,
                "-i",
            ])
            .arg(&data)
            .stderr(Stdio::null())
            .output()?;
        let text = String::from_utf8_lossy(&report.stdout);
        let rows = text.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty());
        rows.take(lines.parse()?).for_each(|line| println!("{line}"));
    }
    Ok(())
}

fn record(process: u32, data: &Path) -> Result<Child, Fault> {
    let recorder = Command::new("perf")
        .args([
            "record",
            "--quiet",
            "-e",
            "cpu-clock",
            "-F",
            "1999",
            "-p",
            &process.to_string(),
            "-o",
        ])
        .arg(data)
        .spawn()?;
    // It says nothing when it has attached.
    std::thread::sleep(Duration::from_millis(500));
    Ok(recorder)
}

fn finish(mut recorder: Child) -> Result<(), Fault> {
    Command::new("kill")
        .args(["-INT", &recorder.id().to_string()])
        .status()?;
    recorder.wait()?;
    Ok(())
}

fn web(kind: &str, dir: &Path, data: &Path) -> Result<usize, Fault> {
    let service = Service::start(dir, &[])?;
    let client = Builder::new_current_thread().enable_all().build()?;
    client.block_on(async {
        let shop = ClientPool::open(service.address, 128).await?;
        let requests = match kind {
            "read" => shop.balance_requests(CONNECTIONS),
            "challenge" => vec![shop.unpaid_request(); CONNECTIONS],
            "paid" => Vec::new(),
            other => return Err(format!("{other}: paid, read, challenge or commands").into()),
        };
        let payments = if kind == "paid" {
            shop.sign(8_000).await?
        } else {
            Vec::new()
        };
        let before = shop.delivered();
        let recorder = record(service.id(), data)?;
        let calls = if kind == "paid" {
            let calls = driver::drive(service.address, driver::spread(&payments, CONNECTIONS), 200).await?;
            shop.until(|now| now.ready >= before.ready + payments.len() as u64)
                .await?;
            calls
        } else {
            let work = requests.into_iter().map(|r| Workload::Same(r, TIME)).collect();
            let status = if kind == "read" { 200 } else { 402 };
            driver::drive(service.address, work, status).await?
        };
        finish(recorder)?;
        Ok(calls.latencies.len())
    })
}

fn commands(dir: &Path, data: &Path) -> Result<usize, Fault> {
    let store = open_journal(dir.join("store"), StoreLimits::production())?;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let calls = runtime.block_on(async {
        let (tallies, root) = start_registry(store.clone()).await?;
        let load = |time| {
            let tallies = tallies.clone();
            closed_loop(1024, time, move |n| {
                let (tallies, mut at) = (tallies.clone(), n as u64);
                move || {
                    at = (at + 1024) % 16_384;
                    let (tallies, number) = (tallies.clone(), CounterId(at));
                    async move { tallies.ask(number, 1).await.is_ok() }
                }
            })
        };
        load(Duration::from_secs(2)).await;
        let begun = Instant::now();
        let recorder = record(std::process::id(), data)?;
        let calls = load(TIME.saturating_sub(begun.elapsed())).await;
        finish(recorder)?;
        root.stop(None);
        Ok::<_, Fault>(calls.latencies.len())
    })?;
    store.close();
    Ok(calls)
}
