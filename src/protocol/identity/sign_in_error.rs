//! Why a sign-in proof is rejected. Every rejection is answered with 402 and a fresh challenge, never 401.

use purser_actors::id::Network;

/// A rejected proof. The text is for people, [`SignInError::reason`] for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum SignInError {
    /// The header cannot be parsed.
    #[error("the SIGN-IN-WITH-X header is malformed: {0}")]
    Header(&'static str),
    /// Signed for another service.
    #[error("the message was signed for another domain")]
    DomainMismatch,
    /// Signed for another origin.
    #[error("the message's uri is not of this service")]
    UriMismatch,
    /// Signed for another purpose.
    #[error("the message's statement is not the one of the challenge")]
    Statement,
    /// Another message format.
    #[error("the message's version is not 1")]
    Version,
    /// Not Base, not Solana.
    #[error("the chain is not supported: sign with {} or {}", Network::Base.caip2(), Network::Solana.caip2())]
    UnsupportedChain,
    /// Chain and signature type contradict each other.
    #[error("the signature type does not belong to the chain: eip191 for {}, ed25519 for Solana", Network::Base.caip2())]
    ChainId,
    /// A contract wallet's signature, or an unknown scheme.
    #[error("the signature scheme is not supported: only externally owned accounts can sign in")]
    SignatureScheme,
    /// `issuedAt` cannot be parsed.
    #[error("issuedAt is not of the form YYYY-MM-DDTHH:MM:SS.mmmZ")]
    IssuedAt,
    /// `issuedAt` is more than five minutes later than now.
    #[error("issuedAt is more than 5 minutes in the future")]
    IssuedInFuture,
    /// Older than five minutes.
    #[error("the challenge is older than 5 minutes")]
    IssuedTooOld,
    /// `expirationTime` cannot be parsed.
    #[error("expirationTime is not of the form YYYY-MM-DDTHH:MM:SS.mmmZ")]
    ExpirationTime,
    /// `expirationTime` has passed.
    #[error("the message has expired")]
    Expired,
    /// `notBefore` cannot be parsed.
    #[error("notBefore is not of the form YYYY-MM-DDTHH:MM:SS.mmmZ")]
    NotBefore,
    /// `notBefore` is in the future.
    #[error("the message is not valid yet")]
    NotYetValid,
    /// Not a nonce that this service issued.
    #[error("the nonce was not issued by this service")]
    Nonce,
    /// The nonce was used before.
    #[error("the nonce has been used: sign the new challenge")]
    NonceUsed,
    /// The address is not one of its chain.
    #[error("the address is not a wallet of the chain")]
    MalformedAddress,
    /// Not the format of a signature: 65 bytes with low s on Ethereum, 64 bytes on Solana.
    #[error("the signature is malformed: 65 bytes with low s in 0x hex, or 64 bytes in base58")]
    MalformedSignature,
    /// Not this wallet's signature of this message.
    #[error("the signature does not match the address and message")]
    Signature,
}

impl SignInError {
    /// The reason text of the reference implementation of sign-in-with-x, or one in its style where it has none.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Header(_) => "invalid_siwx_header",
            Self::DomainMismatch => "invalid_siwx_domain_mismatch",
            Self::UriMismatch => "invalid_siwx_uri_mismatch",
            Self::Statement => "invalid_siwx_statement",
            Self::Version => "invalid_siwx_version",
            Self::UnsupportedChain => "invalid_siwx_unsupported_chain",
            Self::ChainId => "invalid_siwx_chain_id",
            Self::SignatureScheme => "invalid_siwx_signature_scheme",
            Self::IssuedAt => "invalid_siwx_issued_at",
            Self::IssuedInFuture => "invalid_siwx_issued_at_in_future",
            Self::IssuedTooOld => "invalid_siwx_issued_at_too_old",
            Self::ExpirationTime => "invalid_siwx_expiration_time",
            Self::Expired => "invalid_siwx_expired",
            Self::NotBefore => "invalid_siwx_not_before",
            Self::NotYetValid => "invalid_siwx_not_yet_valid",
            Self::Nonce | Self::NonceUsed => "invalid_siwx_nonce",
            Self::MalformedAddress => "invalid_siwx_address",
            Self::MalformedSignature => "invalid_siwx_malformed_signature",
            Self::Signature => "invalid_siwx_signature",
        }
    }
}
