//! Messages before compilation: instructions with addresses and account rights.

use super::address::{Pubkey, base58};
use super::message::{CompiledInstruction, Header, MAX_ACCOUNTS, Message, Version};
use super::transaction::{MAX_TRANSACTION_BYTES, WireError};

/// An account of an [`Instruction`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountMeta {
    /// Address of the account.
    pub key: Pubkey,
    /// Whether the account must sign.
    pub signer: bool,
    /// Whether the instruction writes to the account.
    pub writable: bool,
}

impl AccountMeta {
    /// An account that is only read.
    pub const fn readonly(key: Pubkey) -> Self {
        Self::new(key, false, false)
    }

    /// An account that is written to.
    pub const fn writable(key: Pubkey) -> Self {
        Self::new(key, false, true)
    }

    /// A signer that is only read.
    pub const fn signer(key: Pubkey) -> Self {
        Self::new(key, true, false)
    }

    /// A signer that is written to.
    pub const fn writable_signer(key: Pubkey) -> Self {
        Self::new(key, true, true)
    }

    const fn new(key: Pubkey, signer: bool, writable: bool) -> Self {
        Self { key, signer, writable }
    }
}

/// A call of a program, before account indexes are assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Address of the program.
    pub program: Pubkey,
    /// Accounts in the program's order.
    pub accounts: Vec<AccountMeta>,
    /// Arguments for the program.
    pub data: Vec<u8>,
}

/// A message before account indexes are assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The fee payer, which becomes account 0.
    pub fee_payer: Pubkey,
    /// Blockhash of the transaction.
    pub blockhash: [u8; 32],
    /// Instructions in order of execution.
    pub instructions: Vec<Instruction>,
    /// Version of the message.
    pub version: Version,
}

/// The bytes of a compiled message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The bytes to sign.
    pub message: Vec<u8>,
    /// The signers in the order of the signature slots; the fee payer is first.
    pub signers: Vec<Pubkey>,
}

impl Draft {
    /// Assigns account indexes and encodes the message: the same bytes as `compileTransactionMessage` of @solana/kit.
    ///
    /// # Errors
    /// [`WireError::Malformed`] with more than 256 accounts, more than 127 signers, or an instruction longer than a
    /// transaction.
    pub fn compile(&self) -> Result<Compiled, WireError> {
        let accounts = self.accounts();
        let signers: Vec<Pubkey> = accounts.iter().filter(|a| a.signer).map(|a| a.key).collect();
        // More than 127 signers would be parsed as a version byte; they do not fit into a transaction anyway.
        if accounts.len() > MAX_ACCOUNTS || signers.len() > 127 {
            return Err(WireError::Malformed("more accounts than a message can name"));
        }
        let readonly = |signer: bool| accounts.iter().filter(|a| a.signer == signer && !a.writable).count() as u8;
        let keys: Vec<Pubkey> = accounts.iter().map(|account| account.key).collect();
        // Every key was collected above, so `position` finds it; the index fits because there are at most 256.
        let index = |key: &Pubkey| keys.iter().position(|other| other == key).unwrap_or_default() as u8;
        let indexes: Vec<Vec<u8>> = self
            .instructions
            .iter()
            .map(|instruction| instruction.accounts.iter().map(|a| index(&a.key)).collect())
            .collect();
        let limit = MAX_TRANSACTION_BYTES;
        if self
            .instructions
            .iter()
            .any(|instruction| instruction.accounts.len() > limit || instruction.data.len() > limit)
        {
            return Err(WireError::TooLong);
        }
        let message = Message {
            version: self.version,
            header: Header {
                required_signatures: signers.len() as u8,
                readonly_signed: readonly(true),
                readonly_unsigned: readonly(false),
            },
            keys: &keys,
            blockhash: &self.blockhash,
            instructions: self
                .instructions
                .iter()
                .zip(&indexes)
                .map(|(instruction, accounts)| CompiledInstruction {
                    program: index(&instruction.program),
                    accounts,
                    data: &instruction.data,
                })
                .collect(),
            lookups: Vec::new(),
        };
        message.check()?;
        Ok(Compiled {
            message: message.encode(),
            signers,
        })
    }

    /// Every account once, with the combined rights of all its uses. Order: fee payer, other signers, then the rest.
    /// Writable accounts precede read-only ones. Each group is in the order of @solana/kit.
    fn accounts(&self) -> Vec<AccountMeta> {
        let mut all = vec![AccountMeta::writable_signer(self.fee_payer)];
        let mut add = |meta: AccountMeta| match all.iter_mut().find(|account| account.key == meta.key) {
            Some(account) => {
                account.signer |= meta.signer;
                account.writable |= meta.writable;
            }
            None => all.push(meta),
        };
        for instruction in &self.instructions {
            add(AccountMeta::readonly(instruction.program));
            instruction.accounts.iter().copied().for_each(&mut add);
        }
        all[1..].sort_by_cached_key(|account| (!account.signer, !account.writable, collation_key(&account.key)));
        all
    }
}

/// Orders addresses like JavaScript's `Intl.Collator('en', { caseFirst: 'lower' })` orders their base58 text. Compares
/// characters case-insensitively; lower case comes before upper case only between equal texts.
fn collation_key(key: &Pubkey) -> (String, Vec<bool>) {
    let text = base58(key);
    let upper = text.bytes().map(|byte| byte.is_ascii_uppercase()).collect();
    (text.to_ascii_lowercase(), upper)
}
