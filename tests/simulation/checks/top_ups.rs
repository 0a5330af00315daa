//! Top-ups at rest: compares the money on the chains and at the issuer with the responses to the account owner.

use std::collections::BTreeMap;

use purser_actors::entity::issuer_link;
use purser_actors::entity::top_up::{Event, LegKind, TopUp};
use purser_actors::id::{TopUpId, Wallet};
use purser_actors::kernel::{Entity, EntityKind, table};
use purser_storage::codec;

use super::{StoreContents, Violation, decode, number, rows, violation};
use crate::bridge::{Burn, mint_name};
use crate::environment::Environment;
use crate::identity::address;
use crate::top_ups::forwards;

/// Everything on the chains that is of one top-up.
#[derive(Default)]
struct ExternalState {
    /// What left our treasury on Solana, and was never minted or was, with the transaction on Base.
    burns: Vec<(String, Option<String>)>,
    /// Burned, and never to be minted.
    lost: usize,
    forwards: Vec<String>,
    /// Deposits that the issuer counts.
    counted: usize,
}

pub(super) fn check(world: &Environment, stock: &StoreContents) -> Result<(), Violation> {
    let top_ups: BTreeMap<TopUpId, TopUp> = {
        let shadow = world.reference.lock();
        let all = rows(&shadow.rows, &[table::ENTITY, EntityKind::TopUp as u8]);
        all.map(|(key, row)| (TopUpId(number(key)), decode(row))).collect()
    };
    let mut outside = external_state(world);
    for (id, top_up) in &top_ups {
        world.trace(|| format!("a top-up ended: {} {:?}", top_up.rail.name(), top_up.status));
        one(stock, (*id, top_up), &outside.remove(id).unwrap_or_default())?;
        check_events(stock, *id, top_up)?;
    }
    if let Some(id) = outside.keys().next() {
        return violation("top_up.lost", format!("{id} left the treasury and is not there"));
    }
    links(stock)
}

fn external_state(world: &Environment) -> BTreeMap<TopUpId, ExternalState> {
    let mut all: BTreeMap<TopUpId, ExternalState> = BTreeMap::new();
    let now = world.true_ms();
    for (id, transfer) in forwards(world) {
        all.entry(id).or_default().forwards.push(transfer.transaction);
    }
    let bridge = world.bridge.lock();
    let ours = |(_, burn): &(&String, &Burn)| burn.has_executed(now) && burn.top_up.0 != 0;
    for (name, burn) in bridge.burns.iter().filter(ours) {
        let of_it = all.entry(burn.top_up).or_default();
        let minted = burn.is_minted(now).then(|| mint_name(name, burn.minted_by()));
        of_it.lost += usize::from(burn.blocked);
        of_it.burns.push((name.clone(), minted));
    }
    for of_it in all.values_mut() {
        let minted = of_it.burns.iter().filter_map(|(_, minted)| minted.as_ref());
        let arrived = minted.chain(&of_it.forwards);
        of_it.counted = arrived
            .filter(|transaction| bridge.counted.contains_key(*transaction))
            .count();
    }
    all
}

/// Its money is at one place: in the card balance, or credited; and it left the treasury once at most.
fn one(stock: &StoreContents, (id, top_up): (TopUpId, &TopUp), outside: &ExternalState) -> Result<(), Violation> {
    let price = stock.payments[&top_up.charge.payment].price().atomic();
    let credited = stock.credits.get(&id.to_string()).copied().unwrap_or(0);
    let reported = [LegKind::Burn, LegKind::Mint, LegKind::Transfer].map(|leg| top_up.transaction(leg));
    let (burn, mint) = match &outside.burns[..] {
        [] => (None, None),
        [(burn, mint)] => (Some(burn.as_str()), mint.as_deref()),
        more => return violation("top_up.burned_twice", format!("{id}: {more:?}")),
    };
    let forward = match &outside.forwards[..] {
        [] => None,
        [one] => Some(one.as_str()),
        more => return violation("top_up.forwarded_twice", format!("{id}: {more:?}")),
    };
    let delivered = forward.is_some() != (burn.is_some() && mint.is_some());
    let (whole, none) = (credited == i128::from(price), credited == 0);
    let good = match top_up.status() {
        "credited" => none && delivered && outside.counted == 1,
        // Nothing was sent, or the transfer is irrecoverably lost.
        "failed" => whole && mint.is_none() && forward.is_none() && usize::from(burn.is_some()) == outside.lost,
        // Everything comes to an end.
        _ => false,
    };
    let detail = || {
        format!(
            "{id} is {} with {reported:?}; there are {burn:?} {mint:?} {forward:?}, counted {}, {credited} of {price} credited",
            top_up.status(),
            outside.counted
        )
    };
    if !good {
        return violation("top_up.money", detail());
    }
    if reported != [burn, mint, forward] {
        return violation("top_up.legs", detail());
    }
    if top_up.address != address(&top_up.owner) {
        return violation("top_up.address", detail());
    }
    Ok(())
}

/// Its events say what happened, each state once and in order.
fn check_events(stock: &StoreContents, id: TopUpId, top_up: &TopUp) -> Result<(), Violation> {
    let own = stock
        .records
        .iter()
        .filter(|record| record.kind == EntityKind::TopUp as u8);
    let own = own.filter(|record| record.id == id.0.to_be_bytes());
    let reported: Vec<&str> = own
        .filter_map(|record| record.announcement.as_ref())
        .map(|announcement| announcement.kind.as_str())
        .collect();
    let burned = top_up.transaction(LegKind::Burn).is_some();
    let mut expected = vec!["top_up.paid"];
    expected.extend(burned.then_some("top_up.bridging"));
    match top_up.status() {
        "credited" => expected.extend(["top_up.delivered", "top_up.credited"]),
        _ => expected.push("top_up.failed"),
    }
    match reported == expected {
        true => Ok(()),
        false => violation("top_up.story", format!("{id}: {reported:?}, and not {expected:?}")),
    }
}

/// Nothing was signed for an account that was not linked at that moment.
fn links(stock: &StoreContents) -> Result<(), Violation> {
    let mut linked: BTreeMap<Wallet, bool> = BTreeMap::new();
    for record in &stock.records {
        if record.kind == EntityKind::IssuerLink as u8 {
            match codec::decode(&record.event).unwrap() {
                issuer_link::Event::Linked(..) => drop(linked.insert(record.owner, true)),
                issuer_link::Event::Unlinked(_) => drop(linked.insert(record.owner, false)),
                _ => {}
            }
        }
        let signed =
            record.kind == EntityKind::TopUp as u8 && matches!(codec::decode(&record.event), Ok(Event::Signed(..)));
        if signed && linked.get(&record.owner) != Some(&true) {
            return violation("top_up.unlinked", format!("{} was not linked", record.owner));
        }
    }
    Ok(())
}
