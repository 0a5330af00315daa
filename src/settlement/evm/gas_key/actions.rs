//! Executes the actions of the nonce manager in order. Nothing is sent before its row is durable.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use purser_chains::evm::multicall::{Group, Stage, after_failure};
use purser_chains::evm::nonces::{Action, Alarm, ReleaseReason};
use purser_chains::evm::{Address, U256};
use purser_storage::{Write, codec};
use ractor::ActorRef;

use super::{Core, GasKeyActor, GasKeyState, Load, Message, decline, loading};
use crate::evm::core::Outcome;
use crate::evm::job::Job;
use crate::evm::rows::{self, AttemptRow, Key, NonceRow, RowError};

impl GasKeyActor {
    pub(super) async fn execute(
        &self,
        myself: &ActorRef<Message>,
        keeper: &mut GasKeyState,
        actions: Vec<Action<Key>>,
    ) -> Result<(), RowError> {
        let mut queue = VecDeque::from(actions);
        let mut signed = Vec::new();
        while let Some(action) = queue.pop_front() {
            match action {
                Action::Store { nonce } => self.store_row(keeper, nonce),
                Action::Forget { nonce } => self.delete_row(keeper, nonce),
                Action::Sign { nonce, fee, payments } => {
                    if self.sign(keeper, nonce, fee, &payments) {
                        self.store_row(keeper, nonce);
                        signed.push(nonce);
                    }
                }
                Action::Send { nonce } => {
                    self.flush(keeper).await?;
                    self.send(myself, keeper, nonce);
                }
                Action::FindReceipts { nonce, hashes } => self.search(myself, keeper, nonce, hashes),
                Action::Release {
                    nonce,
                    payments,
                    reason,
                } => self.release(myself, keeper, nonce, payments, reason).await?,
                Action::Alarm(alarm) => self.alarm(alarm),
            }
            if queue.is_empty() && !signed.is_empty() {
                // Rows that were signed together are persisted together.
                self.flush(keeper).await?;
                let now_ms = self.now_ms();
                for nonce in std::mem::take(&mut signed) {
                    queue.extend(keeper.manager.stored(nonce, now_ms));
                }
            }
        }
        Ok(())
    }

    /// Persists the pending writes. If that fails, the actor ends and restarts from its durable state.
    pub(super) async fn flush(&self, keeper: &mut GasKeyState) -> Result<(), RowError> {
        match std::mem::take(&mut keeper.writes) {
            writes if writes.is_empty() => Ok(()),
            writes => rows::commit(&*self.core.store, writes).await,
        }
    }

    fn store_row(&self, keeper: &mut GasKeyState, nonce: u64) {
        let (Some(row), Some(form)) = (keeper.manager.row(nonce), keeper.records.get_mut(&nonce)) else {
            return;
        };
        let address = self.address();
        if form.lengths.is_empty() && !form.keys.is_empty() {
            let payments = form.keys.iter().filter_map(|key| keeper.payments.get(key));
            let bytes = Job::encode_carried(payments.map(|job| &**job));
            form.content_bytes = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            let prefix = rows::transaction_payments(&address, nonce);
            keeper.writes.extend(rows::put_pieces(&prefix, &bytes));
        }
        for (attempt, n) in row.attempts.iter().zip(0_u16..).skip(form.lengths.len()) {
            form.lengths
                .push(u32::try_from(attempt.bytes.len()).unwrap_or(u32::MAX));
            let prefix = rows::attempt(&address, nonce, n);
            keeper.writes.extend(rows::put_pieces(&prefix, &attempt.bytes));
        }
        let place = |key: &Key| form.keys.iter().position(|other| other == key);
        let places = row.payments.iter().filter_map(place);
        let attempts = row
            .attempts
            .iter()
            .zip(&form.lengths)
            .map(|(attempt, length)| AttemptRow {
                hash: attempt.hash.0,
                max_fee: attempt.fee.max_fee,
                max_priority_fee: attempt.fee.max_priority_fee,
                filler: attempt.filler,
                length: *length,
            });
        let stored = NonceRow {
            payments: places.filter_map(|n| u16::try_from(n).ok()).collect(),
            content_bytes: form.content_bytes,
            attempts: attempts.collect(),
            released: row.released,
            canceled: row.canceled,
        };
        // Payments that waited with their own row are now in this one.
        for key in row.payments.iter().filter(|_| !row.released) {
            if keeper.durable.remove(key) {
                let key = rows::waiting(&address, key);
                keeper.writes.push(Write::Delete { key });
            }
        }
        let row = rows::put(rows::nonce(&address, nonce), codec::encode(&stored));
        keeper.writes.push(row);
    }

    fn delete_row(&self, keeper: &mut GasKeyState, nonce: u64) {
        let Some(form) = keeper.records.remove(&nonce) else {
            return;
        };
        let address = self.address();
        let key = rows::nonce(&address, nonce);
        keeper.writes.push(Write::Delete { key });
        let carried = rows::transaction_payments(&address, nonce);
        keeper.writes.extend(rows::delete_pieces(&carried, form.content_bytes));
        for (length, n) in form.lengths.iter().zip(0_u16..) {
            let attempt = rows::attempt(&address, nonce, n);
            keeper.writes.extend(rows::delete_pieces(&attempt, *length));
        }
        for key in form.keys {
            if keeper.nonces.get(&key) == Some(&nonce) {
                keeper.nonces.remove(&key);
                keeper.payments.remove(&key);
                self.core.release_payment(&key);
            }
        }
    }

    /// These payments have not settled by this nonce. A payment whose authorization was used otherwise has ended; one
    /// that failed alone is declined. All others are sent again, and wait durably until then.
    async fn release(
        &self,
        myself: &ActorRef<Message>,
        keeper: &mut GasKeyState,
        nonce: u64,
        keys: Vec<Key>,
        reason: ReleaseReason,
    ) -> Result<(), RowError> {
        let form = keeper.records.get(&nonce);
        let sole = form.is_some_and(|form| form.keys.len() == 1);
        let (stage, lost) = form.map_or((Stage::First, U256::ZERO), |form| (form.stage, form.lost_gas));
        tracing::warn!(key = %self.address(), nonce, payments = keys.len(), ?reason, "payments leave a transaction");
        let mut again = Vec::new();
        for key in keys {
            keeper.nonces.remove(&key);
            if self.core.used(&key).await?.is_some() {
                keeper.payments.remove(&key);
                self.core.release_payment(&key);
                self.core.notify(&key, &Outcome::Settled);
                continue;
            }
            self.reload_payment(keeper, nonce, key).await?;
            if sole && reason == ReleaseReason::Unsettled {
                keeper.payments.remove(&key);
                self.core.record_loss(&[key.from], lost);
                let failed = decline("invalid_transaction_state", "the transaction failed on the chain");
                self.core.decline(&key, failed);
                continue;
            }
            match keeper.payments.get(&key) {
                Some(payment) => {
                    let row = rows::put(rows::waiting(&self.address(), &key), payment.encode_waiting());
                    keeper.writes.push(row);
                    keeper.durable.insert(key);
                    again.push(key);
                }
                None => self.core.alarm("a payment of a stored transaction is not in its row"),
            }
        }
        match (reason, again.is_empty()) {
            (_, true) => {}
            (ReleaseReason::Unsettled, false) => self.split(myself, again, (stage, lost)),
            (ReleaseReason::ForeignTransaction | ReleaseReason::Canceled | ReleaseReason::OutOfReach, false) => {
                keeper.waiting.extend(again);
            }
        }
        Ok(())
    }

    /// The payment of an included transaction is no longer in memory.
    async fn reload_payment(&self, keeper: &mut GasKeyState, nonce: u64, key: Key) -> Result<(), RowError> {
        if keeper.payments.contains_key(&key) {
            return Ok(());
        }
        let carried = loading::transaction_jobs(&self.core, &self.address(), nonce).await?;
        if let Some(payment) = carried.into_iter().find(|payment| payment.key() == key) {
            keeper.payments.insert(key, Arc::new(payment));
        }
        Ok(())
    }

    /// Splits a failed group. Payments of payers that now have code go alone; the others go together, then in halves.
    /// The lost gas is charged to payers with code, if there are any.
    fn split(&self, myself: &ActorRef<Message>, keys: Vec<Key>, (stage, lost): (Stage, U256)) {
        let (core, myself) = (self.core.clone(), myself.clone());
        tokio::spawn(async move {
            let codes = core.have_code(&keys).await;
            let with_code = keys.iter().zip(codes).filter(|(_, has_code)| *has_code);
            let has_code: BTreeSet<Key> = with_code.map(|(key, _)| *key).collect();
            let all = keys.iter().map(|key| key.from);
            let payers: Vec<Address> = match has_code.is_empty() {
                true => all.collect(),
                false => has_code.iter().map(|key| key.from).collect(),
            };
            core.record_loss(&payers, lost);
            let failed = Group {
                payments: keys,
                stage,
                gas_limit: 0,
            };
            let groups = match failed.payments.len() {
                1 => vec![failed],
                _ => after_failure(&failed, &has_code, &core.settings.gas),
            };
            drop(myself.cast(Message::Split(groups)));
        });
    }

    fn alarm(&self, alarm: Alarm) {
        let key = self.address();
        let what = match alarm {
            Alarm::NoGas => {
                let now_ms = self.now_ms();
                let mut load = self.core.loads.entry(key).or_default();
                if now_ms < load.starved_until_ms {
                    return;
                }
                load.starved_until_ms = now_ms.saturating_add(Load::STARVED_MS);
                load.is_empty = true;
                drop(load);
                self.core.pause_gas_key(key);
                format!("gas key {key} cannot pay for gas")
            }
            Alarm::FeeCap { nonce } => {
                format!("nonce {nonce} of gas key {key} does not land at the highest price (`max_fee`)")
            }
            Alarm::ForeignTransaction { nonce } => {
                format!("another sender has used nonce {nonce} of gas key {key}")
            }
            Alarm::Contradicted {
                expected: believed,
                reported: shown,
            } => format!(
                "endpoints showed {believed} final transactions of gas key {key}, and now show {shown} in the newest block: it sends \
                 nothing new until they show as many, or have shown fewer for half a minute"
            ),
            Alarm::CountReverted {
                expected: believed,
                latest,
            } => format!(
                "that {believed} transactions of gas key {key} are final was wrong: it sends from nonce {latest} on again"
            ),
            Alarm::Rejected { nonce } => {
                format!("an endpoint rejects the transaction with nonce {nonce} of gas key {key}")
            }
        };
        self.core.alarm(&what);
    }
}

impl Core {
    /// Whether payers have code. Queries until an endpoint responds.
    async fn have_code(&self, keys: &[Key]) -> Vec<bool> {
        let payers: Vec<_> = keys.iter().map(|key| key.from).collect();
        loop {
            match self.node.payers(self.token.address(), &payers).await {
                Ok(payers) => return payers.iter().map(|payer| payer.has_code).collect(),
                Err(error) => tracing::warn!(%error, "whether payers have code is not known"),
            }
            let pause = Duration::from_millis(self.settings.tick_ms.max(1));
            self.clock.sleep(pause).await;
        }
    }
}
