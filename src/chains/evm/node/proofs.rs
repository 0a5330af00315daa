//! Responses of each endpoint on its own.

use futures_util::future::join_all;
use serde_json::json;

use super::{Address, B256, BlockTag, Bytes, CallRequest, Node, NodeError, parse};
use crate::evm::expiry::AuthorizationState;
use crate::evm::usdc;

impl Node {
    /// State of an EIP-3009 authorization in each endpoint's own block for this tag, in the order of the settings.
    /// Makes two calls per endpoint. For [`expiry_proof`](crate::evm::expiry::expiry_proof) the tag must be one that we
    /// count as final.
    pub async fn authorization_states(
        &self,
        token: Address,
        authorizer: Address,
        nonce: B256,
        tag: BlockTag,
    ) -> Vec<Result<AuthorizationState, NodeError>> {
        let data = Bytes::from(usdc::authorization_state_call(authorizer, nonce));
        let request = CallRequest {
            from: authorizer,
            to: token,
            data,
            gas: 100_000,
        };
        let endpoints = 0..self.pool.len();
        join_all(endpoints.map(|endpoint| self.authorization_state(endpoint, &request, tag))).await
    }

    /// Number of transactions of an address in each endpoint's own block for this tag, in the order of the settings.
    pub async fn counts_of_each(&self, address: Address, tag: BlockTag) -> Vec<Result<u64, NodeError>> {
        let method = "eth_getTransactionCount";
        let params = json!([parse::text(address), parse::tag(tag)]);
        let answers = self.pool.call_each(method, params).await;
        let count = |answer: crate::rpc::EndpointAnswer| {
            let result = answer.result?;
            parse::u64(&result).ok_or(NodeError::Malformed { method })
        };
        answers.into_iter().map(count).collect()
    }

    /// The block in which an authorization was used or cancelled, according to one endpoint, from `from` to `to`.
    /// Endpoints limit the number of blocks per search, many to 10,000.
    ///
    /// # Errors
    /// See [`NodeError`].
    /// See [`NodeError`].
    pub async fn block_of_use(
        &self,
        endpoint: usize,
        (token, authorizer, nonce): (Address, Address, B256),
        (from, to): (u64, u64),
    ) -> Result<Option<B256>, NodeError> {
        let method = "eth_getLogs";
        let [_, used, canceled] = usdc::TOPICS.map(parse::text);
        let topics = json!([
            [used, canceled],
            parse::text(authorizer.into_word()),
            parse::text(nonce)
        ]);
        let (from, to) = (parse::text(from), parse::text(to));
        let params = json!([{"address": parse::text(token), "topics": topics, "fromBlock": from, "toBlock": to}]);
        let result = self.pool.call_on(endpoint, method, params).await?;
        let list = result.as_array().ok_or(NodeError::Malformed { method })?;
        let Some(first) = list.first() else { return Ok(None) };
        let hash = parse::hash(&first["blockHash"]);
        hash.ok_or(NodeError::Malformed { method }).map(Some)
    }

    async fn authorization_state(
        &self,
        endpoint: usize,
        request: &CallRequest,
        tag: BlockTag,
    ) -> Result<AuthorizationState, NodeError> {
        let method = "eth_getBlockByNumber";
        let params = json!([parse::tag(tag), false]);
        let block = self.pool.call_on(endpoint, method, params).await?;
        let header = parse::header(&block).ok_or(NodeError::Malformed { method })?;
        let method = "eth_call";
        // EIP-1898: only in this block.
        let at = json!({"blockHash": parse::text(header.hash)});
        let params = json!([parse::call(request), at]);
        let returned = self.pool.call_on(endpoint, method, params).await?;
        let used = parse::bytes(&returned).and_then(|data| usdc::decode_authorization_state(&data));
        used.map(|used| AuthorizationState { header, used })
            .ok_or(NodeError::Malformed { method })
    }
}
