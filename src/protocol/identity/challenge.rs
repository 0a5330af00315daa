//! The 402 of `GET /auth`, and that of `POST /recover-account`: a sign-in-with-x challenge inside an x402 v2
//! PaymentRequired.
//!
//! Nothing is sold here, but `accepts` names both networks with amount zero: a stock sign-in helper signs with the
//! network of the first entry and does nothing without one. Everything but nonce and times is serialized once.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser_actors::id::Network;
use purser_actors::port::{Entropy, Timestamp};
use serde_json::{Value, json};

use super::nonce::{CHALLENGE_LIFETIME_MS, Nonces};
use super::origin::Origin;
use super::sign_in_error::SignInError;
use crate::rfc3339;

/// What a wallet signs for. A signature for one purpose is not accepted for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    SignIn,
    /// The way back into an account whose passkeys are lost.
    Recovery,
}

impl Purpose {
    /// Path of the route, and so of the signed `uri`.
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::SignIn => "/auth",
            Self::Recovery => "/recover-account",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::SignIn => "Sign in with a wallet. Free.",
            Self::Recovery => "Ask for the recovery of an account whose passkeys are lost. Free.",
        }
    }

    /// What the wallet shows to its user.
    pub(super) fn statement(self, domain: &str) -> String {
        match self {
            Self::SignIn => format!("Sign in to {domain}. Signing is free and moves no money."),
            Self::Recovery => format!(
                "Recover the account at {domain} and remove all of its passkeys. Sign this only if the passkeys are lost."
            ),
        }
    }
}

/// USDC payment terms on Base. Clients require every field even of a zero amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasePaymentTerms {
    pub asset: String,
    pub pay_to: String,
    /// EIP-712 domain name of the contract.
    pub name: String,
    /// EIP-712 domain version of the contract.
    pub version: String,
}

/// USDC payment terms on Solana.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SolanaPaymentTerms {
    /// The USDC mint.
    pub asset: String,
    pub pay_to: String,
    /// Payer of the network fee.
    pub fee_payer: String,
}

/// Payment terms of a challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChallengeTerms {
    pub base: BasePaymentTerms,
    pub solana: SolanaPaymentTerms,
    /// `maxTimeoutSeconds` of both entries.
    pub max_timeout_seconds: u32,
}

/// One challenge, ready to send with status 402 and `Cache-Control: no-store`, without `WWW-Authenticate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInChallenge {
    /// Value of the `PAYMENT-REQUIRED` header: padded standard base64 of the JSON.
    pub header: String,
    /// The JSON body: the same object, plus `error`, `code` and the older names of the terms.
    pub body: String,
}

#[derive(Clone, Debug)]
pub struct SignInChallenges {
    nonces: Nonces,
    base_first: ChallengeTemplates,
    solana_first: ChallengeTemplates,
}

#[derive(Clone, Debug)]
struct ChallengeTemplates {
    header: Template,
    body: Template,
}

/// JSON from `resource` to the end, split where nonce and times are inserted.
#[derive(Clone, Debug)]
struct Template {
    to_nonce: String,
    after_times: String,
}

impl SignInChallenges {
    /// For one origin; `nonces` must be the ones that [`super::proof::ProofVerifier`] accepts.
    pub fn new(origin: &Origin, terms: &ChallengeTerms, nonces: Nonces) -> Self {
        Self::of(Purpose::SignIn, origin, terms, nonces)
    }

    /// Challenges of a recovery at the same origin. `nonces` are those of sign-ins; their own come from these.
    pub fn for_recovery(origin: &Origin, terms: &ChallengeTerms, nonces: &Nonces) -> Self {
        let purpose = Purpose::Recovery;
        Self::of(purpose, origin, terms, nonces.of_path(purpose.path()))
    }

    fn of(purpose: Purpose, origin: &Origin, terms: &ChallengeTerms, nonces: Nonces) -> Self {
        Self {
            nonces,
            base_first: ChallengeTemplates::new(purpose, origin, terms, Network::Base),
            solana_first: ChallengeTemplates::new(purpose, origin, terms, Network::Solana),
        }
    }

    /// A fresh challenge with `first` first in `accepts`; Base unless the caller sent `?network=solana`. After a
    /// rejected proof it contains the reason.
    pub fn issue(
        &self,
        first: Network,
        refusal: Option<SignInError>,
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> SignInChallenge {
        let nonce = self.nonces.issue(now, entropy);
        let forms = match first {
            Network::Base => &self.base_first,
            Network::Solana => &self.solana_first,
        };
        let times = format!(
            r#"{}","issuedAt":"{}","expirationTime":"{}"#,
            nonce.text,
            rfc3339::format(nonce.issued),
            rfc3339::format(nonce.issued.plus_ms(CHALLENGE_LIFETIME_MS)),
        );
        let reason = refusal.map_or("Sign-in required", SignInError::reason);
        let header = forms
            .header
            .fill(&format!(r#"{{"x402Version":2,"error":"{reason}","#), &times);
        SignInChallenge {
            header: STANDARD.encode(header),
            body: forms.body.fill(&body_head(refusal), &times),
        }
    }
}

fn body_head(refusal: Option<SignInError>) -> String {
    // Rejection texts are our own constants, plain ASCII without quotes.
    match refusal {
        None => r#"{"error":"Sign-in required","code":"sign_in_required","x402Version":2,"#.to_owned(),
        Some(refusal) => format!(
            r#"{{"error":"Sign-in refused: {refusal}","code":"sign_in_required","reason":"{}","x402Version":2,"#,
            refusal.reason()
        ),
    }
}

impl ChallengeTemplates {
    fn new(purpose: Purpose, origin: &Origin, terms: &ChallengeTerms, first: Network) -> Self {
        // The resource is exactly the requested URL, query included.
        let called = format!("{}{}", origin.as_str(), purpose.path());
        let url = match first {
            Network::Base => called,
            Network::Solana => format!("{called}?network=solana"),
        };
        let order = match first {
            Network::Base => [Network::Base, Network::Solana],
            Network::Solana => [Network::Solana, Network::Base],
        };
        let plain = order.map(|network| terms.entry(network));
        let full = plain.clone().map(|entry| with_older_names(entry, &url, purpose));
        Self {
            header: Template::new(purpose, origin, &url, &plain, order),
            body: Template::new(purpose, origin, &url, &full, order),
        }
    }
}

impl ChallengeTerms {
    fn entry(&self, network: Network) -> Value {
        let (asset, pay_to, extra) = match network {
            Network::Base => {
                let extra = json!({"name": self.base.name, "version": self.base.version});
                (&self.base.asset, &self.base.pay_to, extra)
            }
            Network::Solana => (
                &self.solana.asset,
                &self.solana.pay_to,
                json!({"feePayer": self.solana.fee_payer}),
            ),
        };
        json!({
            "scheme": "exact",
            "network": network.caip2(),
            "amount": "0",
            "asset": asset,
            "payTo": pay_to,
            "maxTimeoutSeconds": self.max_timeout_seconds,
            "extra": extra,
        })
    }
}

/// The contract's names ("402 challenge shape") beside those of x402 v2.
fn with_older_names(mut entry: Value, url: &str, purpose: Purpose) -> Value {
    entry["maxAmountRequired"] = json!("0");
    entry["resource"] = json!(url);
    entry["description"] = json!(purpose.description());
    entry["mimeType"] = json!("application/json");
    entry
}

impl Template {
    fn new(purpose: Purpose, origin: &Origin, url: &str, accepts: &[Value], order: [Network; 2]) -> Self {
        let domain = origin.domain();
        let resource = json!({"url": url, "description": purpose.description(), "mimeType": "application/json"});
        let chains = order.map(|network| match network {
            Network::Base => json!({"chainId": network.caip2(), "type": "eip191"}),
            Network::Solana => json!({"chainId": network.caip2(), "type": "ed25519"}),
        });
        let uri = format!("{}{}", origin.as_str(), purpose.path());
        // An origin has no character that JSON escapes, so it can be quoted unchanged.
        Self {
            to_nonce: format!(
                concat!(
                    r#""resource":{resource},"accepts":{accepts},"extensions":{{"sign-in-with-x":{{"info":{{"#,
                    r#""domain":"{domain}","uri":"{uri}","version":"1","nonce":""#
                ),
                resource = resource,
                accepts = Value::from(accepts),
                domain = domain,
                uri = uri,
            ),
            after_times: format!(
                concat!(
                    r#"","statement":"{statement}"}},"#,
                    r#""supportedChains":{chains},"schema":{schema}}}}}}}"#
                ),
                statement = purpose.statement(domain),
                chains = Value::from(chains.to_vec()),
                schema = proof_schema(),
            ),
        }
    }

    fn fill(&self, head: &str, times: &str) -> String {
        [head, &self.to_nonce, times, &self.after_times].concat()
    }
}

/// JSON Schema of a proof, which the extension requires beside the challenge.
fn proof_schema() -> Value {
    let text = || json!({"type": "string"});
    let time = || json!({"type": "string", "format": "date-time"});
    let uri = || json!({"type": "string", "format": "uri"});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "domain": text(),
            "address": text(),
            "statement": text(),
            "uri": uri(),
            "version": text(),
            "chainId": text(),
            "type": text(),
            "nonce": text(),
            "issuedAt": time(),
            "expirationTime": time(),
            "notBefore": time(),
            "requestId": text(),
            "resources": {"type": "array", "items": uri()},
            "signature": text(),
        },
        "required": ["domain", "address", "uri", "version", "chainId", "type", "nonce", "issuedAt", "signature"],
    })
}

#[cfg(test)]
mod tests;
