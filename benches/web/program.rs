//! A build of the service with its customers, and what its calls cost.
//!
//! A paid call costs more than is used until it is answered: its rows reach the snapshots up to many seconds later. So
//! everything that the process uses counts, from before the first round until the snapshots have caught up behind the
//! last, except what other rows' calls used meanwhile. Threads of the stores work for paid calls only.

use std::path::Path;
use std::time::{Duration, Instant};

use super::clients::ClientPool;
use super::driver::{self, Workload};
use super::process::Service;
use super::{Round, Window};
use crate::Fault;
use crate::cost::{Cost, StoreCounts};
use crate::report::Sample;
use crate::usage::{Reading, Tracer, Used};

/// Accounts that buy and listen.
const WALLETS: usize = 128;
/// Longer than the snapshots may take to begin.
const CATCH_UP: Duration = Duration::from_secs(40);
/// sled's own threads write behind the snapshots.
const FLUSH: Duration = Duration::from_millis(700);

/// A running build.
pub(super) struct Program {
    /// Not this build, but the one that it is compared with.
    pub(super) is_before: bool,
    service: Service,
    pub(super) clients: ClientPool,
    /// Until everything is answered and pushed, and until every card is ready.
    pub(super) paid: Vec<Sample>,
    pub(super) ready: Vec<Sample>,
    pub(super) paid_cost: Cost,
    pub(super) read: Vec<Sample>,
    pub(super) read_cost: Cost,
    pub(super) challenge: Vec<Sample>,
    pub(super) challenge_cost: Cost,
    counting: Counting,
}

/// Since [`Program::start_counting`].
#[derive(Default)]
struct Counting {
    reading: Reading,
    counts: StoreCounts,
    /// Used by calls of other rows.
    others: Used,
    paid_calls: u64,
}

impl Program {
    /// Starts `before`, or this build, on a directory of its own.
    pub(super) async fn start(before: Option<&Path>, dir: &Path) -> Result<Self, Fault> {
        let service = match before {
            Some(program) => Service::start_program(program, dir, &[], &[])?,
            None => Service::start(dir, &[])?,
        };
        let clients = ClientPool::open(service.address, WALLETS).await?;
        Ok(Self {
            is_before: before.is_some(),
            clients,
            service,
            paid: Vec::new(),
            ready: Vec::new(),
            paid_cost: Cost::default(),
            read: Vec::new(),
            read_cost: Cost::default(),
            challenge: Vec::new(),
            challenge_cost: Cost::default(),
            counting: Counting::default(),
        })
    }

    pub(super) async fn start_counting(&mut self) -> Result<(), Fault> {
        self.counting = Counting {
            counts: self.service.metrics().await?.counts(),
            reading: Reading::of(self.service.id()),
            ..Counting::default()
        };
        Ok(())
    }

    /// When the snapshots have caught up.
    pub(super) async fn finish_counting(&mut self) -> Result<(), Fault> {
        let mut used = Reading::of(self.service.id()).since(&self.counting.reading);
        used -= self.counting.others;
        self.paid_cost = Cost {
            calls: self.counting.paid_calls,
            used,
            counts: self.service.metrics().await?.counts().since(&self.counting.counts),
            system_calls: None,
        };
        Ok(())
    }

    /// Ends when the last response has arrived and its subscriber has received the event; a second time when every card
    /// is ready.
    pub(super) async fn purchases(&mut self, kind: Round, work: Vec<Workload>) -> Result<(), Fault> {
        let start = self.clients.delivered();
        let tracer = (kind == Round::Traced)
            .then(|| Tracer::attach(self.service.id()))
            .flatten();
        let begun = Instant::now();
        let calls = driver::drive(self.service.address, work, 200).await?;
        let count = calls.latencies.len() as u64;
        self.clients.until(|now| now.settled >= start.settled + count).await?;
        let pushed = begun.elapsed().as_secs_f64();
        self.clients.until(|now| now.ready >= start.ready + count).await?;
        let ready = begun.elapsed().as_secs_f64();
        if let Some(tracer) = tracer {
            self.paid_cost.system_calls = tracer.finish().map(|sum| (sum, count));
        }
        if kind == Round::Timed {
            let sample = |until| Sample::of(calls.latencies.clone(), until, calls.seconds);
            self.paid.push(sample(pushed));
            self.ready.push(sample(ready));
            self.counting.paid_calls += count;
        }
        // Snapshots that begin at once leave the next row alone.
        tokio::time::sleep(Duration::from_millis(500)).await;
        Ok(())
    }

    pub(super) async fn reads(&mut self, kind: Round, work: Vec<Workload>) -> Result<(), Fault> {
        let window = Window::of(kind, self.service.address, self.service.id(), work, 200).await?;
        self.counting.others += window.cost.used.without_stores();
        window.record(kind, &mut self.read, &mut self.read_cost, true);
        Ok(())
    }

    pub(super) async fn challenges(&mut self, kind: Round, work: Vec<Workload>) -> Result<(), Fault> {
        let window = Window::of(kind, self.service.address, self.service.id(), work, 402).await?;
        self.counting.others += window.cost.used.without_stores();
        window.record(kind, &mut self.challenge, &mut self.challenge_cost, true);
        Ok(())
    }
}

/// Waits until everything that was bought is in the snapshots of all programs.
pub(super) async fn catch_up(programs: &[Program]) -> Result<(), Fault> {
    let begun = Instant::now();
    for program in programs {
        // Rarely asked: the page costs the process something, too.
        while program.service.metrics().await?.lag_bytes() > 0 {
            if begun.elapsed() > CATCH_UP {
                println!("  the snapshots have not caught up within {CATCH_UP:?}: a part of them is not counted");
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
    tokio::time::sleep(FLUSH).await;
    Ok(())
}
