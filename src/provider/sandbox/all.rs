//! All providers of the sandbox, opened together over one store and one pair of chains. The card issuer may follow
//! another Base chain.

use std::sync::Arc;

use purser_actors::port::{Clock, ProviderList};
use purser_actors::reconciliation::ReconciliationSource;

use super::bank::SandboxBank;
use super::bank::reconciliation::{BankDepositList, BankTransferList};
use super::bridge::SandboxBridge;
use super::card_balances::SandboxCardBalances;
use super::card_balances::deposit_watcher::DepositSource;
use super::gift_cards::{SandboxGiftCardSettings, SandboxGiftCards};
use super::identity_check::SandboxIdentityCheck;
use super::issuer_accounts::SandboxIssuerAccounts;
use super::issuer_reconciliation::PrepaidRemainderList;
use super::lists::{Listed, RecordList};
use super::merchants::SandboxMerchants;
use super::payouts::{SandboxPayoutSettings, SandboxPayouts};
use super::rates::SandboxRates;
use super::reloadable_cards::SandboxReloadableCards;
use super::reloadable_cards::reconciliation::{ReloadableCardBalanceList, ReloadableCardList};
use super::{IssuerSettings, SandboxIssuer};
use crate::{ProviderLists, Providers};
use purser_config::Config;
use purser_sandbox::chains::remote::ChainRpc;
use purser_sandbox::store::SandboxStore;

/// The sandbox's providers with their controls.
#[derive(Clone)]
pub struct SandboxProviders {
    pub issuer: Arc<SandboxIssuer>,
    pub gift_cards: Arc<SandboxGiftCards>,
    pub payouts: Arc<SandboxPayouts>,
    pub identity_check: Arc<SandboxIdentityCheck>,
    pub accounts: Arc<SandboxIssuerAccounts>,
    /// Observes deposits to card balances.
    pub balances: Arc<SandboxCardBalances>,
    /// Opens reloadable cards and takes the money from those balances.
    pub reloadable_cards: Arc<SandboxReloadableCards<SandboxCardBalances>>,
    pub bank: Arc<SandboxBank>,
    /// Moves USDC from Solana to Base.
    pub bridge: Arc<SandboxBridge>,
    pub rates: Arc<SandboxRates>,
    pub merchants: Arc<SandboxMerchants>,
}

impl SandboxProviders {
    /// Opens their tables of the store.
    ///
    /// # Errors
    /// Names the provider whose rows cannot be read, and why.
    pub fn open(
        store: &SandboxStore,
        config: &Config,
        (chains, watched): (&Arc<dyn ChainRpc>, &Arc<dyn DepositSource>),
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, (&'static str, String)> {
        let times = &config.sandbox;
        let settings = IssuerSettings {
            ready_after_ms: times.card_issue_delay_ms,
            ..IssuerSettings::default()
        };
        let issuer =
            SandboxIssuer::open(store, settings, clock.clone()).map_err(|e| ("the sandbox's issuer", e.to_string()))?;
        let settings = SandboxGiftCardSettings {
            ready_after_ms: times.gift_card_delay_ms,
            ..SandboxGiftCardSettings::default()
        };
        let gift_cards = SandboxGiftCards::open(store, settings, clock.clone())
            .map_err(|e| ("the sandbox's gift cards", e.to_string()))?;
        let settings = SandboxPayoutSettings {
            paid_after_ms: times.payout_delay_ms,
            ..SandboxPayoutSettings::default()
        };
        let rails = SandboxPayouts::open(store, settings, clock.clone())
            .map_err(|e| ("the sandbox's payout rails", e.to_string()))?;
        let identity_check = SandboxIdentityCheck::open(store, times.identity_check_delay_ms, clock.clone())
            .map_err(|e| ("the sandbox's identity check", e.to_string()))?;
        let accounts =
            SandboxIssuerAccounts::open(store, clock.clone()).map_err(|e| ("the sandbox's accounts", e.to_string()))?;
        let balances = SandboxCardBalances::open(store, watched.clone(), clock.clone(), times.issuer_credit_delay_ms)
            .map_err(|e| ("the sandbox's card balances", e.to_string()))?;
        let balances = Arc::new(balances);
        let program = SandboxReloadableCards::open_in(store, balances.clone(), clock.clone())
            .map_err(|e| ("the sandbox's card program", e.to_string()))?;
        let bank = SandboxBank::open(store, times.bank_delay_ms, clock.clone())
            .map_err(|e| ("the sandbox's bank", e.to_string()))?;
        let bridge = SandboxBridge::open(store, chains.clone(), clock.clone(), times.attestation_delay_ms)
            .map_err(|e| ("the sandbox's bridge", e.to_string()))?;
        let merchants = SandboxMerchants::new().map_err(|e| ("the sandbox's merchants", e))?;
        Ok(Self {
            issuer: Arc::new(issuer),
            gift_cards: Arc::new(gift_cards),
            payouts: Arc::new(rails),
            identity_check: Arc::new(identity_check),
            accounts: Arc::new(accounts),
            balances,
            reloadable_cards: Arc::new(program),
            bank: Arc::new(bank),
            bridge: Arc::new(bridge),
            rates: Arc::new(SandboxRates::new(config.rates.table(), clock.clone())),
            merchants: Arc::new(merchants),
        })
    }

    fn lists(&self) -> ProviderLists {
        fn list<L: RecordList>(list: Arc<L>) -> Arc<dyn ProviderList> {
            Arc::new(Listed(list))
        }
        let (issuer, bank, cards) = (&self.issuer, &self.bank, &self.reloadable_cards);
        ProviderLists::from([
            (ReconciliationSource::Cards, list(issuer.clone())),
            (
                ReconciliationSource::PrepaidRemainders,
                list(Arc::new(PrepaidRemainderList(issuer.clone()))),
            ),
            (ReconciliationSource::GiftCards, list(self.gift_cards.clone())),
            (ReconciliationSource::Payouts, list(self.payouts.clone())),
            (
                ReconciliationSource::BankTransfers,
                list(Arc::new(BankTransferList(bank.clone()))),
            ),
            (
                ReconciliationSource::BankDeposits,
                list(Arc::new(BankDepositList(bank.clone()))),
            ),
            (
                ReconciliationSource::ReloadableCards,
                list(Arc::new(ReloadableCardList(cards.clone()))),
            ),
            (
                ReconciliationSource::CardBalances,
                list(Arc::new(ReloadableCardBalanceList(cards.clone()))),
            ),
            (ReconciliationSource::Bridge, list(self.bridge.clone())),
        ])
    }

    /// The same providers as the engine sees them.
    pub fn providers(&self) -> Providers {
        Providers {
            issuer: self.issuer.clone(),
            billing_address: super::billing_address(),
            gift_cards: self.gift_cards.clone(),
            payouts: self.payouts.clone(),
            identity_check: self.identity_check.clone(),
            accounts: self.accounts.clone(),
            deposits: self.balances.clone(),
            balances: self.reloadable_cards.clone(),
            reloadable_cards: self.reloadable_cards.clone(),
            bank: self.bank.clone(),
            bridge: self.bridge.clone(),
            rates: self.rates.clone(),
            merchants: self.merchants.clone(),
            lists: self.lists(),
        }
    }
}
