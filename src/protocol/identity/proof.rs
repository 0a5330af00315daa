//! The signed response to a sign-in challenge: the `SIGN-IN-WITH-X` header (CAIP-122), decoded and checked.
//!
//! The signed message is not sent. It is rebuilt from the fields in each chain's format (EIP-4361 for Ethereum, its
//! Solana counterpart), and the signature is checked over that.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use purser_actors::id::{Network, Wallet};
use purser_actors::port::Timestamp;
use serde::Deserialize;

use super::challenge::Purpose;
use super::nonce::{CHALLENGE_LIFETIME_MS, Nonces, UsedNonceKey};
use super::origin::Origin;
use super::sign_in_error::SignInError;
use super::wallet_signature::{recover_eip191, verify_ed25519};
use crate::rfc3339;

/// Longest header value, in bytes; stock clients send about 700.
const MAX_HEADER_BYTES: usize = 8 * 1024;

/// Standard base64, padded or not: stock clients pad, some typed ones do not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The fields of a proof as they were sent. Only their form is checked.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SignInProof {
    /// Host and port the signer believes to sign in to.
    pub domain: String,
    /// The wallet, in its chain's form, as in the message.
    pub address: String,
    /// The sentence shown to the signer.
    pub statement: Option<String>,
    pub uri: String,
    /// Version of the message format: `1`.
    pub version: String,
    /// Chain of the signature (CAIP-2).
    pub chain_id: String,
    /// `eip191` or `ed25519`.
    #[serde(rename = "type")]
    pub kind: String,
    /// From the challenge.
    pub nonce: String,
    /// From the challenge, or the client's own time (RFC 3339).
    pub issued_at: String,
    /// From the challenge (RFC 3339).
    pub expiration_time: Option<String>,
    /// Time before which the message is invalid (RFC 3339).
    pub not_before: Option<String>,
    pub request_id: Option<String>,
    /// Resources as URIs.
    pub resources: Option<Vec<String>>,
    /// A more specific name of the signature type.
    pub signature_scheme: Option<String>,
    /// 0x hex on Ethereum, base58 on Solana.
    pub signature: String,
}

/// A wallet that proved its ownership. Before acting on it, the caller persists the nonce durably and rejects with
/// [`SignInError::NonceUsed`] if it was already there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifiedWallet {
    pub wallet: Wallet,
    /// The nonce to persist.
    pub nonce: UsedNonceKey,
}

impl SignInProof {
    /// Decodes a header value: standard base64 of JSON, at most 8 KiB. Unknown members are ignored. Repeated members
    /// and line breaks within a field are rejected.
    pub fn decode(header: &[u8]) -> Result<Self, SignInError> {
        if header.len() > MAX_HEADER_BYTES {
            return Err(SignInError::Header("longer than 8 KiB"));
        }
        let json = BASE64
            .decode(header)
            .map_err(|_| SignInError::Header("not standard base64"))?;
        let proof: Self =
            serde_json::from_slice(&json).map_err(|_| SignInError::Header("not the JSON of a sign-in proof"))?;
        // A line break inside a field could make one message read as two different sets of fields.
        if proof.texts().any(|text| text.contains(|c: char| c.is_control())) {
            return Err(SignInError::Header("a field contains a control character"));
        }
        Ok(proof)
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let required = [
            &self.domain,
            &self.address,
            &self.uri,
            &self.version,
            &self.chain_id,
            &self.kind,
            &self.nonce,
            &self.issued_at,
            &self.signature,
        ];
        let optional = [
            &self.statement,
            &self.expiration_time,
            &self.not_before,
            &self.request_id,
            &self.signature_scheme,
        ];
        let resources = self.resources.iter().flatten();
        required
            .into_iter()
            .chain(optional.into_iter().flatten())
            .chain(resources)
            .map(String::as_str)
    }

    /// The network that signed. The chain must be supported and must match the signature type.
    pub fn network(&self) -> Result<Network, SignInError> {
        let network = Network::ALL
            .into_iter()
            .find(|network| network.caip2() == self.chain_id);
        let network = network.ok_or(SignInError::UnsupportedChain)?;
        let (kind, scheme) = match network {
            Network::Base => ("eip191", "eip191"),
            Network::Solana => ("ed25519", "siws"),
        };
        if self.kind != kind {
            return Err(SignInError::ChainId);
        }
        match &self.signature_scheme {
            Some(named) if named != scheme => Err(SignInError::SignatureScheme),
            _ => Ok(network),
        }
    }

    /// The signed text: lines joined by LF, none at the end.
    pub fn message(&self, network: Network) -> String {
        let (account, chain) = match network {
            Network::Base => (
                "Ethereum",
                self.chain_id.strip_prefix("eip155:").unwrap_or(&self.chain_id),
            ),
            Network::Solana => (
                "Solana",
                self.chain_id.strip_prefix("solana:").unwrap_or(&self.chain_id),
            ),
        };
        let mut text = format!(
            "{} wants you to sign in with your {account} account:\n{}\n",
            self.domain, self.address
        );
        match (&self.statement, network) {
            (Some(statement), _) => text.extend(["\n", statement, "\n"]),
            // Without a statement, Ethereum retains the empty lines on both sides of it; Solana retains one.
            (None, Network::Base) => text.push('\n'),
            (None, Network::Solana) => {}
        }
        text.extend([
            "\nURI: ",
            &self.uri,
            "\nVersion: ",
            &self.version,
            "\nChain ID: ",
            chain,
        ]);
        text.extend(["\nNonce: ", &self.nonce, "\nIssued At: ", &self.issued_at]);
        let optional = [
            ("\nExpiration Time: ", &self.expiration_time),
            ("\nNot Before: ", &self.not_before),
            ("\nRequest ID: ", &self.request_id),
        ];
        for (label, value) in optional {
            if let Some(value) = value {
                text.extend([label, value]);
            }
        }
        if let Some(resources) = self.resources.as_ref().filter(|list| !list.is_empty()) {
            text.push_str("\nResources:");
            for resource in resources {
                text.extend(["\n- ", resource]);
            }
        }
        text
    }

    /// The wallet, if its signature over the message is valid.
    pub fn signer(&self) -> Result<Wallet, SignInError> {
        let network = self.network()?;
        let wallet: Wallet = self.address.parse().map_err(|_| SignInError::MalformedAddress)?;
        let message = self.message(network);
        match (network, wallet) {
            (Network::Base, Wallet::Evm(address)) => {
                let recovered = recover_eip191(&message, &self.signature)?;
                if recovered != address {
                    Err(SignInError::Signature)
                } else {
                    Ok(wallet)
                }
            }
            (Network::Solana, Wallet::Solana(key)) => verify_ed25519(&message, &key, &self.signature).map(|()| wallet),
            _ => Err(SignInError::MalformedAddress),
        }
    }
}

/// Checks proofs for one origin.
#[derive(Clone, Debug)]
pub struct ProofVerifier {
    origin: Origin,
    nonces: Nonces,
    /// What the message must say, unless it is a sign-in.
    purpose: Option<SignedPurpose>,
}

/// The parts of a message by which its signer sees what it is for.
#[derive(Clone, Debug)]
struct SignedPurpose {
    uri: String,
    statement: String,
}

impl ProofVerifier {
    /// For challenges made with the same origin and nonces.
    pub const fn new(origin: Origin, nonces: Nonces) -> Self {
        Self {
            origin,
            nonces,
            purpose: None,
        }
    }

    /// For challenges of a recovery. The signed message must say that it is for one, and its nonce too.
    pub fn for_recovery(origin: Origin, nonces: &Nonces) -> Self {
        let purpose = Purpose::Recovery;
        let signed = SignedPurpose {
            uri: format!("{}{}", origin.as_str(), purpose.path()),
            statement: purpose.statement(origin.domain()),
        };
        Self {
            nonces: nonces.of_path(purpose.path()),
            origin,
            purpose: Some(signed),
        }
    }

    /// Checks everything but nonce reuse: form, domain, URI, version, chain, times, our nonce, and last the signature,
    /// which costs the most. `issuedAt` may come from the client's clock, which may be off by up to five minutes. The
    /// nonce contains the age of the challenge.
    pub fn check(&self, header: &[u8], now: Timestamp) -> Result<VerifiedWallet, SignInError> {
        let proof = SignInProof::decode(header)?;
        if proof.domain != self.origin.domain() {
            return Err(SignInError::DomainMismatch);
        }
        if !self.origin.contains(&proof.uri) {
            return Err(SignInError::UriMismatch);
        }
        if let Some(purpose) = &self.purpose {
            if proof.uri != purpose.uri {
                return Err(SignInError::UriMismatch);
            }
            if proof.statement.as_ref() != Some(&purpose.statement) {
                return Err(SignInError::Statement);
            }
        }
        if proof.version != "1" {
            return Err(SignInError::Version);
        }
        proof.network()?;
        check_times(&proof, now)?;
        let (issued, nonce) = self.nonces.verify(&proof.nonce).ok_or(SignInError::Nonce)?;
        if issued > now {
            return Err(SignInError::IssuedInFuture);
        }
        if nonce.expires < now {
            return Err(SignInError::IssuedTooOld);
        }
        Ok(VerifiedWallet {
            wallet: proof.signer()?,
            nonce,
        })
    }
}

/// Checks that now is within the proof's validity.
fn check_times(proof: &SignInProof, now: Timestamp) -> Result<(), SignInError> {
    let issued = rfc3339::parse(&proof.issued_at).ok_or(SignInError::IssuedAt)?;
    if issued > now.plus_ms(CHALLENGE_LIFETIME_MS) {
        return Err(SignInError::IssuedInFuture);
    }
    if issued.plus_ms(CHALLENGE_LIFETIME_MS) < now {
        return Err(SignInError::IssuedTooOld);
    }
    if let Some(text) = &proof.expiration_time {
        let expires = rfc3339::parse(text).ok_or(SignInError::ExpirationTime)?;
        if expires <= now {
            return Err(SignInError::Expired);
        }
    }
    if let Some(text) = &proof.not_before {
        let not_before = rfc3339::parse(text).ok_or(SignInError::NotBefore)?;
        if not_before > now {
            return Err(SignInError::NotYetValid);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
