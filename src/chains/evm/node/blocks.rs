//! Blocks with their logs, from any endpoint or from a specific one.

use serde_json::{Value, json};

use super::{B256, BlockLogs, BlockTag, LogFilter, Node, NodeError, parse};
use crate::evm::blocks::{Header, NextBlock};
use crate::evm::usdc::Log;
use crate::rpc::{Call, RpcError};

/// The block, then the logs of each filter.
fn calls(hash: B256, filters: &[LogFilter]) -> Vec<Call> {
    let mut calls = vec![Call {
        method: "eth_getBlockByHash",
        params: json!([parse::text(hash), false]),
    }];
    calls.extend(filters.iter().map(|filter| parse::logs_call(hash, filter)));
    calls
}

/// The block in the results of [`calls`]; `None` if the endpoint does not have it.
fn block_of(results: &[Result<Value, RpcError>], hash: B256) -> Result<Option<BlockLogs>, NodeError> {
    let mut results = results.iter();
    let method = "eth_getBlockByHash";
    let header = match results.next() {
        Some(Ok(value)) if value.is_null() => return Ok(None),
        Some(Ok(value)) => parse::header(value).filter(|header| header.hash == hash),
        Some(Err(error)) => return Err(error.clone().into()),
        None => None,
    };
    let header = header.ok_or(NodeError::Malformed { method })?;
    let method = "eth_getLogs";
    let mut logs = Vec::new();
    for result in results {
        let result = result.as_ref().map_err(Clone::clone)?;
        let found = parse::logs(result, hash).ok_or(NodeError::Malformed { method })?;
        logs.extend(found);
    }
    logs.sort_by_key(|log: &Log| log.log_index);
    logs.dedup_by_key(|log| log.log_index);
    Ok(Some(BlockLogs { header, logs }))
}

impl Node {
    /// A block with the logs that one of the filters admits, both from one endpoint; `None` if no endpoint has it.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn block(&self, block: NextBlock, filters: &[LogFilter]) -> Result<Option<BlockLogs>, NodeError> {
        let hash = match block {
            NextBlock::Hash(hash) => hash,
            NextBlock::Number(number) => match self.header(BlockTag::Number(number)).await? {
                Some(header) => header.hash,
                None => return Ok(None),
            },
        };
        let complete = |results: &[Result<Value, RpcError>]| matches!(block_of(results, hash), Ok(Some(_)));
        let results = self.pool.batch_where(&calls(hash, filters), complete).await?;
        block_of(&results, hash)
    }

    /// Like [`Self::block`], from one endpoint by its index in the settings; `None` if it does not have the block.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn block_on(
        &self,
        endpoint: usize,
        hash: B256,
        filters: &[LogFilter],
    ) -> Result<Option<BlockLogs>, NodeError> {
        let results = self.pool.batch_on(endpoint, &calls(hash, filters)).await?;
        block_of(&results, hash)
    }

    /// One endpoint's header of a block; `None` if it does not have it.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn header_on(&self, endpoint: usize, tag: BlockTag) -> Result<Option<Header>, NodeError> {
        let method = "eth_getBlockByNumber";
        let params = json!([parse::tag(tag), false]);
        let result = self.pool.call_on(endpoint, method, params).await?;
        if result.is_null() {
            return Ok(None);
        }
        parse::header(&result).ok_or(NodeError::Malformed { method }).map(Some)
    }
}
