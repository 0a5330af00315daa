//! Status of a transaction as reported by a node.

use serde_json::Value;

/// Commitment of a block. Ordered: later variants are more certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Commitment {
    /// The node has executed the block; the block may be on a fork.
    Processed,
    /// Two thirds of the stake have voted for the block.
    Confirmed,
    /// At least 31 confirmed blocks are on top: irreversible.
    Finalized,
}

impl Commitment {
    /// Name in JSON-RPC.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Processed => "processed",
            Self::Confirmed => "confirmed",
            Self::Finalized => "finalized",
        }
    }

    /// Parses the result of [`Self::name`].
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Processed, Self::Confirmed, Self::Finalized]
            .into_iter()
            .find(|level| level.name() == name)
    }
}

/// Why the chain executed a transaction without its effects. The fee is charged nevertheless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionError {
    /// The node's JSON, at most [`TransactionError::MAX_TEXT`] bytes; external text.
    pub text: String,
    /// Index of the instruction that failed, if one did.
    pub instruction: Option<u8>,
    /// The program's own error number, if it has one.
    pub custom: Option<u32>,
}

/// SPL Token's error number for a balance that is too small.
pub const TOKEN_INSUFFICIENT_FUNDS: u32 = 1;
/// SPL Token's error number for a frozen account.
pub const TOKEN_ACCOUNT_FROZEN: u32 = 17;

impl TransactionError {
    /// Maximum size of the text in bytes.
    pub const MAX_TEXT: usize = 512;

    /// Parses the `err` value of a node. `None` for JSON `null`: no error.
    pub fn from_json(value: &Value) -> Option<Self> {
        if value.is_null() {
            return None;
        }
        let mut text = value.to_string();
        if text.len() > Self::MAX_TEXT {
            let end = (0..=Self::MAX_TEXT).rev().find(|end| text.is_char_boundary(*end));
            text.truncate(end.unwrap_or_default());
        }
        let failed = value.get("InstructionError").and_then(Value::as_array);
        let part = |index: usize| failed.and_then(|parts| parts.get(index));
        let small = |value: &Value| value.as_u64();
        Some(Self {
            text,
            instruction: part(0).and_then(small).and_then(|index| index.try_into().ok()),
            custom: part(1)
                .and_then(|error| error.get("Custom"))
                .and_then(small)
                .and_then(|number| number.try_into().ok()),
        })
    }

    /// Whether the blockhash is unknown or too old at that node.
    pub fn is_blockhash_not_found(&self) -> bool {
        self.text == "\"BlockhashNotFound\""
    }

    /// Whether the same transaction has been executed before.
    pub fn is_already_processed(&self) -> bool {
        self.text == "\"AlreadyProcessed\""
    }
}

/// A transaction that a node has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureStatus {
    /// Slot of the transaction's block.
    pub slot: u64,
    /// Commitment of the block.
    pub level: Commitment,
    /// Error of the execution; `None` if the transaction had effects.
    pub error: Option<TransactionError>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;
    use serde_json::json;

    #[test]
    fn errors_are_read() {
        let cases = [
            (json!({"InstructionError": [2, {"Custom": 17}]}), Some(2), Some(17)),
            (json!({"InstructionError": [0, "InvalidArgument"]}), Some(0), None),
            (json!({"InstructionError": [300, {"Custom": u64::MAX}]}), None, None),
            (json!("AlreadyProcessed"), None, None),
            (json!({"InsufficientFundsForRent": {"account_index": 0}}), None, None),
        ];
        for (value, instruction, custom) in cases {
            let error = TransactionError::from_json(&value).unwrap();
            assert_eq!((error.instruction, error.custom), (instruction, custom), "{value}");
        }
        assert_eq!(TransactionError::from_json(&Value::Null), None);
        assert!(
            TransactionError::from_json(&json!("AlreadyProcessed"))
                .unwrap()
                .is_already_processed()
        );
        assert!(
            TransactionError::from_json(&json!("BlockhashNotFound"))
                .unwrap()
                .is_blockhash_not_found()
        );
        let long = TransactionError::from_json(&json!("ä".repeat(600))).unwrap();
        assert!(long.text.len() <= TransactionError::MAX_TEXT);
    }

    #[test]
    fn levels_are_ordered() {
        assert!(Commitment::Processed < Commitment::Confirmed && Commitment::Confirmed < Commitment::Finalized);
        for level in [Commitment::Processed, Commitment::Confirmed, Commitment::Finalized] {
            assert_eq!(Commitment::parse(level.name()), Some(level));
        }
        assert_eq!(Commitment::parse("rooted"), None);
    }
}
