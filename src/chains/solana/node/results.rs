//! Results of the calls.

use serde_json::Value;

use super::super::address::{Pubkey, TOKEN};
use super::super::status::TransactionError;
use super::super::token::TokenAccount;
use crate::rpc::RpcError;

/// JSON-RPC error of a transaction whose preflight failed.
const PREFLIGHT_FAILED: i64 = -32002;

/// Why a call gave nothing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NodeError {
    /// No result from the endpoints.
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// A result of another form than documented.
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
    /// The hash.
    pub hash: [u8; 32],
    /// The last block height at which a transaction with it can execute.
    pub last_valid_block_height: u64,
    /// Slot of the answer.
    pub slot: u64,
}

/// How far an endpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainPosition {
    /// Slot.
    pub slot: u64,
    /// Number of blocks below it; slots without a block do not count.
    pub block_height: u64,
}

/// An account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Balance in lamports.
    pub lamports: u64,
    /// Program that owns it.
    pub owner: Pubkey,
    /// Whether it is a program.
    pub executable: bool,
    /// Content.
    pub data: Vec<u8>,
}

impl Account {
    /// Its state as an account of the SPL Token program. `None` for anything else, Token-2022 included.
    pub fn token_account(&self) -> Option<TokenAccount> {
        (self.owner == TOKEN).then(|| TokenAccount::parse(&self.data)).flatten()
    }
}

/// What a simulation shows.
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
    /// The account that was asked for, as the transaction would leave it. `None` also of a transaction that would fail, and of a node
    /// that shows no accounts.
    pub account: Option<Account>,
}

impl Simulation {
    /// Longest list of log lines.
    pub const MAX_LOGS: usize = 64;
}

/// What an endpoint did with a transaction. Only the chain shows whether it executes.
#[derive(Clone, Debug, PartialEq)]
pub enum SendOutcome {
    /// Taken for forwarding.
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
                // Some nodes give no `err`: the sentence of the runtime's error is all there is.
                _ if message.contains("already been processed") => SendOutcome::AlreadyProcessed,
                _ => SendOutcome::Unknown(RpcError::Rpc { code, message, data }),
            }
        }
        Err(error) => SendOutcome::Unknown(error),
    }
}
