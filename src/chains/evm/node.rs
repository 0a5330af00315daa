//! Typed calls of an Ethereum node over an [`RpcPool`].

mod agreement;
mod blocks;
mod fees;
mod parse;
mod payers;
mod proofs;
mod replies;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::{Value, json};

use super::blocks::Header;
use super::nonces::SendReply;
use super::usdc::Log;
use crate::rpc::{Call, RpcError, RpcPool};

pub use agreement::Disagreement;
pub use fees::{FeePolicy, FeeQuote};
pub use payers::{BalanceAt, PayerState};
pub use replies::send_reply;

/// Why a call has no typed result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NodeError {
    /// See [`RpcError`].
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// The result is not what the method returns.
    #[error("malformed result of {method}")]
    Malformed {
        /// Of JSON-RPC.
        method: &'static str,
    },
}

/// Why `eth_call` or `eth_estimateGas` has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The contract or the EVM ended the call.
    #[error("the call reverted: {reason}")]
    Reverted {
        /// What the contract returned; empty if the node does not report it.
        data: Bytes,
        /// The contract's text, else the node's; at most 512 bytes.
        reason: String,
    },
    /// No answer from which anything follows.
    #[error(transparent)]
    Node(#[from] NodeError),
}

/// Which state or block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockTag {
    /// Of this height.
    Number(u64),
    /// With the node's pool of transactions.
    Pending,
    /// Newest.
    Latest,
    /// The chain's own level `safe`.
    Safe,
    /// The chain's own level `finalized`.
    Finalized,
}

/// A call of `eth_call` or `eth_estimateGas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRequest {
    /// `msg.sender`; it pays for the gas of an estimate.
    pub from: Address,
    /// The contract.
    pub to: Address,
    /// Calldata.
    pub data: Bytes,
    /// Gas limit.
    pub gas: u64,
}

/// Which logs to read: of one contract, with one of these topics at each position; an empty list admits all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilter {
    /// The contract.
    pub address: Address,
    /// At most four positions.
    pub topics: Vec<Vec<B256>>,
}

/// A block and its logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockLogs {
    /// See [`Header`].
    pub header: Header,
    /// By their index.
    pub logs: Vec<Log>,
}

/// What became of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Of the transaction.
    pub transaction: B256,
    /// Block that contains it.
    pub block_number: u64,
    /// Block that contains it.
    pub block_hash: B256,
    /// False if it reverted.
    pub success: bool,
    /// Gas units.
    pub gas_used: u64,
    /// What it cost, in wei, with Base's L1 fee.
    pub cost: U256,
    /// By their index.
    pub logs: Vec<Log>,
}

/// What one endpoint answered to a raw transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendAnswer {
    /// Host of the endpoint.
    pub host: String,
    /// Its answer.
    pub reply: SendReply,
    /// Its error, for the operator.
    pub error: Option<String>,
}

/// The nodes of one chain.
#[derive(Clone, Debug)]
pub struct Node {
    pool: Arc<RpcPool>,
}

impl Node {
    /// Over these endpoints.
    pub const fn new(pool: Arc<RpcPool>) -> Self {
        Self { pool }
    }

    /// The endpoints.
    pub fn pool(&self) -> &RpcPool {
        &self.pool
    }

    /// EIP-155 chain id of one endpoint, by its position in the settings.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn chain_id(&self, endpoint: usize) -> Result<u64, NodeError> {
        let method = "eth_chainId";
        let result = self.pool.call_on(endpoint, method, json!([])).await?;
        parse::u64(&result).ok_or(NodeError::Malformed { method })
    }

    /// Header of a block; `None` if no endpoint has it.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn header(&self, tag: BlockTag) -> Result<Option<Header>, NodeError> {
        let method = "eth_getBlockByNumber";
        let params = json!([parse::tag(tag), false]);
        let result = self.pool.call_where(method, params, |value| !value.is_null()).await?;
        if result.is_null() {
            return Ok(None);
        }
        parse::header(&result).ok_or(NodeError::Malformed { method }).map(Some)
    }

    /// Each endpoint's newest header, in the order of the settings. Their heights are recorded for the pool's choice.
    pub async fn heads(&self) -> Vec<Result<Header, NodeError>> {
        let method = "eth_getBlockByNumber";
        let answers = self.pool.call_each(method, json!(["latest", false])).await;
        let header = |answer: crate::rpc::EndpointAnswer| {
            let header = parse::header(&answer.result?).ok_or(NodeError::Malformed { method })?;
            self.pool.observe_height(answer.endpoint, header.number);
            Ok(header)
        };
        answers.into_iter().map(header).collect()
    }

    /// Logs of the blocks from the first to the last of these heights that a filter admits, by block and index. Endpoints limit
    /// how many blocks they look through at once, many to 10,000.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn logs(&self, filter: &LogFilter, (from, to): (u64, u64)) -> Result<Vec<Log>, NodeError> {
        let call = parse::logs_between(filter, from, to);
        let method = call.method;
        let found = self.pool.call(method, call.params).await?;
        parse::any_logs(&found).ok_or(NodeError::Malformed { method })
    }

    /// What a call returns in this state.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn call(&self, request: &CallRequest, tag: BlockTag) -> Result<Bytes, CallError> {
        let method = "eth_call";
        let params = json!([parse::call(request), parse::tag(tag)]);
        let result = self.pool.call(method, params).await.map_err(replies::call_error)?;
        parse::bytes(&result).ok_or_else(|| NodeError::Malformed { method }.into())
    }

    /// Gas that a call needs in the newest state, at most the request's limit.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn estimate_gas(&self, request: &CallRequest) -> Result<u64, CallError> {
        let method = "eth_estimateGas";
        let params = json!([parse::call(request)]);
        let result = self.pool.call(method, params).await.map_err(replies::call_error)?;
        parse::u64(&result).ok_or_else(|| NodeError::Malformed { method }.into())
    }

    /// Whether these addresses have code now, a delegation of EIP-7702 included. One request for 100 addresses.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn have_code(&self, addresses: &[Address]) -> Result<Vec<bool>, NodeError> {
        let method = "eth_getCode";
        let call = |address: &Address| Call {
            method,
            params: json!([parse::text(address), "latest"]),
        };
        let calls: Vec<Call> = addresses.iter().map(call).collect();
        let results = self.pool.batch(&calls).await?;
        let has_code = |result: Result<Value, RpcError>| {
            let code = parse::bytes(&result?).ok_or(NodeError::Malformed { method })?;
            Ok(!code.is_empty())
        };
        results.into_iter().map(has_code).collect()
    }

    /// Ether of an address, in wei.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn balance(&self, address: Address, tag: BlockTag) -> Result<U256, NodeError> {
        let method = "eth_getBalance";
        let result = self
            .pool
            .call(method, json!([parse::text(address), parse::tag(tag)]))
            .await?;
        parse::u256(&result).ok_or(NodeError::Malformed { method })
    }

    /// How many transactions of an address the chain has: the next nonce.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn transaction_count(&self, address: Address, tag: BlockTag) -> Result<u64, NodeError> {
        let method = "eth_getTransactionCount";
        let result = self
            .pool
            .call(method, json!([parse::text(address), parse::tag(tag)]))
            .await?;
        parse::u64(&result).ok_or(NodeError::Malformed { method })
    }

    /// The price of a transaction that should land in one of the next blocks, by the last five.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn fees(&self, policy: FeePolicy) -> Result<FeeQuote, NodeError> {
        let method = "eth_feeHistory";
        let result = self.pool.call(method, json!(["0x5", "latest", [50]])).await?;
        fees::quote(&result, policy).ok_or(NodeError::Malformed { method })
    }

    /// Sends a signed transaction to every endpoint. `hash` is its hash: an endpoint that answers with another one has not
    /// confirmed this transaction.
    pub async fn send_raw(&self, bytes: &[u8], hash: B256) -> Vec<SendAnswer> {
        let params = json!([parse::text(Bytes::copy_from_slice(bytes))]);
        let answers = self.pool.send_to_all("eth_sendRawTransaction", params).await;
        let answer = |answer: crate::rpc::EndpointAnswer| SendAnswer {
            host: answer.host,
            reply: send_reply(&answer.result, hash),
            error: answer.result.err().map(|error| error.to_string()),
        };
        answers.into_iter().map(answer).collect()
    }

    /// What became of a transaction by the first endpoint that knows it; `None` if none does.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn receipt(&self, hash: B256) -> Result<Option<Receipt>, NodeError> {
        let method = "eth_getTransactionReceipt";
        let result = self
            .pool
            .call_where(method, json!([parse::text(hash)]), |value| !value.is_null())
            .await?;
        receipt_of(&result, hash)
    }

    /// Each endpoint's own answer, in the order of the settings, for proofs that need two.
    pub async fn receipts_of_each(&self, hash: B256) -> Vec<Result<Option<Receipt>, NodeError>> {
        let answers = self
            .pool
            .call_each("eth_getTransactionReceipt", json!([parse::text(hash)]))
            .await;
        answers
            .into_iter()
            .map(|answer| receipt_of(&answer.result?, hash))
            .collect()
    }
}

fn receipt_of(result: &Value, hash: B256) -> Result<Option<Receipt>, NodeError> {
    let method = "eth_getTransactionReceipt";
    if result.is_null() {
        return Ok(None);
    }
    let receipt = parse::receipt(result).filter(|receipt| receipt.transaction == hash);
    receipt.ok_or(NodeError::Malformed { method }).map(Some)
}
