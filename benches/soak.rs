//! A long mixed load at four fifths of capacity with `kill -9` every minute: `cargo bench --bench ratios -- soak
//! [--minutes=30] [--plot=FILE]`. It fails in three cases: a payment never gets its product, a subscriber misses a
//! settlement or receives any event twice, or `purser verify` reports a problem. The plots are for people to judge.

mod agent;
mod plot;

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::Builder;
use tokio::task::JoinHandle;

use crate::web::process::Service;
use crate::{Fault, host_info, report};
use agent::SoakAgent;

const AGENTS: usize = 48;
/// Closed loop, to find the capacity.
const CALIBRATION: Duration = Duration::from_secs(10);
const RUN_BETWEEN_KILLS: Duration = Duration::from_secs(60);
/// Of the measured capacity.
const LOAD_PERCENT: u32 = 80;
/// Small, so that half an hour shows that old segments go.
const RETENTION_BYTES: u64 = 64 << 20;

/// What visitors and watchers write down.
pub(crate) struct Tally {
    /// The running service's process; 0 between a kill and the next start.
    process: AtomicU32,
    visits: AtomicU64,
    /// Payments signed, and payments answered with their product.
    signed: AtomicU64,
    bought: AtomicU64,
    /// Events heard by subscribers.
    events: AtomicU64,
    /// Of visits done since the last look, in microseconds, from when they were due.
    latencies: Mutex<Vec<u32>>,
    stopping: AtomicBool,
}

/// Counts of one second.
#[derive(Clone, Copy, Default)]
pub(crate) struct SecondStats {
    visits: f64,
    p99_ms: f64,
    resident_mib: f64,
    journal_mib: f64,
    snapshots_mib: f64,
    sandbox_mib: f64,
}

/// Runs it and prints a summary.
pub(crate) fn run(minutes: u64, plot: Option<PathBuf>) -> Result<(), Fault> {
    let dir = host_info::directory()?;
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let client = Builder::new_current_thread().enable_all().build()?;
    let soak = Soak {
        dir: dir.path().to_path_buf(),
        address,
        tally: Arc::new(Tally {
            process: AtomicU32::new(0),
            visits: AtomicU64::new(0),
            signed: AtomicU64::new(0),
            bought: AtomicU64::new(0),
            events: AtomicU64::new(0),
            latencies: Mutex::default(),
            stopping: AtomicBool::new(false),
        }),
    };
    let (moments, kills) = client.block_on(soak.run_all(minutes))?;
    let tally = &soak.tally;
    let (signed, bought) = (
        tally.signed.load(Ordering::Relaxed),
        tally.bought.load(Ordering::Relaxed),
    );
    println!(
        "  {signed} payments signed, {bought} answered with their product; {} events heard in order",
        tally.events.load(Ordering::Relaxed)
    );
    print_intervals(&moments, &kills);
    if signed == 0 || kills.is_empty() || tally.events.load(Ordering::Relaxed) < signed {
        return Err("too little happened to prove anything".into());
    }
    if signed != bought {
        return Err("a payment was not answered with its product".into());
    }
    soak.verify()?;
    let plot = plot.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("soak.svg"));
    std::fs::write(&plot, plot::svg(&moments, &kills))?;
    println!("  drawn in {}", plot.display());
    Ok(())
}

struct Soak {
    dir: PathBuf,
    address: SocketAddr,
    tally: Arc<Tally>,
}

impl Soak {
    async fn run_all(&self, minutes: u64) -> Result<(Vec<SecondStats>, Vec<usize>), Fault> {
        let mut service = self.start().await?;
        let visits_before = self.tally.visits.load(Ordering::Relaxed);
        let visitors = self.start_agents(None);
        let begun = Instant::now();
        tokio::time::sleep(CALIBRATION).await;
        let done = self.tally.visits.load(Ordering::Relaxed) - visits_before;
        let capacity = done as f64 / begun.elapsed().as_secs_f64();
        self.stop_agents(visitors).await?;
        let rate = capacity * f64::from(LOAD_PERCENT) / 100.0;
        println!("\nSoak, {minutes} minutes: capacity {capacity:.0} visits a second, load {rate:.0}");

        let visitors = self.start_agents(Some(Duration::from_secs_f64(AGENTS as f64 / rate)));
        let watch = tokio::spawn(sample_every_second(self.dir.clone(), self.tally.clone()));
        let begun = Instant::now();
        let mut kills = Vec::new();
        for minute in 1..=minutes {
            let until = RUN_BETWEEN_KILLS * u32::try_from(minute)?;
            tokio::time::sleep(until.saturating_sub(begun.elapsed())).await;
            if visitors.iter().any(JoinHandle::is_finished) {
                break;
            }
            kills.push(begun.elapsed().as_secs() as usize);
            self.tally.process.store(0, Ordering::Relaxed);
            // Dropped is killed, with everything in flight.
            drop(service);
            service = self.start().await?;
        }
        self.stop_agents(visitors).await?;
        let moments = watch.await?;
        service.stop()?;
        Ok((moments, kills))
    }

    async fn start(&self) -> Result<Service, Fault> {
        let (dir, address) = (self.dir.clone(), self.address.to_string());
        let started = tokio::task::spawn_blocking(move || {
            let own = [
                ("PURSER_SERVER__LISTEN", address.as_str()),
                ("PURSER_STORAGE__SEGMENT_BYTES", "16777216"),
                ("PURSER_STORAGE__RETENTION_BYTES", &RETENTION_BYTES.to_string()),
                ("PURSER_ENGINE__PASSIVATE_AFTER_MS", "5000"),
            ];
            Service::start_with(&dir, &[], &own)
        });
        let service = started.await??;
        self.tally.process.store(service.id(), Ordering::Relaxed);
        Ok(service)
    }

    fn start_agents(&self, every: Option<Duration>) -> Vec<JoinHandle<Result<(), Fault>>> {
        self.tally.stopping.store(false, Ordering::Relaxed);
        (0..AGENTS)
            .map(|n| tokio::spawn(SoakAgent::visits(self.address, self.tally.clone(), n, every)))
            .collect()
    }

    async fn stop_agents(&self, visitors: Vec<JoinHandle<Result<(), Fault>>>) -> Result<(), Fault> {
        self.tally.stopping.store(true, Ordering::Relaxed);
        for visitor in visitors {
            visitor.await??;
        }
        Ok(())
    }

    fn verify(&self) -> Result<(), Fault> {
        let output = Command::new(env!("CARGO_BIN_EXE_purser"))
            .args(["verify", "--data"])
            .arg(self.dir.join("data"))
            .env("RUST_LOG", "error")
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        println!("  purser verify: {}", text.lines().last().unwrap_or_default());
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("purser verify: {text}").into()),
        }
    }
}

/// Looks once a second, until the visitors are called back.
async fn sample_every_second(dir: PathBuf, tally: Arc<Tally>) -> Vec<SecondStats> {
    let mut moments: Vec<SecondStats> = Vec::new();
    let mut second = tokio::time::interval(Duration::from_secs(1));
    second.tick().await;
    let mut visits = tally.visits.load(Ordering::Relaxed);
    while !tally.stopping.load(Ordering::Relaxed) {
        second.tick().await;
        let now = tally.visits.load(Ordering::Relaxed);
        let mut latencies = std::mem::take(&mut *tally.latencies.lock());
        latencies.sort_unstable();
        let p99 = latencies.get(latencies.len() * 99 / 100).copied().unwrap_or(0);
        let last = moments.last().copied().unwrap_or_default();
        let resident = match tally.process.load(Ordering::Relaxed) {
            0 => last.resident_mib,
            process => host_info::resident_mib(process) as f64,
        };
        let store = dir.join("data/store");
        moments.push(SecondStats {
            visits: (now - visits) as f64,
            p99_ms: f64::from(p99) / 1_000.0,
            resident_mib: resident,
            journal_mib: mib(&store, "wal-"),
            snapshots_mib: mib(&store, "") - mib(&store, "wal-"),
            sandbox_mib: mib(&dir.join("data/sandbox"), ""),
        });
        visits = now;
    }
    moments
}

/// Disk blocks of the files below a directory whose names begin so, in MiB.
fn mib(dir: &Path, prefix: &str) -> f64 {
    use std::os::unix::fs::MetadataExt;
    let mut blocks = 0;
    // A file may go while we look.
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() {
            blocks += (mib(&entry.path(), prefix) * 2048.0) as u64;
        } else if entry.file_name().to_string_lossy().starts_with(prefix) {
            blocks += meta.blocks();
        }
    }
    blocks as f64 / 2048.0
}

/// A line for the first lives and the last: what grows shows between them.
fn print_intervals(moments: &[SecondStats], kills: &[usize]) {
    let mut from = 0;
    println!("  life   visits/s   p99 ms   resident MiB   journal MiB   snapshots MiB   sandbox MiB");
    for (n, to) in kills.iter().enumerate() {
        let life = &moments[from.min(moments.len())..(*to).min(moments.len())];
        let end = life.last().copied().unwrap_or_default();
        if n < 3 || n + 3 >= kills.len() || n % 5 == 4 {
            println!(
                "  {:>4}   {:>8.0}   {:>6.1}   {:>12.0}   {:>11.0}   {:>13.0}   {:>11.0}",
                n + 1,
                report::median(life.iter().map(|m| m.visits)),
                report::median(life.iter().map(|m| m.p99_ms)),
                end.resident_mib,
                end.journal_mib,
                end.snapshots_mib,
                end.sandbox_mib,
            );
        }
        from = *to;
    }
}
