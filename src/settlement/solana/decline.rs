//! Declines of the chain, as x402 error reasons.

use purser_actors::port::Decline;
use purser_chains::solana::status::{TOKEN_ACCOUNT_FROZEN, TOKEN_INSUFFICIENT_FUNDS, TransactionError};

/// `errorReason` of a payment whose simulation failed, as in the x402 reference.
const SIMULATION_FAILED: &str = "invalid_exact_svm_transaction_simulation_failed";
/// `errorReason` of a payment that failed on the chain.
const FAILED: &str = "invalid_exact_svm_transaction_failed";
const INSUFFICIENT: &str = "insufficient_funds";

pub(super) fn decline(reason: &str, message: &str) -> Decline {
    Decline {
        reason: reason.into(),
        message: message.into(),
    }
}

fn from_error(error: &TransactionError, otherwise: &str) -> Decline {
    match error.custom {
        Some(TOKEN_INSUFFICIENT_FUNDS) => insufficient(),
        Some(TOKEN_ACCOUNT_FROZEN) => decline(otherwise, "a token account is frozen"),
        _ => decline(otherwise, &error.text),
    }
}

/// The decline of a wallet whose balance is too low.
pub(super) fn insufficient() -> Decline {
    decline(INSUFFICIENT, "the wallet holds less than the amount")
}

/// The decline of a wallet that can cover this payment, but not together with its pending ones.
pub(super) fn insufficient_with_pending() -> Decline {
    let message = "the wallet holds less than this amount and its other payments in progress";
    decline(INSUFFICIENT, message)
}

/// Whether the fee payer (account 0 of every transaction) cannot pay. The payer is then not at fault.
pub(super) fn is_fee_payer_error(error: &TransactionError) -> bool {
    const FEE_PAYERS: [&str; 2] = ["AccountNotFound", "InsufficientFundsForFee"];
    let rent = error.text.contains("InsufficientFundsForRent") && error.text.contains("\"account_index\":0}");
    rent || FEE_PAYERS.iter().any(|known| error.text.trim_matches('"') == *known)
}

/// Whether the balance is too low.
pub(super) fn is_insufficient(decline: &Decline) -> bool {
    decline.reason == INSUFFICIENT
}

/// The decline of a payment that would fail now.
pub(super) fn simulated(error: &TransactionError) -> Decline {
    from_error(error, SIMULATION_FAILED)
}

/// The decline of a payment that has failed.
pub(super) fn on_chain(error: &TransactionError) -> Decline {
    from_error(error, FAILED)
}

/// The decline of a payment for which no fee is risked.
pub(super) fn not_accepted(message: &str) -> Decline {
    decline(SIMULATION_FAILED, message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;
    use serde_json::json;

    // Checks: clients can distinguish an empty wallet from other declines, before and after sending, and both from an
    // empty fee payer.
    #[test]
    fn an_empty_wallet_has_its_own_reason() {
        let read = |value| TransactionError::from_json(&value).unwrap();
        let custom = |number: u32| read(json!({"InstructionError": [2, {"Custom": number}]}));
        assert_eq!(simulated(&custom(1)).reason, INSUFFICIENT);
        assert_eq!(on_chain(&custom(1)).reason, INSUFFICIENT);
        assert_eq!(simulated(&custom(17)).reason, SIMULATION_FAILED);
        assert_eq!(on_chain(&custom(17)).reason, FAILED);
        for ours in [
            json!("AccountNotFound"),
            json!("InsufficientFundsForFee"),
            json!({"InsufficientFundsForRent": {"account_index": 0}}),
        ] {
            assert!(is_fee_payer_error(&read(ours.clone())), "{ours}");
        }
        let payers = json!({"InsufficientFundsForRent": {"account_index": 1}});
        assert!(!is_fee_payer_error(&read(payers)) && !is_fee_payer_error(&custom(1)));
        let missing = read(json!({"InstructionError": [2, "InvalidAccountData"]}));
        assert!(simulated(&missing).message.contains("InvalidAccountData"));
    }
}
