//! Rebuilds the message of a transaction from the node's JSON. Its hash identifies a payment however it is listed.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::super::address::{Pubkey, parse};
use super::super::message::{CompiledInstruction, Header, Message, TableLookup, Version};
use super::super::transaction::{Signature, verify};

/// Maximum size of an instruction's data in base58: that of a whole transaction.
const MAX_DATA: usize = 1_700;

/// SHA-256 of the message. `None` if the JSON does not give a message that the fee payer signed as `id`, for example
/// because its version is unknown here.
pub(super) fn message_hash(result: &Value, id: &Signature) -> Option<[u8; 32]> {
    let bytes = message_bytes(&result["version"], &result["transaction"]["message"])?;
    let message = Message::parse(&bytes).ok()?;
    verify(message.keys.first()?, &bytes, id).then(|| Sha256::digest(&bytes).into())
}

fn message_bytes(version: &Value, message: &Value) -> Option<Vec<u8>> {
    let version = match version {
        Value::Null => Version::Legacy,
        Value::String(text) if text == "legacy" => Version::Legacy,
        number => (number.as_u64()? == 0).then_some(Version::V0)?,
    };
    let header = &message["header"];
    let keys: Vec<Pubkey> = list(message, "accountKeys")?
        .iter()
        .map(address)
        .collect::<Option<_>>()?;
    let blockhash = address(&message["recentBlockhash"])?;
    let calls = list(message, "instructions")?
        .iter()
        .map(call)
        .collect::<Option<Vec<_>>>()?;
    let tables = match version {
        Version::Legacy => Vec::new(),
        Version::V0 => match &message["addressTableLookups"] {
            Value::Null => Vec::new(),
            tables => tables.as_array()?.iter().map(table).collect::<Option<_>>()?,
        },
    };
    let message = Message {
        version,
        header: Header {
            required_signatures: small(&header["numRequiredSignatures"])?,
            readonly_signed: small(&header["numReadonlySignedAccounts"])?,
            readonly_unsigned: small(&header["numReadonlyUnsignedAccounts"])?,
        },
        keys: &keys,
        blockhash: &blockhash,
        instructions: calls
            .iter()
            .map(|(program, accounts, data)| CompiledInstruction {
                program: *program,
                accounts,
                data,
            })
            .collect(),
        lookups: tables
            .iter()
            .map(|(table, writable, readonly)| TableLookup {
                table,
                writable,
                readonly,
            })
            .collect(),
    };
    Some(message.encode())
}

fn list<'a>(value: &'a Value, name: &str) -> Option<&'a Vec<Value>> {
    value[name].as_array()
}

fn small(value: &Value) -> Option<u8> {
    value.as_u64()?.try_into().ok()
}

fn address(value: &Value) -> Option<Pubkey> {
    parse(value.as_str()?)
}

fn indexes(value: &Value) -> Option<Vec<u8>> {
    value.as_array()?.iter().map(small).collect()
}

fn call(value: &Value) -> Option<(u8, Vec<u8>, Vec<u8>)> {
    let data = value["data"].as_str().filter(|data| data.len() <= MAX_DATA)?;
    let data = bs58::decode(data).into_vec().ok()?;
    Some((small(&value["programIdIndex"])?, indexes(&value["accounts"])?, data))
}

fn table(value: &Value) -> Option<(Pubkey, Vec<u8>, Vec<u8>)> {
    let (writable, readonly) = (indexes(&value["writableIndexes"])?, indexes(&value["readonlyIndexes"])?);
    Some((address(&value["accountKey"])?, writable, readonly))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;
    use crate::solana::address::{USDC_MAINNET, base58};
    use crate::solana::draft::Draft;
    use crate::solana::keypair::Keypair;
    use crate::solana::token::{TransferChecked, memo, set_compute_unit_limit};
    use crate::solana::transaction::{Transaction, sign};
    use serde_json::json;

    /// A transaction in the format of `getTransaction`.
    fn transaction_json(bytes: &[u8]) -> Value {
        let transaction = Transaction::parse(bytes).unwrap();
        let message = &transaction.message;
        let keys: Vec<String> = message.keys.iter().map(|key| base58(key)).collect();
        let calls = message.instructions.iter().map(|call| {
            json!({"programIdIndex": call.program, "accounts": call.accounts,
                "data": bs58::encode(call.data).into_string(), "stackHeight": 1})
        });
        let version = match message.version {
            Version::Legacy => json!("legacy"),
            Version::V0 => json!(0),
        };
        json!({"version": version, "transaction": {"message": {
            "header": {"numRequiredSignatures": message.header.required_signatures,
                "numReadonlySignedAccounts": message.header.readonly_signed,
                "numReadonlyUnsignedAccounts": message.header.readonly_unsigned},
            "accountKeys": keys,
            "recentBlockhash": base58(message.blockhash),
            "instructions": calls.collect::<Vec<_>>(),
            "addressTableLookups": [],
        }}})
    }

    // Checks: the hash is that of the signed bytes in both versions; JSON that differs from the signed bytes gives
    // none.
    #[test]
    fn the_hash_is_of_what_was_signed() {
        let (fee, payer) = (Keypair::from_seed(&[1; 32]), Keypair::from_seed(&[2; 32]));
        for version in [Version::Legacy, Version::V0] {
            let transfer = TransferChecked::between(&payer.address(), &fee.address(), &USDC_MAINNET, 7).unwrap();
            let draft = Draft {
                fee_payer: fee.address(),
                blockhash: [9; 32],
                instructions: vec![set_compute_unit_limit(20_000), transfer.instruction(), memo("text")],
                version,
            };
            let signed = sign(&draft, &[&fee, &payer]).unwrap();
            let transaction = Transaction::parse(&signed.bytes).unwrap();
            let hash: [u8; 32] = Sha256::digest(transaction.message_bytes).into();
            let mut result = transaction_json(&signed.bytes);
            assert_eq!(message_hash(&result, &signed.id), Some(hash));
            assert_eq!(message_hash(&result, &[7; 64]), None, "another signature");
            result["transaction"]["message"]["recentBlockhash"] = json!(base58(&[8; 32]));
            assert_eq!(message_hash(&result, &signed.id), None, "another blockhash");
            result["version"] = json!(1);
            assert_eq!(message_hash(&result, &signed.id), None, "an unknown version");
        }
    }
}
