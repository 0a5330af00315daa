//! Interprets a facilitator's HTTP response from its status and body. No I/O. HTTP 200 does not mean settled, and no
//! response proves a transfer: only the chain shows that.

use purser_actors::id::Network;
use purser_actors::port::Decline;
use purser_chains::solana::address::parse_base58;
use serde_json::Value;

use super::reasons::{ReasonClass, classify};

/// The meaning of a response to `/verify`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum VerifyResult {
    /// The facilitator would settle it.
    Valid,
    /// It would not settle it.
    Declined(Decline),
    /// The response reports a used payment: the chain shows by which transaction.
    Used,
    /// The response allows no conclusion.
    Unknown(String),
}

/// The meaning of a response to `/settle`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SettleResult {
    /// The facilitator reports a settlement by this transaction.
    Reported(String),
    /// It reports that the payment was not executed.
    Declined(Decline),
    /// The response reports a used payment: the chain shows by which transaction.
    Used,
    /// The response allows no conclusion: the payment may be on the chain, or get there.
    Unknown {
        /// A transaction that the response names.
        transaction: Option<String>,
        /// Reason for the log.
        reason: String,
    },
}

/// The chain to which a response must refer.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpectedNetwork {
    pub(super) network: Network,
    pub(super) caip2: &'static str,
}

impl ExpectedNetwork {
    /// Whether a text has the format of a transaction id: 32 bytes in hexadecimal on Base, 64 bytes in base58 on
    /// Solana.
    fn is_transaction(self, text: &str) -> bool {
        match self.network {
            Network::Base => text
                .strip_prefix("0x")
                .is_some_and(|digits| digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())),
            Network::Solana => parse_base58::<64>(text).is_some(),
        }
    }

    fn transaction(self, body: &Value) -> Option<&str> {
        body.get("transaction")?
            .as_str()
            .filter(|text| self.is_transaction(text))
    }
}

fn text<'a>(body: &'a Value, keys: &[&str]) -> &'a str {
    let mut found = keys.iter().filter_map(|key| body.get(key)?.as_str());
    found.find(|text| !text.is_empty()).unwrap_or_default()
}

const fn is_success(status: u16) -> bool {
    matches!(status, 200..=299)
}

/// Whether a body with this status may decline. A server error can occur before or after an effect.
const fn may_decline(status: u16) -> bool {
    is_success(status) || matches!(status, 400..=499)
}

/// Interprets a response to `/verify`.
pub(super) fn verified(status: u16, body: &[u8], expected: ExpectedNetwork) -> VerifyResult {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return VerifyResult::Unknown(format!("status {status} without JSON"));
    };
    match body.get("isValid").and_then(Value::as_bool) {
        Some(true) if is_success(status) => VerifyResult::Valid,
        Some(false) if may_decline(status) => {
            let reason = text(&body, &["invalidReason"]);
            let message = text(&body, &["invalidMessage", "invalidReasonDetails"]);
            match classify(expected.network, reason, message) {
                ReasonClass::Declined(decline) => VerifyResult::Declined(decline),
                ReasonClass::Used => VerifyResult::Used,
                ReasonClass::Unknown => {
                    VerifyResult::Unknown(format!("status {status}, invalidReason {}", excerpt(reason)))
                }
            }
        }
        _ => VerifyResult::Unknown(format!("status {status} without a verdict")),
    }
}

/// Interprets a response to `/settle`.
pub(super) fn settled(status: u16, body: &[u8], expected: ExpectedNetwork) -> SettleResult {
    let unknown = |transaction: Option<&str>, reason: String| SettleResult::Unknown {
        transaction: transaction.map(str::to_owned),
        reason,
    };
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return unknown(None, format!("status {status} without JSON"));
    };
    let transaction = expected.transaction(&body);
    match body.get("success").and_then(Value::as_bool) {
        Some(true) if is_success(status) => {
            let network = text(&body, &["network"]);
            match transaction {
                _ if network != expected.caip2 => {
                    unknown(None, format!("success on another network: {}", excerpt(network)))
                }
                None => unknown(None, "success without a transaction of this network".to_owned()),
                Some(transaction) => SettleResult::Reported(transaction.to_owned()),
            }
        }
        Some(false) if may_decline(status) => {
            let reason = text(&body, &["errorReason"]);
            match classify(expected.network, reason, text(&body, &["errorMessage"])) {
                ReasonClass::Declined(decline) => SettleResult::Declined(decline),
                ReasonClass::Used => SettleResult::Used,
                ReasonClass::Unknown => {
                    unknown(transaction, format!("status {status}, errorReason {}", excerpt(reason)))
                }
            }
        }
        _ => unknown(transaction, format!("status {status} without an outcome")),
    }
}

/// External text for the log: bounded, and without control characters.
pub(super) fn excerpt(text: &str) -> String {
    const MOST: usize = 100;
    let shown: String = text.chars().filter(|letter| !letter.is_control()).take(MOST).collect();
    format!("{shown:?}")
}

#[cfg(test)]
mod tests;
