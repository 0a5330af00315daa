//! Every settled payment has exactly one outcome, and the chain agrees.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::card;
use purser_actors::id::{DepositId, PaymentId};
use purser_actors::kernel::effect::{CreditCause, Work};
use purser_actors::payment::{Product, Status};

use super::books::Books;
use super::fold::History;
use super::{ChainTransfer, Contents, Report};

/// USDC has six decimals, money on a card two.
const ATOMIC_PER_CENT: i128 = 10_000;

pub(super) const fn name_of(status: &Status) -> &'static str {
    match status {
        Status::Claimed => "claimed",
        Status::Settling(_) => "settling",
        Status::Unknown(_) => "unknown",
        Status::Declined(..) => "declined",
        Status::Released => "released",
        Status::Settled { .. } => "settled",
        Status::Fulfilled { .. } => "fulfilled",
        Status::Credited { .. } => "credited",
        Status::Refused(_) => "refused",
    }
}

pub(super) fn check(contents: &Contents, history: &History, books: &Books, report: &mut Report) {
    let under_way: BTreeSet<String> = contents.effects.iter().filter_map(|e| credit_cause(&e.work)).collect();
    payments(contents, history, books, &under_way, report);
    cards(contents, history, books, &under_way, report);
    causes(contents, books, report);
    owners(contents, report);
}

fn credit_cause(work: &Work) -> Option<String> {
    match work {
        Work::Credit {
            cause: CreditCause::Payment(id),
            ..
        } => Some(id.to_string()),
        Work::Credit {
            cause: CreditCause::Card(id),
            ..
        } => Some(id.to_string()),
        _ => None,
    }
}

fn payments(contents: &Contents, history: &History, books: &Books, under_way: &BTreeSet<String>, report: &mut Report) {
    let deposits: BTreeSet<&str> = contents.deposits.iter().map(|d| d.transaction.as_str()).collect();
    // Counted once: a look through all cards for each payment would never end in a store of millions.
    let mut made: BTreeMap<PaymentId, usize> = BTreeMap::new();
    for (card, _) in contents.cards.values() {
        *made.entry(card.payment).or_default() += 1;
    }
    for (id, (payment, _)) in &contents.payments {
        let name = id.to_string();
        let paid = i128::from(payment.claim.authorization.value().atomic());
        let received = books.received.get(&name).copied().unwrap_or(0);
        // A transfer that was credited as a deposit is booked and credited there, under its own name.
        let as_deposit = payment.transaction().is_some_and(|t| deposits.contains(t));
        let landed = payment.transaction().is_some() && !as_deposit;
        if received != if landed { paid } else { 0 } {
            report.find(
                "payment.received",
                &name,
                format!("the treasury booked {received} of {paid}"),
            );
        }
        let credits = credits(&name, history, books, report);
        let products = made.get(id).copied().unwrap_or(0);
        let (want_products, want_credits) = match &payment.status {
            Status::Fulfilled { .. } => (1, 0),
            Status::Credited { .. } if as_deposit => (0, 0),
            Status::Credited { .. } => (0, paid),
            Status::Settled { .. } if under_way.contains(&name) => (0, 0),
            // The credit is booked and the payment is being told.
            Status::Settled { .. } => (0, paid),
            _ => (0, 0),
        };
        if products != want_products || credits != want_credits {
            let detail = format!(
                "{}: {products} products (expected {want_products}), {credits} credited (expected {want_credits})",
                name_of(&payment.status)
            );
            report.find("payment.outcome", &name, detail);
        }
        if let Status::Fulfilled {
            product: Product::Card(card),
            ..
        } = &payment.status
        {
            match contents.cards.get(card) {
                None => report.find("payment.product", &name, format!("{card} does not exist")),
                Some((c, _)) if c.payment != *id => {
                    report.find("payment.product", &name, format!("{card} belongs to {}", c.payment));
                }
                Some((c, _)) if c.owner != payment.payer() => {
                    report.find("payment.product", &name, format!("{card} belongs to another wallet"));
                }
                Some(_) => {}
            }
        }
    }
}

/// What holders were credited for a cause, by the ledger; the journal must say the same.
fn credits(name: &str, history: &History, books: &Books, report: &mut Report) -> i128 {
    let booked = books.credited.get(name).copied().unwrap_or(0);
    let recorded: i128 = history
        .credits
        .get(name)
        .into_iter()
        .flatten()
        .map(|a| i128::from(*a))
        .sum();
    if history.complete && booked != recorded {
        report.find(
            "credit.recorded",
            name,
            format!("the ledger credited {booked}, the events {recorded}"),
        );
    }
    booked
}

fn cards(contents: &Contents, history: &History, books: &Books, under_way: &BTreeSet<String>, report: &mut Report) {
    let ordered: BTreeSet<_> = contents
        .effects
        .iter()
        .filter_map(|e| match e.work {
            Work::IssueCard(id) => Some(id),
            _ => None,
        })
        .collect();
    for (id, (card, _)) in &contents.cards {
        let name = id.to_string();
        let credited = credits(&name, history, books, report);
        let want = match card.status {
            card::Status::Failed { .. } if !under_way.contains(&name) => i128::from(card.charged.atomic()),
            _ => 0,
        };
        if credited != want {
            report.find("card.credit", &name, format!("{credited} credited, expected {want}"));
        }
        let loaded = i128::from(card.amount.get()) * ATOMIC_PER_CENT;
        let (owed, earned) = match card.status {
            card::Status::Failed { .. } => (0, 0),
            _ => (loaded, i128::from(card.charged.atomic()) - loaded),
        };
        // What is owed is booked with the payment that brought it, and taken back under the card's own name.
        let causes = [card.payment.to_string(), name.clone()];
        let booked = |by: &BTreeMap<String, i128>| causes.iter().filter_map(|c| by.get(c)).sum::<i128>();
        let (has_owed, has_earned) = (booked(&books.owed), booked(&books.earned));
        if (has_owed, has_earned) != (owed, earned) {
            let detail = format!("{has_owed} owed and {has_earned} earned, expected {owed} and {earned}");
            report.find("card.posting", &name, detail);
        }
        if card.status == card::Status::Pending && !ordered.contains(id) {
            report.find("card.orphan", &name, "pending, and no order is under way");
        }
        match contents.payments.get(&card.payment) {
            Some((p, _)) if matches!(p.status, Status::Fulfilled { product: Product::Card(c), .. } if c == *id) => {}
            _ => report.find("card.payment", &name, format!("{} did not buy it", card.payment)),
        }
    }
}

/// Money moves for payments, cards and deposits only, and only those move what is theirs.
fn causes(contents: &Contents, books: &Books, report: &mut Report) {
    let cards: BTreeSet<String> = contents.cards.keys().map(ToString::to_string).collect();
    let payments: BTreeSet<String> = contents.payments.keys().map(ToString::to_string).collect();
    let deposits: BTreeSet<String> = contents
        .deposits
        .iter()
        .map(|d| DepositId::of(d.from.network(), &d.transaction).to_string())
        .collect();
    for cause in &books.causes {
        if !cards.contains(cause) && !payments.contains(cause) && !deposits.contains(cause) {
            report.find("ledger.cause", cause, "there is no such payment, card or deposit");
        }
    }
    // Through which card an amount is owed is held there; here, that it is owed through one at all.
    let sold: BTreeSet<String> = contents.cards.values().map(|(c, _)| c.payment.to_string()).collect();
    let owing = books.owed.keys().chain(books.earned.keys());
    for cause in owing.filter(|c| !cards.contains(*c) && !sold.contains(*c)) {
        report.find("ledger.cause", cause, "only a card owes the issuer and earns a fee");
    }
    for cause in books
        .received
        .keys()
        .filter(|c| !payments.contains(*c) && !deposits.contains(*c))
    {
        report.find("ledger.cause", cause, "only a payment or a deposit is received");
    }
}

/// Whatever is not at its end has an effect that moves it on.
fn owners(contents: &Contents, report: &mut Report) {
    let mut moving = BTreeMap::new();
    for effect in &contents.effects {
        match &effect.work {
            Work::Settle(id) => moving.insert(*id, "settle"),
            Work::Watch(id) => moving.insert(*id, "watch"),
            Work::ConfirmCredit(id) => moving.insert(*id, "confirm_credit"),
            Work::Credit {
                cause: CreditCause::Payment(id),
                ..
            } => moving.insert(*id, "credit"),
            _ => None,
        };
    }
    for (id, (payment, _)) in &contents.payments {
        let needs = matches!(
            payment.status,
            Status::Claimed | Status::Settling(_) | Status::Unknown(_) | Status::Declined(..) | Status::Settled { .. }
        );
        if needs && !moving.contains_key(id) {
            report.find(
                "payment.orphan",
                id,
                format!("{} and nothing moves it on", name_of(&payment.status)),
            );
        }
    }
}

/// The chain's own list: every payment that counts as landed is there, once, for the right amount and payer.
pub(super) fn against_chain(contents: &Contents, chain: &[ChainTransfer], report: &mut Report) {
    let mut transfers: BTreeMap<&str, &ChainTransfer> = BTreeMap::new();
    for transfer in chain {
        if transfers.insert(&transfer.transaction, transfer).is_some() {
            report.find("chain.twice", &transfer.transaction, "the chain lists it twice");
        }
    }
    let mut claimed: BTreeMap<&str, String> = BTreeMap::new();
    for (id, (payment, _)) in &contents.payments {
        let Some(transaction) = payment.transaction() else {
            continue;
        };
        if let Some(other) = claimed.insert(transaction, id.to_string()) {
            report.find("chain.shared", transaction, format!("claimed by {other} and {id}"));
        }
        match transfers.get(transaction) {
            None => report.find("chain.missing", id, format!("{transaction} is not on the chain")),
            Some(t) if t.atomic != payment.price().atomic() || t.from != payment.payer() => {
                report.find(
                    "chain.differs",
                    id,
                    format!("{transaction} moved {} from {}", t.atomic, t.from),
                );
            }
            Some(_) => {}
        }
    }
    for deposit in &contents.deposits {
        if let Some(other) = claimed.insert(&deposit.transaction, "a deposit".into()) {
            report.find(
                "chain.shared",
                &deposit.transaction,
                format!("claimed by {other} and as a deposit"),
            );
        }
        match transfers.get(deposit.transaction.as_str()) {
            Some(t) if t.atomic == deposit.amount.atomic() && t.from == deposit.from => {}
            _ => report.find(
                "chain.deposit",
                &deposit.transaction,
                "credited, and the chain does not show it so",
            ),
        }
    }
    report.unclaimed_transfers = transfers.keys().filter(|t| !claimed.contains_key(**t)).count();
}
