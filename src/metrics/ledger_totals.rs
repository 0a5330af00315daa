//! Totals of the ledger: the balance of each ledger account. Sums of postings, added up page by page and then only from where
//! the last sum ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use purser_actors::id::Network;
use purser_actors::kernel::table;
use purser_actors::ledger::{LedgerAccount, LedgerProvider, LedgerTransaction};
use purser_actors::port::{Clock, Timestamp};
use purser_storage::{RowKey, Store, StoreError, codec};

/// Rows read at once.
const PAGE: usize = 1_000;
/// Pages read by one call, so that a first call on a long ledger does not take minutes: later calls go on from there.
const MAX_PAGES: usize = 300;
/// Rows are ordered by the time of their decision, and one may become durable a little later than a younger one. Those
/// of the last minutes are therefore added up anew by each call.
const UNSETTLED_MS: u64 = 120_000;

/// Accounts whose balances are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TotalOf {
    Treasury(Network),
    /// All balances of account owners.
    Customers,
    /// All amounts of account owners on hold.
    CustomersHeld,
    Suspense,
    Provider(LedgerProvider),
    FeeRevenue,
    OperatingCosts,
    NetworkFees,
    BridgeSurplus,
    Losses,
    OperatorFunds,
}

impl TotalOf {
    /// Name in API responses.
    pub fn name(self) -> String {
        match self {
            Self::Treasury(network) => format!("treasury_{}", network.name()),
            Self::Customers => "customers".to_owned(),
            Self::CustomersHeld => "customers_held".to_owned(),
            Self::Suspense => "suspense".to_owned(),
            Self::Provider(provider) => format!("provider_{}", provider.name()),
            Self::FeeRevenue => "fee_revenue".to_owned(),
            Self::OperatingCosts => "operating_costs".to_owned(),
            Self::NetworkFees => "network_fees".to_owned(),
            Self::BridgeSurplus => "bridge_surplus".to_owned(),
            Self::Losses => "losses".to_owned(),
            Self::OperatorFunds => "operator_funds".to_owned(),
        }
    }
}

impl From<LedgerAccount> for TotalOf {
    fn from(account: LedgerAccount) -> Self {
        match account {
            LedgerAccount::Treasury(network) => Self::Treasury(network),
            LedgerAccount::Suspense => Self::Suspense,
            LedgerAccount::Customer(_) => Self::Customers,
            LedgerAccount::Provider(provider) => Self::Provider(provider),
            LedgerAccount::FeeRevenue => Self::FeeRevenue,
            LedgerAccount::CustomerHeld(_) => Self::CustomersHeld,
            LedgerAccount::OperatingCosts => Self::OperatingCosts,
            LedgerAccount::Losses => Self::Losses,
            LedgerAccount::OperatorFunds => Self::OperatorFunds,
            LedgerAccount::NetworkFees => Self::NetworkFees,
            LedgerAccount::BridgeSurplus => Self::BridgeSurplus,
        }
    }
}

/// Totals at one time.
#[derive(Clone, Debug, Default)]
pub struct LedgerTotals {
    /// Atomic USDC; debits are positive.
    pub atomic: BTreeMap<TotalOf, i128>,
    /// Transactions added up.
    pub transactions: u64,
    /// Time of the newest of them.
    pub last_at: Option<Timestamp>,
    /// Whether that is the whole ledger.
    pub complete: bool,
}

impl LedgerTotals {
    fn add(&mut self, transaction: &LedgerTransaction) {
        for posting in &transaction.postings {
            *self.atomic.entry(posting.account.into()).or_default() += posting.atomic;
        }
        self.transactions += 1;
        self.last_at = self.last_at.max(Some(transaction.at));
    }
}

/// What no later transaction can precede.
#[derive(Default)]
struct Settled {
    totals: LedgerTotals,
    last: Option<RowKey>,
}

/// Adds up the ledger.
pub struct LedgerTotaller {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    settled: tokio::sync::Mutex<Settled>,
}

impl LedgerTotaller {
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            clock,
            settled: tokio::sync::Mutex::default(),
        }
    }

    /// The totals now, or as far as they were added up.
    ///
    /// # Errors
    /// When the ledger can't be read.
    pub async fn read(&self) -> Result<LedgerTotals, StoreError> {
        let mut settled = self.settled.lock().await;
        let until = Timestamp(self.clock.now().0.saturating_sub(UNSETTLED_MS));
        let mut recent: Option<(LedgerTotals, RowKey)> = None;
        for _ in 0..MAX_PAGES {
            let after = match &recent {
                Some((_, last)) => Some(last.clone()),
                None => settled.last.clone(),
            };
            let page = self.store.scan(&[table::LEDGER], after.as_deref(), PAGE).await?;
            let is_last = page.len() < PAGE;
            for (key, row) in page {
                let transaction: LedgerTransaction =
                    codec::decode(&row.value).map_err(|error| StoreError::Corrupt(error.to_string()))?;
                if recent.is_none() && transaction.at < until {
                    settled.totals.add(&transaction);
                    settled.last = Some(key);
                    continue;
                }
                let (totals, last) = recent.get_or_insert_with(|| (settled.totals.clone(), key.clone()));
                totals.add(&transaction);
                *last = key;
            }
            if is_last {
                let totals = recent.map_or_else(|| settled.totals.clone(), |(totals, _)| totals);
                return Ok(LedgerTotals {
                    complete: true,
                    ..totals
                });
            }
        }
        Ok(recent.map_or_else(|| settled.totals.clone(), |(totals, _)| totals))
    }
}
