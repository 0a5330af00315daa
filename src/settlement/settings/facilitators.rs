//! Settings of the facilitators, with their secrets.

use std::time::Duration;

use super::Reader;
use crate::facilitator::{Auth, CdpKey, FacilitatorSettings};
use purser_config::chains::{Facilitator, FacilitatorAuth};
use purser_host::secret::Secret;

impl Reader<'_> {
    pub(super) fn facilitators(&mut self, key: &str, named: &[Facilitator]) -> Vec<FacilitatorSettings> {
        let mut found: Vec<FacilitatorSettings> = Vec::new();
        for (n, facilitator) in named.iter().enumerate() {
            let (url_key, secret_key) = (format!("{key}[{n}].url"), format!("{key}[{n}].secret"));
            // The URL was validated with the other settings.
            let Ok(url) = reqwest::Url::parse(&facilitator.url) else {
                self.reject(url_key, "is no URL");
                continue;
            };
            let Some(auth) = self.auth(&secret_key, facilitator) else {
                continue;
            };
            let timeout = Duration::from_millis(facilitator.timeout_ms);
            let settings = FacilitatorSettings { url, auth, timeout };
            match found.iter().any(|other| other.name() == settings.name()) {
                true => self.reject(url_key, format!("is named twice: {}", settings.name())),
                false => found.push(settings),
            }
        }
        found
    }

    fn auth(&mut self, key: &str, facilitator: &Facilitator) -> Option<Auth> {
        if facilitator.auth == FacilitatorAuth::None {
            return Some(Auth::None);
        }
        let text = self.text(key, &facilitator.secret)?;
        if facilitator.auth == FacilitatorAuth::Header {
            let value = text.trim();
            let good = !value.is_empty() && value.bytes().all(|byte| matches!(byte, 0x20..=0x7e));
            if !good {
                self.reject(key, "is no value of a header: printable ASCII is needed");
            }
            return good.then(|| Auth::Header(Secret::new(value.to_owned())));
        }
        let read = CdpKey::parse(&facilitator.key_id, &text);
        read.map(Auth::Cdp).map_err(|error| self.reject(key, error)).ok()
    }
}
