//! `purser listen --forward-to URL`: posts each event to the developer's URL, signed like a webhook.

use std::time::Duration;

use http::header::CONTENT_TYPE;
use purser_actors::port::{Clock, Entropy};
use reqwest::Url;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::http_client::{client, parse_url};
use crate::{CliError, TlsArgs, terminal};
use purser_host::secret::SecretText;
use purser_protocol::webhook_signature::{SigningSecret, headers};

/// The timeout of webhooks.
const FORWARD_TIMEOUT: Duration = Duration::from_secs(15);

/// Posts events to a URL.
pub(super) struct Forwarder {
    target: Url,
    secret: SigningSecret,
    client: reqwest::Client,
}

/// The frame of an event, with the event's exact bytes.
#[derive(Deserialize)]
struct EventFrame<'a> {
    #[serde(borrow)]
    event: &'a RawValue,
}

#[derive(Deserialize)]
struct Event {
    id: String,
    r#type: String,
}

impl Forwarder {
    /// A forwarder to this URL. Without a secret a new one is generated and printed.
    ///
    /// # Errors
    /// When the URL or the secret is invalid.
    pub(super) fn new(
        target: &str,
        tls: &TlsArgs,
        secret: Option<String>,
        entropy: &dyn Entropy,
    ) -> Result<Self, CliError> {
        let target = parse_url(target)?;
        let secret = match secret {
            Some(text) => SigningSecret::of_text(&SecretText::new(text))
                .ok_or_else(|| CliError::Usage("--secret must be whsec_ and base64 of 32 bytes".to_owned()))?,
            None => {
                let secret = SigningSecret::new(entropy);
                terminal::progress(&format!("events are signed with {}", secret.to_text().expose()));
                secret
            }
        };
        // An event is posted once. On a connection that the receiver is just closing it would be lost, so that each event
        // gets a connection of its own.
        let client = client(tls, &target)?
            .timeout(FORWARD_TIMEOUT)
            .pool_max_idle_per_host(0)
            .build();
        let client = client.map_err(|error| CliError::Connection(format!("cannot make a client: {error}")))?;
        Ok(Self { target, secret, client })
    }

    /// Posts the event of a frame, byte for byte, and prints the result. A failed event is not posted again.
    pub(super) async fn forward(&self, frame: &str, clock: &dyn Clock) {
        let Ok(EventFrame { event }) = serde_json::from_str(frame) else {
            return;
        };
        let body = event.get();
        let Ok(Event { id, r#type: kind }) = serde_json::from_str(body) else {
            return;
        };
        let secrets = std::slice::from_ref(&self.secret);
        let mut request = self
            .client
            .post(self.target.clone())
            .header(CONTENT_TYPE, "application/json");
        for (name, value) in headers(secrets, &id, clock.now().seconds(), body.as_bytes()) {
            request = request.header(name, value);
        }
        let came = match request.body(body.to_owned()).send().await {
            Ok(answer) => answer.status().to_string(),
            Err(error) if error.is_timeout() => "no answer in time".to_owned(),
            Err(_) => "it cannot be reached".to_owned(),
        };
        terminal::progress(&format!("{kind} {id} -> {}: {came}", self.target));
    }
}
