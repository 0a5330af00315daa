//! The body of a 402 for MPP clients: a problem document (RFC 9457) with one of the protocol's types.

use crate::payment::challenge::push_json_string;

/// Prefix of every type URI.
const TYPES: &str = "https://paymentauth.org/problems/";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MppProblem {
    /// No payment yet.
    PaymentRequired,
    /// The credential cannot be parsed.
    MalformedCredential,
    /// The credential answers no challenge that we issued for this request.
    InvalidChallenge,
    /// The payment is invalid.
    VerificationFailed,
    /// The payment arrived too late.
    PaymentExpired,
}

impl MppProblem {
    pub const ALL: [Self; 5] = [
        Self::PaymentRequired,
        Self::MalformedCredential,
        Self::InvalidChallenge,
        Self::VerificationFailed,
        Self::PaymentExpired,
    ];

    const fn slug_and_title(self) -> (&'static str, &'static str) {
        match self {
            Self::PaymentRequired => ("payment-required", "Payment Required"),
            Self::MalformedCredential => ("malformed-credential", "Malformed Credential"),
            Self::InvalidChallenge => ("invalid-challenge", "Invalid Challenge"),
            Self::VerificationFailed => ("verification-failed", "Verification Failed"),
            Self::PaymentExpired => ("payment-expired", "Payment Expired"),
        }
    }

    pub fn uri(self) -> String {
        [TYPES, self.slug_and_title().0].concat()
    }

    /// As the `error` of a 402, where x402 has no reason of its own.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::PaymentRequired => crate::payment::challenge::PAYMENT_REQUIRED_ERROR,
            Self::MalformedCredential => "malformed_credential",
            Self::InvalidChallenge => "invalid_challenge",
            Self::VerificationFailed => "verification_failed",
            Self::PaymentExpired => "payment_expired",
        }
    }

    /// The document's members without braces. `challenge` is the id of the fresh challenge.
    pub fn members(self, detail: &str, challenge: Option<&str>) -> String {
        let (slug, title) = self.slug_and_title();
        let mut json = format!("\"type\":\"{TYPES}{slug}\",\"title\":\"{title}\",\"status\":402,\"detail\":");
        push_json_string(&mut json, detail);
        if let Some(id) = challenge {
            json.push_str(",\"challengeId\":");
            push_json_string(&mut json, id);
        }
        json
    }
}
