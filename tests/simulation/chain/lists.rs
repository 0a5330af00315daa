//! What is on the chains, as their own lists have it.

use std::collections::BTreeMap;

use purser::verify::{ChainList, ChainTransfer};
use purser_actors::id::{Wallet, WalletPaymentId};
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, OutgoingTransfer, Timestamp};

use super::Ledger;
use crate::environment::Environment;
use crate::own;
use crate::seller::SPEND;
use crate::top_ups::FORWARD;
use crate::withdrawals::OUT;

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
    let all = ledger.transfers.iter().filter(|(n, _)| **n < OUT || own::is_own(**n));
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
    let (own, elsewhere): (Vec<_>, Vec<_>) = ledger.transfers.range(SPEND..).partition(|(n, _)| own::is_own(**n));
    let mut received = of(0..OUT);
    received.extend(own.into_iter().map(|(_, t)| t.clone()));
    let mut left = of(OUT..SPEND);
    left.extend(world.bridge.lock().left(world.true_ms()));
    ChainList {
        received,
        left,
        elsewhere: elsewhere.into_iter().map(|(_, t)| t.clone()).collect(),
    }
}

fn departure(ledger: &Ledger, (n, transfer): (&u32, &ChainTransfer)) -> OutgoingTransfer {
    OutgoingTransfer {
        transaction: transfer.transaction.clone(),
        to: transfer.to,
        amount: Usdc::from_atomic(transfer.atomic),
        at: Environment::stamp(transfer.at_ms),
        mark: ledger.mark(*n),
        index: transfer.index,
    }
}

/// What left the treasury between two times.
pub(super) fn departures(world: &Environment, since: Timestamp, until: Timestamp) -> Vec<OutgoingTransfer> {
    let mut ledger = world.chain.lock();
    ledger.settle(world.true_ms());
    let left = ledger.transfers.range(OUT..SPEND).map(|one| departure(&ledger, one));
    left.filter(|departure| (since..=until).contains(&departure.at))
        .collect()
}

/// What left a managed wallet since then.
pub(super) fn sent_by(world: &Environment, from: &Wallet, since: Timestamp) -> Vec<OutgoingTransfer> {
    let mut ledger = world.chain.lock();
    ledger.settle(world.true_ms());
    let all = ledger.transfers.range(SPEND..).filter(|(_, t)| t.from == *from);
    let mut sent: Vec<OutgoingTransfer> = all.map(|one| departure(&ledger, one)).collect();
    sent.retain(|departure| departure.at >= since);
    sent.sort_by_key(|departure| departure.at);
    sent
}

/// What was withdrawn.
pub(crate) fn withdrawn(world: &Environment) -> Vec<ChainTransfer> {
    let ledger = world.chain.lock();
    ledger.transfers.range(OUT..FORWARD).map(|(_, t)| t.clone()).collect()
}

/// What has left managed wallets, by spend.
pub(crate) fn spent(world: &Environment) -> BTreeMap<WalletPaymentId, Vec<ChainTransfer>> {
    let mut ledger = world.chain.lock();
    ledger.settle(world.true_ms());
    let till = world.till.lock();
    let mut spent: BTreeMap<WalletPaymentId, Vec<ChainTransfer>> = BTreeMap::new();
    for (n, transfer) in ledger.transfers.range(SPEND..) {
        spent.entry(till.signed[n].0).or_default().push(transfer.clone());
    }
    spent
}
