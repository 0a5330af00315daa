//! Decoding and validation of JSON results.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::super::address::parse_base58;
use super::super::follow::Entry;
use super::super::status::{Commitment, SignatureStatus, TransactionError};
use super::{Account, Blockhash, ChainPosition, NodeError, Simulation};

/// Creates the error for a malformed result of a method.
pub(super) fn malformed(method: &'static str, what: &'static str) -> NodeError {
    NodeError::Malformed { method, what }
}

fn field(method: &'static str, value: &Value, name: &'static str) -> Result<u64, NodeError> {
    value
        .get(name)
        .and_then(Value::as_u64)
        .ok_or_else(|| malformed(method, name))
}

fn context_slot(method: &'static str, result: &Value) -> Result<u64, NodeError> {
    field(method, &result["context"], "slot")
}

pub(super) fn bytes<const N: usize>(
    method: &'static str,
    value: &Value,
    what: &'static str,
) -> Result<[u8; N], NodeError> {
    value
        .as_str()
        .and_then(parse_base58)
        .ok_or_else(|| malformed(method, what))
}

pub(super) fn hash(method: &'static str, result: &Value) -> Result<[u8; 32], NodeError> {
    bytes(method, result, "not a hash")
}

pub(super) fn number(method: &'static str, result: &Value) -> Result<u64, NodeError> {
    result.as_u64().ok_or_else(|| malformed(method, "not a number"))
}

pub(super) fn blockhash(method: &'static str, result: &Value) -> Result<Blockhash, NodeError> {
    let value = &result["value"];
    Ok(Blockhash {
        hash: bytes(method, &value["blockhash"], "blockhash")?,
        last_valid_block_height: field(method, value, "lastValidBlockHeight")?,
        slot: context_slot(method, result)?,
    })
}

pub(super) fn valid(method: &'static str, result: &Value) -> Result<(bool, u64), NodeError> {
    let valid = result["value"].as_bool().ok_or_else(|| malformed(method, "value"))?;
    Ok((valid, context_slot(method, result)?))
}

pub(super) fn position(method: &'static str, result: &Value) -> Result<ChainPosition, NodeError> {
    Ok(ChainPosition {
        slot: field(method, result, "absoluteSlot")?,
        block_height: field(method, result, "blockHeight")?,
    })
}

pub(super) fn statuses(
    method: &'static str,
    result: &Value,
    count: usize,
) -> Result<(u64, Vec<Option<SignatureStatus>>), NodeError> {
    let values = list(method, &result["value"], count)?;
    let statuses = values
        .iter()
        .map(|value| status(method, value))
        .collect::<Result<_, _>>()?;
    Ok((context_slot(method, result)?, statuses))
}

fn status(method: &'static str, value: &Value) -> Result<Option<SignatureStatus>, NodeError> {
    if value.is_null() {
        return Ok(None);
    }
    Ok(Some(SignatureStatus {
        slot: field(method, value, "slot")?,
        level: level(method, value)?,
        error: TransactionError::from_json(value.get("err").unwrap_or(&Value::Null)),
    }))
}

fn level(method: &'static str, value: &Value) -> Result<Commitment, NodeError> {
    let name = value["confirmationStatus"].as_str();
    name.and_then(Commitment::parse)
        .ok_or_else(|| malformed(method, "confirmationStatus"))
}

pub(super) fn signatures(method: &'static str, result: &Value) -> Result<Vec<Entry>, NodeError> {
    let values = result.as_array().ok_or_else(|| malformed(method, "not a list"))?;
    let entry = |value: &Value| {
        Ok(Entry {
            id: bytes(method, &value["signature"], "signature")?,
            slot: field(method, value, "slot")?,
            level: level(method, value)?,
            failed: !value["err"].is_null(),
        })
    };
    values.iter().map(entry).collect()
}

pub(super) fn accounts(
    method: &'static str,
    result: &Value,
    count: usize,
) -> Result<(u64, Vec<Option<Account>>), NodeError> {
    let values = list(method, &result["value"], count)?;
    let accounts = values
        .iter()
        .map(|value| account(method, value))
        .collect::<Result<_, _>>()?;
    Ok((context_slot(method, result)?, accounts))
}

fn account(method: &'static str, value: &Value) -> Result<Option<Account>, NodeError> {
    if value.is_null() {
        return Ok(None);
    }
    let data = match value["data"].as_array().map(Vec::as_slice) {
        Some([text, encoding]) if encoding == "base64" => text.as_str().and_then(|text| STANDARD.decode(text).ok()),
        _ => None,
    };
    Ok(Some(Account {
        lamports: field(method, value, "lamports")?,
        owner: bytes(method, &value["owner"], "owner")?,
        executable: value["executable"].as_bool().unwrap_or(false),
        data: data.ok_or_else(|| malformed(method, "data"))?,
    }))
}

pub(super) fn simulation(method: &'static str, result: &Value) -> Result<Simulation, NodeError> {
    let value = &result["value"];
    if !value.is_object() {
        return Err(malformed(method, "value"));
    }
    let logs = value["logs"].as_array().map(Vec::as_slice).unwrap_or_default();
    let kept = logs.iter().take(Simulation::MAX_LOGS).filter_map(Value::as_str);
    let shown = match value["accounts"].as_array().map(Vec::as_slice) {
        Some([shown]) => account(method, shown)?,
        _ => None,
    };
    Ok(Simulation {
        account: shown,
        slot: context_slot(method, result)?,
        error: TransactionError::from_json(&value["err"]),
        logs: kept.map(str::to_owned).collect(),
        units: value["unitsConsumed"].as_u64(),
    })
}

/// A list of exactly `count` elements.
fn list<'a>(method: &'static str, value: &'a Value, count: usize) -> Result<&'a [Value], NodeError> {
    match value.as_array() {
        Some(values) if values.len() == count => Ok(values),
        _ => Err(malformed(method, "not as many values as were requested")),
    }
}
