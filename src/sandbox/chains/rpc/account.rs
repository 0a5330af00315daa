//! Accounts of the sandbox's Solana: the USDC mint, token accounts, the fee payer. Layouts follow the SPL Token
//! program.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use serde_json::{Value, json};

use super::{RpcError, invalid};
use crate::chains::chain::ChainState;
use crate::chains::ledger::ReplayKey;
use crate::chains::svm::{
    InstructionError, SYSTEM_PROGRAM, TOKEN_PROGRAM, TransactionError, USDC_DECIMALS, USDC_MINT, message_hash, pubkey,
    read_transfer, token_account,
};
use crate::chains::wire::Transaction;
use crate::keys::{signer_of, treasury};

/// Balance of the fee payer in lamports; the sandbox never charges it.
const FEE_PAYER_LAMPORTS: u64 = 1_000_000_000_000;
const MINT_LAMPORTS: u64 = 1_461_600;
const TOKEN_ACCOUNT_LAMPORTS: u64 = 2_039_280;

enum Account {
    Mint { supply: Usdc },
    Token { owner: [u8; 32], amount: Usdc },
    System,
}

fn find(state: &ChainState, address: &[u8; 32]) -> Option<Account> {
    if *address == pubkey(USDC_MINT) {
        return Some(Account::Mint {
            supply: state.ledger.minted(),
        });
    }
    if signer_of(address).is_some() {
        return Some(Account::System);
    }
    match state.ledger.owner_of(address)? {
        Wallet::Solana(owner) => Some(Account::Token {
            owner,
            amount: state.ledger.balance(&Wallet::Solana(owner)),
        }),
        Wallet::Evm(_) => None,
    }
}

impl Account {
    const fn lamports(&self) -> u64 {
        match self {
            Self::Mint { .. } => MINT_LAMPORTS,
            Self::Token { .. } => TOKEN_ACCOUNT_LAMPORTS,
            Self::System => FEE_PAYER_LAMPORTS,
        }
    }

    /// The account's data: 82 bytes for a mint, 165 bytes for a token account.
    fn data(&self) -> Vec<u8> {
        const NONE: [u8; 36] = [0; 36];
        match self {
            Self::Mint { supply } => {
                let mut data = vec![1, 0, 0, 0];
                data.extend_from_slice(&mint_authority());
                data.extend_from_slice(&supply.atomic().to_le_bytes());
                data.extend_from_slice(&[USDC_DECIMALS, 1]);
                data.extend_from_slice(&[1, 0, 0, 0]);
                data.extend_from_slice(&mint_authority());
                data
            }
            Self::Token { owner, amount } => {
                let mut data = pubkey(USDC_MINT).to_vec();
                data.extend_from_slice(owner);
                data.extend_from_slice(&amount.atomic().to_le_bytes());
                // No delegate; initialized; not native; nothing delegated; no close authority.
                data.extend_from_slice(&NONE);
                data.push(1);
                data.extend_from_slice(&[0; 12]);
                data.extend_from_slice(&[0; 8]);
                data.extend_from_slice(&NONE);
                data
            }
            Self::System => Vec::new(),
        }
    }

    fn parsed(&self) -> Option<Value> {
        let authority = bs58::encode(mint_authority()).into_string();
        let (kind, info) = match self {
            Self::Mint { supply } => {
                let info = json!({
                    "decimals": USDC_DECIMALS,
                    "freezeAuthority": authority,
                    "isInitialized": true,
                    "mintAuthority": authority,
                    "supply": supply.atomic().to_string(),
                });
                ("mint", info)
            }
            Self::Token { owner, amount } => {
                let info = json!({
                    "isNative": false,
                    "mint": USDC_MINT,
                    "owner": bs58::encode(owner).into_string(),
                    "state": "initialized",
                    "tokenAmount": ui_amount(*amount),
                });
                ("account", info)
            }
            Self::System => return None,
        };
        let parsed = json!({ "info": info, "type": kind });
        Some(json!({ "program": "spl-token", "parsed": parsed, "space": self.data().len() }))
    }
}

/// The sandbox creates USDC by grant, but the layout needs a mint authority.
fn mint_authority() -> [u8; 32] {
    match treasury(Network::Solana) {
        Wallet::Solana(owner) => owner,
        Wallet::Evm(_) => [0; 32],
    }
}

/// `uiAmount` is a JSON number as in a cluster, for display only; `amount` is exact.
fn ui_amount(amount: Usdc) -> Value {
    let decimal = amount.decimal().to_string();
    let number: Value = serde_json::from_str(&decimal).unwrap_or(Value::Null);
    json!({
        "amount": amount.atomic().to_string(),
        "decimals": USDC_DECIMALS,
        "uiAmount": number,
        "uiAmountString": decimal,
    })
}

pub(super) fn lamports(state: &ChainState, address: &[u8; 32]) -> u64 {
    find(state, address).map_or(0, |account| account.lamports())
}

/// The value of `getAccountInfo`: null if the account does not exist.
pub(super) fn info(state: &ChainState, address: &[u8; 32], config: &Value) -> Result<Value, RpcError> {
    let encoding = config.get("encoding").and_then(Value::as_str).unwrap_or("binary");
    if !["base64", "jsonParsed", "base58", "binary"].contains(&encoding) {
        return Err(invalid(format!("unsupported encoding: {encoding}")));
    }
    let Some(account) = find(state, address) else {
        return Ok(Value::Null);
    };
    let whole = account.data();
    let space = whole.len();
    let bytes = sliced(whole, config)?;
    let plain = || json!([BASE64.encode(&bytes), "base64"]);
    let data = match encoding {
        "jsonParsed" => account.parsed().unwrap_or_else(plain),
        "base64" => plain(),
        _ if bytes.len() > 128 => return Err(invalid("Encoded binary (base 58) data should be less than 128 bytes")),
        "base58" => json!([bs58::encode(&bytes).into_string(), "base58"]),
        _ => json!(bs58::encode(&bytes).into_string()),
    };
    let owner = if matches!(account, Account::System) {
        SYSTEM_PROGRAM
    } else {
        TOKEN_PROGRAM
    };
    Ok(json!({
        "data": data,
        "executable": false,
        "lamports": account.lamports(),
        "owner": owner,
        "rentEpoch": u64::MAX,
        "space": space,
    }))
}

fn sliced(bytes: Vec<u8>, config: &Value) -> Result<Vec<u8>, RpcError> {
    let Some(slice) = config.get("dataSlice").filter(|s| !s.is_null()) else {
        return Ok(bytes);
    };
    let number = |name: &str| {
        slice
            .get(name)
            .and_then(Value::as_u64)
            .and_then(|n| usize::try_from(n).ok())
    };
    let (Some(offset), Some(length)) = (number("offset"), number("length")) else {
        return Err(invalid("Invalid param: dataSlice"));
    };
    Ok(bytes.into_iter().skip(offset).take(length).collect())
}

pub(super) fn token_balance(state: &ChainState, address: &[u8; 32]) -> Result<Value, RpcError> {
    match find(state, address) {
        Some(Account::Token { amount, .. }) => Ok(ui_amount(amount)),
        Some(_) => Err(invalid("Invalid param: not a Token account")),
        None => Err(invalid("Invalid param: could not find account")),
    }
}

/// The owner's single token account, which exists after its first transfer or faucet credit.
pub(super) fn by_owner(state: &ChainState, owner: [u8; 32], filter: &Value, config: &Value) -> Result<Value, RpcError> {
    let text = |name: &str| filter.get(name).and_then(Value::as_str);
    let wanted = match (text("mint"), text("programId")) {
        (Some(USDC_MINT), _) | (None, Some(TOKEN_PROGRAM)) => true,
        (Some(_), _) => return Err(invalid("Invalid param: could not find mint")),
        (None, Some(_)) => false,
        (None, None) => return Err(invalid("Invalid param: expected mint or programId")),
    };
    let address = token_account(&owner);
    let account = info(state, &address, config)?;
    if !wanted || account.is_null() {
        return Ok(json!([]));
    }
    Ok(json!([{ "pubkey": bs58::encode(address).into_string(), "account": account }]))
}

/// The result that execution would have, without a change. The caller chooses whether signatures are verified.
pub(super) fn dry_run(state: &ChainState, transaction: &Transaction, check_hash: bool) -> Result<(), TransactionError> {
    if check_hash && !state.hashes.is_recent(&transaction.blockhash) {
        return Err(TransactionError::BlockhashNotFound);
    }
    let transfer = read_transfer(transaction)?;
    let payer = Wallet::Solana(transfer.authority);
    if state
        .ledger
        .find(&ReplayKey {
            payer,
            nonce: message_hash(transaction),
        })
        .is_some()
    {
        return Err(TransactionError::AlreadyProcessed);
    }
    let refuse = |error| Err(TransactionError::Instruction(transfer.index, error));
    if token_account(&transfer.authority) != transfer.source || state.ledger.owner_of(&transfer.destination).is_none() {
        return refuse(InstructionError::InvalidAccount);
    }
    if state.ledger.balance(&payer) < transfer.amount {
        return refuse(InstructionError::Custom(1));
    }
    Ok(())
}
