//! Typed JSON-RPC calls of a Solana chain.
//!
//! Calls whose names end in `_on` query one endpoint; those ending in `_each` query all of them; the rest query the
//! healthiest one. Token and lamport amounts are integers throughout: floating-point fields of responses are not read.

mod decode;
pub mod movements;
mod rebuilt;
mod results;
mod simulating;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use serde_json::{Value, json};

use self::movements::ChainTransaction;
use self::results::send_outcome;
pub use self::results::{Account, Blockhash, ChainPosition, NodeError, SendOutcome, Simulation};
use super::address::{Pubkey, base58};
use super::follow::{Entry, History, PageRequest};
use super::lifecycle::{Absence, Evidence};
use super::status::{Commitment, SignatureStatus};
use super::token::TokenAccount;
use super::transaction::Signature;
use crate::rpc::{RpcError, RpcPool};

/// Maximum number of accounts of one `getMultipleAccounts`.
pub const MAX_ACCOUNTS: usize = 100;
const TRANSACTION: &str = "getTransaction";
/// Maximum number of signatures of one `getSignatureStatuses`.
pub const MAX_STATUSES: usize = 256;
/// JSON-RPC error of a node that has no block of a slot, or does not serve this transaction version.
const UNSUPPORTED_VERSION: i64 = -32015;

/// A Solana chain behind a pool of endpoints.
#[derive(Clone)]
pub struct Node {
    pool: Arc<RpcPool>,
}

impl Node {
    /// Creates a client for the chain that these endpoints serve.
    pub const fn new(pool: Arc<RpcPool>) -> Self {
        Self { pool }
    }

    /// Number of configured endpoints.
    pub fn endpoints(&self) -> usize {
        self.pool.len()
    }

    /// The pool of endpoints.
    pub const fn pool(&self) -> &Arc<RpcPool> {
        &self.pool
    }

    /// Genesis hash of every endpoint, by position: they must agree, and name the configured network.
    pub async fn genesis_hash_each(&self) -> Vec<Result<[u8; 32], NodeError>> {
        let answers = self.pool.call_each("getGenesisHash", json!([])).await;
        let decoded = |result: Result<Value, RpcError>| decode::hash("getGenesisHash", &result?);
        answers.into_iter().map(|answer| decoded(answer.result)).collect()
    }

    /// A recent blockhash at a commitment. At `confirmed` it is rarely on a fork and has almost its full validity left.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn latest_blockhash(&self, commitment: Commitment) -> Result<Blockhash, NodeError> {
        let method = "getLatestBlockhash";
        decode::blockhash(
            method,
            &self.pool.call(method, json!([commitment_config(commitment)])).await?,
        )
    }

    /// Like [`Self::latest_blockhash`], from one endpoint.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn latest_blockhash_on(&self, endpoint: usize, commitment: Commitment) -> Result<Blockhash, NodeError> {
        let method = "getLatestBlockhash";
        let result = self
            .pool
            .call_on(endpoint, method, json!([commitment_config(commitment)]))
            .await?;
        decode::blockhash(method, &result)
    }

    /// Whether a blockhash can be used now, and the slot of the response. `false` can also mean that the node does not
    /// know it yet.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn is_blockhash_valid(&self, hash: &[u8; 32], commitment: Commitment) -> Result<(bool, u64), NodeError> {
        let method = "isBlockhashValid";
        let accept = |result: &Value| result["value"] == json!(true);
        let params = json!([base58(hash), commitment_config(commitment)]);
        decode::valid(method, &self.pool.call_where(method, params, accept).await?)
    }

    /// Slot and block height of the healthiest endpoint.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn position(&self, commitment: Commitment) -> Result<ChainPosition, NodeError> {
        let method = "getEpochInfo";
        decode::position(
            method,
            &self.pool.call(method, json!([commitment_config(commitment)])).await?,
        )
    }

    /// Queries the newest slot of each endpoint, so that the pool can rank them. An endpoint that does not respond
    /// retains its last slot.
    pub async fn observe_slots(&self) {
        for answer in self
            .pool
            .call_each("getSlot", json!([commitment_config(Commitment::Confirmed)]))
            .await
        {
            if let Some(slot) = answer.result.ok().as_ref().and_then(Value::as_u64) {
                self.pool.observe_height(answer.endpoint, slot);
            }
        }
    }

    /// Slot and block height of one endpoint.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn position_on(&self, endpoint: usize, commitment: Commitment) -> Result<ChainPosition, NodeError> {
        let method = "getEpochInfo";
        decode::position(
            method,
            &self
                .pool
                .call_on(endpoint, method, json!([commitment_config(commitment)]))
                .await?,
        )
    }

    /// Statuses of signatures in their order from one endpoint, and the slot of its oldest response. Makes one call per
    /// [`MAX_STATUSES`]. Without `search_history`, only the last 150 slots or so are searched.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn statuses_on(
        &self,
        endpoint: usize,
        ids: &[Signature],
        search_history: bool,
    ) -> Result<(u64, Vec<Option<SignatureStatus>>), NodeError> {
        let method = "getSignatureStatuses";
        let (mut slot, mut statuses) = (u64::MAX, Vec::with_capacity(ids.len()));
        for part in ids.chunks(MAX_STATUSES) {
            let texts: Vec<String> = part.iter().map(|id| base58(id)).collect();
            let params = json!([texts, {"searchTransactionHistory": search_history}]);
            let result = self.pool.call_on(endpoint, method, params).await?;
            let (at, found) = decode::statuses(method, &result, part.len())?;
            slot = slot.min(at);
            statuses.extend(found);
        }
        Ok((slot, statuses))
    }

    /// What one endpoint knows of a transaction. The position is read first, so that the search of its history cannot
    /// be older. Three calls.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn evidence_on(&self, endpoint: usize, id: &Signature) -> Result<Evidence, NodeError> {
        let position = self.position_on(endpoint, Commitment::Finalized).await?;
        let first_available_slot = self.first_available_on(endpoint).await?;
        let (context_slot, mut found) = self.statuses_on(endpoint, &[*id], true).await?;
        Ok(match found.pop().flatten() {
            Some(status) => Evidence::Found { context_slot, status },
            None => Evidence::Absent(Absence {
                finalized_block_height: position.block_height,
                finalized_slot: position.slot,
                first_available_slot,
                context_slot,
            }),
        })
    }

    /// [`Self::evidence_on`] of every endpoint at once, by position.
    pub async fn evidence_each(&self, id: &Signature) -> Vec<Result<Evidence, NodeError>> {
        join_all((0..self.pool.len()).map(|endpoint| self.evidence_on(endpoint, id))).await
    }

    /// The range of one endpoint's history, to be read before a scan of [`super::follow::Follower`].
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn history_on(&self, endpoint: usize) -> Result<History, NodeError> {
        let first_available_slot = self.first_available_on(endpoint).await?;
        let finalized_slot = self.position_on(endpoint, Commitment::Finalized).await?.slot;
        Ok(History {
            first_available_slot,
            finalized_slot,
        })
    }

    /// First slot with blocks at one endpoint.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn first_available_on(&self, endpoint: usize) -> Result<u64, NodeError> {
        let method = "getFirstAvailableBlock";
        decode::number(method, &self.pool.call_on(endpoint, method, json!([])).await?)
    }

    /// One page of the transactions that name `address`, newest first, at `confirmed`.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn signatures_on(
        &self,
        endpoint: usize,
        address: &Pubkey,
        page: PageRequest,
    ) -> Result<Vec<Entry>, NodeError> {
        let method = "getSignaturesForAddress";
        let mut options = json!({"commitment": Commitment::Confirmed.name(), "limit": page.limit});
        for (name, id) in [("before", page.before), ("until", page.until)] {
            if let Some(id) = id {
                options[name] = json!(base58(&id));
            }
        }
        let params = json!([base58(address), options]);
        decode::signatures(method, &self.pool.call_on(endpoint, method, params).await?)
    }

    /// A transaction with the movements of one token account of an SPL mint; `None` if no endpoint has it at this
    /// commitment, which is at least `confirmed`.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn transaction(
        &self,
        id: &Signature,
        token_account: &Pubkey,
        mint: &Pubkey,
        commitment: Commitment,
    ) -> Result<Option<ChainTransaction>, NodeError> {
        let found = |result: &Value| !result.is_null();
        // A newer transaction version can still move tokens, and the JSON format does not depend on it.
        let result = match self
            .pool
            .call_where(TRANSACTION, transaction_params(id, 0, commitment), found)
            .await
        {
            Err(error) if is_unsupported(&error) => {
                let params = transaction_params(id, u8::MAX, commitment);
                self.pool.call_where(TRANSACTION, params, found).await?
            }
            other => other?,
        };
        movements(&result, id, token_account, mint)
    }

    /// Like [`Self::transaction`], from one endpoint.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn transaction_on(
        &self,
        endpoint: usize,
        id: &Signature,
        (token_account, mint): (&Pubkey, &Pubkey),
        commitment: Commitment,
    ) -> Result<Option<ChainTransaction>, NodeError> {
        let asked = |version| {
            self.pool
                .call_on(endpoint, TRANSACTION, transaction_params(id, version, commitment))
        };
        let result = match asked(0).await {
            Err(error) if is_unsupported(&error) => asked(u8::MAX).await?,
            other => other?,
        };
        movements(&result, id, token_account, mint)
    }

    /// Accounts in their order, `None` for missing ones, with the slot of the oldest response. Makes one call per
    /// [`MAX_ACCOUNTS`].
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn accounts(
        &self,
        addresses: &[Pubkey],
        commitment: Commitment,
    ) -> Result<(u64, Vec<Option<Account>>), NodeError> {
        let method = "getMultipleAccounts";
        let (mut slot, mut accounts) = (u64::MAX, Vec::with_capacity(addresses.len()));
        for part in addresses.chunks(MAX_ACCOUNTS) {
            let texts: Vec<String> = part.iter().map(|address| base58(address)).collect();
            let params = json!([texts, {"encoding": "base64", "commitment": commitment.name()}]);
            let (at, found) = decode::accounts(method, &self.pool.call(method, params).await?, part.len())?;
            slot = slot.min(at);
            accounts.extend(found);
        }
        Ok((slot, accounts))
    }

    /// State of an SPL token account. `None` if it does not exist or belongs to another program.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn token_account(
        &self,
        address: &Pubkey,
        commitment: Commitment,
    ) -> Result<Option<TokenAccount>, NodeError> {
        let (_, mut accounts) = self.accounts(&[*address], commitment).await?;
        Ok(accounts.pop().flatten().and_then(|account| account.token_account()))
    }

    /// Like [`Self::token_account`], from one endpoint.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn token_account_on(
        &self,
        endpoint: usize,
        address: &Pubkey,
        commitment: Commitment,
    ) -> Result<Option<TokenAccount>, NodeError> {
        let method = "getMultipleAccounts";
        let params = json!([[base58(address)], {"encoding": "base64", "commitment": commitment.name()}]);
        let result = self.pool.call_on(endpoint, method, params).await?;
        let (_, mut accounts) = decode::accounts(method, &result, 1)?;
        Ok(accounts.pop().flatten().and_then(|account| account.token_account()))
    }

    /// Minimum balance in lamports of an account with this number of bytes.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn rent_exemption(&self, bytes: u64) -> Result<u64, NodeError> {
        let method = "getMinimumBalanceForRentExemption";
        decode::number(method, &self.pool.call(method, json!([bytes])).await?)
    }

    /// Sends a signed transaction to every endpoint, by position. Nodes do not resend it (`maxRetries` 0): the caller
    /// does, until its blockhash has expired.
    pub async fn send_each(&self, bytes: &[u8]) -> Vec<SendOutcome> {
        let options = json!({"encoding": "base64", "skipPreflight": true, "maxRetries": 0});
        let params = json!([STANDARD.encode(bytes), options]);
        let answers = self.pool.send_to_all("sendTransaction", params).await;
        answers.into_iter().map(|answer| send_outcome(answer.result)).collect()
    }
}

/// Parameters of `getTransaction`.
fn transaction_params(id: &Signature, version: u8, commitment: Commitment) -> Value {
    json!([base58(id), {
        "encoding": "json",
        "commitment": commitment.max(Commitment::Confirmed).name(),
        "maxSupportedTransactionVersion": version,
    }])
}

const fn is_unsupported(error: &RpcError) -> bool {
    matches!(error, RpcError::Rpc { code, .. } if *code == UNSUPPORTED_VERSION)
}

fn movements(
    result: &Value,
    id: &Signature,
    token_account: &Pubkey,
    mint: &Pubkey,
) -> Result<Option<ChainTransaction>, NodeError> {
    match result.is_null() {
        true => Ok(None),
        false => movements::decode(result, id, token_account, mint).map(Some),
    }
}

fn commitment_config(commitment: Commitment) -> Value {
    json!({"commitment": commitment.name()})
}

#[cfg(test)]
mod tests;
