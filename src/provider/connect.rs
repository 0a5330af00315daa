//! Connects the remote providers that the settings name.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;

use super::banking::RemoteBank;
use super::bridge::RemoteBridge;
use super::callback::CallbackKey;
use super::cards::RemoteIssuer;
use super::gift_cards::RemoteGiftCards;
use super::identity::RemoteIdentityCheck;
use super::issuer_accounts::{RemoteCardBalances, RemoteCardDeposits, RemoteIssuerAccounts};
use super::merchants::RemoteMerchantDirectory;
use super::payouts::RemotePayouts;
use super::rates::{RateSource, RemoteRates};
use super::reconciliation::{ReconciliationListName, RemoteReconciliationList};
use super::reloadable_cards::RemoteReloadableCards;
use super::remote::{RemoteClient, RemoteEndpoint};
use super::{BillingAddress, CardIssuerApi as _, ProviderLists, Providers};
use purser_config::{RemoteProvider, RemoteProviders};
use purser_host::secret::Secret;

/// Placeholders at every port, for products that are not sold: every call fails as `Temporary`. `rates` is the table of
/// the settings. There are no reconciliation lists, so nothing is reconciled.
pub fn unconfigured(rates: Arc<dyn RateSource>) -> Providers {
    let remote = RemoteClient::unconfigured;
    Providers {
        issuer: Arc::new(RemoteIssuer(remote())),
        billing_address: BillingAddress {
            line1: String::new(),
            city: String::new(),
            state: String::new(),
            postal_code: String::new(),
            country: String::new(),
        },
        gift_cards: Arc::new(RemoteGiftCards(remote())),
        payouts: Arc::new(RemotePayouts(remote())),
        identity_check: Arc::new(RemoteIdentityCheck(remote())),
        accounts: Arc::new(RemoteIssuerAccounts(remote())),
        deposits: Arc::new(RemoteCardDeposits(remote())),
        balances: Arc::new(RemoteCardBalances(remote())),
        reloadable_cards: Arc::new(RemoteReloadableCards(remote())),
        bank: Arc::new(RemoteBank(remote())),
        bridge: Arc::new(RemoteBridge(remote())),
        rates,
        merchants: Arc::new(RemoteMerchantDirectory(remote())),
        lists: ProviderLists::new(),
    }
}

/// Replaces the providers that have a URL in the settings with remote ones.
///
/// # Errors
/// When a secret cannot be read, or the issuer does not return the data that all its cards share.
pub async fn connect(settings: &RemoteProviders, mut providers: Providers) -> Result<Providers, String> {
    if let Some(remote) = remote("issuer", &settings.issuer)? {
        listed(&mut providers, ReconciliationListName::Cards, &remote);
        listed(&mut providers, ReconciliationListName::PrepaidRemainders, &remote);
        let issuer = RemoteIssuer(remote);
        let billing_address = issuer.billing_address().await;
        providers.billing_address =
            billing_address.map_err(|e| format!("the issuer at {}: {e}", settings.issuer.url))?;
        providers.issuer = Arc::new(issuer);
    }
    if let Some(remote) = remote("gift_cards", &settings.gift_cards)? {
        listed(&mut providers, ReconciliationListName::GiftCards, &remote);
        providers.gift_cards = Arc::new(RemoteGiftCards(remote));
    }
    if let Some(remote) = remote("payouts", &settings.payouts)? {
        listed(&mut providers, ReconciliationListName::Payouts, &remote);
        providers.payouts = Arc::new(RemotePayouts(remote));
    }
    if let Some(remote) = remote("identity", &settings.identity)? {
        providers.identity_check = Arc::new(RemoteIdentityCheck(remote));
    }
    if let Some(remote) = remote("issuer_accounts", &settings.issuer_accounts)? {
        listed(&mut providers, ReconciliationListName::ReloadableCards, &remote);
        listed(&mut providers, ReconciliationListName::CardBalances, &remote);
        providers.reloadable_cards = Arc::new(RemoteReloadableCards(remote.clone()));
        providers.accounts = Arc::new(RemoteIssuerAccounts(remote.clone()));
        providers.deposits = Arc::new(RemoteCardDeposits(remote.clone()));
        providers.balances = Arc::new(RemoteCardBalances(remote));
    }
    if let Some(remote) = remote("bridge", &settings.bridge)? {
        listed(&mut providers, ReconciliationListName::Bridge, &remote);
        providers.bridge = Arc::new(RemoteBridge(remote));
    }
    if let Some(remote) = remote("banking", &settings.banking)? {
        listed(&mut providers, ReconciliationListName::BankTransfers, &remote);
        listed(&mut providers, ReconciliationListName::BankDeposits, &remote);
        providers.bank = Arc::new(RemoteBank(remote));
    }
    if let Some(remote) = remote("rates", &settings.rates)? {
        providers.rates = Arc::new(RemoteRates(remote));
    }
    if let Some(remote) = remote("merchants", &settings.merchants)? {
        providers.merchants = Arc::new(RemoteMerchantDirectory(remote));
    }
    Ok(providers)
}

/// Replaces the reconciliation list with that of the remote provider.
fn listed(providers: &mut Providers, list: ReconciliationListName, remote: &RemoteClient) {
    let remote = remote.clone();
    let kept = Arc::new(RemoteReconciliationList { remote, list });
    providers.lists.insert(list.source(), kept);
}

/// Keys that verify the callbacks of remote providers; `None` for the sandbox's own.
#[derive(Clone, Debug, Default)]
pub struct ProviderCallbackKeys {
    pub identity: Option<CallbackKey>,
    pub payouts: Option<CallbackKey>,
    /// Key of the card issuer, for callbacks about reloadable cards.
    pub issuer: Option<CallbackKey>,
    pub bank: Option<CallbackKey>,
}

/// Derives the keys from the secrets shared with this service.
///
/// # Errors
/// When a secret cannot be read.
pub fn callback_keys(settings: &RemoteProviders) -> Result<ProviderCallbackKeys, String> {
    let of = |name: &str, outside: &RemoteProvider| match outside.url.is_empty() {
        true => Ok(None),
        false => token(name, outside).map(|token| Some(CallbackKey::of_token(&token))),
    };
    Ok(ProviderCallbackKeys {
        identity: of("identity", &settings.identity)?,
        payouts: of("payouts", &settings.payouts)?,
        issuer: of("issuer_accounts", &settings.issuer_accounts)?,
        bank: of("banking", &settings.banking)?,
    })
}

fn token(name: &str, outside: &RemoteProvider) -> Result<Secret<String>, String> {
    read_token(&outside.token_file).map_err(|e| format!("providers.{name}.token_file: {e}"))
}

/// The client of one provider; `None` without a URL.
fn remote(name: &str, outside: &RemoteProvider) -> Result<Option<RemoteClient>, String> {
    if outside.url.is_empty() {
        return Ok(None);
    }
    let base_url = Url::parse(&outside.url).map_err(|e| format!("providers.{name}.url: {e}"))?;
    let token = token(name, outside)?;
    let timeout = Duration::from_millis(outside.timeout_ms);
    RemoteClient::new(RemoteEndpoint {
        base_url,
        token,
        timeout,
    })
    .map(Some)
}

/// Reads the single line of a secret's file.
///
/// # Errors
/// When the file cannot be read, or is not one line of visible ASCII.
pub fn read_token(file: &Path) -> Result<Secret<String>, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let text = zeroize::Zeroizing::new(text);
    let line = text.trim();
    if line.len() < 16 || !line.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(format!(
            "{}: a secret is one line of at least 16 visible characters",
            file.display()
        ));
    }
    Ok(Secret::new(line.to_owned()))
}
