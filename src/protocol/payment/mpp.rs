//! The Machine Payments Protocol beside x402: method `evm`, intent `charge`, an EIP-3009 authorization of USDC on Base.
//!
//! Challenges are not stored: the id is a MAC over all fields, and the fields identify the exact request. A returned
//! challenge therefore proves that we issued it, for this request, at this price. The x402 code
//! ([`super::evm::verify_offline`]) checks the payment inside and gives the same [`Authorization`]. The same payment by
//! either protocol is one payment. Its nonce is a hash of the challenge's id, which ties the two together.

pub mod challenge;
pub mod credential;
pub mod params;
pub mod problem;
pub mod receipt;

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use purser_actors::port::{Authorization, Timestamp};

use super::error::{InvalidReason, VerificationError};
use super::evm::{
    EvmRequirements, MIN_VALIDITY_SECONDS, SignatureRecovery, keccak, parse_address, signed_amount_and_window,
    verify_offline,
};
use super::proof::OfflineVerification;
use super::terms::{BasePayee, Payee, Terms};
use crate::rfc3339;
pub use challenge::ChallengeTemplate;
use challenge::{ChallengeFields, OpaqueRequest, request};
use credential::{Credential, EchoedChallenge};
use problem::MppProblem;
use purser_host::secret::MacKey;

pub const METHOD: &str = "evm";
pub const INTENT: &str = "charge";

/// The request that a challenge is for.
#[derive(Clone, Copy, Debug)]
pub struct BoundRequest<'a> {
    /// Path of the route.
    pub route: &'a str,
    /// Digest of route and parameters in canonical form.
    pub request: &'a [u8; 32],
}

/// A challenge ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedChallenge {
    pub id: String,
    /// Value of `WWW-Authenticate`: visible ASCII and spaces only.
    pub header: Bytes,
}

/// A credential that may be claimed and settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedCredential {
    pub authorization: Authorization,
    /// Id of the challenge that it answers.
    pub challenge: String,
    /// Key shared by all payments that answer this challenge, and the Unix second from which it is expired.
    pub single_use_key: ([u8; 16], u64),
}

/// Why a credential is rejected: status 402 with a fresh challenge. Nothing was charged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: {detail}")]
pub struct CredentialError {
    /// Reason for MPP clients.
    pub problem: MppProblem,
    /// Reason for x402 clients, where one exists.
    pub reason: &'static str,
    /// Human-readable; contains nothing that the client sent.
    pub detail: Cow<'static, str>,
}

impl CredentialError {
    fn new(problem: MppProblem, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            problem,
            reason: problem.reason(),
            detail: detail.into(),
        }
    }
}

impl From<VerificationError> for CredentialError {
    fn from(refusal: VerificationError) -> Self {
        let problem = match refusal.reason {
            InvalidReason::Malformed => MppProblem::MalformedCredential,
            _ => MppProblem::VerificationFailed,
        };
        Self {
            problem,
            reason: refusal.reason.as_str(),
            detail: refusal.message,
        }
    }
}

/// Issues challenges and verifies credentials.
#[derive(Debug)]
pub struct Mpp {
    realm: String,
    /// Key for new ids.
    current: MacKey,
    /// Key for ids issued before the last rotation: their challenges may still be answered.
    previous: Option<MacKey>,
    /// Distinguishes challenges issued at the same instant for the same request.
    serial: AtomicU64,
}

impl Mpp {
    /// For a realm (our host name), with keys that are used for nothing else. `first` must be a number that earlier
    /// processes did not reach; a random one will do.
    pub fn new(realm: &str, current: MacKey, previous: Option<MacKey>, first: u64) -> Self {
        Self {
            realm: realm.to_owned(),
            current,
            previous,
            serial: AtomicU64::new(first),
        }
    }

    /// A fresh challenge for the first of these terms that is on Base, valid as long as its price. `None` if none is.
    pub fn issue(
        &self,
        terms: &[Terms],
        bound: &BoundRequest<'_>,
        description: &str,
        now: Timestamp,
    ) -> Option<IssuedChallenge> {
        Some(self.issue_from(&self.template(terms, bound, description)?, now))
    }

    /// What all challenges for this request at these terms have in common.
    pub fn template(&self, terms: &[Terms], bound: &BoundRequest<'_>, description: &str) -> Option<ChallengeTemplate> {
        let (payee, terms) = terms.iter().find_map(on_base)?;
        let fields = ChallengeFields {
            realm: &self.realm,
            method: METHOD,
            intent: INTENT,
            request: &request(payee, terms.amount),
            expires: "",
            digest: "",
            opaque: "",
        };
        let lifetime_ms = u64::from(terms.max_timeout_seconds) * 1000;
        let template = ChallengeTemplate::new(&fields, &self.current, bound, description, lifetime_ms);
        Some(template)
    }

    /// A fresh challenge: one payment answers it, so no two callers get the same.
    pub fn issue_from(&self, template: &ChallengeTemplate, now: Timestamp) -> IssuedChallenge {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        template.issue(serial, &rfc3339::format(now.plus_ms(template.lifetime_ms)))
    }

    /// As [`Mpp::verify_offline`], for a credential that must be signed by the payer's key.
    ///
    /// # Errors
    /// As [`Mpp::verify_offline`].
    pub fn verify(
        &self,
        credential: Credential,
        offers: &[Terms],
        bound: &BoundRequest<'_>,
        now: Timestamp,
        recovery: SignatureRecovery,
    ) -> Result<VerifiedCredential, CredentialError> {
        let judged = self.verify_offline(credential, offers, bound, now, recovery)?;
        judged.proven().map_err(CredentialError::from)
    }

    /// Verifies a credential for this request against all current offers. Settles and stores nothing.
    ///
    /// # Errors
    /// [`CredentialError`] with the first rule that it breaks: our challenge, for this request, at a price still
    /// honoured, not expired, and then the payment.
    pub fn verify_offline(
        &self,
        credential: Credential,
        offers: &[Terms],
        bound: &BoundRequest<'_>,
        now: Timestamp,
        recovery: SignatureRecovery,
    ) -> Result<OfflineVerification<VerifiedCredential>, CredentialError> {
        let echo = &credential.challenge;
        self.verify_challenge(echo)?;
        let invalid = |detail: &'static str| CredentialError::new(MppProblem::InvalidChallenge, detail);
        if !OpaqueRequest::read(echo.opaque.as_deref().unwrap_or_default()).is_some_and(|opaque| opaque.is_for(bound)) {
            return Err(invalid("the challenge was given for another request"));
        }
        let (payee, terms) = offers
            .iter()
            .filter_map(on_base)
            .find(|(payee, terms)| request(payee, terms.amount) == echo.request)
            .ok_or_else(|| invalid("the price in the challenge is not offered any more"))?;
        let expires = echo
            .expires()
            .ok_or_else(|| invalid("`expires` is not an expiry that we issued"))?;
        if expires < now.plus_ms(MIN_VALIDITY_SECONDS * 1000) {
            let detail = "the challenge has expired or expires within 6 seconds";
            return Err(CredentialError::new(MppProblem::PaymentExpired, detail));
        }
        let demand = EvmRequirements {
            payee,
            domain: &payee.mpp_domain_separator,
            amount: terms.amount,
            max_timeout_seconds: terms.max_timeout_seconds,
            now: now.seconds(),
        };
        verify_credential(credential, &demand, recovery)
    }

    /// Whether we issued this challenge, under the current or the previous key.
    fn verify_challenge(&self, echo: &EchoedChallenge) -> Result<(), CredentialError> {
        let invalid = |detail: &'static str| Err(CredentialError::new(MppProblem::InvalidChallenge, detail));
        if echo.realm != self.realm {
            return invalid("the challenge is of another realm");
        }
        if (echo.method.as_str(), echo.intent.as_str()) != (METHOD, INTENT) {
            return invalid("only the method `evm` with the intent `charge` is taken");
        }
        if echo.digest.is_some() {
            return invalid("none of our challenges names a body");
        }
        let covered = echo.covered();
        let keys = [Some(&self.current), self.previous.as_ref()];
        if keys.into_iter().flatten().any(|key| covered.matches_id(&echo.id, key)) {
            return Ok(());
        }
        invalid("we gave no challenge with this id and these terms")
    }
}

/// Verifies a credential at its own price and within its own lifetime, without checking who issued the challenge or
/// whether it matches a current quote. Only for joining an existing claim. `None` if the payer's key did not sign it.
pub fn verify_for_replay(
    credential: Credential,
    payee: &BasePayee,
    recovery: SignatureRecovery,
) -> Option<VerifiedCredential> {
    verify_offline_for_replay(credential, payee, recovery)?.proven().ok()
}

/// As [`verify_for_replay`], for a credential whose signature only the chain may be able to verify.
pub fn verify_offline_for_replay(
    credential: Credential,
    payee: &BasePayee,
    recovery: SignatureRecovery,
) -> Option<OfflineVerification<VerifiedCredential>> {
    let (amount, now) = signed_amount_and_window(&credential.payload)?;
    let demand = EvmRequirements {
        payee,
        domain: &payee.mpp_domain_separator,
        amount,
        max_timeout_seconds: 0,
        now: now.seconds(),
    };
    verify_credential(credential, &demand, recovery).ok()
}

/// The nonce that a payment for this challenge must have.
pub fn nonce(id: &str, realm: &str) -> [u8; 32] {
    keccak([id, realm].concat().as_bytes())
}

/// Checks the payment of a credential: bound to its challenge, from the named source, and valid.
fn verify_credential(
    credential: Credential,
    demand: &EvmRequirements<'_>,
    recovery: SignatureRecovery,
) -> Result<OfflineVerification<VerifiedCredential>, CredentialError> {
    let Credential {
        challenge,
        payload,
        source,
    } = credential;
    let failed = |detail: &'static str| CredentialError::new(MppProblem::VerificationFailed, detail);
    let nonce = nonce(&challenge.id, &challenge.realm);
    if !payload
        .authorization
        .nonce
        .eq_ignore_ascii_case(&format!("0x{}", hex::encode(nonce)))
    {
        return Err(failed("`nonce` is not the hash of the challenge's id and realm"));
    }
    if let Some(source) = source
        && !names(&source, demand.payee.chain_id, &payload.authorization.from)
    {
        return Err(failed("`source` is not the payer on this chain"));
    }
    let expires_s = challenge.expires().map_or(0, Timestamp::seconds);
    let mut key = [0; 16];
    key.copy_from_slice(&nonce[..16]);
    let judged = verify_offline(&payload, demand, recovery)?;
    Ok(judged.map(|authorization| VerifiedCredential {
        authorization,
        challenge: challenge.id,
        single_use_key: (key, expires_s + 1),
    }))
}

/// Whether the source is `did:pkh:eip155:`, the chain id and this address.
fn names(source: &str, chain_id: u64, address: &str) -> bool {
    let parts = source
        .strip_prefix("did:pkh:eip155:")
        .and_then(|rest| rest.split_once(':'));
    parts.is_some_and(|(chain, named)| {
        let named = parse_address(named);
        chain == chain_id.to_string() && named.is_some() && named == parse_address(address)
    })
}

fn on_base(terms: &Terms) -> Option<(&BasePayee, &Terms)> {
    match &terms.payee {
        Payee::Base(payee) => Some((payee, terms)),
        Payee::Solana(_) => None,
    }
}
