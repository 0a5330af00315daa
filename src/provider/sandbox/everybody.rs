//! Every provider of the sandbox, opened together over one directory and one pair of chains, of which the card issuer may watch
//! another Base.

use std::path::Path;
use std::sync::Arc;

use purser_actors::port::{Clock, ProviderList};
use purser_actors::reconcile::Source;

use super::accounts::SandboxAccounts;
use super::balances::SandboxBalances;
use super::balances::watching::Watched;
use super::banking::SandboxBank;
use super::banking::listing::{BankMoves, BankReceipts};
use super::bridge::SandboxBridge;
use super::gift_cards::{GiftSettings, SandboxGiftCards};
use super::identity_check::SandboxIdentityCheck;
use super::listing::Remainders;
use super::merchants::SandboxMerchants;
use super::payouts::{RailSettings, SandboxRails};
use super::program::SandboxProgram;
use super::program::listing::{ProgramBalances, ProgramOrders};
use super::rates::SandboxRates;
use super::{IssuerSettings, SandboxIssuer};
use crate::config::Config;
use crate::provider::{ProviderLists, Providers};
use crate::settlement::sandbox::afar::Chains;

/// The sandbox's providers, steerable.
#[derive(Clone)]
pub struct SandboxProviders {
    /// Makes cards.
    pub issuer: Arc<SandboxIssuer>,
    /// Sells gift cards.
    pub gift_cards: Arc<SandboxGiftCards>,
    /// Pays out.
    pub rails: Arc<SandboxRails>,
    /// Knows who people are.
    pub identity_check: Arc<SandboxIdentityCheck>,
    /// Opens holders' accounts.
    pub accounts: Arc<SandboxAccounts>,
    /// Sees what is deposited to holders' balances.
    pub balances: Arc<SandboxBalances>,
    /// Keeps reloadable cards, and takes from those balances.
    pub program: Arc<SandboxProgram<SandboxBalances>>,
    /// Keeps their bank accounts.
    pub bank: Arc<SandboxBank>,
    /// Carries USDC from Solana to Base.
    pub bridge: Arc<SandboxBridge>,
    /// Says what currencies cost.
    pub rates: Arc<SandboxRates>,
    /// Says who takes cards.
    pub merchants: Arc<SandboxMerchants>,
}

impl SandboxProviders {
    /// Opens or makes their files in `directory`, which must exist.
    ///
    /// # Errors
    /// Whose file cannot be read or is damaged, and why.
    pub fn open(
        directory: &Path,
        config: &Config,
        (chains, watched): (&Arc<dyn Chains>, &Arc<dyn Watched>),
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, (&'static str, String)> {
        let times = &config.sandbox;
        let settings = IssuerSettings {
            ready_after_ms: times.card_ready_ms,
            ..IssuerSettings::default()
        };
        let issuer = SandboxIssuer::open(directory, settings, clock.clone())
            .map_err(|e| ("the sandbox's issuer", e.to_string()))?;
        let settings = GiftSettings {
            ready_after_ms: times.gift_ready_ms,
            ..GiftSettings::default()
        };
        let gift_cards = SandboxGiftCards::open(directory, settings, clock.clone())
            .map_err(|e| ("the sandbox's gift cards", e.to_string()))?;
        let settings = RailSettings {
            paid_after_ms: times.payout_paid_ms,
            ..RailSettings::default()
        };
        let rails = SandboxRails::open(directory, settings, clock.clone())
            .map_err(|e| ("the sandbox's payout rails", e.to_string()))?;
        let identity_check = SandboxIdentityCheck::open(directory, times.identity_check_ms, clock.clone())
            .map_err(|e| ("the sandbox's identity check", e.to_string()))?;
        let accounts =
            SandboxAccounts::open(directory, clock.clone()).map_err(|e| ("the sandbox's accounts", e.to_string()))?;
        let balances = SandboxBalances::open(directory, watched.clone(), clock.clone(), times.credit_ms)
            .map_err(|e| ("the sandbox's card balances", e.to_string()))?;
        let balances = Arc::new(balances);
        let program = SandboxProgram::open_in(directory, balances.clone(), clock.clone())
            .map_err(|e| ("the sandbox's card program", e.to_string()))?;
        let bank = SandboxBank::open(directory, times.bank_ms, clock.clone())
            .map_err(|e| ("the sandbox's bank", e.to_string()))?;
        let bridge = SandboxBridge::open(directory, chains.clone(), clock.clone(), times.attest_ms)
            .map_err(|e| ("the sandbox's bridge", e.to_string()))?;
        let merchants = SandboxMerchants::new().map_err(|e| ("the sandbox's merchants", e))?;
        Ok(Self {
            issuer: Arc::new(issuer),
            gift_cards: Arc::new(gift_cards),
            rails: Arc::new(rails),
            identity_check: Arc::new(identity_check),
            accounts: Arc::new(accounts),
            balances,
            program: Arc::new(program),
            bank: Arc::new(bank),
            bridge: Arc::new(bridge),
            rates: Arc::new(SandboxRates::new(config.rates.table(), clock.clone())),
            merchants: Arc::new(merchants),
        })
    }

    fn lists(&self) -> ProviderLists {
        let cards: Arc<dyn ProviderList> = self.issuer.clone();
        ProviderLists::from([
            (Source::Cards, cards),
            (Source::PrepaidRemainders, Arc::new(Remainders(self.issuer.clone()))),
            (Source::GiftCards, self.gift_cards.clone()),
            (Source::Payouts, self.rails.clone()),
            (Source::Bank, Arc::new(BankMoves(self.bank.clone()))),
            (Source::BankDeposits, Arc::new(BankReceipts(self.bank.clone()))),
            (Source::CardProgram, Arc::new(ProgramOrders(self.program.clone()))),
            (Source::CardBalances, Arc::new(ProgramBalances(self.program.clone()))),
            (Source::Bridge, self.bridge.clone()),
        ])
    }

    /// As whoever asks them sees them.
    pub fn providers(&self) -> Providers {
        Providers {
            issuer: self.issuer.clone(),
            gift_cards: self.gift_cards.clone(),
            rails: self.rails.clone(),
            identity_check: self.identity_check.clone(),
            accounts: self.accounts.clone(),
            deposits: self.balances.clone(),
            balances: self.program.clone(),
            program: self.program.clone(),
            bank: self.bank.clone(),
            bridge: self.bridge.clone(),
            rates: self.rates.clone(),
            merchants: self.merchants.clone(),
            lists: self.lists(),
        }
    }
}
