//! Parsing of JSON from Ethereum's execution API.

use std::str::FromStr;

use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::{Value, json};

use super::{BlockTag, CallRequest, Header, LogFilter, Receipt};
use crate::evm::usdc::Log;
use crate::rpc::Call;

/// `0x` and hexadecimal digits, of bytes or of a quantity.
pub(super) fn text(value: impl std::fmt::LowerHex) -> String {
    format!("{value:#x}")
}

/// A quantity: `0x` and hexadecimal digits.
pub(super) fn u256(value: &Value) -> Option<U256> {
    let digits = value.as_str()?.strip_prefix("0x")?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    U256::from_str_radix(digits, 16).ok()
}

pub(super) fn u64(value: &Value) -> Option<u64> {
    u256(value)?.try_into().ok()
}

pub(super) fn u128(value: &Value) -> Option<u128> {
    u256(value)?.try_into().ok()
}

pub(super) fn bytes(value: &Value) -> Option<Bytes> {
    let digits = value.as_str()?.strip_prefix("0x")?;
    hex::decode(digits).ok().map(Bytes::from)
}

pub(super) fn hash(value: &Value) -> Option<B256> {
    let bytes = bytes(value)?;
    (bytes.len() == 32).then(|| B256::from_slice(&bytes))
}

fn address(value: &Value) -> Option<Address> {
    Address::from_str(value.as_str()?).ok()
}

pub(super) fn tag(tag: BlockTag) -> Value {
    match tag {
        BlockTag::Number(number) => json!(text(number)),
        BlockTag::Pending => json!("pending"),
        BlockTag::Latest => json!("latest"),
        BlockTag::Safe => json!("safe"),
        BlockTag::Finalized => json!("finalized"),
    }
}

pub(super) fn call(request: &CallRequest) -> Value {
    json!({
        "from": text(request.from),
        "to": text(request.to),
        "data": text(&request.data),
        "gas": text(request.gas),
    })
}

fn topics(filter: &LogFilter) -> Vec<Value> {
    let topic = |admitted: &Vec<B256>| match admitted.as_slice() {
        [] => Value::Null,
        admitted => admitted.iter().map(text).collect(),
    };
    filter.topics.iter().map(topic).collect()
}

pub(super) fn logs_between(filter: &LogFilter, from: u64, to: u64) -> Call {
    let (from, to) = (text(from), text(to));
    let address = text(filter.address);
    Call {
        method: "eth_getLogs",
        params: json!([{"fromBlock": from, "toBlock": to, "address": address, "topics": topics(filter)}]),
    }
}

pub(super) fn logs_call(block: B256, filter: &LogFilter) -> Call {
    let topics = topics(filter);
    Call {
        method: "eth_getLogs",
        params: json!([{"blockHash": text(block), "address": text(filter.address), "topics": topics}]),
    }
}

pub(super) fn header(block: &Value) -> Option<Header> {
    Some(Header {
        number: u64(&block["number"])?,
        hash: hash(&block["hash"])?,
        parent: hash(&block["parentHash"])?,
        timestamp: u64(&block["timestamp"])?,
    })
}

/// Logs of any blocks, without those of removed blocks.
pub(super) fn any_logs(list: &Value) -> Option<Vec<Log>> {
    let is_canonical = |value: &&Value| !value["removed"].as_bool().unwrap_or(false);
    list.as_array()?.iter().filter(is_canonical).map(log).collect()
}

/// Logs of this block only; `None` if another one occurs.
pub(super) fn logs(list: &Value, block: B256) -> Option<Vec<Log>> {
    let log = |value: &Value| {
        let log = log(value)?;
        let removed = value["removed"].as_bool().unwrap_or(false);
        (log.block_hash == block && !removed).then_some(log)
    };
    list.as_array()?.iter().map(log).collect()
}

fn log(value: &Value) -> Option<Log> {
    let topics = value["topics"].as_array().filter(|topics| topics.len() <= 4)?;
    Some(Log {
        address: address(&value["address"])?,
        topics: topics.iter().map(hash).collect::<Option<_>>()?,
        data: bytes(&value["data"])?,
        block_number: u64(&value["blockNumber"])?,
        block_hash: hash(&value["blockHash"])?,
        transaction: hash(&value["transactionHash"])?,
        log_index: u64(&value["logIndex"])?,
    })
}

pub(super) fn receipt(value: &Value) -> Option<Receipt> {
    let block_hash = hash(&value["blockHash"])?;
    let gas_used = u64(&value["gasUsed"])?;
    let execution = U256::from(gas_used).checked_mul(u256(&value["effectiveGasPrice"])?)?;
    // Base reports the charge for Ethereum's data separately.
    let l1_fee = match &value["l1Fee"] {
        Value::Null => U256::ZERO,
        fee => u256(fee)?,
    };
    Some(Receipt {
        transaction: hash(&value["transactionHash"])?,
        block_number: u64(&value["blockNumber"])?,
        block_hash,
        success: match u64(&value["status"])? {
            0 => false,
            1 => true,
            _ => return None,
        },
        gas_used,
        cost: execution.checked_add(l1_fee)?,
        logs: logs(&value["logs"], block_hash)?,
    })
}
