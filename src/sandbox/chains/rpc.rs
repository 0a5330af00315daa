//! The Solana JSON-RPC calls that stock clients make, with the response formats of a cluster.
//!
//! A slot is a block here, final at once unless configured otherwise, and nothing costs lamports. A fully signed
//! transaction sent here is executed: an observer can submit a payment this way before the service does.

mod account;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use purser_actors::port::{Decline, Finality, Timestamp};
use serde_json::{Value, json};

use super::chain::{ChainState, ExecutionResult};
use super::svm::{self, InstructionError, SLOT_MS, TransactionError};
use super::wire::{MAX_WIRE, Transaction};
use super::{SandboxSettlement, solana_intent};

const VERSION: &str = "3.0.0";
const GENESIS_HASH: &str = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d";
/// Maximum number of calls in one batch.
const BATCH_LIMIT: usize = 100;
const ACCOUNTS_LIMIT: usize = 100;
const SIGNATURES_LIMIT: usize = 256;

const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL: i64 = -32603;
const PREFLIGHT_FAILED: i64 = -32002;
const SIGNATURE_FAILED: i64 = -32003;

/// A JSON-RPC error.
#[derive(Debug)]
struct RpcError {
    code: i64,
    message: String,
    data: Option<Value>,
}

fn error(code: i64, message: impl Into<String>) -> RpcError {
    RpcError {
        code,
        message: message.into(),
        data: None,
    }
}

fn invalid(message: impl Into<String>) -> RpcError {
    error(INVALID_PARAMS, message)
}

impl SandboxSettlement {
    /// Handles one JSON-RPC 2.0 request of the sandbox's Solana, or a batch of at most 100. Always returns a body:
    /// errors are JSON-RPC errors with HTTP status 200.
    pub async fn handle_rpc(&self, request: Value) -> Value {
        let Value::Array(batch) = request else {
            return self.answer(&request).await;
        };
        if batch.is_empty() || batch.len() > BATCH_LIMIT {
            return envelope(
                &Value::Null,
                Err(error(INVALID_REQUEST, "a batch has 1 to 100 requests")),
            );
        }
        let mut answers = Vec::with_capacity(batch.len());
        for request in &batch {
            answers.push(self.answer(request).await);
        }
        Value::Array(answers)
    }

    async fn answer(&self, request: &Value) -> Value {
        let id = request
            .get("id")
            .filter(|id| id.is_string() || id.is_number())
            .unwrap_or(&Value::Null);
        let version = request.get("jsonrpc").and_then(Value::as_str);
        let (Some("2.0"), Some(method)) = (version, request.get("method").and_then(Value::as_str)) else {
            return envelope(id, Err(error(INVALID_REQUEST, "Invalid request")));
        };
        let none = Vec::new();
        let params = match request.get("params") {
            None | Some(Value::Null) => &none,
            Some(Value::Array(params)) => params,
            Some(_) => return envelope(id, Err(invalid("`params` should be an array"))),
        };
        let outcome = match method {
            "sendTransaction" => self.send_transaction(params).await,
            _ => match self.solana.read(|state, now| call(state, now, method, params)).await {
                Ok(outcome) => outcome,
                Err(stopped) => Err(error(INTERNAL, stopped.to_string())),
            },
        };
        envelope(id, outcome)
    }

    /// Executes a fully signed transaction at once, from any client.
    async fn send_transaction(&self, params: &[Value]) -> Result<Value, RpcError> {
        let wire = transaction_bytes(params)?;
        let transaction = read(&wire)?;
        if svm::check_signatures(&transaction).is_err() {
            return Err(error(SIGNATURE_FAILED, "Transaction signature verification failure"));
        }
        svm::read_transfer(&transaction).map_err(|e| preflight(&e))?;
        let intent = solana_intent(&wire).map_err(|decline| preflight(&error_of(&transaction, &decline)))?;
        let (executed, durable) = self
            .solana
            .transact(|state, now| self.solana.execute(state, now, &intent, None));
        durable
            .wait()
            .await
            .map_err(|stopped| error(INTERNAL, stopped.to_string()))?;
        match executed {
            ExecutionResult::Executed(id, _) => Ok(json!(id)),
            ExecutionResult::AlreadyExecuted(..) => Err(preflight(&TransactionError::AlreadyProcessed)),
            ExecutionResult::Declined(decline) => Err(preflight(&error_of(&transaction, &decline))),
        }
    }
}

fn envelope(id: &Value, outcome: Result<Value, RpcError>) -> Value {
    match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(RpcError {
            code,
            message,
            data: None,
        }) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
        }
        Err(RpcError { code, message, data }) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message, "data": data } })
        }
    }
}

/// All read-only calls.
fn call(state: &ChainState, now: Timestamp, method: &str, params: &[Value]) -> Result<Value, RpcError> {
    let slot = now.0 / SLOT_MS;
    let wrap = |value: Value| Ok(json!({ "context": { "slot": slot, "apiVersion": VERSION }, "value": value }));
    let config = params.get(1).unwrap_or(&Value::Null);
    match method {
        "getHealth" => Ok(json!("ok")),
        "getVersion" => Ok(json!({ "solana-core": VERSION, "feature-set": 0 })),
        "getGenesisHash" => Ok(json!(GENESIS_HASH)),
        "getSlot" | "getBlockHeight" => Ok(json!(slot)),
        "getLatestBlockhash" => {
            let (hash, last) = state.hashes.latest();
            wrap(json!({ "blockhash": bs58::encode(hash).into_string(), "lastValidBlockHeight": last }))
        }
        "isBlockhashValid" => wrap(json!(state.hashes.is_recent(&key(params.first())?))),
        "getMinimumBalanceForRentExemption" => {
            let size = params.first().and_then(Value::as_u64).filter(|s| *s <= 10 << 20);
            // Solana's own formula: two years of rent for the data and the 128 bytes of an account's header.
            size.map(|s| json!((s + 128) * 6960))
                .ok_or_else(|| invalid("Invalid param: size"))
        }
        "getBalance" => wrap(json!(account::lamports(state, &key(params.first())?))),
        "getAccountInfo" => wrap(account::info(state, &key(params.first())?, config)?),
        "getMultipleAccounts" => {
            let keys = list(params, ACCOUNTS_LIMIT)?;
            let infos: Result<Vec<_>, _> = keys
                .iter()
                .map(|k| account::info(state, &key(Some(k))?, config))
                .collect();
            wrap(Value::Array(infos?))
        }
        "getTokenAccountBalance" => wrap(account::token_balance(state, &key(params.first())?)?),
        "getTokenAccountsByOwner" => {
            let config = params.get(2).unwrap_or(&Value::Null);
            wrap(account::by_owner(
                state,
                key(params.first())?,
                params.get(1).unwrap_or(&Value::Null),
                config,
            )?)
        }
        "getSignatureStatuses" => {
            let signatures = list(params, SIGNATURES_LIMIT)?;
            wrap(signatures.iter().map(|s| signature_status(state, now, s)).collect())
        }
        "simulateTransaction" => wrap(simulate(state, params)?),
        _ => Err(error(METHOD_NOT_FOUND, "Method not found")),
    }
}

fn signature_status(state: &ChainState, now: Timestamp, signature: &Value) -> Value {
    let landed = signature.as_str().and_then(|s| state.ledger.find_transaction(s));
    landed.filter(|l| !l.reorged).map_or(Value::Null, |landed| {
        let status = match state.finality(now, &landed.transfer) {
            Finality::Confirmed => "confirmed",
            Finality::Final => "finalized",
        };
        json!({
            "slot": landed.transfer.at.0 / SLOT_MS,
            "confirmations": null,
            "err": null,
            "status": { "Ok": null },
            "confirmationStatus": status,
        })
    })
}

fn simulate(state: &ChainState, params: &[Value]) -> Result<Value, RpcError> {
    let config = params.get(1).unwrap_or(&Value::Null);
    let flag = |name: &str| config.get(name).and_then(Value::as_bool).unwrap_or(false);
    let (verify, replace) = (flag("sigVerify"), flag("replaceRecentBlockhash"));
    if verify && replace {
        return Err(invalid("sigVerify may not be used with replaceRecentBlockhash"));
    }
    let transaction = read(&transaction_bytes(params)?)?;
    if verify && svm::check_signatures(&transaction).is_err() {
        return Err(error(SIGNATURE_FAILED, "Transaction signature verification failure"));
    }
    let failure = account::dry_run(state, &transaction, !replace).err();
    let (hash, last) = state.hashes.latest();
    let replacement = json!({ "blockhash": bs58::encode(hash).into_string(), "lastValidBlockHeight": last });
    Ok(json!({
        "err": failure.as_ref().map(error_json),
        "logs": failure.as_ref().map_or_else(Vec::new, |e| vec![describe(e)]),
        "accounts": null,
        "innerInstructions": null,
        "replacementBlockhash": if replace { replacement } else { Value::Null },
        "returnData": null,
        "unitsConsumed": if failure.is_none() { 692 } else { 0 },
    }))
}

fn transaction_bytes(params: &[Value]) -> Result<Vec<u8>, RpcError> {
    let text = params
        .first()
        .and_then(Value::as_str)
        .ok_or_else(|| invalid("invalid transaction: expected a string"))?;
    let encoding = params
        .get(1)
        .and_then(|c| c.get("encoding"))
        .and_then(Value::as_str)
        .unwrap_or("base58");
    // No encoding of 1,232 bytes is longer; base58 decoding takes quadratic time.
    if text.len() > 2 * MAX_WIRE {
        return Err(invalid(format!("decoded transaction too large: max: {MAX_WIRE} bytes")));
    }
    let bytes = match encoding {
        "base64" => BASE64.decode(text).map_err(|e| e.to_string()),
        "base58" => bs58::decode(text).into_vec().map_err(|e| e.to_string()),
        other => {
            return Err(invalid(format!(
                "unsupported encoding: {other}. Supported encodings: base58, base64"
            )));
        }
    };
    bytes.map_err(|e| invalid(format!("invalid {encoding} encoding: {e}")))
}

fn read(wire: &[u8]) -> Result<Transaction, RpcError> {
    Transaction::parse(wire).map_err(|e| invalid(format!("failed to deserialize transaction: {e}")))
}

fn key(value: Option<&Value>) -> Result<[u8; 32], RpcError> {
    let text = value
        .and_then(Value::as_str)
        .filter(|t| t.len() <= 44)
        .ok_or_else(|| invalid("Invalid param: WrongSize"))?;
    let mut key = [0; 32];
    match bs58::decode(text).onto(&mut key) {
        Ok(32) => Ok(key),
        Ok(_) => Err(invalid("Invalid param: WrongSize")),
        Err(_) => Err(invalid("Invalid param: Invalid")),
    }
}

fn list(params: &[Value], limit: usize) -> Result<&[Value], RpcError> {
    let list = params
        .first()
        .and_then(Value::as_array)
        .ok_or_else(|| invalid("Invalid param: expected an array"))?;
    if list.len() > limit {
        return Err(invalid(format!("Too many inputs provided; max {limit}")));
    }
    Ok(list)
}

fn preflight(failure: &TransactionError) -> RpcError {
    let message = describe(failure);
    let data = json!({
        "accounts": null,
        "err": error_json(failure),
        "innerInstructions": null,
        "logs": [message],
        "returnData": null,
        "unitsConsumed": 0,
    });
    RpcError {
        code: PREFLIGHT_FAILED,
        message: format!("Transaction simulation failed: {message}"),
        data: Some(data),
    }
}

/// Converts a decline of the chain to the runtime's error.
fn error_of(transaction: &Transaction, decline: &Decline) -> TransactionError {
    let index = svm::read_transfer(transaction).map_or(0, |t| t.index);
    match (decline.reason.as_str(), decline.message.as_str()) {
        ("insufficient_funds", _) => TransactionError::Instruction(index, InstructionError::Custom(1)),
        (_, "Blockhash not found") => TransactionError::BlockhashNotFound,
        _ => TransactionError::Instruction(index, InstructionError::InvalidAccount),
    }
}

fn error_json(failure: &TransactionError) -> Value {
    match failure {
        TransactionError::SignatureFailure => json!("SignatureFailure"),
        TransactionError::BlockhashNotFound => json!("BlockhashNotFound"),
        TransactionError::AlreadyProcessed => json!("AlreadyProcessed"),
        TransactionError::Instruction(index, inner) => {
            let inner = match inner {
                InstructionError::UnsupportedProgram => json!("UnsupportedProgramId"),
                InstructionError::InvalidInstruction => json!("InvalidInstructionData"),
                InstructionError::MissingSignature => json!("MissingRequiredSignature"),
                InstructionError::InvalidAccount => json!("InvalidAccountData"),
                InstructionError::Custom(code) => json!({ "Custom": code }),
            };
            json!({ "InstructionError": [index, inner] })
        }
    }
}

/// The runtime's text of an error.
pub(super) fn describe(failure: &TransactionError) -> String {
    let (index, text) = match failure {
        TransactionError::SignatureFailure => return "Transaction did not pass signature verification".into(),
        TransactionError::BlockhashNotFound => return "Blockhash not found".into(),
        TransactionError::AlreadyProcessed => return "This transaction has already been processed".into(),
        TransactionError::Instruction(index, InstructionError::Custom(code)) => {
            return format!("Error processing Instruction {index}: custom program error: {code:#x}");
        }
        TransactionError::Instruction(index, InstructionError::UnsupportedProgram) => (index, "Unsupported program id"),
        TransactionError::Instruction(index, InstructionError::InvalidInstruction) => {
            (index, "invalid instruction data")
        }
        TransactionError::Instruction(index, InstructionError::MissingSignature) => {
            (index, "missing required signature for instruction")
        }
        TransactionError::Instruction(index, InstructionError::InvalidAccount) => {
            (index, "invalid account data for instruction")
        }
    };
    format!("Error processing Instruction {index}: {text}")
}

#[cfg(test)]
mod tests;
