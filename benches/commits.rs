//! Durable commits: a raw log, plain sled, our journal, and commands through the shell, all writing the same bytes for
//! the same number of closed-loop callers, round by round in turn.

mod before;
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
use purser_actors::kernel::{EntityKind, EntityRegistry, answers, table};
use purser_actors::port::Timestamp;
use purser_storage::{Batch, Condition, Event, JournalStore, RowKey, Store, StoreLimits, StoreOptions, Write};
use ractor::{Actor, ActorRef};
use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::callers::{Calls, closed_loop};
use crate::cost::{self, Cost, StoreCounts};
use crate::report::{self, Row, Sample};
use crate::usage::{Reading, SystemCalls, Tracer, Used};
use crate::{Fault, Plan, host_info};

pub(crate) use before::serve;
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

/// Rows that another build measures too.
const COMPARED: [&str; 3] = [JOURNAL, MANY_ACTORS, HOT_ACTOR];
const JOURNAL_BEFORE: &str = "journal: before";
const MANY_ACTORS_BEFORE: &str = "shell, many actors: before";
const HOT_ACTOR_BEFORE: &str = "shell, one hot actor: before";

/// What one round of a row came to, and what it cost.
#[derive(Serialize, Deserialize)]
struct Round {
    sample: Sample,
    cost: Cost,
}

/// A row, and all its rounds.
struct Measured {
    row: Row,
    cost: Cost,
}

impl Measured {
    fn new(name: &str) -> Self {
        Self {
            row: Row::new(name),
            cost: Cost::default(),
        }
    }

    fn add(&mut self, round: Round) {
        self.row.samples.push(round.sample);
        self.cost.add(&round.cost);
    }
}

/// Measures and prints. `before` is a `ratios` of another build.
pub(crate) fn run(plan: Plan, before: Option<&Path>) -> Result<(), Fault> {
    for callers in [1, 64, 1024] {
        let measured = measure(plan, callers, before)?;
        let title = format!(
            "commits, {callers} callers ({} bytes each in the journal)",
            Written::new().frame.len()
        );
        let ceilings: &[(&str, &[&str])] = &[
            (JOURNAL, &[RAW, SLED, JOURNAL_BEFORE]),
            (
                MANY_ACTORS,
                &[RAW, SLED, SLED_ROW, JOURNAL, BARE_MANY_ACTORS, MANY_ACTORS_BEFORE],
            ),
            (HOT_ACTOR, &[RAW, SLED, BARE_HOT_ACTOR, HOT_ACTOR_BEFORE]),
        ];
        let (rows, costs): (Vec<Row>, Vec<Cost>) = measured.into_iter().map(|m| (m.row, m.cost)).unzip();
        report::print(&title, &rows, ceilings);
        let named = rows.iter().zip(&costs).map(|(row, cost)| (row.name.as_str(), cost));
        cost::print(&named.collect::<Vec<_>>());
    }
    Ok(())
}

fn measure(plan: Plan, callers: usize, before: Option<&Path>) -> Result<Vec<Measured>, Fault> {
    let dir = host_info::directory()?;
    let bench = Bench::open(dir.path(), callers, Duration::from_millis(plan.round_ms))?;
    let mut other = before
        .map(|program| before::OtherBuild::start(program, callers, plan.round_ms))
        .transpose()?;
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
    let mut rows: Vec<Measured> = names.into_iter().map(Measured::new).collect();
    let named = [JOURNAL_BEFORE, MANY_ACTORS_BEFORE, HOT_ACTOR_BEFORE];
    let mut others: Vec<Measured> = named.into_iter().map(Measured::new).collect();
    // The round before the first warms caches, files and actors.
    for round in 0..=plan.rounds {
        for measured in &mut rows {
            let came_to = bench.round(&measured.row.name)?;
            if round > 0 {
                measured.add(came_to);
            }
            let place = COMPARED.iter().position(|name| *name == measured.row.name);
            if let (Some(other), Some(place)) = (&mut other, place) {
                let came_to = other.round(&measured.row.name)?;
                if round > 0 {
                    others[place].add(came_to);
                }
            }
        }
    }
    for measured in &mut rows {
        // sled runs in a process of its own.
        if ![SLED_ROW, SLED].contains(&measured.row.name.as_str()) {
            let tracer = Tracer::attach(std::process::id());
            let traced = bench.round(&measured.row.name)?;
            measured.cost.system_calls = trace_result(tracer, &traced);
        }
    }
    bench.close();
    if let Some(mut other) = other {
        for (name, measured) in COMPARED.iter().zip(&mut others) {
            let tracer = Tracer::attach(other.id());
            let traced = other.round(name)?;
            measured.cost.system_calls = trace_result(tracer, &traced);
        }
        rows.extend(others);
    }
    for measured in &mut rows {
        let cpu = measured.cost.cpu_us();
        measured.row.samples.iter_mut().for_each(|sample| sample.cpu = cpu);
    }
    Ok(rows)
}

fn trace_result(tracer: Option<Tracer>, round: &Round) -> Option<(SystemCalls, u64)> {
    Some((tracer?.finish()?, round.cost.calls))
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
        let event = record.to_event();
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
    fn open(dir: &Path, callers: usize, time: Duration) -> Result<Self, Fault> {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let limits = StoreLimits::production();
        let direct = open_journal(dir.join("direct"), limits)?;
        let shell = open_journal(dir.join("shell"), limits)?;
        for journal in [&direct, &shell] {
            answers::run_on(runtime.handle(), journal);
        }
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
        bench.drain(&bench.shell)?;
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

    fn close(self) {
        self.runtime.block_on(async { self.root.stop(None) });
        self.direct.close();
        self.shell.close();
    }

    fn round(&self, name: &str) -> Result<Round, Fault> {
        match name {
            SLED_ROW => return self.sled("snapshots", 0),
            SLED => return self.sled("all", self.written.event.payload.len()),
            _ => {}
        }
        let before = (Reading::of(std::process::id()), self.counts(name));
        let sample = match name {
            RAW => sample(&self.runtime.block_on(self.raw()), 0.0),
            JOURNAL => self.until_drained(&self.direct, || self.runtime.block_on(self.direct()))?,
            MANY_ACTORS => self.until_drained(&self.shell, || self.runtime.block_on(self.commands(KEYS)))?,
            HOT_ACTOR => self.until_drained(&self.shell, || self.runtime.block_on(self.commands(1)))?,
            BARE_MANY_ACTORS => sample(&self.runtime.block_on(self.bare(self.echoes.len())), 0.0),
            _ => sample(&self.runtime.block_on(self.bare(1)), 0.0),
        };
        let cost = Cost {
            calls: sample.count,
            used: Reading::of(std::process::id()).since(&before.0),
            counts: self.counts(name).since(&before.1),
            system_calls: None,
        };
        Ok(Round { sample, cost })
    }

    /// Counted so far by what a row writes to.
    fn counts(&self, name: &str) -> StoreCounts {
        let of = |store: &JournalStore| {
            let stats = store.stats();
            StoreCounts {
                commits: Some(stats.commits),
                syncs: Some(stats.syncs),
                snapshot_syncs: Some(purser_storage::snapshot_syncs()),
                ..StoreCounts::default()
            }
        };
        match name {
            RAW => StoreCounts {
                syncs: Some(self.raw.syncs()),
                ..StoreCounts::default()
            },
            JOURNAL => of(&self.direct),
            MANY_ACTORS | HOT_ACTOR => of(&self.shell),
            _ => StoreCounts::default(),
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

    fn sled(&self, folder: &str, event_bytes: usize) -> Result<Round, Fault> {
        let before = host_info::children_cpu_us();
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
        let sample = Sample::of(latencies.collect::<Result<_, _>>()?, seconds, seconds);
        let cost = Cost {
            calls: sample.count,
            used: Used::cpu_us(host_info::children_cpu_us() - before),
            ..Cost::default()
        };
        Ok(Round { sample, cost })
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
    fn until_drained(&self, store: &JournalStore, round: impl FnOnce() -> Calls) -> Result<Sample, Fault> {
        self.drain(store)?;
        let calls = round();
        let begun = Instant::now();
        self.drain(store)?;
        Ok(sample(&calls, begun.elapsed().as_secs_f64()))
    }

    /// Writes what is left at once: the store itself would wait for more bytes or for its interval.
    fn drain(&self, store: &JournalStore) -> Result<(), Fault> {
        while store.headroom().lag_bytes > 0 {
            store.step_apply()?;
        }
        Ok(())
    }
}

fn sample(calls: &Calls, drain: f64) -> Sample {
    Sample::of(calls.latencies.clone(), calls.seconds + drain, calls.seconds)
}
