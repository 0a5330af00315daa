//! Signs transactions and sends them to every endpoint.

use std::sync::Arc;

use purser_chains::evm::multicall::Stage;
use purser_chains::evm::nonces::{Attempt, NonceError, SendReply};
use purser_chains::evm::tx::{Fee, SignedTransaction, Transaction};
use purser_chains::evm::{Address, Bytes, U256};
use ractor::ActorRef;

use super::{GasKeyActor, GasKeyState, Message, NonceRecord};
use crate::evm::core::Counters;
use crate::evm::job::Job;
use crate::evm::rows::Key;

/// Gas of a transfer of 0 wei to the key itself.
const FILLER_GAS: u64 = 21_000;

impl GasKeyActor {
    /// Signs an attempt. Returns whether a row must be stored. A reservation that cannot be signed is released.
    pub(super) fn sign(&self, keeper: &mut GasKeyState, nonce: u64, fee: Fee, payments: &[Key]) -> bool {
        let now_ms = self.now_ms();
        let attempt = self.attempt(keeper, nonce, fee, payments);
        let signed = match attempt {
            Some(attempt) => keeper
                .manager
                .signed(nonce, attempt, now_ms)
                .map(|row| row.attempts.len()),
            None => Err(NonceError::Mismatch),
        };
        match signed {
            Ok(attempts) => {
                let counters = &self.core.counters;
                if attempts > 1 {
                    Counters::add(&counters.replacements, 1);
                } else {
                    Counters::add(&counters.transactions, 1);
                    Counters::add(&counters.payments, u64::try_from(payments.len()).unwrap_or(u64::MAX));
                }
                keeper.records.entry(nonce).or_insert_with(NonceRecord::of_filler);
                true
            }
            Err(error) => {
                // A nonce used externally in the meantime is not an error: the payments wait for the next one.
                if error != NonceError::Used {
                    let key = self.address();
                    self.core
                        .alarm(&format!("nonce {nonce} of gas key {key} could not be signed: {error}"));
                }
                self.return_nonce(keeper, nonce);
                false
            }
        }
    }

    fn attempt(&self, keeper: &GasKeyState, nonce: u64, fee: Fee, payments: &[Key]) -> Option<Attempt> {
        let (to, data, gas_limit) = self.content(keeper, nonce, payments)?;
        let transaction = Transaction {
            chain_id: self.core.settings.chain_id,
            nonce,
            fee,
            gas_limit,
            to,
            value: U256::ZERO,
            data,
        };
        let signed = transaction.sign(self.key()).ok()?;
        Some(Attempt {
            hash: signed.hash,
            bytes: signed.bytes,
            fee,
            filler: payments.is_empty(),
        })
    }

    /// The content of every attempt of a nonce; a transfer of 0 wei if it carries no payment.
    fn content(&self, keeper: &GasKeyState, nonce: u64, payments: &[Key]) -> Option<(Address, Bytes, u64)> {
        if payments.is_empty() {
            return Some((self.address(), Bytes::new(), FILLER_GAS));
        }
        if let Some(row) = keeper.manager.row(nonce) {
            let before = row.attempts.iter().rfind(|attempt| !attempt.filler)?;
            let before = SignedTransaction::parse(&before.bytes).ok()?.transaction;
            return Some((before.to, before.data, before.gas_limit));
        }
        let found = payments.iter().map(|key| keeper.payments.get(key).cloned());
        let found: Vec<Arc<Job>> = found.collect::<Option<_>>()?;
        let (to, data) = self.core.call_of(&found)?;
        Some((to, data, keeper.records.get(&nonce)?.gas_limit))
    }

    /// Releases a reservation for which nothing was signed.
    fn return_nonce(&self, keeper: &mut GasKeyState, nonce: u64) {
        keeper.manager.returned(nonce, self.now_ms());
        if keeper.manager.row(nonce).is_some() {
            return;
        }
        let Some(form) = keeper.records.remove(&nonce) else {
            return;
        };
        for key in form.keys.iter().rev() {
            keeper.nonces.remove(key);
            keeper.waiting.push_front(*key);
        }
    }

    /// Sends to every endpoint, in parallel with the actor.
    pub(super) fn send(&self, myself: &ActorRef<Message>, keeper: &GasKeyState, nonce: u64) {
        let current = keeper.manager.row(nonce).and_then(|row| row.current());
        let Some(attempt) = current.cloned() else { return };
        let (core, myself) = (self.core.clone(), myself.clone());
        tokio::spawn(async move {
            let answers = core.node.send_raw(&attempt.bytes, attempt.hash).await;
            let refused = answers.iter().all(|answer| answer.reply == SendReply::Rejected);
            for answer in &answers {
                if let Some(error) = &answer.error {
                    let (host, reply) = (&answer.host, answer.reply);
                    match reply {
                        // Endpoints share transactions with each other.
                        SendReply::AlreadyKnown => tracing::debug!(nonce, host, error, "an endpoint has a transaction"),
                        _ => tracing::warn!(nonce, host, ?reply, error, "an endpoint did not take a transaction"),
                    }
                }
                drop(myself.cast(Message::Replied(nonce, attempt.hash, answer.reply)));
            }
            if refused {
                drop(myself.cast(Message::Rejected(nonce)));
            }
        });
    }
}

impl NonceRecord {
    /// The content of a filler transaction.
    const fn of_filler() -> Self {
        Self {
            keys: Vec::new(),
            content_bytes: 0,
            lengths: Vec::new(),
            stage: Stage::First,
            gas_limit: FILLER_GAS,
            counted: false,
            lost_gas: U256::ZERO,
        }
    }
}
