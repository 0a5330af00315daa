//! Simulation of transactions.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::super::address::{Pubkey, base58};
use super::super::status::Commitment;
use super::super::transaction::without_signatures;
use super::{Node, NodeError, Simulation, decode};

const SIMULATE: &str = "simulateTransaction";

impl Node {
    /// Simulates a signed transaction with signature verification and its own blockhash.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn simulate(&self, bytes: &[u8], commitment: Commitment) -> Result<Simulation, NodeError> {
        self.simulate_bytes(bytes, true, None, commitment).await
    }

    /// Simulates a transaction without its signatures. An endpoint that sees them could send it and report a failure.
    /// `shown`: the account whose state after the transaction is part of the result.
    ///
    /// # Errors
    /// See [`NodeError`]; `Malformed` also if the bytes are not a transaction.
    pub async fn simulate_unsigned(
        &self,
        bytes: &[u8],
        shown: Option<&Pubkey>,
        commitment: Commitment,
    ) -> Result<Simulation, NodeError> {
        let unsigned = without_signatures(bytes).map_err(|_| NodeError::Malformed {
            method: SIMULATE,
            what: "the transaction to simulate",
        })?;
        self.simulate_bytes(&unsigned, false, shown, commitment).await
    }

    async fn simulate_bytes(
        &self,
        bytes: &[u8],
        verify: bool,
        shown: Option<&Pubkey>,
        commitment: Commitment,
    ) -> Result<Simulation, NodeError> {
        let mut options = json!({"encoding": "base64", "sigVerify": verify, "commitment": commitment.name()});
        if let Some(account) = shown {
            options["accounts"] = json!({"encoding": "base64", "addresses": [base58(account)]});
        }
        let params = json!([STANDARD.encode(bytes), options]);
        decode::simulation(SIMULATE, &self.pool.call(SIMULATE, params).await?)
    }
}
