//! `purser verify`: checks the ledger and all state from what is stored, with independent code.
//!
//! This crate never calls an entity's `apply` or `decide`. Balances are summed from postings, and states are folded
//! from the journal's events by a second implementation of the rules. Both are compared with the snapshots, with each
//! other and with the chain's own list of transfers. Every mismatch is reported.

mod agent_wallets;
mod api_keys;
mod approvals;
mod audit_log;
mod banking;
mod cap_counts;
mod discrepancies;
mod events;
mod finality;
mod gate;
mod identity;
mod incoming;
mod late_returns;
mod ledger;
mod lines;
mod lost_orders;
mod money_history;
mod onchain;
mod outcomes;
mod outgoing_transfers;
mod passkeys;
mod payees;
mod products;
mod received;
mod recoveries;
mod refunds;
mod reloadable_cards;
mod spend_approvals;
mod vault;
mod webhooks;
mod withdrawals;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use purser_actors::engine::lost_windows;
use purser_actors::entity::account::Account;
use purser_actors::entity::late_return::LateReturn;
use purser_actors::entity::payment::Payment;
use purser_actors::entity::session::Session;
use purser_actors::entity::withdrawal::Withdrawal;
use purser_actors::id::{LateReturnId, PaymentId, SessionId, Wallet, WalletPaymentId, WithdrawalId};
use purser_actors::kernel::{EntityKind, OutboxJob, table};
use purser_actors::lost_order::AttributedOrder;
use purser_actors::port::{AttributedTransfer, BoxFuture};
use purser_storage::codec::{self, Stored};
use purser_storage::{Row, Store, StoreError};

use self::identity::IdentityRecords;
use self::products::SoldProduct;
use self::reloadable_cards::CardProgramRecords;

/// A violated rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct VerifyFinding {
    /// Id of the rule, for example `ledger.unbalanced`.
    pub rule: &'static str,
    /// Id of what breaks it.
    pub subject: String,
    pub detail: String,
}

impl fmt::Display for VerifyFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.rule, self.subject, self.detail)
    }
}

/// What was checked, and what was found.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct VerifyReport {
    /// Accounts, payments, sessions, withdrawals, and each kind of product.
    pub entities: BTreeMap<&'static str, usize>,
    /// Payments by status.
    pub payments: BTreeMap<String, usize>,
    /// Number of folded events.
    pub events: usize,
    /// Ledger transactions summed.
    pub transactions: usize,
    /// Balance of each internal account and of all customers together, in atomic USDC, debit positive.
    pub balances: BTreeMap<String, i128>,
    /// Audit records, each linked by hash to the next.
    pub audit_entries: usize,
    /// Jobs that are due and not done: work in progress, each with an owner.
    pub pending_jobs: usize,
    /// Jobs that are not due yet, such as the expiry of a card.
    pub scheduled_jobs: usize,
    /// Transfers on the chain that no payment claims, in the given part of the chain's list.
    pub unclaimed_transfers: usize,
    /// Payments that are not final and that their chain's list does not have. A list may contain final transfers only.
    pub unlisted_payments: usize,
    /// All problems. Empty is good.
    pub problems: Vec<VerifyFinding>,
}

impl VerifyReport {
    fn report(&mut self, rule: &'static str, subject: impl ToString, detail: impl Into<String>) {
        self.problems.push(VerifyFinding {
            rule,
            subject: subject.to_string(),
            detail: detail.into(),
        });
    }
}

/// Transfers, as the chain itself lists them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainList {
    /// Paid to us.
    pub received: Vec<ChainTransfer>,
    /// Paid by us.
    pub sent: Vec<ChainTransfer>,
    /// Between other wallets.
    pub external: Vec<ChainTransfer>,
}

/// A transfer as the chain itself lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainTransfer {
    pub transaction: String,
    /// Index of the transfer in its transaction: see [`purser_actors::port::ChainMovement::index`].
    pub index: u32,
    pub from: Wallet,
    pub to: Wallet,
    /// Amount in atomic USDC.
    pub atomic: u64,
    /// Inclusion time on the chain, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Fingerprint of the transfer, where the list has it: see [`purser_actors::port::ChainMovement::fingerprint`].
    pub mark: Option<[u8; 32]>,
}

/// Everything stored, decoded.
#[derive(Default)]
pub(crate) struct StoreContents {
    pub(crate) accounts: BTreeMap<Wallet, (Account, u64)>,
    pub(crate) payments: BTreeMap<PaymentId, (Payment, u64)>,
    /// All purchased products, by kind and id.
    pub(crate) sold: BTreeMap<(u8, u128), SoldProduct>,
    pub(crate) sessions: BTreeMap<SessionId, (Session, u64)>,
    pub(crate) identity: IdentityRecords,
    pub(crate) withdrawals: BTreeMap<WithdrawalId, (Withdrawal, u64)>,
    /// Reloadable cards, which spend balances at the card issuer.
    pub(crate) reloadable_cards: CardProgramRecords,
    pub(crate) late_returns: BTreeMap<LateReturnId, (LateReturn, u64)>,
    /// Late returns in the operators' list.
    pub(crate) late_return_index: BTreeSet<u128>,
    /// Recipients and destinations, by kind and id.
    pub(crate) payees: BTreeMap<(u8, u128), payees::PayeeSnapshot>,
    discrepancies: discrepancies::Discrepancies,
    refunds: refunds::Refunds,
    pub(crate) banking: banking::BankingSnapshots,
    /// Agent wallets and their wallet payments.
    pub(crate) agent_wallets: agent_wallets::AgentWallets,
    pub(crate) spend_approvals: spend_approvals::SpendApprovals,
    /// API keys and the slots that they occupy.
    pub(crate) api_keys: api_keys::ApiKeys,
    pub(crate) passkeys: passkeys::Passkeys,
    pub(crate) recoveries: recoveries::Recoveries,
    /// Endpoints and deliveries.
    pub(crate) webhooks: webhooks::WebhookRecords,
    /// Transfers from the treasury for products.
    pub(crate) outgoing_transfers: Vec<products::OutgoingTransfer>,
    /// Due and scheduled jobs.
    pub(crate) jobs: Vec<OutboxJob>,
    /// How many of `jobs` are not due yet.
    pub(crate) scheduled_jobs: usize,
    /// Transfers that no payment claims.
    incoming: incoming::IncomingTransfers,
    /// Transfers that an operator attributed after a restore.
    pub(crate) attributed_transfers: Vec<AttributedTransfer>,
    /// Orders at providers that an operator attributed after a restore.
    pub(crate) lost_orders: Vec<AttributedOrder>,
    /// International orders in the operators' queue.
    pub(crate) order_queue: BTreeSet<u128>,
    /// International cards with a pending action, by the operators' list.
    pub(crate) pending_card_actions: BTreeSet<u128>,
    /// Ids with a record in the vault.
    pub(crate) sealed: BTreeSet<u128>,
    /// Cards with a sealed CVV.
    pub(crate) cvvs: BTreeSet<u128>,
    /// Wallet payments with a stored HTTP record.
    pub(crate) http_records: BTreeSet<WalletPaymentId>,
}

/// Checks the store, and compares it with the chain's list if one is given.
///
/// # Errors
/// When the store cannot be read at all; corruption of single rows is a finding.
pub fn verify<'a>(
    store: &'a dyn Store,
    chain: Option<&'a ChainList>,
) -> BoxFuture<'a, Result<VerifyReport, StoreError>> {
    Box::pin(check(store, chain))
}

async fn check(store: &dyn Store, chain: Option<&ChainList>) -> Result<VerifyReport, StoreError> {
    let mut report = VerifyReport::default();
    let contents = read_entities(store, &mut report).await?;
    let holders = ledger::check(store, &contents, &mut report).await?;
    let history = events::check(store, &contents, &mut report).await?;
    outcomes::check(&contents, &history, &holders, &mut report);
    products::check(&contents, &mut report);
    identity::check(&contents, &mut report);
    reloadable_cards::check(&contents, &mut report);
    vault::check(&contents, &mut report);
    withdrawals::check(&contents, &holders, &mut report);
    late_returns::check(&contents, &history, &holders, &mut report);
    outgoing_transfers::check(&contents, &holders, &mut report);
    lost_orders::check(&contents, &holders, &mut report);
    discrepancies::check(&contents.discrepancies, &mut report);
    gate::check(store, &contents, &holders, &mut report).await?;
    agent_wallets::check(&contents, &mut report);
    spend_approvals::check(&contents, &mut report);
    api_keys::check(&contents, &mut report);
    passkeys::check(&contents, &mut report);
    recoveries::check(&contents, &mut report);
    payees::check(store, &contents, &mut report).await?;
    webhooks::check(store, &contents, &mut report).await?;
    banking::check(&contents, &history, &holders, &mut report);
    refunds::check(&contents, &history, &holders, &mut report);
    incoming::check(&contents, &history, &holders, &mut report);
    audit_log::check(store, &mut report).await?;
    approvals::check(store, &mut report).await?;
    if let Some(chain) = chain {
        received::compare_with_chain(&contents, &chain.received, &mut report);
        withdrawals::compare_with_chain(&contents, &chain.sent, &mut report);
        let others = chain.received.iter().chain(&chain.external);
        let lost = lost_windows(store).await?;
        agent_wallets::compare_with_chain(&contents, (others, &lost), &mut report);
    }
    report.entities = BTreeMap::from([
        ("accounts", contents.accounts.len()),
        ("payments", contents.payments.len()),
        ("sessions", contents.sessions.len()),
        ("identities", contents.identity.identities.len()),
        (
            "banking",
            contents.banking.len()
                - contents.webhooks.count()
                - lines::count(contents.banking.keys())
                - contents.passkeys.len()
                - contents.recoveries.len(),
        ),
        ("issuer_links", contents.identity.links.len()),
        ("withdrawals", contents.withdrawals.len()),
        ("reloadable_cards", contents.reloadable_cards.cards.len()),
        ("card_withdrawals", contents.reloadable_cards.withdrawals.len()),
        ("late_returns", contents.late_returns.len()),
        ("discrepancies", contents.discrepancies.all.len()),
        ("api_keys", contents.api_keys.len()),
        ("passkeys", contents.passkeys.len()),
        ("recoveries", contents.recoveries.len()),
        ("webhooks", contents.webhooks.endpoints),
        ("webhook_deliveries", contents.webhooks.deliveries),
        ("refunds", contents.refunds.all.len()),
        ("incoming_transfers", contents.incoming.all.len()),
    ]);
    for sold in contents.sold.values() {
        *report.entities.entry(sold.plural).or_default() += 1;
    }
    for (payment, _) in contents.payments.values() {
        *report
            .payments
            .entry(outcomes::name_of(&payment.status).to_owned())
            .or_default() += 1;
    }
    report.pending_jobs = contents.jobs.len() - contents.scheduled_jobs;
    report.scheduled_jobs = contents.scheduled_jobs;
    report.problems.sort();
    Ok(report)
}

/// Calls `each` for every row under a prefix.
pub(crate) async fn each_row(
    store: &dyn Store,
    prefix: &[u8],
    mut each: impl FnMut(&[u8], &Row),
) -> Result<(), StoreError> {
    const PAGE: usize = 2_000;
    let mut after = None;
    loop {
        let page = store.scan(prefix, after.as_deref(), PAGE).await?;
        page.iter().for_each(|(key, row)| each(key, row));
        match page.into_iter().last() {
            Some((key, _)) => after = Some(key),
            None => return Ok(()),
        }
    }
}

fn take<T: Stored>(row: &Row, subject: &str, report: &mut VerifyReport) -> Option<(T, u64)> {
    match codec::decode(&row.value) {
        Ok(value) => Some((value, row.revision)),
        Err(error) => {
            report.report("snapshot.corrupt", subject, error.to_string());
            None
        }
    }
}

async fn read_entities(store: &dyn Store, report: &mut VerifyReport) -> Result<StoreContents, StoreError> {
    let mut contents = StoreContents::default();
    each_row(store, &[table::ENTITY], |key, row| {
        let (kind, id) = (key.get(1).copied().unwrap_or(0), key.get(2..).unwrap_or_default());
        let number = <[u8; 16]>::try_from(id).map(u128::from_be_bytes).unwrap_or(0);
        if kind == EntityKind::Account as u8 {
            let Some(wallet) = Wallet::from_key(id) else {
                return report.report("snapshot.corrupt", hex::encode(id), "not a wallet");
            };
            if let Some(read) = take(row, &wallet.address(), report) {
                contents.accounts.insert(wallet, read);
            }
        } else if kind == EntityKind::Payment as u8 {
            let id = PaymentId(number);
            take(row, &id.to_string(), report).map(|read| contents.payments.insert(id, read));
        } else if kind == EntityKind::Session as u8 {
            let id = SessionId(number);
            take(row, &id.to_string(), report).map(|read| contents.sessions.insert(id, read));
        } else if kind == EntityKind::Withdrawal as u8 {
            let id = WithdrawalId(number);
            take(row, &id.to_string(), report).map(|read| contents.withdrawals.insert(id, read));
        } else if kind == EntityKind::LateReturn as u8 {
            let id = LateReturnId(number);
            take(row, &id.to_string(), report).map(|read| contents.late_returns.insert(id, read));
        } else if let Some((product, read)) = products::read(kind, number, row) {
            contents
                .outgoing_transfers
                .extend(products::outgoing_transfer(kind, number, row));
            match read {
                Ok(sold) => drop(contents.sold.insert((kind, number), sold)),
                Err(error) => report.report("snapshot.corrupt", product, error.to_string()),
            }
        } else if let Some(read) = payees::read(kind, number, row) {
            match read {
                Ok(saved) => drop(contents.payees.insert((kind, number), saved)),
                Err(error) => report.report("snapshot.corrupt", hex::encode(id), error.to_string()),
            }
        } else if let Some(read) = banking::read(kind, id, row)
            .or_else(|| contents.agent_wallets.read(kind, id, row))
            .or_else(|| contents.spend_approvals.read(kind, id, row))
            .or_else(|| contents.api_keys.read(kind, id, row))
            .or_else(|| contents.passkeys.read(kind, id, row))
            .or_else(|| contents.recoveries.read(kind, id, row))
            .or_else(|| contents.webhooks.read(kind, id, row))
            .or_else(|| lines::read(kind, id, row))
        {
            match read {
                Ok(kept) => drop(contents.banking.insert((kind, id.to_vec()), kept)),
                Err(error) => report.report("snapshot.corrupt", hex::encode(id), error.to_string()),
            }
        } else if contents.identity.read(kind, id, row, report).is_none()
            && contents.reloadable_cards.read(kind, number, row, report).is_none()
            && contents.discrepancies.read(kind, number, row, report).is_none()
            && contents.refunds.read(kind, number, row, report).is_none()
            && contents.incoming.read(kind, number, row, report).is_none()
        {
            report.report("snapshot.unknown_kind", hex::encode(id), format!("kind {kind}"));
        }
    })
    .await?;
    read_rows(store, &mut contents, report).await?;
    Ok(contents)
}

/// Reads the rows that do not belong to entities.
async fn read_rows(
    store: &dyn Store,
    contents: &mut StoreContents,
    report: &mut VerifyReport,
) -> Result<(), StoreError> {
    contents.identity.read_rows(store, report).await?;
    contents.reloadable_cards.read_rows(store).await?;
    contents.discrepancies.read_rows(store).await?;
    contents.agent_wallets.read_rows(store, report).await?;
    contents.spend_approvals.read_rows(store).await?;
    contents.api_keys.read_rows(store).await?;
    contents.passkeys.read_rows(store).await?;
    contents.recoveries.read_rows(store).await?;
    contents.refunds.read_rows(store).await?;
    contents.incoming.read_rows(store, report).await?;
    for work in [table::OUTBOX, table::TIMER] {
        each_row(store, &[work], |key, row| {
            if let Some((job, _)) = take(row, &hex::encode(key), report) {
                contents.jobs.push(job);
                contents.scheduled_jobs += usize::from(work == table::TIMER);
            }
        })
        .await?;
    }
    each_row(store, &[table::ATTRIBUTED_TRANSFER], |key, row| {
        match codec::decode::<AttributedTransfer>(&row.value) {
            Ok(booked) => contents.attributed_transfers.push(booked),
            Err(error) => report.report("snapshot.corrupt", hex::encode(key), error.to_string()),
        }
    })
    .await?;
    each_row(store, &[table::LOST_ORDER], |key, row| {
        if let Some((booked, _)) = take(row, &hex::encode(key), report) {
            contents.lost_orders.push(booked);
        }
    })
    .await?;
    read_lists(store, contents).await
}

/// Reads the rows of which only the ids matter.
async fn read_lists(store: &dyn Store, contents: &mut StoreContents) -> Result<(), StoreError> {
    for (table, ids) in [
        (table::INTL_ORDER_QUEUE, &mut contents.order_queue),
        (table::PENDING_CARD_ACTION, &mut contents.pending_card_actions),
        (table::LATE_RETURN, &mut contents.late_return_index),
        (table::VAULT, &mut contents.sealed),
        (table::CVV, &mut contents.cvvs),
    ] {
        each_row(store, &[table], |key, _| {
            ids.insert(key.last_chunk().map_or(0, |id| u128::from_be_bytes(*id)));
        })
        .await?;
    }
    each_row(store, &[table::HTTP_RECORD], |key, _| {
        contents
            .http_records
            .extend(table::chunk_index(key).map(|(spend, _)| spend));
    })
    .await
}
