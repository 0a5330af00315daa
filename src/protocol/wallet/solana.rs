//! Builds and signs a Solana payment: the transaction that the stock client builds.

use ed25519_dalek::Signer as _;

use super::keys::TestWallet;
use crate::payment::solana::USDC_DECIMALS;
use crate::payment::solana::address::{COMPUTE_BUDGET, MEMO, Pubkey, TOKEN, associated_token_account, base58};

/// Unit limit of the stock client.
pub const UNIT_LIMIT: u32 = 20_000;
/// Unit price of the stock client, in millionths of a lamport.
pub const UNIT_PRICE: u64 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountMeta {
    pub key: Pubkey,
    pub signer: bool,
    pub writable: bool,
}

impl AccountMeta {
    pub const fn plain(key: Pubkey, writable: bool) -> Self {
        Self {
            key,
            signer: false,
            writable,
        }
    }

    /// An account that signs and is only read.
    pub const fn signer(key: Pubkey) -> Self {
        Self {
            key,
            signer: true,
            writable: false,
        }
    }
}

/// A call of a program, before the accounts are numbered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftInstruction {
    pub program: Pubkey,
    /// In the program's order.
    pub accounts: Vec<AccountMeta>,
    pub data: Vec<u8>,
}

/// A message before compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Account key 0.
    pub fee_payer: Pubkey,
    pub blockhash: [u8; 32],
    /// Instructions in order of execution.
    pub instructions: Vec<DraftInstruction>,
    /// Version 0 if set, otherwise a legacy message.
    pub versioned: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Transfer<'a> {
    /// The seller's key that pays the fee.
    pub fee_payer: Pubkey,
    /// Owner of the token account to be paid.
    pub pay_to: Pubkey,
    pub mint: Pubkey,
    /// Amount in atomic units.
    pub amount: u64,
    pub blockhash: [u8; 32],
    /// Text of the memo that makes the transaction unique.
    pub memo: &'a str,
}

impl TestWallet {
    /// The stock client's draft of a payment. `None` if a token account cannot be derived (about 2^-255).
    pub fn draft_transfer(&self, transfer: &Transfer<'_>) -> Option<Draft> {
        let payer = self.solana_address();
        let source = associated_token_account(&payer, &transfer.mint)?;
        let destination = associated_token_account(&transfer.pay_to, &transfer.mint)?;
        let set = |kind: u8, value: &[u8]| DraftInstruction {
            program: COMPUTE_BUDGET,
            accounts: Vec::new(),
            data: [&[kind], value].concat(),
        };
        let checked = DraftInstruction {
            program: TOKEN,
            accounts: vec![
                AccountMeta::plain(source, true),
                AccountMeta::plain(transfer.mint, false),
                AccountMeta::plain(destination, true),
                AccountMeta::signer(payer),
            ],
            data: [&[12][..], &transfer.amount.to_le_bytes(), &[USDC_DECIMALS]].concat(),
        };
        let memo = DraftInstruction {
            program: MEMO,
            accounts: Vec::new(),
            data: transfer.memo.as_bytes().to_vec(),
        };
        Some(Draft {
            fee_payer: transfer.fee_payer,
            blockhash: transfer.blockhash,
            instructions: vec![
                set(2, &UNIT_LIMIT.to_le_bytes()),
                set(3, &UNIT_PRICE.to_le_bytes()),
                checked,
                memo,
            ],
            versioned: true,
        })
    }

    /// Compiles and signs a draft: a wire transaction whose other signature slots are empty.
    pub fn sign_draft(&self, draft: &Draft) -> Vec<u8> {
        let compiled = draft.compile();
        let signature = self.sign_message(&compiled.message);
        let payer = self.solana_address();
        let mut wire = Vec::with_capacity(1232);
        push_length(&mut wire, compiled.signers.len());
        for signer in &compiled.signers {
            wire.extend(if *signer == payer { signature } else { [0; 64] });
        }
        wire.extend(compiled.message);
        wire
    }

    pub fn sign_message(&self, message: &[u8]) -> [u8; 64] {
        self.solana.sign(message).to_bytes()
    }
}

/// A compiled message with its required signers, in the order of their slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The bytes to sign.
    pub message: Vec<u8>,
    /// In slot order.
    pub signers: Vec<Pubkey>,
}

impl Draft {
    /// Numbers the accounts and serializes the message.
    pub fn compile(&self) -> Compiled {
        let accounts = self.accounts();
        let signers: Vec<Pubkey> = accounts
            .iter()
            .filter(|account| account.signer)
            .map(|account| account.key)
            .collect();
        let count = |signer: bool| accounts.iter().filter(|a| a.signer == signer && !a.writable).count();
        let index = |key: &Pubkey| {
            accounts
                .iter()
                .position(|account| account.key == *key)
                .unwrap_or_default() as u8
        };

        let mut message = Vec::with_capacity(1232);
        if self.versioned {
            message.push(0x80);
        }
        message.extend([signers.len() as u8, count(true) as u8, count(false) as u8]);
        push_length(&mut message, accounts.len());
        for account in &accounts {
            message.extend(account.key);
        }
        message.extend(self.blockhash);
        push_length(&mut message, self.instructions.len());
        for instruction in &self.instructions {
            message.push(index(&instruction.program));
            push_length(&mut message, instruction.accounts.len());
            message.extend(instruction.accounts.iter().map(|account| index(&account.key)));
            push_length(&mut message, instruction.data.len());
            message.extend(&instruction.data);
        }
        if self.versioned {
            push_length(&mut message, 0);
        }
        Compiled { message, signers }
    }

    /// Every account once, with the union of the rights that its uses need. Order: the fee payer, then signers before
    /// the others, writable before read-only, and within each class by address as @solana/kit sorts them.
    fn accounts(&self) -> Vec<AccountMeta> {
        let mut all: Vec<AccountMeta> = Vec::new();
        let mut add = |meta: AccountMeta| match all.iter_mut().find(|account| account.key == meta.key) {
            Some(account) => {
                account.signer |= meta.signer;
                account.writable |= meta.writable;
            }
            None => all.push(meta),
        };
        add(AccountMeta {
            key: self.fee_payer,
            signer: true,
            writable: true,
        });
        for instruction in &self.instructions {
            add(AccountMeta::plain(instruction.program, false));
            instruction.accounts.iter().copied().for_each(&mut add);
        }
        all[1..].sort_by_cached_key(|account| {
            let text = base58(&account.key);
            // A locale-aware order: letters regardless of case first, then lower case before upper.
            let swapped: String = text
                .chars()
                .map(|c| {
                    if c.is_ascii_lowercase() {
                        c.to_ascii_uppercase()
                    } else {
                        c.to_ascii_lowercase()
                    }
                })
                .collect();
            (!account.signer, !account.writable, text.to_ascii_lowercase(), swapped)
        });
        all
    }
}

/// Encodes Solana's compact-u16.
fn push_length(bytes: &mut Vec<u8>, mut length: usize) {
    while length >= 0x80 {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
}
