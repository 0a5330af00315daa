//! Random runs of a key against the model chain.

use std::collections::{BTreeMap, BTreeSet};

use super::super::super::random::Random;
use super::chain::{Chain, Tx};
use super::*;

const PAYMENTS: u32 = 40;
const STEP_MS: u64 = 2_000;

struct Harness {
    chain: Chain,
    manager: NonceManager<u32>,
    durable: BTreeMap<u64, Row<u32>>,
    waiting: BTreeSet<u32>,
    transactions: BTreeMap<B256, Tx>,
    random: Random,
    now_ms: u64,
    faults: bool,
    restarts: usize,
    released: BTreeMap<u8, usize>,
}

impl Harness {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let hostile = (0..PAYMENTS).filter(|_| random.chance(5)).collect();
        let (manager, _) = NonceManager::start(NonceSettings::new(CAP), vec![], Counts::default(), 0, 0);
        Self {
            chain: Chain {
                base_fee: 50,
                reverting: hostile,
                ..Chain::default()
            },
            manager,
            durable: BTreeMap::new(),
            waiting: (0..PAYMENTS).collect(),
            transactions: BTreeMap::new(),
            random,
            now_ms: 0,
            faults: true,
            restarts: 0,
            released: BTreeMap::new(),
        }
    }

    fn fault(&mut self, percent: u64) -> bool {
        self.random.chance(percent) && self.faults
    }

    fn counts(&self) -> Counts {
        Counts {
            latest: self.chain.count(),
            finalized: self.chain.final_count(),
        }
    }

    fn sign(&mut self, nonce: u64, fee: Fee, payments: Vec<u32>) {
        if self.fault(5) {
            self.manager.returned(nonce, self.now_ms);
            if self.manager.row(nonce).is_none() {
                self.waiting.extend(payments);
            }
            return;
        }
        let hash = self.chain.hash();
        let filler = payments.is_empty();
        self.transactions.insert(
            hash,
            Tx {
                hash,
                nonce,
                fee,
                payments: payments.clone(),
            },
        );
        let attempt = Attempt {
            hash,
            bytes: vec![],
            fee,
            filler,
        };
        let row = match self.manager.signed(nonce, attempt, self.now_ms) {
            Ok(row) => row.clone(),
            Err(NonceError::Used) => return self.waiting.extend(payments),
            Err(error) => panic!("{error}"),
        };
        // The process ends before or after the row is durable, or after sending.
        if self.fault(2) {
            return self.restart();
        }
        self.durable.insert(nonce, row);
        if self.fault(2) {
            return self.restart();
        }
        let actions = self.manager.stored(nonce, self.now_ms);
        self.execute(actions);
    }

    fn execute(&mut self, actions: Vec<Action<u32>>) {
        let restarts = self.restarts;
        for action in actions {
            match action {
                Action::Store { nonce } => drop(self.durable.insert(nonce, self.manager.row(nonce).unwrap().clone())),
                Action::Forget { nonce } => drop(self.durable.remove(&nonce).unwrap()),
                Action::Sign { nonce, fee, payments } => self.sign(nonce, fee, payments),
                Action::Send { nonce } => self.send(nonce),
                Action::FindReceipts { nonce, hashes } => self.find(nonce, &hashes),
                Action::Release { payments, reason, .. } => {
                    *self.released.entry(reason as u8).or_default() += 1;
                    // A hostile payment is dropped; the others are submitted again.
                    self.waiting
                        .extend(payments.iter().filter(|p| !self.chain.reverting.contains(p)));
                }
                Action::Alarm(_) => {}
            }
            if self.restarts != restarts {
                return;
            }
        }
    }

    fn send(&mut self, nonce: u64) {
        let hash = self.manager.row(nonce).unwrap().current().unwrap().hash;
        let stored = &self.durable[&nonce];
        assert!(
            stored.attempts.iter().any(|attempt| attempt.hash == hash),
            "sent before stored"
        );
        let reply = self
            .chain
            .send(&self.transactions[&hash], self.faults, &mut self.random);
        let actions = self.manager.replied(nonce, hash, reply, self.now_ms);
        self.execute(actions);
    }

    fn find(&mut self, nonce: u64, hashes: &[B256]) {
        if self.fault(20) {
            return;
        }
        let found = hashes.iter().find_map(|hash| self.chain.find(*hash));
        let actions = match found {
            Some((block, tx)) => {
                let unsettled = if self.chain.reverts(tx) {
                    tx.payments.clone()
                } else {
                    vec![]
                };
                self.manager.mined(nonce, tx.hash, block, &unsettled)
            }
            None => self.manager.not_found(nonce),
        };
        self.execute(actions);
    }

    fn restart(&mut self) {
        self.restarts += 1;
        let rows: Vec<_> = self.durable.values().cloned().collect();
        // Payments that were reserved but are in no durable row wait again.
        let in_rows: BTreeSet<u32> = rows.iter().flat_map(|row| row.payments.clone()).collect();
        let open = (0..PAYMENTS).filter(|p| !in_rows.contains(p) && !self.chain.reverting.contains(p));
        self.waiting = open.filter(|p| self.chain.settled(*p) == 0).collect();
        let (counts, pending) = (self.counts(), self.chain.pending());
        let (manager, actions) = NonceManager::start(NonceSettings::new(CAP), rows, counts, pending, self.now_ms);
        self.manager = manager;
        self.execute(actions);
    }

    fn cause_faults(&mut self) {
        if self.random.chance(6) {
            let from = self.chain.reorganize(&mut self.random);
            // The caller may or may not have read the replaced blocks.
            if self.random.chance(70) {
                self.manager.reorganized(from);
            }
        }
        if self.random.chance(4) {
            self.restart();
        }
        if self.random.chance(3) {
            // Another process uses the key.
            let (nonce, hash) = (self.chain.count(), self.chain.hash());
            self.chain.pool.insert(
                nonce,
                Tx {
                    hash,
                    nonce,
                    fee: fee(CAP),
                    payments: vec![],
                },
            );
        }
        if self.random.chance(20) {
            self.chain.revive(&mut self.random);
        }
        if self.random.chance(5) {
            let kept = self.random.below(4);
            let last = self.chain.pool.keys().copied().nth(kept as usize).unwrap_or(u64::MAX);
            self.chain.pool.split_off(&last);
        }
        if self.random.chance(3) {
            let nonces: Vec<u64> = self.durable.keys().copied().collect();
            if let Some(nonce) = nonces.get(self.random.below(8) as usize) {
                let actions = self.manager.cancel(*nonce);
                self.execute(actions);
            }
        }
        if self.random.chance(10) {
            self.chain.base_fee = [20, 50, 80, 5_000][self.random.below(4) as usize];
        }
    }

    fn step(&mut self) {
        self.now_ms += STEP_MS;
        if self.faults {
            self.cause_faults();
        }
        let size = 1 + self.random.below(4) as usize;
        let batch: Vec<u32> = self.waiting.iter().copied().take(size).collect();
        if !batch.is_empty()
            && self.random.chance(60)
            && let Ok(nonce) = self.manager.reserve(batch.clone(), self.now_ms)
        {
            self.waiting.retain(|payment| !batch.contains(payment));
            self.sign(nonce, fee(self.chain.base_fee * 2), batch);
        }
        if !self.faults || self.random.chance(80) {
            let most = if self.faults { self.random.below(4) } else { 16 };
            self.chain.mine(most);
        }
        let actions = self.manager.counted(self.counts(), self.now_ms);
        self.execute(actions);
        let actions = self.manager.tick(fee(self.chain.base_fee * 2), self.now_ms);
        self.execute(actions);
        for payment in 0..PAYMENTS {
            assert!(self.chain.settled(payment) <= 1, "payment {payment} settled twice");
        }
    }

    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.durable.is_empty() && self.manager.in_flight() == 0
    }
}

// Checks: lost responses, dropped transactions, restarts at any point, reorgs, price jumps and a second user of the
// key. No payment settles twice, every honest one settles, and no gap or row remains.
#[test]
fn every_payment_settles_once_and_no_gap_stays_for_every_seed() {
    let (mut restarts, mut released) = (0, BTreeMap::<u8, usize>::new());
    for seed in 0..400 {
        let mut harness = Harness::new(seed);
        for _ in 0..60 {
            harness.step();
        }
        harness.faults = false;
        harness.chain.base_fee = 50;
        let mut steps = 0;
        while !harness.is_idle() {
            harness.step();
            steps += 1;
            assert!(steps < 400, "seed {seed}: {:?} {:?}", harness.manager, harness.waiting);
        }
        for payment in 0..PAYMENTS {
            let expected = usize::from(!harness.chain.reverting.contains(&payment));
            assert_eq!(
                harness.chain.settled(payment),
                expected,
                "seed {seed}, payment {payment}"
            );
        }
        assert_eq!(harness.manager.gaps(), 0, "seed {seed}");
        restarts += harness.restarts;
        for (reason, count) in harness.released {
            *released.entry(reason).or_default() += count;
        }
    }
    // Every kind of fault occurred.
    assert!(restarts > 400 && released.len() == 3, "{restarts} {released:?}");
}
