//! After a restore: every transfer on chain and every provider order is in the ledger once, although the history that
//! recorded it is lost.

use std::collections::{BTreeMap, BTreeSet};

use purser::verify::{ChainTransfer, VerifyFinding};
use purser_actors::entity::incoming::{Incoming, Status};
use purser_actors::id::{JobId, Wallet};
use purser_actors::kernel::{EntityKind, table};

use super::{StoreContents, Violation, decode, rows, violation};
use crate::chain::received;
use crate::clients::{payer, wallet};
use crate::environment::Environment;
use crate::own_purchases::canonical;
use crate::providers::Order;
use crate::restores::unresolved;

/// Transfers that were taken in without a payment, by transaction, as credits name them.
pub(crate) fn credited_deposits(world: &Environment) -> BTreeMap<String, (String, Incoming)> {
    let shadow = world.reference.lock();
    let all = rows(&shadow.rows, &[table::ENTITY, EntityKind::Incoming as u8]);
    all.map(|(_, row)| {
        let incoming: Incoming = decode(row);
        let transfer = &incoming.transfer;
        (transfer.transaction.clone(), (transfer.id().to_string(), incoming))
    })
    .collect()
}

/// Whether a restore explains a finding. An outgoing transfer of the lost history has no owner until an operator
/// attributes it, and agents' spending there remains. Another check shows that nothing was sent twice.
pub(super) fn is_known(world: &Environment, found: &VerifyFinding) -> bool {
    if world.archive.lock().mark().is_none() || found.rule != "chain.untracked_transfer" {
        return false;
    }
    let of_agents = world.chain.lock().is_from_agent_wallet(&found.subject);
    let engine = world.engine.lock().clone();
    of_agents || engine.is_none_or(|engine| !unresolved(world, &engine).is_empty())
}

/// Each payment is one product or one credit, by the lists of chains and providers and by the credits to each payer.
/// Each product has an owner.
pub(super) fn check(world: &Environment, stock: &StoreContents) -> Result<(), Violation> {
    if world.archive.lock().mark().is_none() {
        return Ok(());
    }
    let taken = credited_deposits(world);
    for (_, incoming) in taken.values() {
        let transfer = &incoming.transfer;
        world.trace(|| format!("{} came in and ended as {:?}", transfer.transaction, incoming.status));
        if matches!(
            incoming.status,
            Status::Found | Status::Waiting | Status::Crediting(_) | Status::Returning(_)
        ) {
            return violation("rest.incoming", format!("{incoming:?}"));
        }
    }
    for (id, payment) in &stock.payments {
        let taken = payment.transaction().and_then(|transaction| taken.get(transaction));
        if taken.is_some_and(|(_, incoming)| matches!(incoming.status, Status::Credited(_))) {
            world.trace(|| format!("{id} is presented again and its transfer was credited"));
        }
    }
    for (n, transfer) in received(world) {
        one(world, stock, (n, &transfer), taken.get(&transfer.transaction))?;
    }
    Ok(())
}

/// Orders for a request that an agent repeated because the store lost the first: another payment with its own transfer.
fn duplicate_requests(world: &Environment, n: u32) -> BTreeSet<JobId> {
    let seller = world.seller.lock();
    let Some((spend, _)) = seller.signed.get(&n) else {
        return BTreeSet::new();
    };
    let again = seller.signed.iter();
    let again = again.filter(|(other, (id, _))| canonical(**other) == canonical(n) && id != spend);
    let notes = world.client_log.lock();
    let payments = again.filter_map(|(other, _)| notes.ids.get(other));
    payments.map(|payment| JobId(payment.product_id())).collect()
}

fn one(
    world: &Environment,
    stock: &StoreContents,
    (n, transfer): (u32, &ChainTransfer),
    taken: Option<&(String, Incoming)>,
) -> Result<(), Violation> {
    let id = world.client_log.lock().ids.get(&n).copied();
    let Some(id) = id else {
        return violation("money.unreal", format!("{transfer:?} has no payer"));
    };
    // Whose a managed wallet is that only the lost history had opened is known once its owner's account is.
    let owner = wallet(payer(n));
    let knew = world.archive.lock().was_covered(&owner);
    let is_due = |account: &Wallet| *account == owner || (!knew && *account == transfer.from);
    let goods: Vec<_> = stock.products.values().filter(|good| good.payment == id).collect();
    let deposit = taken.map(|(name, _)| name.clone());
    let causes = goods
        .iter()
        .map(|good| good.name.clone())
        .chain([id.to_string()])
        .chain(deposit);
    let credited: i128 = causes.filter_map(|cause| stock.credits.get(&cause)).sum();
    let others = duplicate_requests(world, n);
    // Everything that this payment's provider has made, whether or not it was reported.
    let made: Vec<_> = {
        let press = world.card_numbers.lock();
        let orders = press.orders.iter().filter(|(_, (_, order))| *order == Order::Made);
        let own = |key: &JobId| {
            press
                .requests
                .get(key)
                .is_some_and(|asked| asked.payment == canonical(n))
        };
        let own = orders.filter(|(key, _)| own(key) && !others.contains(*key));
        own.map(|(_, (thing, _))| *thing).collect()
    };
    let held = made.iter().filter(|thing| {
        let good = stock.products.get(thing);
        good.is_some_and(|good| good.payment == id && is_due(&good.owner))
    });
    let held = held.count();
    let is_theirs = taken.is_none_or(|(_, incoming)| match incoming.status {
        Status::Credited(account) => is_due(&account),
        _ => true,
    });
    let waits = goods.iter().any(|good| stock.is_dead_lettered(good));
    let paid = i128::from(transfer.atomic);
    let by_hand = world.archive.lock().manual_payments.contains(&canonical(n));
    let good = match (made.len(), credited) {
        (1, 0) => held == 1 || by_hand,
        (0, credited) => credited == paid && is_theirs || (credited == 0 && waits),
        _ => false,
    };
    match good {
        true => Ok(()),
        false => violation(
            "restore.once",
            format!(
                "payment {n} of {paid}: {} made, {held} of them held, {credited} credited",
                made.len()
            ),
        ),
    }
}
