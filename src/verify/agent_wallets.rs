//! Agent wallets and their wallet payments. What is reserved may still be sent, and each transfer from a wallet's
//! address on chain belongs to one wallet payment. A wallet's addresses, and all payments from them, belong to its
//! owner.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use purser_actors::entity::agent_wallet::{self, AgentWallet};
use purser_actors::entity::wallet_payment::{self, PaymentMethod, Status, WalletPayment};
use purser_actors::id::{Network, Wallet, WalletPaymentId};
use purser_actors::kernel::{EntityKind, table};
use purser_actors::port::Timestamp;
use purser_storage::codec::{self, DecodeError};
use purser_storage::{Row, Store, StoreError};

use super::banking::BankingSnapshot;
use super::onchain::{UnmatchedTransfers, is_exact};
use super::{ChainTransfer, StoreContents, VerifyReport, each_row};

#[derive(Default)]
pub(crate) struct AgentWallets {
    pub(crate) wallets: BTreeMap<Wallet, AgentWallet>,
    payments: BTreeMap<WalletPaymentId, WalletPayment>,
    /// Owner of each address, by its row.
    addresses: BTreeMap<Wallet, Wallet>,
}

impl AgentWallets {
    pub(super) fn payment(&self, id: WalletPaymentId) -> Option<&WalletPayment> {
        self.payments.get(&id)
    }
}

const fn name_of(status: &Status) -> &'static str {
    match status {
        Status::Pending => "pending",
        Status::Signed(_) => "signed",
        Status::Sent(..) => "sent",
        Status::Settled { .. } => "settled",
        Status::Failed { .. } => "failed",
        Status::Unsettled { .. } => "unsettled",
    }
}

impl AgentWallets {
    /// Reads a snapshot; `None` for another kind.
    pub(super) fn read(&mut self, kind: u8, id: &[u8], row: &Row) -> Option<Result<BankingSnapshot, DecodeError>> {
        let revision = row.revision;
        if kind == EntityKind::AgentWallet as u8 {
            return Some(codec::decode(&row.value).map(|wallet: AgentWallet| {
                let name = wallet.owner.address();
                self.wallets.insert(wallet.owner, wallet);
                let status = "active";
                BankingSnapshot::new(name, revision, status)
            }));
        }
        if kind == EntityKind::WalletPayment as u8 {
            return Some(codec::decode(&row.value).map(|spend: WalletPayment| {
                let id = WalletPaymentId(<[u8; 16]>::try_from(id).map(u128::from_be_bytes).unwrap_or(0));
                let (name, status) = (id.to_string(), name_of(&spend.status));
                self.payments.insert(id, spend);
                BankingSnapshot::new(name, revision, status)
            }));
        }
        None
    }

    /// Reads the address rows.
    pub(super) async fn read_rows(&mut self, store: &dyn Store, report: &mut VerifyReport) -> Result<(), StoreError> {
        each_row(store, &[table::ADDRESS], |key, row| {
            match (Wallet::from_key(&key[1..]), Wallet::from_key(&row.value)) {
                (Some(address), Some(owner)) => drop(self.addresses.insert(address, owner)),
                _ => report.report("agent_wallet.row_damaged", hex::encode(key), "not two wallets"),
            }
        })
        .await
    }
}

/// Checks that exactly the addresses of wallets belong to their owners. A payment's account follows from its sender,
/// and no session belongs to an agent wallet.
fn check_addresses(contents: &StoreContents, report: &mut VerifyReport) {
    let AgentWallets { wallets, addresses, .. } = &contents.agent_wallets;
    let mut expected = BTreeMap::new();
    for wallet in wallets.values() {
        for address in Network::ALL.map(|network| wallet.addresses.on(network)) {
            if expected.insert(address, wallet.owner).is_some() {
                report.report("agent_wallet.address", address, "two wallets have it");
            }
        }
    }
    for (address, owner) in &expected {
        if addresses.get(address) != Some(owner) {
            report.report(
                "agent_wallet.address",
                address,
                format!("no row says that it is {owner}'s"),
            );
        }
    }
    for address in addresses.keys().filter(|address| !expected.contains_key(address)) {
        report.report("agent_wallet.address", address, "a row names it, and no wallet has it");
    }
    for (id, (payment, _)) in &contents.payments {
        let payer = payment.claim.authorization.payer();
        let owner = expected.get(&payer);
        // A payment that is taken over after a restore may be from an agent wallet that the lost history opened. Its
        // owner is only found by deriving the wallet again. A payment taken over after that has the owner's account
        // without an address row. One taken over before has the address's own account, whatever is opened later.
        if payment.claim.is_adopted() && (owner.is_none() || payment.claim.account == payer) {
            continue;
        }
        if payment.claim.account != *owner.unwrap_or(&payer) {
            let detail = format!("{payer} paid, and it is a payment of {}", payment.claim.account);
            report.report("payment.account", id, detail);
        }
    }
    for (id, (session, _)) in &contents.sessions {
        if expected.contains_key(&session.owner) {
            report.report(
                "agent_wallet.session",
                id,
                "it belongs to an agent wallet, which never signs in",
            );
        }
    }
}

/// The status after an event: the inner `None` leaves it unchanged. The outer `None` means another kind.
pub(super) fn fold(kind: u8, event: &[u8]) -> Option<Result<Option<&'static str>, DecodeError>> {
    if kind == EntityKind::AgentWallet as u8 {
        return Some(codec::decode(event).map(|event| match event {
            agent_wallet::Event::Created { .. } => Some("active"),
            agent_wallet::Event::CapsChanged(_)
            | agent_wallet::Event::Held(_)
            | agent_wallet::Event::HoldSettled(..)
            | agent_wallet::Event::AddressSaved(_)
            | agent_wallet::Event::AddressDeleted(_)
            | agent_wallet::Event::SpendRefused(_)
            | agent_wallet::Event::MerchantCapsChanged(_)
            | agent_wallet::Event::BalanceObserved(..) => None,
        }));
    }
    if kind == EntityKind::WalletPayment as u8 {
        return Some(codec::decode(event).map(|event| {
            Some(match event {
                wallet_payment::Event::Created { .. } => "pending",
                wallet_payment::Event::Signed(..) => "signed",
                wallet_payment::Event::ResponseReceived(..) => "sent",
                wallet_payment::Event::Confirmed(..) => "settled",
                wallet_payment::Event::Failed(..) => "failed",
                wallet_payment::Event::Unsettled(..) => "unsettled",
            })
        }));
    }
    None
}

/// Compares reservations with wallet payments, and pending jobs with both.
pub(super) fn check(contents: &StoreContents, report: &mut VerifyReport) {
    check_addresses(contents, report);
    let mut moving: BTreeMap<WalletPaymentId, (usize, usize)> = BTreeMap::new();
    let mut forgetting = BTreeSet::new();
    for outbox_job in &contents.jobs {
        match outbox_job.job.typed() {
            Some(wallet_payment::Job::SendWalletPayment(id)) => moving.entry(id).or_default().0 += 1,
            Some(wallet_payment::Job::PurgeHttpRecord(id)) => drop(forgetting.insert(id)),
            None => {}
        }
        if let Some(agent_wallet::Job::SettleWalletHold { payment: spend, .. }) = outbox_job.job.typed() {
            moving.entry(spend).or_default().1 += 1;
        }
    }
    let AgentWallets {
        wallets,
        payments: spends,
        ..
    } = &contents.agent_wallets;
    for (id, spend) in spends {
        let (sending, ending) = moving.remove(id).unwrap_or_default();
        let wallet = wallets.get(&spend.owner);
        let reserved = wallet.and_then(|wallet| wallet.holds.iter().find(|open| open.payment == *id));
        let is_open = matches!(spend.status, Status::Pending | Status::Signed(_) | Status::Sent(..));
        let status = name_of(&spend.status);
        if (sending, ending) != (usize::from(is_open), ending.min(usize::from(!is_open))) {
            let detail = format!("{status}: {sending} effects send it and {ending} end its reservation");
            report.report("wallet_payment.orphaned", id, detail);
        }
        // While it is open, and then until its scheduled job has run.
        let has_record =
            matches!(spend.order.method, PaymentMethod::PaidCall { .. }) && (is_open || forgetting.contains(id));
        if has_record != contents.http_records.contains(id) {
            let detail = format!("{status}, and what was said for it is there: {}", !has_record);
            report.report("wallet_payment.request_mismatch", id, detail);
        }
        // At its end the wallet is being notified.
        if reserved.is_some() != (is_open || ending > 0) {
            let detail = format!("{status}, and its reservation is there: {}", reserved.is_some());
            report.report("wallet_payment.hold_mismatch", id, detail);
        }
        if reserved.is_some_and(|open| open.amount != spend.order.amount || open.network != spend.from.network()) {
            report.report(
                "wallet_payment.hold_mismatch",
                id,
                "another amount or network is reserved for it",
            );
        }
        if wallet.is_none_or(|wallet| wallet.addresses.on(spend.from.network()) != spend.from) {
            report.report(
                "wallet_payment.wallet_mismatch",
                id,
                format!("{} is not its wallet's address", spend.from),
            );
        }
    }
    for id in contents
        .http_records
        .union(&forgetting)
        .filter(|id| !spends.contains_key(id))
    {
        report.report(
            "wallet_payment.request_mismatch",
            id,
            "something was said for it, and it does not exist",
        );
    }
    for id in moving.keys() {
        report.report("wallet_payment.missing", id, "effects move it, and it does not exist");
    }
    for (owner, wallet) in wallets {
        for open in wallet.holds.iter().filter(|open| !spends.contains_key(&open.payment)) {
            report.report(
                "wallet_payment.missing",
                open.payment,
                format!("{owner} has reserved for it"),
            );
        }
        if !contents.sealed.contains(&AgentWallet::keys(owner).0) {
            report.report(
                "agent_wallet.keys_missing",
                owner,
                "what its keys are derived from is not there",
            );
        }
    }
}

/// Compares with the chains' own lists: one transfer for each settled wallet payment, and none other from an agent
/// wallet. Exception: the period whose history a restore has lost, because a wallet's money belongs to its owner and is
/// not in our ledger.
pub(super) fn compare_with_chain<'a>(
    contents: &StoreContents,
    (chain, lost): (impl Iterator<Item = &'a ChainTransfer>, &[RangeInclusive<Timestamp>]),
    report: &mut VerifyReport,
) {
    let AgentWallets {
        wallets,
        payments: spends,
        ..
    } = &contents.agent_wallets;
    let addresses = wallets
        .values()
        .flat_map(|wallet| Network::ALL.map(|network| wallet.addresses.on(network)));
    let addresses: std::collections::BTreeSet<Wallet> = addresses.collect();
    let mut left = UnmatchedTransfers::of(chain.filter(|transfer| addresses.contains(&transfer.from)));
    let is_of = |spend: &WalletPayment, transfer: &ChainTransfer| {
        (transfer.from, transfer.to, transfer.atomic) == (spend.from, spend.order.to, spend.order.amount.atomic())
    };
    // Exact names take their transfers first.
    for exact in [true, false] {
        for (id, spend) in spends {
            let named = spend.transaction().filter(|name| is_exact(name) == exact);
            let Some(transaction) = named else { continue };
            match left.take(transaction, |transfer| is_of(spend, transfer)) {
                Some(transfer) if is_of(spend, transfer) => {}
                Some(transfer) => {
                    let detail = format!("{transaction} moved {} atomic USDC to {}", transfer.atomic, transfer.to);
                    report.report("chain.transfer_mismatch", id, detail);
                }
                None => report.report(
                    "chain.sender_mismatch",
                    id,
                    format!("{transaction} did not leave its wallet"),
                ),
            }
        }
    }
    // One that the engine has not seen yet is still in progress.
    for spend in spends.values() {
        if matches!(spend.status, Status::Signed(_) | Status::Sent(..)) {
            left.take_any(|_, transfer| is_of(spend, transfer));
        }
    }
    let is_lost = |transfer: &ChainTransfer| lost.iter().any(|span| span.contains(&Timestamp(transfer.at_ms)));
    for (transaction, transfer) in left.unmatched().filter(|(_, transfer)| !is_lost(transfer)) {
        let detail = format!(
            "{} atomic USDC left a managed wallet for {} without a spend",
            transfer.atomic, transfer.to
        );
        report.report("chain.untracked_transfer", transaction, detail);
    }
}
