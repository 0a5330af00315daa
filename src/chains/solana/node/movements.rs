//! Transfers of one token account in a transaction, each with its instruction.

use std::fmt;

use serde_json::Value;

use super::super::address::{Pubkey, TOKEN, base58, parse};
use super::super::status::TransactionError;
use super::super::token::{TokenMovement, token_movements};
use super::super::transaction::Signature;
use super::NodeError;
use super::decode::{bytes, malformed};
use super::rebuilt::message_hash;

const METHOD: &str = "getTransaction";

/// An instruction of a transaction. Ordered as executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstructionPath {
    /// Index in the message.
    pub top: u16,
    /// Position among the calls that the top-level instruction made, at any depth; `None` for itself.
    pub inner: Option<u16>,
    /// Position within SPL Token's `Batch` instruction; `None` outside one.
    pub batch: Option<u8>,
}

impl fmt::Display for InstructionPath {
    /// `2`; `2.0` for an inner instruction; `2+1` and `2.0+1` for an entry of a batch.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.top)?;
        if let Some(inner) = self.inner {
            write!(f, ".{inner}")?;
        }
        if let Some(batch) = self.batch {
            write!(f, "+{batch}")?;
        }
        Ok(())
    }
}

/// The permanent reference of one transfer on the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TransferRef {
    pub transaction: Signature,
    /// The instruction that made the transfer.
    pub instruction: InstructionPath,
}

impl fmt::Display for TransferRef {
    /// The signature in base58, `:`, the instruction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", base58(&self.transaction), self.instruction)
    }
}

/// Direction of a transfer, seen from the followed token account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The account was credited.
    In,
    /// The account was debited.
    Out,
    /// From the account to itself: the balance does not change.
    Own,
}

/// One transfer of the followed token account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountMovement {
    /// Permanent reference of the transfer.
    pub reference: TransferRef,
    /// Direction of the transfer.
    pub direction: Direction,
    /// Amount in atomic units.
    pub amount: u64,
    /// The other token account; `None` for a mint or a burn.
    pub other_account: Option<Pubkey>,
    /// Owner of the other token account, if the node reports it.
    pub other_owner: Option<Pubkey>,
    /// The authority: owner or delegate of the debited account, or the mint's authority.
    pub authority: Pubkey,
}

/// A transaction on chain, reduced to one token account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainTransaction {
    pub id: Signature,
    /// Slot of the transaction's block.
    pub slot: u64,
    /// Block time in seconds since the Unix epoch, if the node reports it. Untrusted.
    pub block_time: Option<i64>,
    /// Account 0, which paid the fee.
    pub fee_payer: Pubkey,
    /// Fee in lamports, charged also on failure.
    pub fee_lamports: u64,
    /// Error of the execution; `None` if the transaction had effects.
    pub error: Option<TransactionError>,
    /// Blockhash of the message.
    pub blockhash: [u8; 32],
    /// SHA-256 of the message, if the node's JSON gives the bytes that the fee payer signed.
    pub message_hash: Option<[u8; 32]>,
    /// Transfers in order of execution; none if the transaction failed.
    pub movements: Vec<AccountMovement>,
    /// Change of the account's balance that the transfers do not explain, in atomic units; 0 in every known case. Any
    /// other value needs an operator: an unknown instruction has moved tokens.
    pub unexplained: i128,
}

/// Parses the result of `getTransaction` with `"encoding": "json"`.
///
/// # Errors
/// [`NodeError::Malformed`].
pub fn decode(
    result: &Value,
    id: &Signature,
    token_account: &Pubkey,
    mint: &Pubkey,
) -> Result<ChainTransaction, NodeError> {
    let (meta, message) = (&result["meta"], &result["transaction"]["message"]);
    let number = |value: &Value, what| value.as_u64().ok_or_else(|| malformed(METHOD, what));
    if bytes::<64>(METHOD, &result["transaction"]["signatures"][0], "signatures")? != *id {
        return Err(malformed(METHOD, "another transaction"));
    }
    let keys = account_keys(message, meta)?;
    let error = TransactionError::from_json(&meta["err"]);
    let balances = Balances::read(meta, &keys, mint)?;
    let mut movements = Vec::new();
    if error.is_none() {
        for call in calls(message, meta, &keys)? {
            movements.extend(movements_of(&call, id, token_account, &balances));
        }
    }
    let moved: i128 = movements
        .iter()
        .map(|movement| match movement.direction {
            Direction::In => i128::from(movement.amount),
            Direction::Out => -i128::from(movement.amount),
            Direction::Own => 0,
        })
        .sum();
    Ok(ChainTransaction {
        id: *id,
        slot: number(&result["slot"], "slot")?,
        block_time: result["blockTime"].as_i64(),
        fee_payer: *keys.first().ok_or_else(|| malformed(METHOD, "accountKeys"))?,
        fee_lamports: number(&meta["fee"], "fee")?,
        error,
        blockhash: bytes(METHOD, &message["recentBlockhash"], "recentBlockhash")?,
        message_hash: message_hash(result, id),
        unexplained: balances.change(token_account) - moved,
        movements,
    })
}

/// The transfers in one call that involve the followed account.
fn movements_of(
    call: &ExecutedCall,
    id: &Signature,
    token_account: &Pubkey,
    balances: &Balances,
) -> Vec<AccountMovement> {
    let (path, program, accounts, data) = call;
    if *program != TOKEN {
        return Vec::new();
    }
    let movement = |movement: TokenMovement| {
        let (source, destination) = (movement.source, movement.destination);
        let direction = match (source == Some(*token_account), destination == Some(*token_account)) {
            (false, false) => return None,
            (false, true) => Direction::In,
            (true, false) => Direction::Out,
            (true, true) => Direction::Own,
        };
        let other_account = if direction == Direction::In {
            source
        } else {
            destination
        };
        Some(AccountMovement {
            reference: TransferRef {
                transaction: *id,
                instruction: InstructionPath {
                    batch: movement.batch,
                    ..*path
                },
            },
            direction,
            amount: movement.amount,
            other_account,
            other_owner: other_account.and_then(|account| balances.owner(&account)),
            authority: movement.authority,
        })
    };
    token_movements(accounts, data)
        .into_iter()
        .filter_map(movement)
        .collect()
}

/// Listed keys, then looked-up writable ones, then looked-up read-only ones.
fn account_keys(message: &Value, meta: &Value) -> Result<Vec<Pubkey>, NodeError> {
    let bad = || malformed(METHOD, "accountKeys");
    let mut keys = Vec::new();
    let loaded = &meta["loadedAddresses"];
    for (list, required) in [
        (&message["accountKeys"], true),
        (&loaded["writable"], false),
        (&loaded["readonly"], false),
    ] {
        match list.as_array() {
            Some(list) => {
                for key in list {
                    keys.push(key.as_str().and_then(parse).ok_or_else(bad)?);
                }
            }
            None if required => return Err(bad()),
            None => {}
        }
    }
    Ok(keys)
}

type ExecutedCall = (InstructionPath, Pubkey, Vec<Pubkey>, Vec<u8>);

/// Every call in order of execution: each top-level instruction, then its inner ones.
fn calls(message: &Value, meta: &Value, keys: &[Pubkey]) -> Result<Vec<ExecutedCall>, NodeError> {
    let bad = |what| malformed(METHOD, what);
    let top = message["instructions"].as_array().ok_or_else(|| bad("instructions"))?;
    // Nodes that do not record inner instructions return null; a change of balance then stays unexplained.
    let inner = meta["innerInstructions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut calls = Vec::new();
    for (index, instruction) in top.iter().enumerate() {
        let path = InstructionPath {
            top: u16::try_from(index).map_err(|_| bad("instructions"))?,
            inner: None,
            batch: None,
        };
        calls.push(call(path, instruction, keys)?);
        let groups = inner
            .iter()
            .filter(|group| group["index"].as_u64() == Some(index as u64));
        let made = groups.flat_map(|group| group["instructions"].as_array().map(Vec::as_slice).unwrap_or_default());
        for (position, instruction) in made.enumerate() {
            let inner = Some(u16::try_from(position).map_err(|_| bad("innerInstructions"))?);
            calls.push(call(InstructionPath { inner, ..path }, instruction, keys)?);
        }
    }
    Ok(calls)
}

fn call(path: InstructionPath, instruction: &Value, keys: &[Pubkey]) -> Result<ExecutedCall, NodeError> {
    let bad = || malformed(METHOD, "an instruction");
    let key = |index: &Value| {
        let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| keys.get(index)).copied().ok_or_else(bad)
    };
    let program = key(&instruction["programIdIndex"])?;
    if program != TOKEN {
        return Ok((path, program, Vec::new(), Vec::new()));
    }
    let accounts = instruction["accounts"].as_array().ok_or_else(bad)?;
    let accounts = accounts.iter().map(key).collect::<Result<_, _>>()?;
    // At most 10 KiB: the runtime's limit for the data of an inner instruction.
    let data = instruction["data"]
        .as_str()
        .filter(|data| data.len() <= 14_000)
        .ok_or_else(bad)?;
    let data = bs58::decode(data).into_vec().map_err(|_| bad())?;
    Ok((path, program, accounts, data))
}

/// Balances of one mint before and after.
struct Balances {
    before: Vec<(Pubkey, Option<Pubkey>, u64)>,
    after: Vec<(Pubkey, Option<Pubkey>, u64)>,
}

impl Balances {
    fn read(meta: &Value, keys: &[Pubkey], mint: &Pubkey) -> Result<Self, NodeError> {
        let list = |name: &str| {
            let rows = meta[name].as_array().map(Vec::as_slice).unwrap_or_default();
            let rows = rows
                .iter()
                .filter(|row| row["mint"].as_str().and_then(parse) == Some(*mint));
            rows.map(|row| {
                let index = row["accountIndex"]
                    .as_u64()
                    .and_then(|index| usize::try_from(index).ok());
                let account = index.and_then(|index| keys.get(index)).copied();
                let amount = row["uiTokenAmount"]["amount"]
                    .as_str()
                    .and_then(|amount| amount.parse().ok());
                let owner = row["owner"].as_str().and_then(parse);
                match (account, amount) {
                    (Some(account), Some(amount)) => Ok((account, owner, amount)),
                    _ => Err(malformed(METHOD, "token balances")),
                }
            })
            .collect::<Result<Vec<_>, _>>()
        };
        Ok(Self {
            before: list("preTokenBalances")?,
            after: list("postTokenBalances")?,
        })
    }

    fn owner(&self, account: &Pubkey) -> Option<Pubkey> {
        let mut rows = self.after.iter().chain(&self.before);
        rows.find(|(key, ..)| key == account).and_then(|(_, owner, _)| *owner)
    }

    fn change(&self, account: &Pubkey) -> i128 {
        let amount = |rows: &[(Pubkey, Option<Pubkey>, u64)]| {
            let row = rows.iter().find(|(key, ..)| key == account);
            row.map_or(0, |(_, _, amount)| i128::from(*amount))
        };
        amount(&self.after) - amount(&self.before)
    }
}
