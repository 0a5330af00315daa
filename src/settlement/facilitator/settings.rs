//! A facilitator as the settings name it, with its secret.

use std::time::Duration;

use reqwest::Url;

use super::cdp::CdpKey;
use crate::secret::Secret;

/// One entry of a network's list.
#[derive(Clone, Debug)]
pub struct FacilitatorSettings {
    /// What `/supported`, `/verify` and `/settle` are relative to.
    pub url: Url,
    /// How it knows us.
    pub auth: Auth,
    /// After this a response counts as lost.
    pub timeout: Duration,
}

/// How a facilitator knows us.
#[derive(Clone, Debug)]
pub enum Auth {
    /// It does not.
    None,
    /// By a fixed value of `Authorization`.
    Header(Secret<String>),
    /// By a JWT of Coinbase's Developer Platform for each call.
    Cdp(CdpKey),
}

impl FacilitatorSettings {
    /// What stored rows name it by. Another secret or time-out makes no other facilitator of it.
    pub fn name(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }

    /// The path of one of its routes, and the whole URL.
    pub(super) fn route(&self, route: &str) -> Url {
        let mut url = self.url.clone();
        let path = format!("{}/{route}", url.path().trim_end_matches('/'));
        url.set_path(&path);
        url
    }
}
