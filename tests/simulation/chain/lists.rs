//! What is on the chains, as their own lists have it.

use std::collections::BTreeMap;

use purser::verify::{ChainList, ChainTransfer};
use purser_actors::id::{Wallet, WalletPaymentId};
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, OutgoingTransfer, Timestamp};

use super::Ledger;
use crate::environment::Environment;
use crate::own_purchases;
use crate::seller::WALLET_PAYMENT;
use crate::top_ups::FORWARD;
use crate::withdrawals::FIRST_OUTGOING;

/// Whom an authorization pays. The transactions of this Solana are an address, or a payment to us.
pub(super) fn paid_to(authorization: &Authorization) -> Wallet {
    match authorization {
        Authorization::Evm(evm) => Wallet::Evm(evm.to),
        Authorization::Solana(solana) => Wallet::Solana(match solana.transaction.first_chunk() {
            Some(to) if solana.transaction.len() == 32 => *to,
            _ => [9; 32],
        }),
    }
}

/// What was paid to the treasury, by number.
pub(crate) fn received(world: &Environment) -> Vec<(u32, ChainTransfer)> {
    let mut ledger = world.chain.lock();
    ledger.settle(world.true_ms());
    let all = ledger
        .transfers
        .iter()
        .filter(|(n, _)| **n < FIRST_OUTGOING || own_purchases::is_own(**n));
    all.map(|(n, transfer)| (*n, transfer.clone())).collect()
}

/// Everything on the chains, for the proof of the books.
pub(crate) fn transfers(world: &Environment) -> ChainList {
    let mut ledger = world.chain.lock();
    ledger.settle(world.true_ms());
    let of = |range: std::ops::Range<u32>| {
        ledger
            .transfers
            .range(range)
            .map(|(_, t)| t.clone())
            .collect::<Vec<_>>()
    };
    let (own, external): (Vec<_>, Vec<_>) = ledger
        .transfers
        .range(WALLET_PAYMENT..)
        .partition(|(n, _)| own_purchases::is_own(**n));
    let mut received = of(0..FIRST_OUTGOING);
    received.extend(own.into_iter().map(|(_, t)| t.clone()));
    let mut left = of(FIRST_OUTGOING..WALLET_PAYMENT);
    left.extend(world.bridge.lock().outgoing_transfers(world.true_ms()));
    ChainList {
        received,
        sent: left,
        external: external.into_iter().map(|(_, t)| t.clone()).collect(),
    }
}

fn outgoing_transfer(ledger: &Ledger, (n, transfer): (&u32, &ChainTransfer)) -> OutgoingTransfer {
    OutgoingTransfer {
        transaction: transfer.transaction.clone(),
        to: transfer.to,
        amount: Usdc::from_atomic(transfer.atomic),
        at: Environment::stamp(transfer.at_ms),
        fingerprint: ledger.mark(*n),
        index: transfer.index,
    }
}

/// What left the treasury between two times.
pub(super) fn outgoing_transfers(world: &Environment, since: Timestamp, until: Timestamp) -> Vec<OutgoingTransfer> {
    let mut ledger = world.chain.lock();
    ledger.settle(world.true_ms());
    let left = ledger
        .transfers
        .range(FIRST_OUTGOING..WALLET_PAYMENT)
        .map(|one| outgoing_transfer(&ledger, one));
    left.filter(|transfer| (since..=until).contains(&transfer.at)).collect()
}

/// What left a managed wallet since then.
pub(super) fn sent_by(world: &Environment, from: &Wallet, since: Timestamp) -> Vec<OutgoingTransfer> {
    let mut ledger = world.chain.lock();
    ledger.settle(world.true_ms());
    let all = ledger
        .transfers
        .range(WALLET_PAYMENT..)
        .filter(|(_, t)| t.from == *from);
    let mut sent: Vec<OutgoingTransfer> = all.map(|one| outgoing_transfer(&ledger, one)).collect();
    sent.retain(|transfer| transfer.at >= since);
    sent.sort_by_key(|transfer| transfer.at);
    sent
}

/// What was withdrawn.
pub(crate) fn withdrawn(world: &Environment) -> Vec<ChainTransfer> {
    let ledger = world.chain.lock();
    ledger
        .transfers
        .range(FIRST_OUTGOING..FORWARD)
        .map(|(_, t)| t.clone())
        .collect()
}

/// What has left managed wallets, by spend.
pub(crate) fn wallet_payments(world: &Environment) -> BTreeMap<WalletPaymentId, Vec<ChainTransfer>> {
    let mut ledger = world.chain.lock();
    ledger.settle(world.true_ms());
    let seller = world.seller.lock();
    let mut spent: BTreeMap<WalletPaymentId, Vec<ChainTransfer>> = BTreeMap::new();
    for (n, transfer) in ledger.transfers.range(WALLET_PAYMENT..) {
        spent.entry(seller.signed[n].0).or_default().push(transfer.clone());
    }
    spent
}
