//! Result types of the calls.

use serde_json::Value;

use super::super::address::{Pubkey, TOKEN};
use super::super::lifecycle::BLOCKHASH_BLOCKS;
use super::super::status::TransactionError;
use super::super::token::TokenAccount;
use crate::rpc::RpcError;

/// JSON-RPC error of a transaction whose preflight failed.
const PREFLIGHT_FAILED: i64 = -32002;

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NodeError {
    /// No result from the endpoints.
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// The result does not have the documented form.
    #[error("{method}: {what}")]
    Malformed {
        /// The JSON-RPC method.
        method: &'static str,
        /// What is wrong with its result.
        what: &'static str,
    },
}

/// A blockhash to build transactions with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blockhash {
    pub hash: [u8; 32],
    /// Last block height at which a transaction with it can execute.
    pub last_valid_block_height: u64,
    /// Slot of the response.
    pub slot: u64,
}

impl Blockhash {
    /// No transaction with this blockhash can have executed before this slot.
    pub const fn first_slot(&self) -> u64 {
        self.slot.saturating_sub(BLOCKHASH_BLOCKS)
    }
}

/// Position of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainPosition {
    /// Newest slot of the endpoint.
    pub slot: u64,
    /// Number of blocks below it; slots without a block do not count.
    pub block_height: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Balance in lamports.
    pub lamports: u64,
    /// Program that owns it.
    pub owner: Pubkey,
    /// Whether it is a program.
    pub executable: bool,
    /// Data of the account.
    pub data: Vec<u8>,
}

impl Account {
    /// Its state as an SPL Token account. `None` for any other account, including Token-2022.
    pub fn token_account(&self) -> Option<TokenAccount> {
        (self.owner == TOKEN).then(|| TokenAccount::parse(&self.data)).flatten()
    }
}

/// Result of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simulation {
    /// Slot of the bank that simulated.
    pub slot: u64,
    /// Why it would fail; `None` if it would execute now.
    pub error: Option<TransactionError>,
    /// Log lines, at most [`Simulation::MAX_LOGS`]; external text.
    pub logs: Vec<String>,
    /// Compute units used.
    pub units: Option<u64>,
    /// The requested account after the transaction. `None` also if the transaction would fail, or if the node shows no
    /// accounts.
    pub account: Option<Account>,
}

impl Simulation {
    /// Maximum number of log lines.
    pub const MAX_LOGS: usize = 64;
}

/// The result of sending to one endpoint. Only the chain shows whether the transaction executes.
#[derive(Clone, Debug, PartialEq)]
pub enum SendOutcome {
    /// Accepted for forwarding.
    Accepted,
    /// The endpoint knows the transaction as executed.
    AlreadyProcessed,
    /// Its preflight failed; this endpoint does not forward it now.
    Rejected(TransactionError),
    /// No conclusive answer: the endpoint may have forwarded the transaction.
    Unknown(RpcError),
}

pub(super) fn send_outcome(result: Result<Value, RpcError>) -> SendOutcome {
    match result {
        Ok(_) => SendOutcome::Accepted,
        Err(RpcError::Rpc { code, message, data }) => {
            let error = data.get("err").and_then(TransactionError::from_json);
            match error {
                Some(error) if error.is_already_processed() => SendOutcome::AlreadyProcessed,
                Some(error) if code == PREFLIGHT_FAILED => SendOutcome::Rejected(error),
                // Some nodes omit `err`: only the text of the runtime's error is available.
                _ if message.contains("already been processed") => SendOutcome::AlreadyProcessed,
                _ => SendOutcome::Unknown(RpcError::Rpc { code, message, data }),
            }
        }
        Err(error) => SendOutcome::Unknown(error),
    }
}
