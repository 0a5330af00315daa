//! Which providers are elsewhere, as the settings say.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;

use super::callback::CallbackKey;
use super::rates::Rates;
use super::remote::banking::RemoteBank;
use super::remote::bridge::RemoteBridge;
use super::remote::cards::RemoteIssuer;
use super::remote::entries::RemoteList;
use super::remote::gift_cards::RemoteGiftCards;
use super::remote::payouts::RemoteRails;
use super::remote::people::{RemoteAccounts, RemoteIdentityCheck};
use super::remote::program::RemoteProgram;
use super::remote::tables::{RemoteMerchants, RemoteRates};
use super::remote::{Endpoint, Remote};
use super::wire::entries::ListName;
use super::{ProviderLists, Providers};
use crate::config::{Outside, Outsiders};
use crate::secret::Secret;

/// A placeholder at every port, for products that are not sold: every call fails as `Temporary`. `rates` is the table of the
/// settings. Nothing is reconciled: there are no lists.
pub fn unconfigured(rates: Arc<dyn Rates>) -> Providers {
    let remote = Remote::unconfigured;
    let accounts = Arc::new(RemoteAccounts(remote()));
    Providers {
        issuer: Arc::new(RemoteIssuer::unconfigured()),
        gift_cards: Arc::new(RemoteGiftCards(remote())),
        rails: Arc::new(RemoteRails(remote())),
        identity_check: Arc::new(RemoteIdentityCheck(remote())),
        accounts: accounts.clone(),
        deposits: accounts.clone(),
        balances: accounts,
        program: Arc::new(RemoteProgram(remote())),
        bank: Arc::new(RemoteBank(remote())),
        bridge: Arc::new(RemoteBridge(remote())),
        rates,
        merchants: Arc::new(RemoteMerchants(remote())),
        lists: ProviderLists::new(),
    }
}

/// Puts those that have a URL in the place of the ones given.
///
/// # Errors
/// When a secret cannot be read, or the issuer does not say what its cards have in common.
pub async fn meet(settings: &Outsiders, mut providers: Providers) -> Result<Providers, String> {
    if let Some(remote) = remote("issuer", &settings.issuer)? {
        listed(&mut providers, ListName::Cards, &remote);
        listed(&mut providers, ListName::PrepaidRemainders, &remote);
        let issuer = RemoteIssuer::connect(remote).await;
        providers.issuer = Arc::new(issuer.map_err(|e| format!("the issuer at {}: {e}", settings.issuer.url))?);
    }
    if let Some(remote) = remote("gift_cards", &settings.gift_cards)? {
        listed(&mut providers, ListName::GiftCards, &remote);
        providers.gift_cards = Arc::new(RemoteGiftCards(remote));
    }
    if let Some(remote) = remote("payouts", &settings.payouts)? {
        listed(&mut providers, ListName::Payouts, &remote);
        providers.rails = Arc::new(RemoteRails(remote));
    }
    if let Some(remote) = remote("identity", &settings.identity)? {
        providers.identity_check = Arc::new(RemoteIdentityCheck(remote));
    }
    if let Some(remote) = remote("card_accounts", &settings.card_accounts)? {
        listed(&mut providers, ListName::CardProgram, &remote);
        listed(&mut providers, ListName::CardBalances, &remote);
        providers.program = Arc::new(RemoteProgram(remote.clone()));
        let accounts = Arc::new(RemoteAccounts(remote));
        providers.accounts = accounts.clone();
        providers.deposits = accounts.clone();
        providers.balances = accounts;
    }
    if let Some(remote) = remote("bridge", &settings.bridge)? {
        listed(&mut providers, ListName::Bridge, &remote);
        providers.bridge = Arc::new(RemoteBridge(remote));
    }
    if let Some(remote) = remote("banking", &settings.banking)? {
        listed(&mut providers, ListName::Bank, &remote);
        listed(&mut providers, ListName::BankDeposits, &remote);
        providers.bank = Arc::new(RemoteBank(remote));
    }
    if let Some(remote) = remote("rates", &settings.rates)? {
        providers.rates = Arc::new(RemoteRates(remote));
    }
    if let Some(remote) = remote("merchants", &settings.merchants)? {
        providers.merchants = Arc::new(RemoteMerchants(remote));
    }
    Ok(providers)
}

/// Whoever has to do with the money keeps the list of it.
fn listed(providers: &mut Providers, list: ListName, remote: &Remote) {
    let remote = remote.clone();
    let kept = Arc::new(RemoteList { remote, list });
    providers.lists.insert(list.source(), kept);
}

/// What those elsewhere sign their callbacks with; none for the sandbox's own.
#[derive(Clone, Debug, Default)]
pub struct CallbackKeys {
    /// The identity check's.
    pub identity: Option<CallbackKey>,
    /// The payout rails'.
    pub rails: Option<CallbackKey>,
    /// The card issuer's, of reloadable cards.
    pub issuer: Option<CallbackKey>,
    /// The bank's.
    pub bank: Option<CallbackKey>,
}

/// Made from the secrets that they share with this service.
///
/// # Errors
/// When a secret cannot be read.
pub fn callback_keys(settings: &Outsiders) -> Result<CallbackKeys, String> {
    let of = |name: &str, outside: &Outside| match outside.url.is_empty() {
        true => Ok(None),
        false => token(name, outside).map(|token| Some(CallbackKey::of_token(&token))),
    };
    Ok(CallbackKeys {
        identity: of("identity", &settings.identity)?,
        rails: of("payouts", &settings.payouts)?,
        issuer: of("card_accounts", &settings.card_accounts)?,
        bank: of("banking", &settings.banking)?,
    })
}

fn token(name: &str, outside: &Outside) -> Result<Secret<String>, String> {
    read_token(&outside.token_file).map_err(|e| format!("providers.{name}.token_file: {e}"))
}

/// The connection to one of them; none without a URL.
fn remote(name: &str, outside: &Outside) -> Result<Option<Remote>, String> {
    if outside.url.is_empty() {
        return Ok(None);
    }
    let base_url = Url::parse(&outside.url).map_err(|e| format!("providers.{name}.url: {e}"))?;
    let token = token(name, outside)?;
    let timeout = Duration::from_millis(outside.timeout_ms);
    Remote::new(Endpoint {
        base_url,
        token,
        timeout,
    })
    .map(Some)
}

/// The one line of a secret's file.
///
/// # Errors
/// When it cannot be read or is no line of visible ASCII.
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
