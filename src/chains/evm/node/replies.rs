//! Interprets the errors of nodes. The texts are those of geth, op-geth, reth, Erigon, Nethermind, Besu and anvil.

use alloy_primitives::B256;
use serde_json::Value;

use super::{CallError, NodeError, parse};
use crate::evm::multicall::revert_reason;
use crate::evm::nonces::SendReply;
use crate::rpc::RpcError;

/// Substrings in lower case; the first match decides.
const REPLIES: [(&str, SendReply); 25] = [
    ("already known", SendReply::AlreadyKnown),
    ("alreadyknown", SendReply::AlreadyKnown),
    ("already imported", SendReply::AlreadyKnown),
    ("already_exists", SendReply::AlreadyKnown),
    ("known transaction", SendReply::AlreadyKnown),
    ("nonce too low", SendReply::NonceTooLow),
    ("nonce is too low", SendReply::NonceTooLow),
    ("oldnonce", SendReply::NonceTooLow),
    ("replacement", SendReply::ReplacementUnderpriced),
    ("replacenotallowed", SendReply::ReplacementUnderpriced),
    ("underpriced", SendReply::FeeTooLow),
    ("less than block base fee", SendReply::FeeTooLow),
    ("feetoolow", SendReply::FeeTooLow),
    ("fee too low", SendReply::FeeTooLow),
    ("gas price below", SendReply::FeeTooLow),
    ("insufficient funds", SendReply::InsufficientFunds),
    ("insufficientfunds", SendReply::InsufficientFunds),
    ("upfront cost exceeds", SendReply::InsufficientFunds),
    ("intrinsic gas too low", SendReply::Rejected),
    ("exceeds block gas limit", SendReply::Rejected),
    ("gas limit too high", SendReply::Rejected),
    ("exceeds maximum", SendReply::Rejected),
    ("invalid sender", SendReply::Rejected),
    ("invalid chain id", SendReply::Rejected),
    ("max priority fee per gas higher than max fee", SendReply::Rejected),
];

/// The meaning of an `eth_sendRawTransaction` response for the transaction with this hash.
pub fn send_reply(result: &Result<Value, RpcError>, hash: B256) -> SendReply {
    match result {
        Ok(value) if parse::hash(value) == Some(hash) => SendReply::Accepted,
        Err(RpcError::Rpc { message, .. }) => {
            let text = message.to_lowercase();
            let known = REPLIES.iter().find(|(piece, _)| text.contains(piece));
            known.map_or(SendReply::Unknown, |(_, reply)| *reply)
        }
        _ => SendReply::Unknown,
    }
}

/// Distinguishes executions that ended in the EVM from calls that were not executed.
pub(super) fn call_error(error: RpcError) -> CallError {
    const EXECUTED: [&str; 5] = [
        "revert",
        "out of gas",
        "outofgas",
        "invalid opcode",
        "gas required exceeds",
    ];
    let RpcError::Rpc { code, message, data } = &error else {
        return NodeError::Rpc(error).into();
    };
    let text = message.to_lowercase();
    if *code != 3 && !EXECUTED.iter().any(|piece| text.contains(piece)) {
        return NodeError::Rpc(error).into();
    }
    // Some nodes wrap the revert data in an object.
    let data = parse::bytes(data)
        .or_else(|| parse::bytes(&data["data"]))
        .unwrap_or_default();
    CallError::Reverted {
        reason: revert_reason(&data).unwrap_or_else(|| message.clone()),
        data,
    }
}
