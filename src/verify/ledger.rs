//! Sums the ledger.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::id::Wallet;
use purser_actors::kernel::table;
use purser_actors::ledger::{LedgerAccount, LedgerProvider, LedgerTransaction, Posting};
use purser_storage::{Store, StoreError, codec};

use super::{StoreContents, VerifyReport, each_row};

/// Sums of the postings by customer and by cause.
#[derive(Default)]
pub(super) struct LedgerTotals {
    /// Owed to each customer, in atomic USDC.
    pub(super) customers: BTreeMap<Wallet, i128>,
    /// Received into a treasury, by cause.
    pub(super) received: BTreeMap<String, i128>,
    /// Credited to customers, by cause.
    pub(super) credited: BTreeMap<String, i128>,
    /// Owed to each provider, by cause.
    pub(super) owed: BTreeMap<String, BTreeMap<LedgerProvider, i128>>,
    /// Our fees, by cause.
    pub(super) earned: BTreeMap<String, i128>,
    /// On hold for each customer; part of the amount owed.
    pub(super) held: BTreeMap<Wallet, i128>,
    /// On hold, by cause.
    pub(super) held_for: BTreeMap<String, i128>,
    /// Our costs, by cause.
    pub(super) costs: BTreeMap<String, i128>,
    /// Received beyond the purchased amount, by cause.
    pub(super) surpluses: BTreeMap<String, i128>,
    /// Lost in reorgs, by cause.
    pub(super) losses: BTreeMap<String, i128>,
    /// Treasury funds that an operator declared as ours, by cause; less withdrawals.
    pub(super) operator_funds: BTreeMap<String, i128>,
    /// Spent on gas and rent, by cause.
    pub(super) network_fees: BTreeMap<String, i128>,
    pub(super) causes: BTreeSet<String>,
}

impl LedgerTotals {
    fn post(&mut self, cause: &str, posting: &Posting) {
        match posting.account {
            LedgerAccount::Customer(wallet) => {
                *self.customers.entry(wallet).or_default() -= posting.atomic;
                *self.credited.entry(cause.to_owned()).or_default() -= posting.atomic;
            }
            LedgerAccount::CustomerHeld(wallet) => {
                *self.customers.entry(wallet).or_default() -= posting.atomic;
                *self.held.entry(wallet).or_default() -= posting.atomic;
                *self.held_for.entry(cause.to_owned()).or_default() -= posting.atomic;
            }
            LedgerAccount::Treasury(_) => {
                *self.received.entry(cause.to_owned()).or_default() += posting.atomic;
            }
            LedgerAccount::Provider(provider) => {
                let owed = self.owed.entry(cause.to_owned()).or_default();
                *owed.entry(provider).or_default() -= posting.atomic;
            }
            LedgerAccount::FeeRevenue => *self.earned.entry(cause.to_owned()).or_default() -= posting.atomic,
            LedgerAccount::OperatingCosts => *self.costs.entry(cause.to_owned()).or_default() += posting.atomic,
            LedgerAccount::BridgeSurplus => *self.surpluses.entry(cause.to_owned()).or_default() += posting.atomic,
            LedgerAccount::Losses => *self.losses.entry(cause.to_owned()).or_default() += posting.atomic,
            LedgerAccount::OperatorFunds => *self.operator_funds.entry(cause.to_owned()).or_default() -= posting.atomic,
            LedgerAccount::NetworkFees => *self.network_fees.entry(cause.to_owned()).or_default() += posting.atomic,
            // Each transaction sums to zero, so the other accounts determine suspense.
            LedgerAccount::Suspense => {}
        }
    }
}

pub(super) async fn check(
    store: &dyn Store,
    contents: &StoreContents,
    report: &mut VerifyReport,
) -> Result<LedgerTotals, StoreError> {
    let mut books = LedgerTotals::default();
    let mut total: i128 = 0;
    each_row(store, &[table::LEDGER], |key, row| {
        let transaction: LedgerTransaction = match codec::decode(&row.value) {
            Ok(transaction) => transaction,
            Err(error) => return report.report("ledger.corrupt", hex::encode(key), error.to_string()),
        };
        report.transactions += 1;
        let sum: i128 = transaction.postings.iter().map(|p| p.atomic).sum();
        total += sum;
        if sum != 0 {
            report.report(
                "ledger.unbalanced",
                &transaction.cause,
                format!("postings sum to {sum}"),
            );
        }
        if transaction.postings.iter().any(|p| p.atomic == 0) {
            report.report("ledger.empty_posting", &transaction.cause, "a posting of zero");
        }
        books.causes.insert(transaction.cause.clone());
        for posting in &transaction.postings {
            *report.balances.entry(account_name(&posting.account)).or_default() += posting.atomic;
            books.post(&transaction.cause, posting);
        }
    })
    .await?;
    if total != 0 {
        report.report(
            "ledger.balance_mismatch",
            "all postings",
            format!("sum to {total}, not zero"),
        );
    }
    check_accounts(&books, contents, report);
    Ok(books)
}

/// Every account's snapshot equals the sum of its postings.
fn check_accounts(books: &LedgerTotals, contents: &StoreContents, report: &mut VerifyReport) {
    for (wallet, (account, _)) in &contents.accounts {
        let posted = books.customers.get(wallet).copied().unwrap_or(0);
        if posted != i128::from(account.balance.atomic()) {
            let detail = format!("the snapshot says {}, the postings {posted}", account.balance.atomic());
            report.report("account.balance_mismatch", wallet.address(), detail);
        }
        let held = books.held.get(wallet).copied().unwrap_or(0);
        if held != i128::from(account.held.atomic()) {
            let detail = format!("the snapshot says {}, the postings {held}", account.held.atomic());
            report.report("account.held_mismatch", wallet.address(), detail);
        }
        if account.held > account.balance {
            report.report("account.held_mismatch", wallet.address(), "more is held than there is");
        }
    }
    for wallet in books.customers.keys().filter(|w| !contents.accounts.contains_key(w)) {
        report.report(
            "ledger.account_missing",
            wallet.address(),
            "postings to an account that does not exist",
        );
    }
}

fn account_name(place: &LedgerAccount) -> String {
    match place {
        LedgerAccount::Treasury(network) => format!("treasury.{}", network.name()),
        LedgerAccount::Suspense => "suspense".into(),
        LedgerAccount::Customer(_) => "customers".into(),
        LedgerAccount::Provider(provider) => format!("provider.{}", provider.name()),
        LedgerAccount::FeeRevenue => "fee_revenue".into(),
        LedgerAccount::CustomerHeld(_) => "customers_held".into(),
        LedgerAccount::OperatingCosts => "operating_costs".into(),
        LedgerAccount::Losses => "losses".into(),
        LedgerAccount::OperatorFunds => "operator_funds".into(),
        LedgerAccount::NetworkFees => "network_fees".into(),
        LedgerAccount::BridgeSurplus => "bridge_surplus".into(),
    }
}
