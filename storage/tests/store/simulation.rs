//! The real journal, export and recovery on a simulated disk that loses power: seed after seed.
//!
//! `PURSER_POWER_CUTS` sets the number of seeds (default 20), `PURSER_POWER_CUT_SEED` runs one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use purser_storage::sim_disk::{FaultSchedule, SeededRng, SimDisk};
use purser_storage::snapshot::{MemoryRows, MemorySource};
use purser_storage::{Batch, CommitError, Committed, Condition, JournalStore, OpenError, Store, StoreLimits, Write};

use crate::suite::{delete, enqueue, event, expired, payloads, put, wait};

type Rows = BTreeMap<String, (u64, String)>;
type CommitReceiver = Receiver<Result<Committed, CommitError>>;

/// What one accepted batch did.
struct Step {
    last_seq: u64,
    writes: Vec<(String, Option<(u64, String)>)>,
    events: Vec<(u64, String, String)>,
}

struct Simulation {
    seed: u64,
    seeded: SeededRng,
    disk: SimDisk,
    source: MemorySource,
    clock: Arc<AtomicU64>,
    /// Accepted batches in order; the tail may not be durable.
    history: Vec<Step>,
    /// Rows after all of `history`.
    rows: Rows,
    next_seq: u64,
    acked: u64,
    revision: u64,
}

fn limits() -> StoreLimits {
    StoreLimits {
        segment_bytes: 64 << 10,
        group_bytes: 16 << 10,
        retention_bytes: 200 << 10,
        retention_ms: 50_000,
        export_every_bytes: 128 << 10,
        ..StoreLimits::test()
    }
}

fn fold(history: &[Step]) -> Rows {
    let mut rows = Rows::new();
    for (key, state) in history.iter().flat_map(|step| &step.writes) {
        match state {
            Some(state) => rows.insert(key.clone(), state.clone()),
            None => rows.remove(key),
        };
    }
    rows
}

impl Simulation {
    fn new(seed: u64) -> Self {
        Self {
            seed,
            seeded: SeededRng::new(seed),
            disk: SimDisk::seeded(seed),
            source: MemorySource::default(),
            clock: Arc::default(),
            history: Vec::new(),
            rows: Rows::new(),
            next_seq: 1,
            acked: 0,
            revision: 0,
        }
    }

    fn open(&self) -> Result<Arc<JournalStore>, OpenError> {
        let clock = Arc::clone(&self.clock);
        let now = Arc::new(move || clock.fetch_add(7, Ordering::SeqCst));
        JournalStore::open_on(Arc::new(self.disk.clone()), &self.source, limits(), now, false)
    }

    /// Opens, with the power going away now and then while recovery is at work.
    fn boot(&mut self) -> Arc<JournalStore> {
        while self.seeded.one_in(3) {
            let dead_after = Some(self.seeded.next_below(60));
            self.disk.set_faults(FaultSchedule {
                dead_after,
                ..FaultSchedule::default()
            });
            match self.open() {
                Ok(store) => drop(store),
                Err(OpenError::Io(_)) => {}
                Err(e) => panic!("seed {}: {e}", self.seed),
            }
            self.stop();
        }
        let store = self.open().unwrap_or_else(|e| panic!("seed {}: {e}", self.seed));
        self.check(&store);
        store
    }

    /// The end of a life: the power goes, or only the process; now and then the snapshots are lost as well.
    fn stop(&mut self) {
        if self.seeded.one_in(4) {
            self.disk.kill();
        } else {
            self.disk.power_cut(&mut self.seeded);
        }
        self.source.die_after(None);
        if self.seeded.one_in(8) {
            self.source.set_image(MemoryRows::default());
        }
    }

    /// Everything acknowledged is there, and what is there is a prefix of what was accepted.
    fn check(&mut self, store: &JournalStore) {
        let seed = self.seed;
        let durable = store.durable_seq();
        assert!(
            durable >= self.acked,
            "seed {seed}: acknowledged {}, durable {durable}",
            self.acked
        );
        let durable_len = self.history.partition_point(|step| step.last_seq <= durable);
        assert_eq!(
            self.history[..durable_len].last().map_or(0, |s| s.last_seq),
            durable,
            "seed {seed}: half a batch"
        );
        self.history.truncate(durable_len);
        self.rows = fold(&self.history);
        (self.next_seq, self.acked) = (durable + 1, durable);
        let found: Rows = wait(store.scan(&[], None, usize::MAX))
            .unwrap()
            .into_iter()
            .map(|(key, row)| {
                let text = String::from_utf8(row.value.to_vec()).unwrap();
                (String::from_utf8(key.to_vec()).unwrap(), (row.revision, text))
            })
            .collect();
        assert_eq!(found, self.rows, "seed {seed}: rows");
        let back = wait(store.scan_back(&[], None, usize::MAX)).unwrap().into_iter();
        let back = back.map(|(key, _)| String::from_utf8(key.to_vec()).unwrap());
        assert!(
            back.eq(self.rows.keys().rev().cloned()),
            "seed {seed}: rows from the end"
        );
        self.check_events(store);
    }

    fn check_events(&self, store: &JournalStore) {
        let seed = self.seed;
        let after = expired(store, 0).map_or(0, |oldest| oldest - 1);
        let events = || {
            self.history
                .iter()
                .flat_map(|step| &step.events)
                .filter(|e| e.0 > after)
        };
        let all: Vec<(u64, String)> = events().map(|(seq, _, text)| (*seq, text.clone())).collect();
        assert_eq!(payloads(store, after, usize::MAX, None), all, "seed {seed}: events");
        let of_one = events()
            .filter(|e| e.1 == "s1")
            .map(|(seq, _, text)| (*seq, text.clone()));
        assert_eq!(
            payloads(store, after, usize::MAX, Some("s1")),
            of_one.collect::<Vec<_>>(),
            "seed {seed}: s1"
        );
    }

    /// A random batch, its answer, and what the model says of it.
    fn enqueue_one(&mut self, store: &JournalStore) -> (CommitReceiver, Option<u64>) {
        let name = format!("k{}", self.seeded.next_below(30));
        let condition = match self.seeded.next_below(3) {
            0 => Condition::Absent(name.as_bytes().into()),
            1 => Condition::Present(name.as_bytes().into()),
            _ => Condition::Revision(name.as_bytes().into(), self.rows.get(&name).map_or(0, |r| r.0)),
        };
        let holds = match &condition {
            Condition::Absent(_) => !self.rows.contains_key(&name),
            Condition::Present(_) => self.rows.contains_key(&name),
            Condition::Revision(..) => true,
        };
        self.revision += 1;
        let text = format!("{}/", self.revision).repeat(self.seeded.next_below(400) as usize + 1);
        let other = format!("k{}", self.seeded.next_below(30));
        let (writes, effects) = if self.seeded.one_in(3) {
            (
                vec![delete(&name), put(&other, self.revision, "o")],
                vec![(name, None), (other, Some("o".to_string()))],
            )
        } else {
            (vec![put(&name, self.revision, &text)], vec![(name, Some(text))])
        };
        let events: Vec<(String, String)> = (0..self.seeded.next_below(3))
            .map(|i| {
                (
                    format!("s{}", self.seeded.next_below(3)),
                    format!("{}.{i}", self.revision),
                )
            })
            .collect();
        let batch = self.batch(condition, writes, &events);
        let answer = enqueue(store, batch);
        if !holds {
            return (answer, None);
        }
        let seq = self.next_seq;
        self.next_seq += (events.len() as u64).max(1);
        let revision = self.revision;
        let writes = effects
            .into_iter()
            .map(|(key, text)| (key, text.map(|text| (revision, text))))
            .collect();
        let events = events
            .into_iter()
            .zip(seq..)
            .map(|((subject, text), seq)| (seq, subject, text))
            .collect();
        self.history.push(Step {
            last_seq: self.next_seq - 1,
            writes,
            events,
        });
        let last = self.history.last().unwrap();
        for (key, state) in &last.writes {
            match state {
                Some(state) => self.rows.insert(key.clone(), state.clone()),
                None => self.rows.remove(key),
            };
        }
        (answer, Some(seq))
    }

    fn batch(&self, condition: Condition, writes: Vec<Write>, events: &[(String, String)]) -> Batch {
        let events = events.iter().map(|(subject, text)| event(subject, text)).collect();
        Batch {
            conditions: vec![condition],
            writes,
            events,
            session: None,
        }
    }

    /// One life: work until the power is gone.
    fn run_until_crash(&mut self) {
        let store = self.boot();
        let faults = match self.seeded.next_below(4) {
            0 => FaultSchedule {
                sync_fails_after: Some(self.seeded.next_below(100)),
                ..FaultSchedule::default()
            },
            _ => FaultSchedule {
                dead_after: Some(self.seeded.next_below(500)),
                ..FaultSchedule::default()
            },
        };
        self.disk.set_faults(faults);
        if self.seeded.one_in(3) {
            self.source.die_after(Some(self.seeded.next_below(200) as usize));
        }
        for _ in 0..200 {
            let answers: Vec<_> = (0..=self.seeded.next_below(6))
                .map(|_| self.enqueue_one(&store))
                .collect();
            while store.step_commit() {}
            for (answer, expected) in answers {
                match (answer.recv().unwrap(), expected) {
                    (Ok(done), Some(seq)) => {
                        assert_eq!(done.seq, seq, "seed {}", self.seed);
                        self.acked = self.acked.max(seq);
                    }
                    (Err(CommitError::Stopped), _) | (Err(CommitError::Condition(0)), None) => {}
                    (got, expected) => panic!("seed {}: {got:?}, expected {expected:?}", self.seed),
                }
            }
            // Errors stop the store, which the loop sees.
            match self.seeded.next_below(12) {
                0..3 => drop(store.step_apply()),
                3..5 => drop(store.step_maintain()),
                5 => drop(store.export()),
                _ => {}
            }
            if store.has_failed() {
                break;
            }
        }
        drop(store);
        self.stop();
    }
}

fn run(seed: u64) {
    let mut world = Simulation::new(seed);
    for _ in 0..4 {
        world.run_until_crash();
    }
    drop(world.boot());
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Checks: no acknowledged batch is lost and none is applied in part, at whatever point the power is cut. (CASES 65.)
#[test]
fn case_65_a_power_cut_loses_nothing_acknowledged() {
    if let Some(seed) = number("PURSER_POWER_CUT_SEED") {
        return run(seed);
    }
    for seed in 0..number("PURSER_POWER_CUTS").unwrap_or(20) {
        run(seed);
    }
}
