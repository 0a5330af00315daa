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
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// The result is not what the method returns.
    #[error("malformed result of {method}")]
    Malformed { method: &'static str },
}

/// Why `eth_call` or `eth_estimateGas` has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The contract or the EVM ended the call.
    #[error("the call reverted: {reason}")]
    Reverted {
        /// Data returned by the contract; empty if the node does not report it.
        data: Bytes,
        /// The contract's error text, otherwise the node's; at most 512 bytes.
        reason: String,
    },
    /// No response that allows a conclusion.
    #[error(transparent)]
    Node(#[from] NodeError),
}

/// The state or block of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockTag {
    /// The block of this height.
    Number(u64),
    /// Newest state, including the node's transaction pool.
    Pending,
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
    /// Address of the contract.
    pub to: Address,
    pub data: Bytes,
    /// Gas limit of the call.
    pub gas: u64,
}

/// A filter for the logs of one contract. Each position lists the admitted topics; an empty list admits all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilter {
    /// Address of the contract.
    pub address: Address,
    /// Admitted topics; at most four positions.
    pub topics: Vec<Vec<B256>>,
}

/// A block and its logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockLogs {
    /// Header of the block.
    pub header: Header,
    /// Logs in the order of their index.
    pub logs: Vec<Log>,
}

/// The result of an included transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub transaction: B256,
    /// Height of the block that contains it.
    pub block_number: u64,
    /// Hash of the block that contains it.
    pub block_hash: B256,
    /// False if it reverted.
    pub success: bool,
    /// Gas used, in units.
    pub gas_used: u64,
    /// Cost in wei, including Base's L1 fee.
    pub cost: U256,
    /// Logs in the order of their index.
    pub logs: Vec<Log>,
}

/// One endpoint's response to a raw transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendAnswer {
    /// Host of the endpoint.
    pub host: String,
    pub reply: SendReply,
    /// Error text, for the operator.
    pub error: Option<String>,
}

/// The nodes of one chain.
#[derive(Clone, Debug)]
pub struct Node {
    pool: Arc<RpcPool>,
}

impl Node {
    /// Creates a client over these endpoints.
    pub const fn new(pool: Arc<RpcPool>) -> Self {
        Self { pool }
    }

    /// The pool of endpoints.
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

    /// Each endpoint's newest header, in the order of the settings. Records their heights, so that the pool can rank
    /// them.
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

    /// Logs that a filter admits in the blocks of this height range (inclusive), by block and index. Endpoints limit
    /// the number of blocks per search, many to 10,000.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn logs(&self, filter: &LogFilter, (from, to): (u64, u64)) -> Result<Vec<Log>, NodeError> {
        let call = parse::logs_between(filter, from, to);
        let method = call.method;
        let found = self.pool.call(method, call.params).await?;
        parse::any_logs(&found).ok_or(NodeError::Malformed { method })
    }

    /// The result of a call in this state.
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

    /// Whether each of these addresses has code now, including an EIP-7702 delegation. One request per 100 addresses.
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

    /// Ether balance of an address, in wei.
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

    /// Number of transactions of an address on the chain, which is its next nonce.
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

    /// The price for inclusion in one of the next blocks, from the last five blocks.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn fees(&self, policy: FeePolicy) -> Result<FeeQuote, NodeError> {
        let method = "eth_feeHistory";
        let result = self.pool.call(method, json!(["0x5", "latest", [50]])).await?;
        fees::quote(&result, policy).ok_or(NodeError::Malformed { method })
    }

    /// Sends a signed transaction to every endpoint. `hash` is its hash: an endpoint that responds with another one has
    /// not confirmed this transaction.
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

    /// Receipt of a transaction from the first endpoint that has it; `None` if none has.
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

    /// Each endpoint's own response, in the order of the settings, for proofs that need two.
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
