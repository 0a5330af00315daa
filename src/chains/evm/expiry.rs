//! Expiry proofs of EIP-3009 authorizations. No I/O.

use alloy_primitives::U256;

use super::blocks::Header;

/// Number of endpoints that must agree before a payment counts as one that can never settle.
pub const MIN_ENDPOINTS: usize = 2;

/// State of an authorization at one endpoint, in a final block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthorizationState {
    /// The final block.
    pub header: Header,
    /// `authorizationState` there: used or cancelled.
    pub used: bool,
}

/// Result from all endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpiryProof {
    /// It is used or cancelled; the logs show which.
    Used,
    /// It can never settle: two endpoints have a final block past `validBefore` in which it is unused.
    Expired,
    /// It may still settle, or too few endpoints answered.
    Unproven,
}

/// Evaluates the responses of different endpoints. `valid_before` is in seconds since the Unix epoch: the token only
/// accepts the authorization in earlier blocks, and block times never go back.
pub fn expiry_proof(valid_before: U256, answers: &[AuthorizationState]) -> ExpiryProof {
    if answers.iter().any(|answer| answer.used) {
        return ExpiryProof::Used;
    }
    let past = |answer: &&AuthorizationState| U256::from(answer.header.timestamp) >= valid_before;
    match answers.iter().filter(past).count() {
        MIN_ENDPOINTS.. => ExpiryProof::Expired,
        _ => ExpiryProof::Unproven,
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::B256;

    use super::*;

    fn state(timestamp: u64, used: bool) -> AuthorizationState {
        let header = Header {
            number: timestamp / 2,
            hash: B256::ZERO,
            parent: B256::ZERO,
            timestamp,
        };
        AuthorizationState { header, used }
    }

    #[test]
    fn expiry_needs_two_endpoints_past_the_end() {
        use ExpiryProof::{Expired, Unproven, Used};
        let table = [
            (vec![], Unproven),
            (vec![state(1_000, false)], Unproven),
            (vec![state(1_000, false), state(999, false)], Unproven),
            (vec![state(999, false), state(999, false)], Unproven),
            (vec![state(1_000, false), state(1_001, false)], Expired),
            (
                vec![state(1_000, false), state(998, false), state(1_000, false)],
                Expired,
            ),
            // The endpoint with the newest block decides.
            (vec![state(1_000, false), state(1_000, false), state(1_002, true)], Used),
            (vec![state(900, true)], Used),
        ];
        for (answers, expected) in table {
            assert_eq!(expiry_proof(U256::from(1_000), &answers), expected, "{answers:?}");
        }
        let never = [state(u64::MAX, false), state(u64::MAX, false)];
        assert_eq!(expiry_proof(U256::MAX, &never), Unproven);
    }
}
