//! Verdict callbacks: signed, and possibly lost, duplicated, forged or malformed.

use std::time::Duration;

use purser_actors::port::Verdict;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::SandboxIdentityCheck;
use super::form::VerdictDelivery;
use super::records::{CheckSummary, reference};
use crate::callback::CallbackKey;
use purser_host::outbound;
use purser_sandbox::keys;

/// Timeout of the sandbox's callback requests.
const CALLBACK_TIMEOUT: Duration = Duration::from_secs(10);

/// The body of a callback.
#[derive(Serialize)]
struct VerdictCallback<'a> {
    r#type: &'static str,
    reference: String,
    wallet: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl SandboxIdentityCheck {
    /// Sends one or more callbacks. A failed callback is not sent again; the service queries the check.
    pub(super) async fn send_callback(&self, check: &CheckSummary, verdict: &Verdict, telling: VerdictDelivery) {
        let Some((url, ours)) = self.callbacks.get() else {
            return;
        };
        let right = body(check, verdict);
        match telling {
            VerdictDelivery::NoCallback => {}
            VerdictDelivery::Once => self.post(url, ours, right).await,
            VerdictDelivery::Duplicate => {
                self.post(url, ours, right.clone()).await;
                self.post(url, ours, right).await;
            }
            VerdictDelivery::Forged => {
                self.post(url, &keys::forged_callback(), right.clone()).await;
                self.post(url, ours, right).await;
            }
            VerdictDelivery::Contrary => {
                let contrary = match verdict {
                    Verdict::Passed => Verdict::Failed {
                        reason: "second_thoughts".into(),
                    },
                    Verdict::Failed { .. } => Verdict::Passed,
                };
                self.post(url, ours, right).await;
                self.post(url, ours, body(check, &contrary)).await;
            }
            VerdictDelivery::Garbage => self.post(url, ours, b"{\"type\":\"check".to_vec()).await,
        }
    }

    async fn post(&self, url: &str, key: &CallbackKey, body: Vec<u8>) {
        let at = self.clock.now().seconds().to_string();
        let id = format!("msg_{}", hex::encode(&Sha256::digest(&body)[..12]));
        let signature = key.sign(&id, &at, &body);
        let client = outbound::client().no_proxy().timeout(CALLBACK_TIMEOUT).build();
        let Ok(client) = client else { return };
        let request = client
            .post(url)
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", at)
            .header("webhook-signature", signature)
            .body(body);
        match request.send().await {
            Ok(answer) => tracing::debug!(status = %answer.status(), "the sandbox's identity check has called back"),
            Err(error) => tracing::debug!(%error, "the sandbox's identity check could not call back"),
        }
    }
}

fn body(check: &CheckSummary, verdict: &Verdict) -> Vec<u8> {
    let payload = VerdictCallback {
        r#type: match verdict {
            Verdict::Passed => "identity_check.passed",
            Verdict::Failed { .. } => "identity_check.failed",
        },
        reference: reference(check.key),
        wallet: check.wallet.address(),
        reason: match verdict {
            Verdict::Passed => None,
            Verdict::Failed { reason } => Some(reason),
        },
    };
    // Serializing texts into memory cannot fail.
    serde_json::to_vec(&payload).unwrap_or_default()
}
