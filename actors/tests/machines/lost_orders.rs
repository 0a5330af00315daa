//! Orders that a restore lost, as an operator attributes them to an account.

use std::collections::BTreeMap;

use purser_actors::currency::Currency;
use purser_actors::entity::account::{Account, Command, Event, Rejection};
use purser_actors::id::JobId;
use purser_actors::kernel::{Decision, Entity, table};
use purser_actors::ledger::{LedgerAccount, LedgerProvider, LedgerTransaction};
use purser_actors::lost_order::{AttributedOrder, LostOrder, OrderPayer, ReturnEvidence};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::Timestamp;
use purser_actors::product::ProductLine;
use purser_actors::reconciliation::{EntryStatus, ReconciliationSource};
use purser_storage::{Condition, Write, codec};

use crate::fixtures::{DAY, DAY_MS, NOW, WALLET, accounts, at, event_names, fold, operator};

const KEY: JobId = JobId(91);

fn order(source: ReconciliationSource, product: &str, standing: EntryStatus) -> LostOrder {
    LostOrder {
        source,
        key: KEY,
        product: product.into(),
        amount: Cents::new(3_00),
        currency: Currency::USD,
        status: standing,
        at: NOW,
    }
}

fn paid(order: LostOrder, charged: u64) -> AttributedOrder {
    AttributedOrder {
        owed: order.worth().unwrap().unwrap(),
        order,
        payer: OrderPayer::Account(WALLET),
        charged: Usdc::from_atomic(charged),
        returned: None,
    }
}

/// An account with 5.00.
fn funded_account() -> Account {
    let mut account = accounts().remove(0);
    account.balance = Usdc::from_atomic(5_000_000);
    account
}

fn attribute(account: &Account, booked: AttributedOrder) -> Result<Decision<Account>, Rejection> {
    let command = Command::AttributeOrder {
        attributed: Box::new(booked),
        is_repeat: false,
        act: operator(),
        evidence: "Seen.".into(),
    };
    Account::decide(Some(account), &WALLET, command, &at(NOW))
}

fn postings(decision: &Decision<Account>) -> BTreeMap<LedgerAccount, i128> {
    let mut books = BTreeMap::new();
    for write in decision.writes() {
        let Write::Put { key, value, .. } = write else { continue };
        if key[0] == table::LEDGER {
            let booked: LedgerTransaction = codec::decode(value).unwrap();
            for posting in booked.postings {
                *books.entry(posting.account).or_insert(0) += posting.atomic;
            }
        }
    }
    books.retain(|_, atomic| *atomic != 0);
    books
}

#[test]
fn lost_order_debits_its_charge_and_credits_its_result() {
    // Checks: 3.00 for 3.00, with a fee of 0.50, and below our cost. Owner, provider, fee and cost add up, the balance
    // equals the ledger, and the row is new. A later decline credits the whole charge to the owner, a return all but
    // our fee.
    let bank = LedgerAccount::Provider(LedgerProvider::Bank);
    for (charged, fee, cost) in [(3_000_000, 0, 0), (3_500_000, 500_000, 0), (2_000_000, 0, 1_000_000)] {
        let booked = paid(
            order(ReconciliationSource::Payouts, "bank_payment", EntryStatus::Completed),
            charged,
        );
        let decision = attribute(&funded_account(), booked.clone()).unwrap();
        let atomic = i128::from(charged);
        let all = [
            (LedgerAccount::Customer(WALLET), atomic),
            (bank, -3_000_000),
            (LedgerAccount::FeeRevenue, -fee),
            (LedgerAccount::OperatingCosts, cost),
        ];
        let want: BTreeMap<_, _> = all.into_iter().filter(|(_, atomic)| *atomic != 0).collect();
        assert_eq!(postings(&decision), want, "{charged}");
        let row = Condition::Absent(table::lost_order(KEY));
        assert!(decision.conditions().contains(&row));
        let after = fold(Some(funded_account()), &WALLET, decision.events());
        assert_eq!(after.balance.atomic(), 5_000_000 - charged);
        let part = Usdc::from_atomic(1_250_000);
        for (how, given, owed) in [
            (ReturnEvidence::NotExecuted, charged, 3_000_000),
            (ReturnEvidence::ReturnedByRail, charged - fee as u64, 3_000_000),
            (ReturnEvidence::ReturnedByBank("ach-1".into()), 1_250_000, 1_250_000),
        ] {
            let back = booked
                .clone()
                .with_return(OrderPayer::Account(WALLET), how.clone(), part);
            let decision = attribute(&after, back).unwrap();
            let end = fold(Some(after.clone()), &WALLET, decision.events());
            assert_eq!(end.balance.atomic(), after.balance.atomic() + given, "{how:?}");
            let posted = postings(&decision);
            assert_eq!(posted[&LedgerAccount::Customer(WALLET)], -i128::from(given), "{how:?}");
            assert_eq!(posted[&bank], owed, "{how:?}");
        }
    }
}

#[test]
fn lost_bank_debit_is_credited() {
    // Checks: the bank's report decides the direction; an order without one was paid from the balance.
    let drawn = attribute(
        &funded_account(),
        paid(
            order(
                ReconciliationSource::BankTransfers,
                "from_account",
                EntryStatus::Completed,
            ),
            3_000_000,
        ),
    )
    .unwrap();
    let banking = LedgerAccount::Provider(LedgerProvider::Banking);
    let want = BTreeMap::from([(banking, 3_000_000), (LedgerAccount::Customer(WALLET), -3_000_000)]);
    assert_eq!((event_names(&drawn).as_str(), postings(&drawn)), ("Credited", want));
    for product in ["to_account", "transfer", ""] {
        let moved = attribute(
            &funded_account(),
            paid(
                order(ReconciliationSource::BankTransfers, product, EntryStatus::Completed),
                3_000_000,
            ),
        )
        .unwrap();
        let want = BTreeMap::from([(banking, -3_000_000), (LedgerAccount::Customer(WALLET), 3_000_000)]);
        assert_eq!(
            (event_names(&moved).as_str(), postings(&moved)),
            ("Debited", want),
            "{product}"
        );
    }
}

#[test]
fn lost_payout_of_today_counts_against_the_daily_cap() {
    // Checks: orders of today, of yesterday, and bank transfers, which no cap counts.
    let yesterday = Timestamp(NOW.0 - DAY_MS);
    for (source, when, counts) in [
        (ReconciliationSource::Payouts, NOW, true),
        (ReconciliationSource::Payouts, yesterday, false),
        (ReconciliationSource::BankTransfers, NOW, false),
    ] {
        let order = LostOrder {
            at: when,
            ..order(source, "bank_payment", EntryStatus::Completed)
        };
        let decision = attribute(&funded_account(), paid(order, 3_000_000)).unwrap();
        let share = decision.events().iter().find_map(|event| match event {
            Event::CapReserved(share) => Some((share.day, share.cap_group, share.cents.get())),
            _ => None,
        });
        assert_eq!(
            share,
            counts.then_some((DAY, ProductLine::BankPayment, 3_00)),
            "{source:?}"
        );
    }
}

#[test]
fn lost_order_debits_at_most_the_available_balance() {
    // Checks: one unit above the available amount is rejected, also when part of the balance is on hold.
    let mut held = funded_account();
    held.held = Usdc::from_atomic(1);
    for (account, charged, takes) in [
        (funded_account(), 5_000_000, true),
        (funded_account(), 5_000_001, false),
        (held.clone(), 4_999_999, true),
        (held, 5_000_000, false),
    ] {
        let booked = paid(
            order(ReconciliationSource::Payouts, "bank_payment", EntryStatus::Completed),
            charged,
        );
        let result = attribute(&account, booked);
        let available = account.available();
        match takes {
            true => assert!(result.is_ok(), "{charged}"),
            false => assert_eq!(result.unwrap_err(), Rejection::Insufficient { available }, "{charged}"),
        }
    }
}
