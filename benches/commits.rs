//! Durable commits: a raw log, plain sled, our journal, and commands through the shell, all writing the same bytes for
//! the same number of closed-loop callers, round by round in turn.

mod entity;
mod raw;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use purser::system::SystemClock;
use purser_actors::id::Wallet;
use purser_actors::kernel::entity::EntityId;
use purser_actors::kernel::event_record::EventRecord;
use purser_actors::kernel::{EntityKind, EntityRegistry, table};
use purser_actors::port::Timestamp;
use purser_storage::{Batch, Condition, Event, JournalStore, RowKey, Store, StoreLimits, StoreOptions, Write, codec};
use ractor::{Actor, ActorRef};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::callers::{Calls, closed_loop};
use crate::report::{self, Row, Sample};
use crate::{Fault, Plan, host_info};

pub(crate) use entity::{CounterId, Tally, start_registry};

/// Rows that are written over and over.
const KEYS: u64 = 16_384;

const RAW: &str = "raw log + fdatasync";
const SLED_ROW: &str = "sled + fdatasync, snapshot only";
const SLED: &str = "sled + fdatasync, the same data";
const JOURNAL: &str = "journal";
const MANY_ACTORS: &str = "shell, many actors";
const HOT_ACTOR: &str = "shell, one hot actor";
const BARE_MANY_ACTORS: &str = "bare ractor, many actors";
const BARE_HOT_ACTOR: &str = "bare ractor, one hot actor";

/// Measures and prints.
pub(crate) fn run(plan: Plan) -> Result<(), Fault> {
    for callers in [1, 64, 1024] {
        let rows = measure(plan, callers)?;
        let title = format!(
            "commits, {callers} callers ({} bytes each in the journal)",
            Written::new().frame.len()
        );
        let ceilings: &[(&str, &[&str])] = &[
            (JOURNAL, &[RAW, SLED]),
            (MANY_ACTORS, &[RAW, SLED, SLED_ROW, JOURNAL, BARE_MANY_ACTORS]),
            (HOT_ACTOR, &[RAW, SLED, BARE_HOT_ACTOR]),
        ];
        report::print(&title, &rows, ceilings);
    }
    Ok(())
}

fn measure(plan: Plan, callers: usize) -> Result<Vec<Row>, Fault> {
    let dir = host_info::directory()?;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let bench = Bench::open(dir.path(), runtime, callers, Duration::from_millis(plan.round_ms))?;
    let names = [
        RAW,
        SLED_ROW,
        SLED,
        JOURNAL,
        MANY_ACTORS,
        HOT_ACTOR,
        BARE_MANY_ACTORS,
        BARE_HOT_ACTOR,
    ];
    let mut rows: Vec<Row> = names.into_iter().map(Row::new).collect();
    // The round before the first warms caches, files and actors.
    for round in 0..=plan.rounds {
        for row in &mut rows {
            let sample = bench.round(&row.name)?;
            if round > 0 {
                row.samples.push(sample);
            }
        }
    }
    bench.runtime.block_on(async { bench.root.stop(None) });
    bench.direct.close();
    bench.shell.close();
    Ok(rows)
}

/// One command's batch, as the shell makes it.
pub(crate) struct Written {
    value: Vec<u8>,
    event: Event,
    frame: Vec<u8>,
}

impl Written {
    fn new() -> Self {
        let (value, counted) = entity::sample();
        let owner = Wallet::Evm([7; 20]);
        let record = EventRecord {
            kind: EntityKind::Account as u8,
            id: CounterId(0).key(),
            revision: 1,
            at: Timestamp(0),
            status: "counting".into(),
            owner,
            event: counted,
            announcement: None,
        };
        let event = Event {
            subject: owner.key().into_boxed_slice(),
            payload: codec::encode(&record),
        };
        // Header, write, event, end mark, padding: as the journal lays a frame out.
        let bytes = 48 + (15 + 10 + value.len()) + (6 + event.subject.len() + event.payload.len()) + 1;
        let mut frame = [&value[..], &event.payload].concat();
        frame.resize(bytes.next_multiple_of(8), 0xA5);
        Self { value, event, frame }
    }

    fn batch(&self, key: RowKey, revision: u64) -> Batch {
        Batch {
            conditions: vec![Condition::Revision(key.clone(), revision)],
            writes: vec![Write::Put {
                key,
                revision: revision + 1,
                value: self.value.clone(),
            }],
            events: vec![self.event.clone()],
            session: None,
        }
    }
}

/// A journal as in production.
pub(crate) fn open_journal(dir: PathBuf, limits: StoreLimits) -> Result<Arc<JournalStore>, Fault> {
    let clock = Arc::new(|| SystemClock.micros());
    Ok(JournalStore::open(StoreOptions { dir, limits, clock })?)
}

/// Everything that is measured, opened once, so that rounds can take turns.
struct Bench {
    runtime: Runtime,
    callers: usize,
    time: Duration,
    written: Arc<Written>,
    raw: Arc<raw::RawLog>,
    sled: PathBuf,
    sled_program: PathBuf,
    direct: Arc<JournalStore>,
    /// Of each key in `direct`.
    revisions: Arc<Vec<AtomicU64>>,
    shell: Arc<JournalStore>,
    tallies: EntityRegistry<Tally>,
    root: ractor::ActorCell,
    echoes: Arc<Vec<ActorRef<entity::EchoRequest>>>,
}

impl Bench {
    fn open(dir: &Path, runtime: Runtime, callers: usize, time: Duration) -> Result<Self, Fault> {
        let limits = StoreLimits::production();
        let direct = open_journal(dir.join("direct"), limits)?;
        let shell = open_journal(dir.join("shell"), limits)?;
        let (tallies, root) = runtime.block_on(start_registry(shell.clone()))?;
        let echoes = runtime.block_on(async {
            let mut echoes = Vec::new();
            for _ in 0..KEYS {
                echoes.push(Actor::spawn(None, entity::Echo, ()).await?.0);
            }
            Ok::<_, Fault>(echoes)
        })?;
        let bench = Self {
            callers,
            time,
            written: Arc::new(Written::new()),
            raw: Arc::new(raw::RawLog::create(&dir.join("raw.log"))?),
            sled: dir.join("sled"),
            sled_program: host_info::sibling("sled_ceiling")?,
            direct,
            revisions: Arc::new((0..KEYS).map(|_| AtomicU64::new(0)).collect()),
            shell,
            tallies,
            root,
            echoes: Arc::new(echoes),
            runtime,
        };
        bench.runtime.block_on(bench.activate());
        bench.drain(&bench.shell);
        // Making files leaves a burst of writes behind, under which every sync waits.
        std::thread::sleep(bench.time * 3);
        Ok(bench)
    }

    /// Every tally is in memory before the first round, as every other row's data is.
    async fn activate(&self) {
        let asked: Vec<_> = (0..KEYS)
            .map(|n| {
                let tallies = self.tallies.clone();
                tokio::spawn(async move { tallies.ask(CounterId(n), 1).await.is_ok() })
            })
            .collect();
        for ask in asked {
            assert!(matches!(ask.await, Ok(true)), "a tally counts");
        }
    }

    fn round(&self, name: &str) -> Result<Sample, Fault> {
        match name {
            RAW => Ok(sample(&self.runtime.block_on(self.raw()), 0.0)),
            SLED_ROW => self.sled("snapshots", 0),
            SLED => self.sled("all", self.written.event.payload.len()),
            JOURNAL => Ok(self.until_drained(&self.direct, || self.runtime.block_on(self.direct()))),
            MANY_ACTORS => Ok(self.until_drained(&self.shell, || self.runtime.block_on(self.commands(KEYS)))),
            HOT_ACTOR => Ok(self.until_drained(&self.shell, || self.runtime.block_on(self.commands(1)))),
            BARE_MANY_ACTORS => Ok(sample(&self.runtime.block_on(self.bare(self.echoes.len())), 0.0)),
            _ => Ok(sample(&self.runtime.block_on(self.bare(1)), 0.0)),
        }
    }

    async fn raw(&self) -> Calls {
        closed_loop(self.callers, self.time, |_| {
            let (raw, written) = (self.raw.clone(), self.written.clone());
            move || {
                let durable = raw.append(written.frame.clone());
                async move { durable.await.is_ok() }
            }
        })
        .await
    }

    fn sled(&self, folder: &str, event_bytes: usize) -> Result<Sample, Fault> {
        let arguments = [
            self.callers.to_string(),
            self.time.as_millis().to_string(),
            self.written.value.len().to_string(),
            event_bytes.to_string(),
            KEYS.to_string(),
        ];
        let output = Command::new(&self.sled_program)
            .arg(self.sled.join(folder))
            .args(arguments)
            .output()?;
        let text = String::from_utf8(output.stdout)?;
        let mut lines = text.lines();
        let seconds: f64 = lines.next().ok_or("sled_ceiling said nothing")?.parse()?;
        let latencies = lines.next().unwrap_or_default().split(' ').map(str::parse);
        Ok(Sample::of(latencies.collect::<Result<_, _>>()?, seconds, seconds))
    }

    async fn direct(&self) -> Calls {
        let callers = self.callers as u64;
        closed_loop(self.callers, self.time, |n| {
            let (store, written) = (self.direct.clone(), self.written.clone());
            let revisions = self.revisions.clone();
            // Its own keys only, so that no other writer changes their revisions.
            let mut at = n as u64;
            move || {
                let number = at;
                at = if at + callers < KEYS { at + callers } else { n as u64 };
                let key = table::entity(EntityKind::Account, &CounterId(number).key());
                let revision = revisions[number as usize].fetch_add(1, Ordering::Relaxed);
                let (done, durable) = oneshot::channel();
                let tell = Box::new(move |outcome: Result<_, _>| {
                    // The receiver is only gone if the round was aborted.
                    let _ = done.send(outcome.is_ok());
                });
                store.commit(written.batch(key, revision), tell);
                async move { durable.await.unwrap_or(false) }
            }
        })
        .await
    }

    async fn commands(&self, actors: u64) -> Calls {
        let callers = self.callers as u64;
        closed_loop(self.callers, self.time, |n| {
            let tallies = self.tallies.clone();
            let mut at = n as u64;
            move || {
                let number = CounterId(at % actors);
                at += callers;
                let tallies = tallies.clone();
                async move { tallies.ask(number, 1).await.is_ok() }
            }
        })
        .await
    }

    async fn bare(&self, actors: usize) -> Calls {
        let callers = self.callers;
        closed_loop(callers, self.time, |n| {
            let echoes = self.echoes.clone();
            let mut at = n;
            move || {
                let echo = echoes[at % actors].clone();
                at += callers;
                async move {
                    let (reply, answer) = oneshot::channel();
                    echo.send_message(entity::EchoRequest(reply)).is_ok() && answer.await.is_ok()
                }
            }
        })
        .await
    }

    /// A round of a journal is over when the snapshots have everything again: its lag ends where it began.
    fn until_drained(&self, store: &JournalStore, round: impl FnOnce() -> Calls) -> Sample {
        self.drain(store);
        let calls = round();
        let begun = Instant::now();
        self.drain(store);
        sample(&calls, begun.elapsed().as_secs_f64())
    }

    fn drain(&self, store: &JournalStore) {
        // The store itself would wait for more bytes or for its interval. After an error no later commit succeeds.
        while store.headroom().lag_bytes > 0 && store.step_apply().is_ok() {}
    }
}

fn sample(calls: &Calls, drain: f64) -> Sample {
    Sample::of(calls.latencies.clone(), calls.seconds + drain, calls.seconds)
}
