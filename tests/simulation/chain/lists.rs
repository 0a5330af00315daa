//! What is on the chains, as their own lists have it.

use std::collections::BTreeMap;

use purser::verify::{ChainList, ChainTransfer};
use purser_actors::id::{SpendId, Wallet};
use purser_actors::port::Authorization;

use crate::seller::SPEND;
use crate::top_ups::FORWARD;
use crate::withdrawals::OUT;
use crate::world::World;

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

/// Everything on the chains, for the proof of the books.
pub(crate) fn transfers(world: &World) -> ChainList {
    let mut ledger = world.chain.lock();
    ledger.settle(world.true_ms());
    let of = |range: std::ops::Range<u32>| {
        ledger
            .transfers
            .range(range)
            .map(|(_, t)| t.clone())
            .collect::<Vec<_>>()
    };
    let mut left = of(OUT..SPEND);
    left.extend(world.bridge.lock().left(world.true_ms()));
    ChainList {
        received: of(0..OUT),
        left,
        elsewhere: of(SPEND..u32::MAX),
    }
}

/// What was withdrawn.
pub(crate) fn withdrawn(world: &World) -> Vec<ChainTransfer> {
    let ledger = world.chain.lock();
    ledger.transfers.range(OUT..FORWARD).map(|(_, t)| t.clone()).collect()
}

/// What has left managed wallets, by spend.
pub(crate) fn spent(world: &World) -> BTreeMap<SpendId, Vec<ChainTransfer>> {
    let mut ledger = world.chain.lock();
    ledger.settle(world.true_ms());
    let till = world.till.lock();
    let mut spent: BTreeMap<SpendId, Vec<ChainTransfer>> = BTreeMap::new();
    for (n, transfer) in ledger.transfers.range(SPEND..) {
        spent.entry(till.signed[n].0).or_default().push(transfer.clone());
    }
    spent
}
