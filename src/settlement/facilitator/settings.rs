//! Settings of a facilitator, with its secret.

use std::time::Duration;

use reqwest::Url;

use super::cdp::CdpKey;
use purser_host::secret::Secret;

/// One facilitator of a network's list.
#[derive(Clone, Debug)]
pub struct FacilitatorSettings {
    /// Base URL of `/supported`, `/verify` and `/settle`.
    pub url: Url,
    /// Authentication of our requests.
    pub auth: Auth,
    /// Timeout of a request: the outcome is then unknown.
    pub timeout: Duration,
}

/// Authentication of requests to a facilitator.
#[derive(Clone, Debug)]
pub enum Auth {
    None,
    /// A fixed `Authorization` header.
    Header(Secret<String>),
    /// A JWT of Coinbase's Developer Platform for each call.
    Cdp(CdpKey),
}

impl FacilitatorSettings {
    /// Name of the facilitator in stored rows. A different secret or timeout does not change it.
    pub fn name(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }

    /// The full URL of a route.
    pub(super) fn route(&self, route: &str) -> Url {
        let mut url = self.url.clone();
        let path = format!("{}/{route}", url.path().trim_end_matches('/'));
        url.set_path(&path);
        url
    }
}
