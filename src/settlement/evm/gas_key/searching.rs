//! The outcome of a nonce: a receipt in a block that was read, or proof from two endpoints that there is none.

use std::collections::HashSet;
use std::time::Duration;

use purser_chains::cctp::mint::nonce_of;
use purser_chains::evm::expiry::MIN_ENDPOINTS;
use purser_chains::evm::node::{NodeError, Receipt};
use purser_chains::evm::nonces::Action;
use purser_chains::evm::usdc::{self, Movement, MovementKind};
use purser_chains::evm::{Address, B256, U256};
use ractor::ActorRef;

use super::{Core, GasKeyActor, GasKeyState, Message};
use crate::evm::core::{Counters, Outcome, gwei};
use crate::evm::rows::Key;

/// How long a search waits until the block of a receipt was read.
const BLOCK_READ_TIMEOUT: Duration = Duration::from_secs(10);

impl GasKeyActor {
    /// Starts a search, at most one per nonce, in parallel with the actor.
    pub(super) fn search(&self, myself: &ActorRef<Message>, keeper: &mut GasKeyState, nonce: u64, hashes: Vec<B256>) {
        if !keeper.searching.insert(nonce) {
            return;
        }
        let (core, address, myself) = (self.core.clone(), self.address(), myself.clone());
        tokio::spawn(async move {
            let message = match core.find_receipt(address, nonce, &hashes).await {
                Ok(Found::Mined(receipt)) => Message::Mined(nonce, receipt),
                Ok(Found::Absent) => Message::Absent(nonce),
                Ok(Found::Unproven) => Message::Searched(nonce),
                Err(error) => {
                    tracing::warn!(nonce, %error, "what became of a transaction is not known yet");
                    Message::Searched(nonce)
                }
            };
            drop(myself.cast(message));
        });
    }

    /// The logs of a receipt decide: some payments of a successful batch may have failed.
    pub(super) fn apply_receipt(&self, keeper: &mut GasKeyState, nonce: u64, receipt: &Receipt) -> Vec<Action<Key>> {
        keeper.searching.remove(&nonce);
        let settled = match settled_by(&self.core, receipt) {
            Ok(settled) => settled,
            Err(error) => {
                self.core.alarm(&format!("a receipt is incomplete: {error}"));
                return Vec::new();
            }
        };
        let Some(row) = keeper.manager.row(nonce) else {
            return Vec::new();
        };
        let (settled, unsettled): (Vec<Key>, Vec<Key>) = row.payments.iter().partition(|key| settled.contains(*key));
        let landed = row.attempts.iter().find(|attempt| attempt.hash == receipt.transaction);
        let filler = landed.is_some_and(|attempt| attempt.filler);
        if let Some(form) = keeper.records.get_mut(&nonce).filter(|form| !form.counted) {
            form.counted = true;
            Counters::add(&self.core.counters.gas_spent_gwei, gwei(receipt.cost));
            if !filler {
                let calls = U256::from(form.keys.len().max(1));
                form.lost_gas = receipt.cost * U256::from(unsettled.len()) / calls;
                Counters::add(&self.core.counters.gas_lost_gwei, gwei(form.lost_gas));
            }
        }
        for key in settled.iter().filter(|_| !filler) {
            keeper.payments.remove(key);
        }
        // The follower reports payments, but does not read the bridge's logs.
        for key in mints_of(receipt) {
            self.core.notify(&key, &Outcome::Settled);
        }
        let (hash, block) = (receipt.transaction, receipt.block_number);
        keeper.manager.mined(nonce, hash, block, &unsettled)
    }
}

fn settled_by(core: &Core, receipt: &Receipt) -> Result<HashSet<Key>, usdc::UnpairedAuthorization> {
    let movements = usdc::movements(core.token.address(), &receipt.logs)?;
    let key = |movement: Movement| match movement.kind {
        MovementKind::Transfer {
            from,
            authorization: Some(nonce),
            ..
        } => Some(Key { from, nonce }),
        _ => None,
    };
    Ok(movements.into_iter().filter_map(key).chain(mints_of(receipt)).collect())
}

/// Received bridge messages, each identified by its contract.
fn mints_of(receipt: &Receipt) -> impl Iterator<Item = Key> {
    receipt.logs.iter().filter_map(|log| {
        let from = log.address;
        nonce_of(log).map(|nonce| Key { from, nonce })
    })
}

enum Found {
    Mined(Box<Receipt>),
    Absent,
    Unproven,
}

impl Core {
    async fn find_receipt(&self, address: Address, nonce: u64, hashes: &[B256]) -> Result<Found, NodeError> {
        for hash in hashes {
            let Some(receipt) = self.node.receipt(*hash).await? else {
                continue;
            };
            // A single endpoint's receipt may wrongly show payments as failed. The rows of the block contain their
            // transfers once two endpoints agree on the block.
            let read =
                tokio::time::timeout(BLOCK_READ_TIMEOUT, self.wait_until_cross_checked(receipt.block_number)).await;
            let view = self.view();
            let canonical = view.is_canonical(receipt.block_number, receipt.block_hash);
            let canonical = canonical.unwrap_or(receipt.block_number < view.oldest_needed());
            return Ok(match read.is_ok() && canonical {
                true => Found::Mined(Box::new(receipt)),
                false => Found::Unproven,
            });
        }
        self.prove_absent(address, nonce, hashes).await
    }

    /// Whether two endpoints each show the nonce as used in a block on which proofs rest, by none of the attempts.
    async fn prove_absent(&self, address: Address, nonce: u64, hashes: &[B256]) -> Result<Found, NodeError> {
        let Some(tag) = self.proof_tag() else {
            return Ok(Found::Unproven);
        };
        let counts = self.node.counts_of_each(address, tag).await;
        let used = |count: &Result<u64, NodeError>| count.as_ref().is_ok_and(|count| *count > nonce);
        let mut denies: Vec<bool> = counts.iter().map(used).collect();
        if !denies.contains(&true) {
            return Ok(Found::Unproven);
        }
        for hash in hashes {
            for (denies, receipt) in denies.iter_mut().zip(self.node.receipts_of_each(*hash).await) {
                match receipt {
                    Ok(None) => {}
                    Ok(Some(_)) => return Ok(Found::Unproven),
                    Err(_) => *denies = false,
                }
            }
        }
        if denies.iter().filter(|denies| **denies).count() >= MIN_ENDPOINTS {
            return Ok(Found::Absent);
        }
        let what = format!("that a transaction with nonce {nonce} of gas key {address} never lands is not proven");
        self.alarm_once(&what, "two endpoints must show it");
        Ok(Found::Unproven)
    }
}
