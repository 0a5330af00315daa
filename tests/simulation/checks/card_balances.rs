//! Balances at the card issuer at rest: compares the issuer's records with our cards and withdrawals, and with the
//! responses to owners and operators.

use std::collections::BTreeMap;

use purser_actors::entity::card_withdrawal::{self, CardWithdrawal};
use purser_actors::entity::reloadable_card::{Event, ReloadableCard};
use purser_actors::id::{CardId, WithdrawalId};
use purser_actors::kernel::{Entity, EntityKind, table};
use purser_actors::operator::AuditRecord;
use purser_actors::port::CardState;
use purser_storage::codec;

use super::{StoreContents, Violation, decode, rows, violation};
use crate::card_balances::durable_entities;
use crate::environment::Environment;
use crate::reloadable_cards::IssuerLedger;
use crate::withdrawal_operators::paid;
use crate::withdrawals::outlives_keys;

pub(super) fn check(world: &Environment, stock: &StoreContents) -> Result<(), Violation> {
    let cards: BTreeMap<CardId, ReloadableCard> = of(world, EntityKind::ReloadableCard, CardId);
    let asked: BTreeMap<WithdrawalId, CardWithdrawal> = of(world, EntityKind::CardWithdrawal, WithdrawalId);
    let issuer = world.issuer.lock();
    for (id, one) in &cards {
        world.trace(|| format!("a reloadable card ended as {}", one.status()));
        card(&issuer, *id, one)?;
        check_events(stock, &issuer, *id)?;
    }
    for (id, one) in &asked {
        world.trace(|| format!("a card withdrawal ended as {}", one.status()));
        withdrawal(world, &issuer, *id, one)?;
    }
    if let Some(id) = issuer.cards.keys().find(|id| !cards.contains_key(id)) {
        return violation("card.lost", format!("{id} was opened and is not there"));
    }
    let known = |id| asked.contains_key(id);
    if let Some((order, _)) = issuer.holds.values().find(|(order, _)| !known(&order.withdrawal)) {
        return violation("hold.lost", format!("{order:?} is for nothing"));
    }
    sums(&issuer, &cards, &asked)?;
    keys(world, &cards, &asked)?;
    drop(issuer);
    audited(world, stock, &asked)?;
    for (id, state) in &world.withdrawal_operators.lock().reported {
        let is = asked.get(id).map_or("-", |asked| asked.status());
        if is != *state {
            return violation(
                "counter.contradicted",
                format!("{id} was reported as {state}, and is {is}"),
            );
        }
    }
    Ok(())
}

fn of<Id: Ord, T: codec::Stored>(world: &Environment, kind: EntityKind, named: fn(u128) -> Id) -> BTreeMap<Id, T> {
    durable_entities(world, kind)
        .into_iter()
        .map(|(id, one)| (named(id), one))
        .collect()
}

const fn state_name(state: CardState) -> &'static str {
    match state {
        CardState::Open => "open",
        CardState::Paused => "paused",
        CardState::Closed => "closed",
    }
}

/// A card is what the issuer knows of it, to the cent; one that failed does not exist there.
fn card(issuer: &IssuerLedger, id: CardId, card: &ReloadableCard) -> Result<(), Violation> {
    let known = issuer.cards.get(&id);
    let good = match known {
        None => card.status() == "failed",
        Some(known) => {
            let snapshot = known.snapshot();
            card.status() == state_name(snapshot.state)
                && card.sequence == snapshot.sequence
                && card.activity == snapshot.activity.clone().bounded()
        }
    };
    if !good || card.pending_action.is_some() {
        let known = known.map(|known| known.snapshot());
        return violation(
            "card.snapshot",
            format!("{id} is {card:?}, and at the issuer {known:?}"),
        );
    }
    Ok(())
}

/// Its events lead to its status: each transition starts from the previous status. Each action has one answer, and the
/// issuer received it once.
fn check_events(stock: &StoreContents, issuer: &IssuerLedger, id: CardId) -> Result<(), Violation> {
    let own = stock
        .records
        .iter()
        .filter(|r| r.kind == EntityKind::ReloadableCard as u8);
    let own = own.filter(|r| r.id == id.0.to_be_bytes());
    let (mut status, mut actions, mut answers, mut sequence) = ("-", 0, 0, 0);
    // One issuer event may carry several charges and a status change.
    let mut goes_on = false;
    for record in own {
        let event: Event = codec::decode(&record.event).unwrap();
        let says = !matches!(event, Event::Charged(_, None, _));
        let newer = |word: u64, last: u64| word > last || (word == last && goes_on && says);
        let (from, to, word): (&[&str], _, _) = match &event {
            Event::Ordered { .. } => (&["-"], Some("creating"), None),
            Event::Opened(..) => (&["creating"], Some("open"), None),
            Event::Declined(..) => (&["creating"], Some("failed"), None),
            Event::Paused(s, _) => (&["open"], Some("paused"), Some(s.sequence)),
            Event::Resumed(s, _) => (&["paused"], Some("open"), Some(s.sequence)),
            Event::Closed(s, _) => (&["open", "paused"], Some("closed"), Some(s.sequence)),
            Event::Charged(s, ..) => (&["open", "paused", "closed"], None, Some(s.sequence)),
            Event::ActionRequested(..) | Event::Revealed(_) => (&["open", "paused"], None, None),
            Event::ActionCompleted(_) => (&["open", "paused", "closed"], None, None),
        };
        actions += usize::from(matches!(event, Event::ActionRequested(..)));
        answers += usize::from(matches!(event, Event::ActionCompleted(_)));
        if !from.contains(&status) || word.is_some_and(|word| !newer(word, sequence)) {
            return violation(
                "card.story",
                format!("{id}: {event:?} came upon {status} at {sequence}"),
            );
        }
        sequence = word.unwrap_or(sequence);
        goes_on = matches!(event, Event::Charged(_, Some(_), _));
        status = to.unwrap_or(status);
    }
    let asked = issuer.state_changes.values().filter(|card| **card == id).count();
    if actions != answers || actions != asked {
        let detail = format!("{id}: {actions} actions, {answers} answers, and {asked} requests to the issuer");
        return violation("card.actions", detail);
    }
    Ok(())
}

/// Its hold matches its status, and an operator paid it exactly if it is complete.
fn withdrawal(
    world: &Environment,
    issuer: &IssuerLedger,
    id: WithdrawalId,
    asked: &CardWithdrawal,
) -> Result<(), Violation> {
    use card_withdrawal::Status;
    let aside: Vec<_> = issuer
        .holds
        .iter()
        .filter(|(_, (order, _))| order.withdrawal == id)
        .collect();
    let paid = paid(world, id);
    let ended = match &aside[..] {
        [] => None,
        [(key, (_, ended))] if asked.hold_key == Some(**key) => Some(*ended),
        more => return violation("hold.twice", format!("{id} is {asked:?}, and its holds are {more:?}")),
    };
    let good = match &asked.status {
        Status::Pending => false,
        Status::Failed { .. } => ended.is_none() && paid.is_none(),
        Status::Queued => ended == Some(None) && paid.is_none(),
        // The lease holder may have paid without a report yet.
        Status::Claimed(_) => ended == Some(None),
        // Only a restored backup brings that, and none is restored here.
        Status::ClosedAtIssuer { .. } => false,
        Status::Complete { transaction } => ended == Some(Some(true)) && paid.as_ref() == Some(transaction),
        Status::Rejected { .. } => ended == Some(Some(false)) && paid.is_none(),
    };
    let settled = matches!(ended, Some(Some(_)));
    match good && settled == asked.settled {
        true => Ok(()),
        false => violation(
            "hold.ends",
            format!("{id} is {asked:?}, its hold {ended:?}, paid {paid:?}"),
        ),
    }
}

/// Deposits to each balance equal its rest, its cards, their charges, its holds and its withdrawals, by our records.
fn sums(
    issuer: &IssuerLedger,
    cards: &BTreeMap<CardId, ReloadableCard>,
    asked: &BTreeMap<WithdrawalId, CardWithdrawal>,
) -> Result<(), Violation> {
    let accounts = cards.values().map(|card| card.account);
    let accounts = accounts.chain(asked.values().map(|asked| asked.account));
    let mut gone: BTreeMap<[u8; 20], u64> = accounts.map(|account| (account, 0)).collect();
    for (id, card) in cards {
        // A snapshot keeps the newest charges only.
        let spent = issuer.cards.get(id).map_or(0, |known| known.spent);
        let recorded: u64 = card.transactions().iter().map(|charge| charge.amount.get()).sum();
        if spent != recorded {
            return violation(
                "card.charges",
                format!("{id}: {spent} were charged, {recorded} are recorded"),
            );
        }
        *gone.entry(card.account).or_default() += card.activity.available.get() + recorded;
    }
    for asked in asked.values() {
        if !matches!(asked.status(), "failed" | "rejected") {
            *gone.entry(asked.account).or_default() += asked.amount.get();
        }
    }
    for (account, gone) in gone {
        let known = |of: &BTreeMap<[u8; 20], u64>| of.get(&account).copied().unwrap_or(0);
        let (came, left) = (known(&issuer.deposited), known(&issuer.balances));
        if came != left + gone {
            let detail = format!(
                "{came} were deposited to {}, {left} are left, {gone} are recorded",
                hex::encode(account)
            );
            return violation("card_balance.sum", detail);
        }
    }
    Ok(())
}

/// A key has one card or withdrawal, however often it was requested, with the id from the responses.
fn keys(
    world: &Environment,
    cards: &BTreeMap<CardId, ReloadableCard>,
    asked: &BTreeMap<WithdrawalId, CardWithdrawal>,
) -> Result<(), Violation> {
    if outlives_keys(&world.plan) {
        return Ok(());
    }
    let notes = world.client_log.lock();
    let ids = cards.keys().map(|id| ("card", id.0));
    let mut known: BTreeMap<(&str, u32), u128> = BTreeMap::new();
    for (what, id) in ids.chain(asked.keys().map(|id| ("card withdrawal", id.0))) {
        let nth = id as u32;
        let is_same = notes
            .card_balance_ids
            .get(&(what, nth))
            .is_none_or(|known| *known == id);
        if known.insert((what, nth), id).is_some() || !is_same {
            return violation("key.twice", format!("{what} {nth} is {id:x}, and another"));
        }
    }
    match notes.card_balance_ids.keys().find(|key| !known.contains_key(key)) {
        Some(lost) => violation("key.effect", format!("{lost:?} was taken on and is not there")),
        None => Ok(()),
    }
}

/// Each operator action has one audit record.
fn audited(
    world: &Environment,
    stock: &StoreContents,
    asked: &BTreeMap<WithdrawalId, CardWithdrawal>,
) -> Result<(), Violation> {
    type Which = fn(&card_withdrawal::Event) -> bool;
    let acts: [(&str, Which); 4] = [
        ("card_withdrawal.claim", |e| {
            matches!(e, card_withdrawal::Event::Claimed(..))
        }),
        ("card_withdrawal.release", |e| {
            matches!(e, card_withdrawal::Event::Released(_))
        }),
        ("card_withdrawal.fulfil", |e| {
            matches!(e, card_withdrawal::Event::Fulfilled(..))
        }),
        ("card_withdrawal.reject", |e| {
            matches!(e, card_withdrawal::Event::Rejected(..))
        }),
    ];
    let audits: Vec<AuditRecord> = {
        let shadow = world.reference.lock();
        rows(&shadow.rows, &[table::AUDIT_LOG])
            .map(|(_, row)| decode(row))
            .collect()
    };
    for id in asked.keys() {
        let own = stock
            .records
            .iter()
            .filter(|r| r.kind == EntityKind::CardWithdrawal as u8);
        let own: Vec<_> = own
            .filter(|r| r.id == id.0.to_be_bytes())
            .map(|r| codec::decode::<card_withdrawal::Event>(&r.event).unwrap())
            .collect();
        for (what, which) in acts {
            let done = own.iter().filter(|event| which(event)).count();
            let recorded = audits
                .iter()
                .filter(|a| a.subject == id.to_string() && a.action == what);
            let recorded = recorded.count();
            if recorded != done {
                return violation(
                    "audit",
                    format!("{id}: {what} happened {done} times, {recorded} are in the audit log"),
                );
            }
        }
    }
    Ok(())
}
