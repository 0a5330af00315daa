//! Maps a facilitator's reasons to the codes that clients branch on.

use purser_actors::id::Network;
use purser_actors::port::Decline;

const INSUFFICIENT: &str = "insufficient_funds";

/// The meaning of a facilitator's reason for the payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReasonClass {
    /// The chain would not execute the payment in its current state, or the facilitator does not accept it.
    Declined(Decline),
    /// The payment has been used, or is being settled: only the chain shows by which transaction.
    Used,
    /// The outcome is unknown.
    Unknown,
}

/// Reasons of the x402 specification, `@x402/core`, `@x402/evm`, `@x402/svm` and x402-rs, with the code that each maps
/// to. `None` means "used", see [`ReasonClass::Used`].
const KNOWN: [(&str, Option<&str>); 18] = [
    ("insufficient_funds", Some(INSUFFICIENT)),
    ("insufficient_balance", Some(INSUFFICIENT)),
    ("invalid_exact_evm_insufficient_balance", Some(INSUFFICIENT)),
    (
        "invalid_exact_evm_payload_signature",
        Some("invalid_exact_evm_signature"),
    ),
    ("invalid_exact_evm_nonce_already_used", None),
    ("invalid_transaction_state", None),
    ("duplicate_settlement", None),
    ("nonce_already_used", None),
    ("invalid_signature", Some("_signature")),
    ("invalid_payment_expired", Some("_payload_authorization_valid_before")),
    ("invalid_payment_early", Some("_payload_authorization_valid_after")),
    ("transaction_simulation", Some("_transaction_simulation_failed")),
    ("eip6492_factory_not_allowed", Some("_transaction_simulation_failed")),
    ("asset_not_deployed_contract", Some("_transaction_simulation_failed")),
    ("permit2_allowance_required", Some("_transaction_simulation_failed")),
    ("invalid_exact_evm_transfer_event_mismatch", Some("_transaction_failed")),
    ("invalid_exact_evm_transaction_failed", Some("_transaction_failed")),
    ("invalid_exact_svm_transaction_failed", Some("_transaction_failed")),
];

/// Reasons about the request or the facilitator itself: the payer cannot change them.
const REQUEST_FAULTS: [&str; 4] = [
    "_fee_payer_not_managed_by_facilitator",
    "_missing_eip712_domain",
    "_network_mismatch",
    "_unsupported_asset",
];

/// Classifies a reason. Unlisted ones are [`ReasonClass::Unknown`].
pub(super) fn classify(network: Network, reason: &str, message: &str) -> ReasonClass {
    let prefix = match network {
        Network::Base => "invalid_exact_evm",
        Network::Solana => "invalid_exact_svm",
    };
    let declined = |reason: &str| {
        ReasonClass::Declined(Decline {
            reason: reason.into(),
            message: if message.is_empty() { reason } else { message }.into(),
        })
    };
    if let Some((_, becomes)) = KNOWN.iter().find(|(known, _)| *known == reason) {
        return match becomes {
            None => ReasonClass::Used,
            Some(suffix) if suffix.starts_with('_') => declined(&format!("{prefix}{suffix}")),
            Some(whole) => declined(whole),
        };
    }
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let plain = reason.len() <= 100 && reason.bytes().all(is_word);
    let has_prefix = reason.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('_'));
    match plain && has_prefix && !REQUEST_FAULTS.iter().any(|fault| reason.ends_with(fault)) {
        true => declined(reason),
        false => ReasonClass::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: each form of a reason maps to the code in the contract; "used" requires a look at the chain. A reason
    // about the facilitator, or an unlisted one, is not a decline.
    #[test]
    fn reasons_are_mapped_to_codes_for_clients() {
        let base = [
            ("insufficient_funds", "insufficient_funds"),
            ("invalid_exact_evm_insufficient_balance", "insufficient_funds"),
            ("invalid_exact_evm_payload_signature", "invalid_exact_evm_signature"),
            ("invalid_exact_evm_signature", "invalid_exact_evm_signature"),
            (
                "invalid_payment_expired",
                "invalid_exact_evm_payload_authorization_valid_before",
            ),
            (
                "invalid_exact_evm_payload_authorization_valid_after",
                "invalid_exact_evm_payload_authorization_valid_after",
            ),
            (
                "eip6492_factory_not_allowed",
                "invalid_exact_evm_transaction_simulation_failed",
            ),
            (
                "invalid_exact_evm_transaction_failed",
                "invalid_exact_evm_transaction_failed",
            ),
        ];
        let reads = |network, reason: &str| classify(network, reason, "why");
        for (reason, becomes) in base {
            let ReasonClass::Declined(decline) = reads(Network::Base, reason) else {
                unreachable!("{reason} is a decline")
            };
            assert_eq!((&*decline.reason, &*decline.message), (becomes, "why"), "{reason}");
        }
        let solana = "invalid_exact_svm_transaction_simulation_failed";
        assert!(matches!(reads(Network::Solana, solana), ReasonClass::Declined(decline) if &*decline.reason == solana));
        for used in [
            "invalid_exact_evm_nonce_already_used",
            "duplicate_settlement",
            "invalid_transaction_state",
        ] {
            assert_eq!(reads(Network::Base, used), ReasonClass::Used, "{used}");
        }
        let unknown = [
            "settlement_pending",
            "unexpected_settle_error",
            "unexpected_error",
            "unsupported_scheme",
            "invalid_network",
            "",
            "invalid_exact_evm",
            "invalid_exact_svm_transaction_simulation_failed",
            "invalid_exact_evm_<script>",
            "invalid_exact_svm_fee_payer_not_managed_by_facilitator",
        ];
        for reason in unknown {
            assert_eq!(reads(Network::Base, reason), ReasonClass::Unknown, "{reason}");
        }
        let fault = "invalid_exact_svm_fee_payer_not_managed_by_facilitator";
        assert_eq!(reads(Network::Solana, fault), ReasonClass::Unknown);
    }
}
