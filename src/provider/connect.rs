//! Connects the remote providers that the settings name.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;

use super::callback::CallbackKey;
use super::cards::RemoteIssuer;
use super::rates::RateSource;
use super::remote::{RemoteClient, RemoteEndpoint};
use super::{BillingAddress, CardIssuerApi as _, Providers};
use purser_config::{RemoteProvider, RemoteProviders};
use purser_host::secret::Secret;

/// Placeholders at every port, for products that are not sold: every call fails as `Temporary`. `rates` is the table of
/// the settings. There are no reconciliation lists, so nothing is reconciled.
pub fn unconfigured(rates: Arc<dyn RateSource>) -> Providers {
    Providers {
        rates,
        ..Providers::unconfigured_ports(BillingAddress {
            line1: String::new(),
            city: String::new(),
            state: String::new(),
            postal_code: String::new(),
            country: String::new(),
        })
    }
}

/// Replaces the providers that have a URL in the settings with remote ones.
///
/// # Errors
/// When a secret cannot be read, or the issuer does not return the data that all its cards share.
pub async fn connect(settings: &RemoteProviders, mut providers: Providers) -> Result<Providers, String> {
    let mut clients = Clients::default();
    if let Some(issuer) = clients.get("issuer", &settings.issuer)? {
        let billing_address = RemoteIssuer(issuer).billing_address().await;
        providers.billing_address =
            billing_address.map_err(|e| format!("the issuer at {}: {e}", settings.issuer.url))?;
    }
    providers.connect(settings, &mut clients)?;
    Ok(providers)
}

/// One client per provider of the settings, for all its ports.
#[derive(Default)]
pub(super) struct Clients(BTreeMap<&'static str, RemoteClient>);

impl Clients {
    /// The client of one provider; `None` without a URL.
    pub(super) fn get(&mut self, name: &'static str, outside: &RemoteProvider) -> Result<Option<RemoteClient>, String> {
        if !self.0.contains_key(name)
            && let Some(client) = remote(name, outside)?
        {
            self.0.insert(name, client);
        }
        Ok(self.0.get(name).cloned())
    }
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
